import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.zip.CRC32;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads every record of every partition, uncommitted ones too, and writes a line for each.
 *
 * <pre>java ReadAll BOOTSTRAP FILE [CHECK.CRCS]</pre>
 *
 * A line has topic, partition, offset, timestamp and a checksum of key, value and headers. One line a partition has "end" for the
 * offset, then the log's start and end.
 */
public final class ReadAll {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        properties.put("max.poll.records", "100000");
        properties.put("fetch.max.wait.ms", "20");
        properties.put("check.crcs", args.length > 2 ? args[2] : "true");
        List<TopicPartition> all = new ArrayList<>();
        try (Admin admin = Admin.create(properties)) {
            TreeSet<String> names = new TreeSet<>(admin.listTopics(new ListTopicsOptions().listInternal(true)).names().get());
            for (TopicDescription topic : admin.describeTopics(names).allTopicNames().get().values()) {
                topic.partitions().forEach(p -> all.add(new TopicPartition(topic.name(), p.partition())));
            }
        }
        StringBuilder text = new StringBuilder();
        try (KafkaConsumer<byte[], byte[]> consumer =
                 new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            Map<TopicPartition, Long> ends = consumer.endOffsets(all);
            Map<TopicPartition, Long> starts = consumer.beginningOffsets(all);
            consumer.assign(all);
            consumer.seekToBeginning(all);
            boolean more = true;
            while (more) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    text.append(record.topic()).append(' ').append(record.partition()).append(' ').append(record.offset()).append(' ')
                        .append(record.timestamp()).append(' ').append(Long.toHexString(checksum(record))).append('\n');
                }
                more = false;
                for (TopicPartition tp : all) {
                    more |= consumer.position(tp) < ends.get(tp);
                }
            }
            for (TopicPartition tp : all) {
                text.append(tp.topic()).append(' ').append(tp.partition()).append(" end ")
                    .append(starts.get(tp)).append(' ').append(ends.get(tp)).append('\n');
            }
        }
        Files.writeString(Path.of(args[1]), text.toString());
        System.out.println("DONE");
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static long checksum(ConsumerRecord<byte[], byte[]> record) {
        return checksum(record.key(), record.value(), record.headers());
    }

    static long checksum(byte[] key, byte[] value, Iterable<Header> headers) {
        CRC32 crc = new CRC32();
        add(crc, key);
        add(crc, value);
        for (Header header : headers) {
            add(crc, header.key().getBytes(StandardCharsets.UTF_8));
            add(crc, header.value());
        }
        return crc.getValue();
    }

    private static void add(CRC32 crc, byte[] bytes) {
        crc.update(bytes == null ? 0 : 1);
        if (bytes != null) {
            crc.update(bytes);
        }
    }
}

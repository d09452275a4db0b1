import java.io.BufferedWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes to topics that lie on three brokers, and notes each record that all in-sync replicas have, until it is killed.
 *
 * <pre>java Acknowledged BOOTSTRAP FILE TOPICS PARTITIONS</pre>
 *
 * A line of FILE has topic, partition, offset, timestamp and checksum, as {@link ReadAll} writes them. Prints READY once all topics
 * have records.
 */
public final class Acknowledged {
    private static final int ENOUGH = 2000;

    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        int topics = Integer.parseInt(args[2]);
        int partitions = Integer.parseInt(args[3]);
        try (Admin admin = Admin.create(properties)) {
            for (int topic = 0; topic < topics; topic++) {
                NewTopic made = new NewTopic("replicated-" + topic, Optional.of(partitions), Optional.of((short) 3));
                admin.createTopics(List.of(made.configs(java.util.Map.of("min.insync.replicas", "2")))).all().get();
            }
        }
        properties.put("key.serializer", ByteArraySerializer.class.getName());
        properties.put("value.serializer", ByteArraySerializer.class.getName());
        properties.put("acks", "all");
        // An idempotent producer of 3.9 may never get over a leader that changes while its first batches are on their way.
        properties.put("enable.idempotence", "false");
        properties.put("delivery.timeout.ms", "300000");
        properties.put("max.block.ms", "300000");
        properties.put("reconnect.backoff.max.ms", "200");
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties);
        BufferedWriter file = Files.newBufferedWriter(Path.of(args[1]));
        for (int number = 0; ; number++) {
            byte[] value = ("record " + number).getBytes(StandardCharsets.UTF_8);
            ProducerRecord<byte[], byte[]> record =
                new ProducerRecord<>("replicated-" + number % topics, number / topics % partitions, null, value);
            producer.send(record, (written, error) -> {
                if (error != null) {
                    return;
                }
                String line = written.topic() + ' ' + written.partition() + ' ' + written.offset() + ' ' + written.timestamp() + ' '
                    + Long.toHexString(ReadAll.checksum(null, value, List.of())) + '\n';
                try {
                    file.write(line);
                } catch (java.io.IOException e) {
                    throw new java.io.UncheckedIOException(e);
                }
            });
            if (number % 100 == 99) {
                producer.flush();
                synchronized (file) {
                    file.flush();
                }
            }
            if (number == ENOUGH) {
                System.out.println("READY");
                System.out.flush();
            }
        }
    }
}

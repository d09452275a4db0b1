import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * One idempotent and one transactional producer that live through the death and the return of their broker.
 *
 * <pre>java GoOn BOOTSTRAP DEATH</pre>
 *
 * Prints READY once both have written, then goes on until the file DEATH is there, the broker's death, and each has written as
 * much again. Then reads all back: each acknowledged record must be there once, in order.
 * Prints WENT ON, or ends with an exception.
 */
public final class GoOn {
    private static final int ENOUGH = 200;
    private final String bootstrap;
    private final Path death;

    private GoOn(String bootstrap, Path death) {
        this.bootstrap = bootstrap;
        this.death = death;
    }

    public static void main(String[] args) throws Exception {
        new GoOn(args[0], Path.of(args[1])).run();
        System.out.println("WENT ON");
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private void run() throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        try (Admin admin = Admin.create(properties)) {
            admin.createTopics(List.of(
                new NewTopic("go-on-idempotent", Optional.of(1), Optional.of((short) 1)),
                new NewTopic("go-on-transactions", Optional.of(1), Optional.of((short) 1)))).all().get();
        }
        KafkaProducer<byte[], byte[]> idempotent = producer(null);
        KafkaProducer<byte[], byte[]> transactional = producer("go-on");
        transactional.initTransactions();
        int single = 0;
        int committed = 0;
        int atDeath = -1;
        while (atDeath < 0 || single < atDeath + ENOUGH) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                sent.add(idempotent.send(record("go-on-idempotent", single++)));
            }
            idempotent.flush();
            get(sent);
            sent.clear();
            transactional.beginTransaction();
            for (int i = 0; i < 3; i++) {
                sent.add(transactional.send(record("go-on-transactions", committed++)));
            }
            transactional.commitTransaction();
            get(sent);
            if (atDeath < 0 && Files.exists(death)) {
                atDeath = single;
            }
            if (single == ENOUGH) {
                System.out.println("READY");
                System.out.flush();
            }
        }
        check("go-on-idempotent", single);
        check("go-on-transactions", committed);
    }

    private static void get(List<Future<RecordMetadata>> sent) throws ExecutionException, InterruptedException {
        for (Future<RecordMetadata> one : sent) {
            one.get();
        }
    }

    private static ProducerRecord<byte[], byte[]> record(String topic, int number) {
        return new ProducerRecord<>(topic, 0, null, Integer.toString(number).getBytes(StandardCharsets.UTF_8));
    }

    private void check(String topic, int expected) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("isolation.level", "read_committed");
        TopicPartition tp = new TopicPartition(topic, 0);
        int next = 0;
        try (KafkaConsumer<byte[], byte[]> consumer =
                 new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(List.of(tp));
            consumer.seekToBeginning(List.of(tp));
            Map<TopicPartition, Long> ends = consumer.endOffsets(List.of(tp));
            while (consumer.position(tp) < ends.get(tp)) {
                for (ConsumerRecord<byte[], byte[]> one : consumer.poll(Duration.ofMillis(200))) {
                    String value = new String(one.value(), StandardCharsets.UTF_8);
                    if (!value.equals(Integer.toString(next))) {
                        throw new IllegalStateException(topic + " has " + value + " at offset " + one.offset() + ", not " + next);
                    }
                    next++;
                }
            }
        }
        if (next != expected) {
            throw new IllegalStateException(topic + " has " + next + " records, not " + expected);
        }
    }

    private KafkaProducer<byte[], byte[]> producer(String transactionalId) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("key.serializer", ByteArraySerializer.class.getName());
        properties.put("value.serializer", ByteArraySerializer.class.getName());
        properties.put("enable.idempotence", "true");
        properties.put("delivery.timeout.ms", "300000");
        properties.put("max.block.ms", "300000");
        properties.put("reconnect.backoff.max.ms", "200");
        if (transactionalId != null) {
            properties.put("transactional.id", transactionalId);
            properties.put("transaction.timeout.ms", "600000");
        }
        return new KafkaProducer<>(properties);
    }
}

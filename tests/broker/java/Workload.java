import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes topics of every kind to one broker.
 *
 * <pre>java Workload BOOTSTRAP PHASE SEED ROUNDS TOPICS</pre>
 *
 * TOPICS is a file with a line per topic: name, partitions, traffic, then key=value of its config. Phase 0 creates the topics
 * (but internal ones, whose config phase 1 alters);
 * each phase writes ROUNDS rounds of traffic; phase "last" then leaves transactions open, prints READY and goes on writing until
 * it is killed or its broker is.
 */
public final class Workload {
    private static final String[] WORDS =
        {"order", "paid", "shipped", "returned", "berlin", "tokyo", "lagos", "quito", "retry", "ok", "late", "pending", "card", "cash"};

    record Topic(String name, int partitions, String traffic, Map<String, String> config) {}

    private final String bootstrap;
    private final String phase;
    private final Random random;
    private final int rounds;
    private final List<Topic> topics;
    private final Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();

    private Workload(String bootstrap, String phase, long seed, int rounds, List<Topic> topics) {
        this.bootstrap = bootstrap;
        this.phase = phase;
        this.random = new Random(seed * 31 + phase.hashCode());
        this.rounds = rounds;
        this.topics = topics;
    }

    public static void main(String[] args) throws Exception {
        Workload workload = new Workload(args[0], args[1], Long.parseLong(args[2]), Integer.parseInt(args[3]), topics(Path.of(args[4])));
        workload.run();
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static List<Topic> topics(Path file) throws Exception {
        List<Topic> topics = new ArrayList<>();
        for (String line : Files.readAllLines(file)) {
            String[] words = line.trim().split("\\s+");
            if (words.length < 3) {
                continue;
            }
            Map<String, String> config = new HashMap<>();
            for (String pair : Arrays.copyOfRange(words, 3, words.length)) {
                String[] half = pair.split("=", 2);
                config.put(half[0], half[1]);
            }
            topics.add(new Topic(words[0], Integer.parseInt(words[1]), words[2], config));
        }
        return topics;
    }

    private void run() throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        try (Admin admin = Admin.create(properties)) {
            if (phase.equals("0")) {
                List<NewTopic> wanted = topics.stream().filter(t -> !t.name.startsWith("__"))
                    .map(t -> new NewTopic(t.name, Optional.of(t.partitions), Optional.of((short) 1)).configs(t.config)).toList();
                admin.createTopics(wanted).all().get();
            } else if (phase.equals("1")) {
                alterInternalTopics(admin);
            }
            for (int round = 0; round < rounds; round++) {
                for (Topic topic : topics) {
                    write(topic, round);
                }
            }
            for (Topic topic : topics) {
                if (topic.traffic.equals("delete-records")) {
                    deleteRecords(admin, topic);
                }
                if (topic.traffic.equals("group")) {
                    consume(topic);
                }
            }
        }
        if (phase.equals("last")) {
            leaveTransactionsOpen();
            System.out.println("READY");
            System.out.flush();
            for (int round = rounds;; round++) {
                for (Topic topic : topics) {
                    if (!topic.traffic.startsWith("transactions")) {
                        write(topic, round);
                    }
                }
            }
        }
    }

    private void alterInternalTopics(Admin admin) throws Exception {
        Map<ConfigResource, Collection<AlterConfigOp>> wanted = new HashMap<>();
        for (Topic topic : topics) {
            if (topic.name.startsWith("__")) {
                List<AlterConfigOp> ops = new ArrayList<>();
                topic.config.forEach((key, value) -> ops.add(new AlterConfigOp(new ConfigEntry(key, value), AlterConfigOp.OpType.SET)));
                wanted.put(new ConfigResource(ConfigResource.Type.TOPIC, topic.name), ops);
            }
        }
        admin.incrementalAlterConfigs(wanted).all().get();
    }

    private void write(Topic topic, int round) throws Exception {
        switch (topic.traffic) {
            case "idle" -> { }
            case "none", "gzip", "snappy", "lz4", "zstd" -> send(plain(topic.traffic), topic, 6 + random.nextInt(30), 0);
            case "group", "delete-records" -> send(plain("none"), topic, 16, 0);
            case "mixed" -> {
                String[] codecs = {"none", "gzip", "snappy", "lz4", "zstd"};
                send(plain(codecs[random.nextInt(5)]), topic, 1 + random.nextInt(12), 0);
                send(idempotent(topic.name + random.nextInt(3), "lz4"), topic, 1 + random.nextInt(8), 0);
            }
            case "compacted" -> send(idempotent(topic.name, "none"), topic, 40, 12);
            case "idempotent" -> {
                for (int producer = 0; producer < 3; producer++) {
                    send(idempotent(topic.name + producer, producer == 1 ? "zstd" : "none"), topic, 4 + random.nextInt(10), 0);
                }
            }
            case "many-producers" -> {
                for (int producer = 0; producer < 12; producer++) {
                    try (KafkaProducer<byte[], byte[]> one = new KafkaProducer<>(settings("none", true, null))) {
                        send(one, topic, 1 + random.nextInt(3), 0);
                    }
                }
            }
            case "transactions", "transactions-compacted" -> {
                for (int producer = 0; producer < 3; producer++) {
                    KafkaProducer<byte[], byte[]> one = transactional(topic.name + "-" + producer);
                    one.beginTransaction();
                    send(one, topic, 2 + random.nextInt(10), topic.traffic.endsWith("compacted") ? 9 : 0);
                    if (random.nextInt(3) == 0) {
                        one.abortTransaction();
                    } else {
                        one.commitTransaction();
                    }
                }
            }
            case "transactions-interleaved" -> interleave(topic);
            default -> throw new IllegalArgumentException(topic.traffic);
        }
    }

    /** Transactions that overlap, so that an abort lies behind the start of others. */
    private void interleave(Topic topic) throws Exception {
        List<KafkaProducer<byte[], byte[]>> open = new ArrayList<>();
        for (int producer = 0; producer < 4; producer++) {
            KafkaProducer<byte[], byte[]> one = transactional(topic.name + "-" + producer);
            one.beginTransaction();
            send(one, topic, 1 + random.nextInt(6), 0);
            open.add(one);
        }
        for (int pick = open.size(); pick > 0; pick--) {
            KafkaProducer<byte[], byte[]> one = open.remove(random.nextInt(pick));
            for (KafkaProducer<byte[], byte[]> other : open) {
                send(other, topic, random.nextInt(3), 0);
            }
            if (random.nextBoolean()) {
                one.abortTransaction();
            } else {
                one.commitTransaction();
            }
        }
    }

    private void leaveTransactionsOpen() throws Exception {
        for (Topic topic : topics) {
            if (topic.traffic.startsWith("transactions")) {
                for (int producer = 0; producer < 2; producer++) {
                    KafkaProducer<byte[], byte[]> one = transactional(topic.name + "-" + producer);
                    one.beginTransaction();
                    send(one, topic, 3 + random.nextInt(5), topic.traffic.endsWith("compacted") ? 9 : 0);
                }
            }
        }
    }

    private void send(KafkaProducer<byte[], byte[]> producer, Topic topic, int records, int keys) {
        for (int i = 0; i < records; i++) {
            int partition = random.nextInt(topic.partitions);
            byte[] key = keys > 0 ? bytes("key-" + random.nextInt(keys)) : random.nextInt(3) == 0 ? null : bytes("id-" + random.nextInt(100000));
            byte[] value = random.nextInt(keys > 0 ? 12 : 40) == 0 ? null : value();
            // Some old timestamps, so that a later boot finds producers on both sides of their expiry.
            Long timestamp = random.nextInt(6) == 0 ? System.currentTimeMillis() - random.nextInt(40 * 3600 * 1000) : null;
            ProducerRecord<byte[], byte[]> one = new ProducerRecord<>(topic.name, partition, timestamp, key, value);
            if (random.nextInt(9) == 0) {
                Headers headers = one.headers();
                headers.add("trace", bytes(Long.toHexString(random.nextLong())));
                headers.add("empty", null);
            }
            producer.send(one);
            if (random.nextInt(5) == 0) {
                producer.flush();
            }
        }
        producer.flush();
    }

    private byte[] value() {
        StringBuilder text = new StringBuilder("{\"id\":").append(random.nextInt(1000000));
        int words = random.nextInt(20) == 0 ? 200 + random.nextInt(300) : 2 + random.nextInt(40);
        for (int i = 0; i < words; i++) {
            text.append(",\"").append(WORDS[random.nextInt(WORDS.length)]).append("\":").append(random.nextInt(10000));
        }
        return bytes(text.append('}').toString());
    }

    private void deleteRecords(Admin admin, Topic topic) throws ExecutionException, InterruptedException {
        Map<TopicPartition, RecordsToDelete> wanted = new HashMap<>();
        for (int partition = 0; partition < topic.partitions; partition++) {
            long end = end(topic, partition);
            wanted.put(new TopicPartition(topic.name, partition), RecordsToDelete.beforeOffset(Math.max(1, end * (1 + partition % 3) / 4)));
        }
        admin.deleteRecords(wanted).all().get();
    }

    private long end(Topic topic, int partition) {
        try (KafkaConsumer<byte[], byte[]> consumer = consumer("ends")) {
            TopicPartition tp = new TopicPartition(topic.name, partition);
            return consumer.endOffsets(List.of(tp)).get(tp);
        }
    }

    private void consume(Topic topic) {
        for (String group : List.of("billing", "search", "audit-" + phase)) {
            try (KafkaConsumer<byte[], byte[]> consumer = consumer(group)) {
                List<TopicPartition> all = new ArrayList<>();
                for (int partition = 0; partition < topic.partitions; partition++) {
                    all.add(new TopicPartition(topic.name, partition));
                }
                consumer.assign(all);
                consumer.seekToBeginning(all);
                for (int poll = 0; poll < 4; poll++) {
                    consumer.poll(Duration.ofMillis(200));
                    Map<TopicPartition, OffsetAndMetadata> at = new HashMap<>();
                    for (TopicPartition tp : all) {
                        at.put(tp, new OffsetAndMetadata(consumer.position(tp), "round " + poll));
                    }
                    consumer.commitSync(at);
                }
            }
        }
    }

    private KafkaConsumer<byte[], byte[]> consumer(String group) {
        Properties properties = new Properties();
        properties.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        properties.put(ConsumerConfig.GROUP_ID_CONFIG, group);
        properties.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false");
        properties.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, "50");
        return new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private KafkaProducer<byte[], byte[]> plain(String codec) {
        return producers.computeIfAbsent("plain-" + codec, name -> new KafkaProducer<>(settings(codec, false, null)));
    }

    private KafkaProducer<byte[], byte[]> idempotent(String name, String codec) {
        return producers.computeIfAbsent("idempotent-" + name, n -> new KafkaProducer<>(settings(codec, true, null)));
    }

    private KafkaProducer<byte[], byte[]> transactional(String id) {
        return producers.computeIfAbsent("transactional-" + id, name -> {
            KafkaProducer<byte[], byte[]> one = new KafkaProducer<>(settings(id.endsWith("1") ? "gzip" : "none", true, id));
            one.initTransactions();
            return one;
        });
    }

    private Properties settings(String codec, boolean idempotent, String transactionalId) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("key.serializer", ByteArraySerializer.class.getName());
        properties.put("value.serializer", ByteArraySerializer.class.getName());
        properties.put("compression.type", codec);
        properties.put("enable.idempotence", Boolean.toString(idempotent));
        properties.put("linger.ms", "2");
        properties.put("batch.size", Integer.toString(1000 + random.nextInt(6000)));
        if (transactionalId != null) {
            properties.put("transactional.id", transactionalId);
            properties.put("transaction.timeout.ms", "600000");
        }
        return properties;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}

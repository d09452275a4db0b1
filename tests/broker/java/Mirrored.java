import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.connect.mirror.RemoteClusterUtils;

/**
 * Gives MirrorMaker 2 work, waits until it is done, and asks RemoteClusterUtils.
 *
 * <pre>
 * java Mirrored make SOURCE           topics, records, transactions, groups
 * java Mirrored more SOURCE ROUND     further ones; some groups move on, one goes back
 * java Mirrored settle SOURCE TARGET  waits until all is copied and a whole pass over the groups has followed
 * java Mirrored home TARGET           a topic of the target's own, with its groups: it is copied back
 * java Mirrored answers TARGET SOURCE-ALIAS FILE   what translateOffsets says of each group: group, topic, partition, offset
 * java Mirrored commits CLUSTER FILE GROUP..  what each group has committed: group, topic, partition, offset
 * java Mirrored forget TARGET         deletes the groups that were synced, but for some
 * java Mirrored hold TARGET GROUP     is a member of a group until it is killed, and says when it is
 * java Mirrored resume TARGET WANTED FILE  consumes as each group, topic and partition of WANTED: those, and each value
 * java Mirrored dump CLUSTER FILE     each record of the topics and their copies: topic, partition, offset, value
 * </pre>
 */
public final class Mirrored {
    private static final List<String> TOPICS = List.of("plain", "ledger", "compacted");

    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "make" -> make(args[1]);
            case "more" -> more(args[1], Integer.parseInt(args[2]));
            case "settle" -> settle(args[1], args[2]);
            case "home" -> home(args[1]);
            case "answers" -> answers(args[1], args[2], Path.of(args[3]));
            case "commits" -> commits(args[1], Path.of(args[2]), List.of(args).subList(3, args.length));
            case "forget" -> forget(args[1]);
            case "hold" -> hold(args[1], args[2]);
            case "resume" -> resume(args[1], Path.of(args[2]), Path.of(args[3]));
            case "dump" -> dump(args[1], Path.of(args[2]));
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static void make(String source) throws Exception {
        try (Admin admin = admin(source)) {
            Map<String, String> compact = Map.of("cleanup.policy", "compact", "segment.ms", "100", "min.cleanable.dirty.ratio", "0.01");
            admin.createTopics(List.of(
                new NewTopic("plain", 2, (short) 1), new NewTopic("ledger", 1, (short) 1),
                new NewTopic("compacted", 1, (short) 1).configs(compact), new NewTopic("left.replica", 1, (short) 1))).all().get();
        }
        plain(source, 0, 120);
        ledger(source, 0);
        long now = System.currentTimeMillis();
        try (KafkaProducer<String, String> producer = producer(source, null)) {
            // A record that is a second younger than its segment's first begins another one.
            for (int round = 0; round < 4; round++) {
                for (int key = 0; key < 20 - round; key++) {
                    producer.send(new ProducerRecord<>("compacted", 0, now - 600_000 + round * 1000L, "k" + key, "compacted:" + round + ":" + key));
                }
                producer.flush();
            }
            producer.send(new ProducerRecord<>("left.replica", "x"));
        }
        while (read(source, List.of("compacted")).size() > 60) {
            Thread.sleep(200);
        }
        try (Admin admin = admin(source)) {
            Map<String, Long> ends = ends(source, TOPICS);
            for (String place : ends.keySet()) {
                long end = ends.get(place);
                for (int part = 0; part <= 12; part++) {
                    commit(admin, "g-" + place + "-" + part, place, end * part / 12);
                }
                commit(admin, "beyond-" + place, place, end + 5);
            }
            commit(admin, "console-consumer-1", "plain-0", 3);
            commit(admin, "only-left", "left.replica-0", 1);
            Map<TopicPartition, OffsetAndMetadata> both = new HashMap<>();
            ends.forEach((place, end) -> both.put(partition(place), new OffsetAndMetadata(end / 2, "all of them")));
            admin.alterConsumerGroupOffsets("everything", both).all().get();
        }
    }

    private static void more(String source, int round) throws Exception {
        plain(source, 1000 * round, 150);
        ledger(source, round);
        try (KafkaProducer<String, String> producer = producer(source, null)) {
            for (int key = 0; key < 9; key++) {
                producer.send(new ProducerRecord<>("compacted", 0, "k" + key, "compacted:more-" + round + ":" + key));
            }
        }
        try (Admin admin = admin(source)) {
            Map<String, Long> ends = ends(source, TOPICS);
            for (String place : ends.keySet()) {
                long end = ends.get(place);
                for (int part = round; part <= 12; part += 3) {
                    commit(admin, "g-" + place + "-" + part, place, end - part);
                }
                commit(admin, "late-" + round + "-" + place, place, end - 1);
                commit(admin, "back-" + place, place, round == 1 ? end - 2 : 7);
            }
        }
    }

    private static void home(String target) throws Exception {
        try (Admin admin = admin(target)) {
            admin.createTopics(List.of(new NewTopic("home", 1, (short) 1))).all().get();
            try (KafkaProducer<String, String> producer = producer(target, null)) {
                for (int n = 0; n < 90; n++) {
                    producer.send(new ProducerRecord<>("home", 0, null, "home:" + n));
                    if (n % 7 == 0) {
                        producer.flush();
                    }
                }
            }
            for (int part = 0; part <= 9; part++) {
                commit(admin, "h-" + part, "home-0", 10 * part);
            }
            commit(admin, "h-late", "home-0", 89);
            commit(admin, "h-beyond", "home-0", 95);
        }
    }

    private static void plain(String source, int from, int count) {
        try (KafkaProducer<String, String> producer = producer(source, null)) {
            for (int n = from; n < from + count; n++) {
                producer.send(new ProducerRecord<>("plain", n % 2, null, "plain:" + n));
                if (n % 7 == 0) {
                    producer.flush();
                }
            }
        }
    }

    /** Transactions, every third of them aborted, and plain records between them. */
    private static void ledger(String source, int round) {
        try (KafkaProducer<String, String> producer = producer(source, "ledger-" + round)) {
            producer.initTransactions();
            for (int transaction = 0; transaction < 9; transaction++) {
                producer.beginTransaction();
                for (int n = 0; n < 4; n++) {
                    producer.send(new ProducerRecord<>("ledger", 0, null, "ledger:" + round + ":" + transaction + ":" + n));
                }
                producer.flush();
                if (transaction % 3 == 1) {
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                }
            }
        }
        try (KafkaProducer<String, String> producer = producer(source, null)) {
            for (int n = 0; n < 5; n++) {
                producer.send(new ProducerRecord<>("ledger", 0, null, "ledger:" + round + ":plain:" + n));
            }
        }
    }

    private static void settle(String source, String target) throws Exception {
        Map<String, String> wanted = new TreeMap<>();
        for (ConsumerRecord<String, String> record : read(source, TOPICS)) {
            wanted.put(record.value(), record.topic());
        }
        List<String> copies = TOPICS.stream().map(topic -> "primary." + topic).toList();
        Set<String> there = new TreeSet<>();
        while (!there.containsAll(wanted.keySet())) {
            Thread.sleep(300);
            there.clear();
            read(target, copies).forEach(record -> there.add(record.value()));
        }
        boolean isBothWays;
        try (Admin admin = admin(target)) {
            isBothWays = admin.listTopics().names().get().contains("home");
        }
        while (isBothWays && read(source, List.of("secondary.home")).size() < read(target, List.of("home")).size()) {
            Thread.sleep(300);
        }
        // The second group appears only after a pass that began when the first had its checkpoint.
        String name = "sentinel-" + System.nanoTime();
        for (String group : List.of(name + "-a", name + "-b")) {
            try (Admin admin = admin(source)) {
                for (Map.Entry<String, Long> end : ends(source, TOPICS).entrySet()) {
                    commit(admin, group, end.getKey(), end.getValue());
                }
            }
            if (isBothWays) {
                try (Admin admin = admin(target)) {
                    commit(admin, group + "-home", "home-0", ends(target, List.of("home")).get("home-0"));
                }
            }
            List<TopicPartition> places = List.of(new TopicPartition("primary.plain", 0), new TopicPartition("primary.plain", 1), new TopicPartition("primary.compacted", 0));
            while (!isAtTheEnd(target, "primary", group, places)) {
                Thread.sleep(300);
            }
            while (isBothWays && !isAtTheEnd(source, "secondary", group + "-home", List.of(new TopicPartition("secondary.home", 0)))) {
                Thread.sleep(300);
            }
        }
    }

    private static boolean isAtTheEnd(String target, String alias, String group, List<TopicPartition> copies) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> told = RemoteClusterUtils.translateOffsets(Map.of("bootstrap.servers", target), alias, group, Duration.ofSeconds(20));
        try (KafkaConsumer<String, String> consumer = consumer(target)) {
            Map<TopicPartition, Long> ends = consumer.endOffsets(copies);
            for (Map.Entry<TopicPartition, Long> end : ends.entrySet()) {
                if (!told.containsKey(end.getKey()) || told.get(end.getKey()).offset() != end.getValue()) {
                    return false;
                }
            }
            return true;
        }
    }

    private static void answers(String target, String alias, Path file) throws Exception {
        Set<String> groups = new TreeSet<>();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(consumerProperties(target), new org.apache.kafka.common.serialization.ByteArrayDeserializer(), new org.apache.kafka.common.serialization.ByteArrayDeserializer())) {
            TopicPartition checkpoints = new TopicPartition(alias + ".checkpoints.internal", 0);
            consumer.assign(List.of(checkpoints));
            consumer.seekToBeginning(List.of(checkpoints));
            long end = consumer.endOffsets(List.of(checkpoints)).get(checkpoints);
            while (consumer.position(checkpoints) < end) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
                    java.nio.ByteBuffer key = java.nio.ByteBuffer.wrap(record.key());
                    byte[] group = new byte[key.getShort()];
                    key.get(group);
                    groups.add(new String(group, java.nio.charset.StandardCharsets.UTF_8));
                }
            }
        }
        StringBuilder text = new StringBuilder();
        for (String group : groups) {
            RemoteClusterUtils.translateOffsets(Map.of("bootstrap.servers", target), alias, group, Duration.ofSeconds(30)).forEach((place, offset) ->
                text.append(group).append(' ').append(place.topic()).append(' ').append(place.partition()).append(' ').append(offset.offset()).append('\n'));
        }
        Files.writeString(file, text.toString());
    }

    private static void commits(String cluster, Path file, List<String> groups) throws Exception {
        StringBuilder text = new StringBuilder();
        try (Admin admin = admin(cluster)) {
            for (String group : groups) {
                admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().forEach((place, offset) ->
                    text.append(group).append(' ').append(place.topic()).append(' ').append(place.partition()).append(' ').append(offset.offset()).append('\n'));
            }
        }
        Files.writeString(file, text.toString());
    }

    private static void forget(String target) throws Exception {
        try (Admin admin = admin(target)) {
            Set<String> groups = new TreeSet<>();
            admin.listConsumerGroups().all().get().forEach(group -> groups.add(group.groupId()));
            groups.removeIf(group -> group.endsWith("7") || group.endsWith("-mm2") || group.startsWith("back-"));
            admin.deleteConsumerGroups(groups).all().get();
        }
    }

    private static void hold(String target, String group) {
        Properties properties = consumerProperties(target);
        properties.put("group.id", group);
        properties.put("auto.offset.reset", "earliest");
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer())) {
            boolean told = false;
            consumer.subscribe(List.of("primary.plain"));
            while (true) {
                consumer.poll(Duration.ofMillis(200));
                if (!consumer.assignment().isEmpty() && !told) {
                    told = true;
                    System.out.println(group + " has partitions");
                }
            }
        }
    }

    private static void resume(String target, Path wanted, Path file) throws Exception {
        StringBuilder text = new StringBuilder();
        for (String line : Files.readAllLines(wanted)) {
            String[] words = line.split(" ");
            TopicPartition place = new TopicPartition(words[1], Integer.parseInt(words[2]));
            Properties properties = consumerProperties(target);
            properties.put("group.id", words[0]);
            // Without a position it fails instead of choosing one.
            properties.put("auto.offset.reset", "none");
            try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer())) {
                consumer.assign(List.of(place));
                long end = consumer.endOffsets(List.of(place)).get(place);
                text.append(line).append('\n');
                while (consumer.position(place) < end) {
                    for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                        text.append(line).append(' ').append(record.value()).append('\n');
                    }
                }
            }
        }
        Files.writeString(file, text.toString());
    }

    private static void dump(String cluster, Path file) throws Exception {
        StringBuilder text = new StringBuilder();
        List<String> topics = new ArrayList<>(TOPICS);
        TOPICS.forEach(topic -> topics.add("primary." + topic));
        try (Admin admin = admin(cluster)) {
            topics.retainAll(admin.listTopics().names().get());
        }
        for (ConsumerRecord<String, String> record : read(cluster, topics)) {
            text.append(record.topic()).append(' ').append(record.partition()).append(' ').append(record.offset()).append(' ').append(record.value()).append('\n');
        }
        Files.writeString(file, text.toString());
    }

    private static List<ConsumerRecord<String, String>> read(String cluster, List<String> topics) {
        List<ConsumerRecord<String, String>> records = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer = consumer(cluster)) {
            List<TopicPartition> places = new ArrayList<>();
            for (String topic : topics) {
                var partitions = consumer.partitionsFor(topic);
                if (partitions != null) {
                    partitions.forEach(it -> places.add(new TopicPartition(topic, it.partition())));
                }
            }
            consumer.assign(places);
            consumer.seekToBeginning(places);
            Map<TopicPartition, Long> ends = consumer.endOffsets(places);
            while (places.stream().anyMatch(place -> consumer.position(place) < ends.get(place))) {
                consumer.poll(Duration.ofMillis(200)).forEach(records::add);
            }
        }
        return records;
    }

    private static Map<String, Long> ends(String cluster, List<String> topics) {
        Map<String, Long> ends = new TreeMap<>();
        try (KafkaConsumer<String, String> consumer = consumer(cluster)) {
            List<TopicPartition> places = new ArrayList<>();
            topics.forEach(topic -> consumer.partitionsFor(topic).forEach(it -> places.add(new TopicPartition(topic, it.partition()))));
            consumer.endOffsets(places).forEach((place, end) -> ends.put(place.toString(), end));
        }
        return ends;
    }

    private static void commit(Admin admin, String group, String place, long offset) throws Exception {
        admin.alterConsumerGroupOffsets(group, Map.of(partition(place), new OffsetAndMetadata(offset))).all().get();
    }

    private static TopicPartition partition(String place) {
        int dash = place.lastIndexOf('-');
        return new TopicPartition(place.substring(0, dash), Integer.parseInt(place.substring(dash + 1)));
    }

    private static Admin admin(String cluster) {
        return Admin.create(Map.of("bootstrap.servers", cluster));
    }

    private static Properties consumerProperties(String cluster) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", cluster);
        properties.put("enable.auto.commit", "false");
        properties.put("allow.auto.create.topics", "false");
        return properties;
    }

    private static KafkaConsumer<String, String> consumer(String cluster) {
        return new KafkaConsumer<>(consumerProperties(cluster), new StringDeserializer(), new StringDeserializer());
    }

    private static KafkaProducer<String, String> producer(String cluster, String transactionalId) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", cluster);
        if (transactionalId != null) {
            properties.put("transactional.id", transactionalId);
        }
        return new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer());
    }
}

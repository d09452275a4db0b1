import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Kafka's own clients behind a line of words: reads a command a line and answers "OK ..." or "ERROR ..." in one.
 *
 * <pre>java AdminShell BOOTSTRAP</pre>
 */
public final class AdminShell {
    private final String bootstrap;
    private final Admin admin;
    private final KafkaProducer<byte[], byte[]> producer;
    private final KafkaProducer<byte[], byte[]> careless;

    private AdminShell(String bootstrap) {
        this.bootstrap = bootstrap;
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("reconnect.backoff.max.ms", "200");
        admin = Admin.create(properties);
        properties.put("key.serializer", ByteArraySerializer.class.getName());
        properties.put("value.serializer", ByteArraySerializer.class.getName());
        properties.put("batch.size", "65536");
        properties.put("linger.ms", "20");
        properties.put("client.id", "shell");
        producer = new KafkaProducer<>(properties);
        properties.put("client.id", "careless");
        properties.put("acks", "1");
        properties.put("enable.idempotence", "false");
        careless = new KafkaProducer<>(properties);
    }

    public static void main(String[] args) throws Exception {
        AdminShell shell = new AdminShell(args[0]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = "OK " + shell.run(line.split(" "));
            } catch (Exception e) {
                Throwable cause = e.getCause() == null ? e : e.getCause();
                answer = "ERROR " + cause.toString().replace('\n', ' ');
            }
            System.out.println(answer.trim());
            System.out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private String run(String[] words) throws Exception {
        switch (words[0]) {
            // create TOPIC REPLICAS/REPLICAS.. KEY=VALUE..: the replicas of each partition, apart by commas.
            case "create" -> {
                Map<Integer, List<Integer>> assigned = new HashMap<>();
                String[] partitions = words[2].split("/");
                for (int number = 0; number < partitions.length; number++) {
                    assigned.put(number, Arrays.stream(partitions[number].split(",")).map(Integer::valueOf).toList());
                }
                Map<String, String> configs = new HashMap<>();
                for (int at = 3; at < words.length; at++) {
                    configs.put(words[at].split("=", 2)[0], words[at].split("=", 2)[1]);
                }
                admin.createTopics(List.of(new NewTopic(words[1], assigned).configs(configs))).all().get();
                return "";
            }
            // delete TOPIC: until no broker knows it
            case "delete" -> {
                admin.deleteTopics(List.of(words[1])).all().get();
                while (admin.listTopics().names().get().contains(words[1])) {
                    Thread.sleep(20);
                }
                return "";
            }
            // create-many PREFIX TOPICS PARTITIONS REPLICAS: in one request; TOPICS topics of PARTITIONS partitions each.
            case "create-many" -> {
                List<NewTopic> topics = new ArrayList<>();
                for (int number = 0; number < Integer.parseInt(words[2]); number++) {
                    topics.add(new NewTopic(words[1] + number, Integer.parseInt(words[3]), Short.parseShort(words[4])));
                }
                admin.createTopics(topics).all().get();
                return "";
            }
            // held BROKER: how many replicas it has
            case "held" -> {
                int broker = Integer.parseInt(words[1]);
                long held = admin.describeLogDirs(List.of(broker)).allDescriptions().get().get(broker).values().stream()
                    .mapToLong(dir -> dir.replicaInfos().size()).sum();
                return "" + held;
            }
            // produce TOPIC PARTITION COUNT SIZE; produce-one waits for the leader alone
            case "produce", "produce-one" -> {
                KafkaProducer<byte[], byte[]> producer = words[0].equals("produce") ? this.producer : careless;
                byte[] value = new byte[Integer.parseInt(words[4])];
                new java.util.Random(7).nextBytes(value);
                List<Future<?>> sent = new ArrayList<>();
                int missing = Integer.parseInt(words[3]);
                while (missing > 0) {
                    sent.clear();
                    for (int number = 0; number < missing; number++) {
                        sent.add(producer.send(new ProducerRecord<>(words[1], Integer.valueOf(words[2]), null, value)));
                    }
                    producer.flush();
                    // Of a topic that was just made a batch may come before the one that was sent again: it is not appended.
                    missing = 0;
                    for (Future<?> one : sent) {
                        try {
                            one.get();
                        } catch (ExecutionException e) {
                            if (e.getCause() instanceof OutOfOrderSequenceException) {
                                missing++;
                            }
                        }
                    }
                    if (missing == 0) {
                        sent.get(sent.size() - 1).get();
                    }
                }
                return "";
            }
            // offset TOPIC PARTITION earliest|latest|MS: the first record at or behind a time
            case "offset" -> {
                TopicPartition partition = new TopicPartition(words[1], Integer.parseInt(words[2]));
                OffsetSpec spec = switch (words[3]) {
                    case "latest" -> OffsetSpec.latest();
                    case "earliest" -> OffsetSpec.earliest();
                    default -> OffsetSpec.forTimestamp(Long.parseLong(words[3]));
                };
                return "" + admin.listOffsets(Map.of(partition, spec)).partitionResult(partition).get().offset();
            }
            // offsets TOPIC earliest|latest: of each partition
            case "offsets" -> {
                OffsetSpec spec = words[2].equals("latest") ? OffsetSpec.latest() : OffsetSpec.earliest();
                Map<TopicPartition, OffsetSpec> asked = new HashMap<>();
                admin.describeTopics(List.of(words[1])).allTopicNames().get().get(words[1]).partitions()
                    .forEach(info -> asked.put(new TopicPartition(words[1], info.partition()), spec));
                TreeMap<Integer, Long> found = new TreeMap<>();
                admin.listOffsets(asked).all().get().forEach((partition, info) -> found.put(partition.partition(), info.offset()));
                return found.values().stream().map(String::valueOf).collect(Collectors.joining(","));
            }
            // create-configured COUNT: topics t0, t1, .. with settings of all kinds, in one request
            case "create-configured" -> {
                List<NewTopic> topics = new ArrayList<>();
                for (int number = 0; number < Integer.parseInt(words[1]); number++) {
                    Map<String, String> configs = new HashMap<>();
                    if (number % 2 == 0) {
                        configs.put("retention.ms", "" + (3_600_000L + number));
                    }
                    if (number % 3 == 0) {
                        configs.put("retention.bytes", "" + (1_000_000L + number));
                        configs.put("segment.ms", "" + (60_000L + number));
                    }
                    if (number % 5 == 0) {
                        configs.put("cleanup.policy", number % 2 == 0 ? "compact" : "compact,delete");
                        configs.put("min.cleanable.dirty.ratio", "0." + (10 + number % 80));
                    }
                    if (number % 7 == 0) {
                        configs.put("segment.bytes", "" + (2_000_000 + number));
                        configs.put("file.delete.delay.ms", "" + number);
                        configs.put("min.insync.replicas", "1");
                    }
                    topics.add(new NewTopic("t" + number, Optional.of(1 + number % 3), Optional.of((short) 1)).configs(configs));
                }
                admin.createTopics(topics).all().get();
                return "";
            }
            // told: every setting, partition and place that the broker knows, apart by semicolons
            case "told" -> {
                List<String> lines = new ArrayList<>();
                List<String> names = new ArrayList<>(admin.listTopics().names().get());
                List<ConfigResource> resources = names.stream().map(name -> new ConfigResource(ConfigResource.Type.TOPIC, name)).toList();
                admin.describeConfigs(resources).all().get().forEach((resource, config) -> config.entries().forEach(entry ->
                    lines.add("config " + resource.name() + " " + entry.name() + " " + entry.source() + " " + entry.value())));
                admin.describeTopics(names).allTopicNames().get().forEach((name, topic) -> topic.partitions().forEach(info ->
                    lines.add("partition " + name + " " + topic.topicId() + " " + info.partition() + " " + info.leader().id() + " "
                        + ids(info.replicas()) + " " + ids(info.isr()))));
                admin.describeLogDirs(List.of(1)).allDescriptions().get().get(1).forEach((dir, description) ->
                    description.replicaInfos().forEach((partition, info) ->
                        lines.add("place " + partition.topic() + " " + partition.partition() + " " + dir)));
                return String.join(";", lines);
            }
            // config topic|broker NAME KEY
            case "config" -> {
                ConfigEntry entry = admin.describeConfigs(List.of(resource(words))).all().get().values().iterator().next().get(words[3]);
                return entry.source() + " " + entry.value();
            }
            // set topic|broker NAME KEY [VALUE]
            case "set" -> {
                boolean sets = words.length > 4;
                ConfigEntry entry = new ConfigEntry(words[3], sets ? words[4] : "");
                AlterConfigOp op = new AlterConfigOp(entry, sets ? AlterConfigOp.OpType.SET : AlterConfigOp.OpType.DELETE);
                Map<ConfigResource, Collection<AlterConfigOp>> changes = Map.of(resource(words), List.of(op));
                admin.incrementalAlterConfigs(changes).all().get();
                return "";
            }
            // state TOPIC PARTITION: leader and ISR
            case "state" -> {
                var info = admin.describeTopics(List.of(words[1])).allTopicNames().get().get(words[1]).partitions()
                    .get(Integer.parseInt(words[2]));
                String isr = info.isr().stream().map(node -> "" + node.id()).sorted().collect(Collectors.joining(","));
                return (info.leader() == null ? "-" : info.leader().idString()) + " " + isr;
            }
            // elect TOPIC PARTITION: the preferred leader
            case "elect" -> {
                admin.electLeaders(ElectionType.PREFERRED, java.util.Set.of(new TopicPartition(words[1], Integer.parseInt(words[2])))).all().get();
                return "";
            }
            // elect-unclean TOPIC PARTITION
            case "elect-unclean" -> {
                admin.electLeaders(ElectionType.UNCLEAN, java.util.Set.of(new TopicPartition(words[1], Integer.parseInt(words[2])))).all().get();
                return "";
            }
            // dirs BROKER TOPIC: where each partition lies, a future log with a +
            case "dirs" -> {
                TreeMap<String, String> found = new TreeMap<>();
                int broker = Integer.parseInt(words[1]);
                admin.describeLogDirs(List.of(broker)).allDescriptions().get().get(broker).forEach((dir, description) ->
                    description.replicaInfos().forEach((partition, info) -> {
                        if (partition.topic().equals(words[2])) {
                            found.put(partition.partition() + (info.isFuture() ? "+" : ""), dir);
                        }
                    }));
                return found.toString();
            }
            // commit GROUP TOPIC PARTITION OFFSET
            case "commit" -> {
                TopicPartition partition = new TopicPartition(words[2], Integer.parseInt(words[3]));
                admin.alterConsumerGroupOffsets(words[1], Map.of(partition, new OffsetAndMetadata(Long.parseLong(words[4])))).all().get();
                return "";
            }
            // consume GROUP TOPIC COUNT: joins the group, reads so many records and commits; the first and the last offset
            case "consume" -> {
                Properties properties = new Properties();
                properties.put("bootstrap.servers", bootstrap);
                properties.put("group.id", words[1] + "-" + words[2]);
                properties.put("auto.offset.reset", "earliest");
                properties.put("enable.auto.commit", "false");
                properties.put("max.poll.records", "1");
                ByteArrayDeserializer bytes = new ByteArrayDeserializer();
                try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties, bytes, bytes)) {
                    consumer.subscribe(List.of(words[2]));
                    List<Long> read = new ArrayList<>();
                    while (read.size() < Integer.parseInt(words[3])) {
                        consumer.poll(Duration.ofMillis(200)).forEach(record -> read.add(record.offset()));
                    }
                    consumer.commitSync();
                    return read.get(0) + " " + read.get(read.size() - 1);
                }
            }
            // read-all TOPIC COUNT: reads so many records of all partitions, from their starts
            case "read-all" -> {
                Properties properties = new Properties();
                properties.put("bootstrap.servers", bootstrap);
                ByteArrayDeserializer bytes = new ByteArrayDeserializer();
                try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties, bytes, bytes)) {
                    List<TopicPartition> partitions = consumer.partitionsFor(words[1]).stream()
                        .map(info -> new TopicPartition(info.topic(), info.partition())).toList();
                    consumer.assign(partitions);
                    consumer.seekToBeginning(partitions);
                    Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
                    long read = 0;
                    while (!partitions.stream().allMatch(partition -> consumer.position(partition) >= ends.get(partition))) {
                        read += consumer.poll(Duration.ofMillis(200)).count();
                    }
                    if (read != Long.parseLong(words[2])) {
                        throw new IllegalStateException(read + " records");
                    }
                    return "";
                }
            }
            case "quotas" -> {
                List<String> lines = new ArrayList<>();
                admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get()
                    .forEach((entity, values) -> lines.add(entity.entries() + "=" + new TreeMap<>(values)));
                return String.join(";", lines);
            }
            default -> throw new IllegalArgumentException(words[0]);
        }
    }

    private static String ids(List<Node> nodes) {
        return nodes.stream().map(Node::idString).collect(Collectors.joining(","));
    }

    private static ConfigResource resource(String[] words) {
        return new ConfigResource(ConfigResource.Type.valueOf(words[1].toUpperCase()), words[2].equals("-") ? "" : words[2]);
    }
}

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartitionInfo;

/**
 * Waits until each partition of the topics that lie on three brokers has a leader and just the wanted in-sync replicas.
 *
 * <pre>java Replicas BOOTSTRAP ISR FILE</pre>
 *
 * ISR is a list such as 1,3. Writes a line for each partition as it was seen first and one as it is at the end: "first" or "last",
 * topic, partition, leader (- for none), in-sync replicas.
 */
public final class Replicas {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        StringBuilder text = new StringBuilder();
        try (Admin admin = Admin.create(properties)) {
            TreeMap<String, String> seen = look(admin);
            seen.values().forEach(line -> text.append("first ").append(line).append('\n'));
            while (seen.isEmpty() || !seen.values().stream().allMatch(line -> line.endsWith(' ' + args[1]) && !line.contains(" - "))) {
                Thread.sleep(100);
                seen = look(admin);
            }
            seen.values().forEach(line -> text.append("last ").append(line).append('\n'));
        }
        Files.writeString(Path.of(args[2]), text.toString());
    }

    private static TreeMap<String, String> look(Admin admin) throws Exception {
        List<String> names = admin.listTopics().names().get().stream().filter(name -> name.startsWith("replicated-")).toList();
        TreeMap<String, String> lines = new TreeMap<>();
        for (TopicDescription topic : admin.describeTopics(names).allTopicNames().get().values()) {
            for (TopicPartitionInfo partition : topic.partitions()) {
                Node leader = partition.leader();
                String isr = partition.isr().stream().map(Node::id).sorted().map(String::valueOf).collect(Collectors.joining(","));
                String key = topic.name() + ' ' + partition.partition();
                lines.put(key, key + ' ' + (leader == null || leader.isEmpty() ? "-" : leader.idString()) + ' ' + isr);
            }
        }
        return lines;
    }
}

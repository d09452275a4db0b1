import java.io.File;
import java.io.FileInputStream;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.storage.internals.log.LogConfig;

/**
 * Loads every log of a broker's log dirs, gives each its checkpointed high watermark, and lets retention pass over each once.
 *
 * <pre>java RetainLogs SERVER_PROPERTIES TOPIC_CONFIGS NOW</pre>
 *
 * Kafka's own lines say what is deleted and why. Before each log stands {@code PASS topic-partition}, behind it {@code PASSED
 * topic-partition logStart logEnd}, separated by tabs; at the end {@code DONE}.
 */
public final class RetainLogs {
    private RetainLogs() { }

    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        try (FileInputStream in = new FileInputStream(args[0])) {
            properties.load(in);
        }
        LoadLogs all = new LoadLogs(properties, Long.parseLong(args[2]));
        TruncateLogs these = new TruncateLogs(all);
        Map<String, LogConfig> topics = all.topicConfigs(Path.of(args[1]));
        for (String dir : properties.getProperty("log.dirs").split(",")) {
            File log = new File(dir.trim()).getAbsoluteFile();
            all.loadDir(log, topics);
            these.assign(log);
        }
        Map<String, Object> sorted = new TreeMap<>();
        for (Map.Entry<TopicPartition, Object> entry : these.logs.entrySet()) {
            sorted.put(entry.getKey().toString(), entry.getValue());
        }
        for (Map.Entry<String, Object> entry : sorted.entrySet()) {
            Object log = entry.getValue();
            System.out.println("PASS\t" + entry.getKey());
            log.getClass().getMethod("deleteOldSegments").invoke(log);
            System.out.println(String.join("\t", "PASSED", entry.getKey(),
                String.valueOf(TruncateLogs.number(log, "logStartOffset")), String.valueOf(TruncateLogs.number(log, "logEndOffset"))));
        }
        System.out.println("DONE");
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}

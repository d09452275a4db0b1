import java.io.File;
import java.io.FileInputStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Loads every log of a broker's log dirs, truncates some of them as a follower would, and stops as a broker stops.
 *
 * <pre>java TruncateLogs SERVER_PROPERTIES TOPIC_CONFIGS NOW TARGETS</pre>
 *
 * TARGETS has a line for each log to truncate: the partition dir's path, a tab, and {@code N}, {@code hw}, {@code lso} or
 * {@code epoch:N}. Beside what {@link LoadLogs} prints there is for each {@code TRUNCATED path asked offset logStart logEnd}, the
 * ends as they were before, or {@code UNKNOWN path asked} for an epoch that the log does not know. With no targets it leaves what a
 * boot and a clean stop leave.
 */
public final class TruncateLogs {
    private final LoadLogs all;
    final Map<TopicPartition, Object> logs = new HashMap<>();

    TruncateLogs(LoadLogs all) {
        this.all = all;
    }

    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        try (FileInputStream in = new FileInputStream(args[0])) {
            properties.load(in);
        }
        LoadLogs all = new LoadLogs(properties, Long.parseLong(args[2]));
        TruncateLogs these = new TruncateLogs(all);
        Map<String, LogConfig> topics = all.topicConfigs(Path.of(args[1]));
        String[] dirs = properties.getProperty("log.dirs").split(",");
        for (String dir : dirs) {
            File log = new File(dir.trim()).getAbsoluteFile();
            all.loadDir(log, topics);
            these.assign(log);
        }
        these.makeCleaner();
        for (String line : Files.readAllLines(Path.of(args[3]))) {
            String[] words = line.split("\t");
            these.truncate(new File(words[0]), words[1]);
        }
        all.runTasks();
        these.checkpointHighWatermarks(dirs);
        all.logManager.getClass().getMethod("shutdown", long.class).invoke(all.logManager, -1L);
        System.out.println("DONE");
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    /** Gives each log its checkpointed high watermark, as its partition does when it is assigned. */
    void assign(File dir) throws Exception {
        Map<TopicPartition, Long> marks = all.checkpoint(dir, "replication-offset-checkpoint");
        for (File partition : dir.listFiles(File::isDirectory)) {
            String name = partition.getName();
            if (name.equals("__cluster_metadata-0") || !name.matches("[^.]+-\\d+|[^.]+(\\.[^.]+)*-\\d+")) {
                continue;
            }
            int dash = name.lastIndexOf('-');
            TopicPartition tp = new TopicPartition(name.substring(0, dash), Integer.parseInt(name.substring(dash + 1)));
            Object found = all.logManager.getClass().getMethod("getLog", TopicPartition.class, boolean.class).invoke(all.logManager, tp, false);
            if (!found.toString().contains("(") && !found.toString().contains("[")) {
                continue;
            }
            Method get = found.getClass().getMethod("get");
            get.setAccessible(true);
            Object log = get.invoke(found);
            log.getClass().getMethod("updateHighWatermark", long.class).invoke(log, marks.getOrDefault(tp, 0L));
            logs.put(tp, log);
        }
    }

    /** Without a cleaner its checkpoint would not be lowered; its threads are not started. */
    private void makeCleaner() throws Exception {
        Object manager = all.logManager;
        Field cleaner = Arrays.stream(manager.getClass().getDeclaredFields())
            .filter(field -> field.getType().getSimpleName().equals("LogCleaner")).findFirst().orElseThrow();
        Constructor<?> constructor = cleaner.getType().getConstructors()[0];
        cleaner.setAccessible(true);
        cleaner.set(manager, constructor.newInstance(field(manager, "cleanerConfig"), field(manager, "logDirs"),
            field(manager, "currentLogs"), all.failures, all.time));
    }

    private static Object field(Object of, String name) throws Exception {
        Field field = of.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(of);
    }

    private void truncate(File partition, String asked) throws Exception {
        String name = partition.getName();
        int dash = name.lastIndexOf('-');
        TopicPartition tp = new TopicPartition(name.substring(0, dash), Integer.parseInt(name.substring(dash + 1)));
        Object log = logs.get(tp);
        if (log == null) {
            throw new IllegalStateException(partition + " is not loaded");
        }
        Long offset;
        if (asked.equals("hw")) {
            offset = number(log, "highWatermark");
        } else if (asked.equals("lso")) {
            offset = number(log, "lastStableOffset");
        } else if (asked.startsWith("epoch:")) {
            offset = endOfEpoch(log, Integer.parseInt(asked.substring(6)));
        } else {
            offset = Long.parseLong(asked);
        }
        if (offset == null) {
            System.out.println("UNKNOWN\t" + partition + "\t" + asked);
            return;
        }
        System.out.println(String.join("\t", "TRUNCATED", partition.toString(), asked, String.valueOf(offset),
            String.valueOf(number(log, "logStartOffset")), String.valueOf(number(log, "logEndOffset"))));
        Method truncateTo = Arrays.stream(all.logManager.getClass().getMethods())
            .filter(method -> method.getName().equals("truncateTo")).findFirst().orElseThrow();
        Map<TopicPartition, Long> offsets = Map.of(tp, offset);
        boolean java = truncateTo.getParameterTypes()[0] == Map.class;
        truncateTo.invoke(all.logManager, java ? offsets : CollectionConverters.asScala(offsets), false);
    }

    static Long number(Object log, String method) throws Exception {
        return (Long) log.getClass().getMethod(method).invoke(log);
    }

    /** Returns where an epoch ends by the log's own cache; null if it does not know it. */
    private static Long endOfEpoch(Object log, int epoch) throws Exception {
        Object found = log.getClass().getMethod("endOffsetForEpoch", int.class).invoke(log, epoch);
        Method isEmpty = found.getClass().getMethod("isEmpty");
        isEmpty.setAccessible(true);
        if ((Boolean) isEmpty.invoke(found)) {
            return null;
        }
        Method get = found.getClass().getMethod("get");
        get.setAccessible(true);
        Object end = get.invoke(found);
        return (Long) end.getClass().getMethod("offset").invoke(end);
    }

    /** As the replica manager does on its timer and at a stop. */
    private void checkpointHighWatermarks(String[] dirs) throws Exception {
        for (String dir : dirs) {
            File folder = new File(dir.trim()).getAbsoluteFile();
            Map<TopicPartition, Long> marks = new HashMap<>();
            for (Map.Entry<TopicPartition, Object> entry : logs.entrySet()) {
                File parent = (File) entry.getValue().getClass().getMethod("parentDirFile").invoke(entry.getValue());
                if (parent.getAbsoluteFile().equals(folder)) {
                    marks.put(entry.getKey(), number(entry.getValue(), "highWatermark"));
                }
            }
            all.writeCheckpoint(folder, "replication-offset-checkpoint", marks);
        }
    }
}

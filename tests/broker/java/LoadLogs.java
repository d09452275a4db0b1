import java.io.File;
import java.io.FileInputStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Function;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import scala.jdk.javaapi.CollectionConverters;
import scala.jdk.javaapi.FunctionConverters;

/**
 * Loads every log of a broker's log dirs with that version's own LogManager, one after the other, and ends.
 *
 * <pre>java LoadLogs SERVER_PROPERTIES TOPIC_CONFIGS NOW [LOG_DIR..]</pre>
 *
 * TOPIC_CONFIGS has a line per topic: its name, then key=value. NOW is Kafka's clock in milliseconds; it stands still. Without
 * LOG_DIR those of SERVER_PROPERTIES are taken. Prints for each partition dir {@code LOADED path} or {@code REFUSED path cause},
 * separated by tabs, and at the end {@code DONE}. A log that is refused does not touch the next one: the log dir is then not
 * offline for it. Nothing that a broker does after loading happens: no delayed deletion, no checkpoint, no clean stop.
 */
public final class LoadLogs {
    private final KafkaConfig config;
    final LogDirFailureChannel failures = new LogDirFailureChannel(100);
    private final Queue<Runnable> tasks = new ArrayDeque<>();
    final Time time;
    final Object logManager;
    private final Method loadLog;

    LoadLogs(Properties properties, long now) throws Exception {
        this.config = KafkaConfig.fromProps(properties, false);
        this.time = (Time) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {Time.class}, (proxy, method, args) ->
            switch (method.getName()) {
                case "milliseconds" -> now;
                case "sleep" -> null;
                default -> method.invoke(Time.SYSTEM, args);
            });
        this.logManager = logManager();
        this.loadLog = Arrays.stream(logManager.getClass().getMethods()).filter(m -> m.getName().equals("loadLog")).findFirst().orElseThrow();
    }

    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        try (FileInputStream in = new FileInputStream(args[0])) {
            properties.load(in);
        }
        if (args.length > 3) {
            properties.setProperty("log.dirs", String.join(",", Arrays.copyOfRange(args, 3, args.length)));
        }
        LoadLogs all = new LoadLogs(properties, Long.parseLong(args[2]));
        Map<String, LogConfig> topics = all.topicConfigs(Path.of(args[1]));
        for (String dir : properties.getProperty("log.dirs").split(",")) {
            all.loadDir(new File(dir.trim()).getAbsoluteFile(), topics);
        }
        System.out.println("DONE");
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    /** Calls the factory that the broker calls; its parameters differ between versions. */
    private Object logManager() throws Exception {
        Object companion = Class.forName("kafka.log.LogManager$").getField("MODULE$").get(null);
        Method factory = Arrays.stream(companion.getClass().getMethods()).filter(m -> m.getName().equals("apply")).findFirst().orElseThrow();
        Class<?>[] types = factory.getParameterTypes();
        Object[] values = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            values[i] = argument(types[i]);
        }
        return factory.invoke(companion, values);
    }

    private Object argument(Class<?> type) throws Exception {
        return switch (type.getSimpleName()) {
            case "KafkaConfig" -> config;
            case "Seq" -> CollectionConverters.asScala(Collections.emptyList()).toSeq();
            case "Set" -> Set.of();
            case "ConfigRepository" -> Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, args) -> new Properties());
            case "Scheduler" -> new LaterScheduler();
            case "Time" -> time;
            case "BrokerTopicStats" -> brokerTopicStats(type);
            case "LogDirFailureChannel" -> failures;
            case "boolean" -> true;
            default -> throw new IllegalStateException("LogManager wants a " + type);
        };
    }

    private static Object brokerTopicStats(Class<?> type) throws Exception {
        for (Constructor<?> constructor : type.getConstructors()) {
            Class<?>[] types = constructor.getParameterTypes();
            if (types.length == 0) {
                return constructor.newInstance();
            }
            if (types.length == 1) {
                return constructor.newInstance(types[0] == boolean.class ? false : Optional.empty());
            }
        }
        throw new IllegalStateException("no constructor of " + type);
    }

    Map<String, LogConfig> topicConfigs(Path file) throws Exception {
        Map<String, LogConfig> all = new HashMap<>();
        for (String line : Files.readAllLines(file)) {
            String[] words = line.trim().split("\\s+");
            Properties overrides = new Properties();
            for (int i = 1; i < words.length; i++) {
                String[] half = words[i].split("=", 2);
                overrides.setProperty(half[0], half[1]);
            }
            all.put(words[0], LogConfig.fromProps(config.extractLogConfigMap(), overrides));
        }
        return all;
    }

    void loadDir(File dir, Map<String, LogConfig> topics) throws Exception {
        Map<TopicPartition, Long> recoveryPoints = checkpoint(dir, "recovery-point-offset-checkpoint");
        Map<TopicPartition, Long> logStarts = checkpoint(dir, "log-start-offset-checkpoint");
        Map<Object, Object> failedBefore = new HashMap<>(failed());
        boolean clean = new File(dir, ".kafka_cleanshutdown").exists();
        File[] partitions = dir.listFiles(File::isDirectory);
        Arrays.sort(partitions);
        LogConfig defaults = new LogConfig(config.extractLogConfigMap());
        for (File partition : partitions) {
            if (partition.getName().equals("__cluster_metadata-0") || partition.getName().equals("remote-log-index-cache")) {
                continue;
            }
            String result;
            try {
                load(partition, clean, recoveryPoints, logStarts, defaults, topics);
                result = "LOADED\t" + partition;
            } catch (InvocationTargetException e) {
                Throwable cause = e.getCause();
                while (cause.getCause() != null) {
                    cause = cause.getCause();
                }
                result = "REFUSED\t" + partition + "\t" + String.valueOf(cause).replaceAll("\\s+", " ");
            }
            // One log's I/O error must not refuse the next log of this dir: which ones that hits in a broker depends on its threads.
            failed().clear();
            failed().putAll(failedBefore);
            System.out.println(result);
        }
    }

    private void load(File partition, boolean clean, Map<TopicPartition, Long> recoveryPoints, Map<TopicPartition, Long> logStarts,
                      LogConfig defaults, Map<String, LogConfig> topics) throws Exception {
        Function<Object, Object> isStray = log -> false;
        Class<?>[] types = loadLog.getParameterTypes();
        loadLog.invoke(logManager, partition, clean,
            map(types[2], recoveryPoints),
            map(types[3], logStarts),
            defaults,
            map(types[5], topics),
            new ConcurrentHashMap<String, Object>(),
            types[7] == Function.class ? isStray : FunctionConverters.asScalaFromFunction(isStray));
        runTasks();
    }

    /** Releases turned from Scala to Java argument by argument. */
    private static Object map(Class<?> type, Map<?, ?> map) {
        return type == Map.class ? map : CollectionConverters.asScala(map);
    }

    /** Runs what Kafka has put off and what is due. */
    void runTasks() {
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            task.run();
        }
    }

    /** As LogManager does: a checkpoint that cannot be read counts as empty. */
    @SuppressWarnings("unchecked")
    Map<TopicPartition, Long> checkpoint(File dir, String name) throws Exception {
        Object file = checkpointFile(dir, name);
        try {
            Object read = file.getClass().getMethod("read").invoke(file);
            return read instanceof Map ? (Map<TopicPartition, Long>) read
                : (Map<TopicPartition, Long>) (Map<?, ?>) CollectionConverters.asJava((scala.collection.Map<?, ?>) read);
        } catch (InvocationTargetException e) {
            return Map.of();
        }
    }

    void writeCheckpoint(File dir, String name, Map<TopicPartition, Long> offsets) throws Exception {
        Object file = checkpointFile(dir, name);
        Method write = Arrays.stream(file.getClass().getMethods()).filter(m -> m.getName().equals("write")).findFirst().orElseThrow();
        write.invoke(file, write.getParameterTypes()[0] == Map.class ? offsets : CollectionConverters.asScala(offsets));
    }

    private Object checkpointFile(File dir, String name) throws Exception {
        Class<?> type;
        try {
            type = Class.forName("org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile");
        } catch (ClassNotFoundException e) {
            type = Class.forName("kafka.server.checkpoints.OffsetCheckpointFile");
        }
        return type.getConstructor(File.class, LogDirFailureChannel.class).newInstance(new File(dir, name), failures);
    }

    @SuppressWarnings("unchecked")
    private Map<Object, Object> failed() throws Exception {
        Field offline = LogDirFailureChannel.class.getDeclaredField("offlineLogDirs");
        offline.setAccessible(true);
        return (Map<Object, Object>) offline.get(failures);
    }

    /** Runs what is due at once after the log it belongs to, and nothing that is due later. */
    private final class LaterScheduler implements Scheduler {
        @Override
        public void startup() { }

        @Override
        public void shutdown() { }

        @Override
        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            if (delayMs <= 0 && periodMs < 0) {
                tasks.add(task);
            }
            // A log that is closed cancels its own.
            return (ScheduledFuture<?>) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {ScheduledFuture.class},
                (proxy, method, args) -> method.getReturnType() == boolean.class ? true : null);
        }

        @Override
        public void resizeThreadPool(int newSize) { }
    }
}

import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * Boots a broker and halts the JVM inside the log line that says that all logs are loaded: nothing that comes later has happened.
 *
 * <pre>java BootAndHalt SERVER_PROPERTIES</pre>
 */
public final class BootAndHalt {
    public static void main(String[] args) {
        PrintStream real = System.out;
        System.setOut(new PrintStream(new OutputStream() {
            private final StringBuilder line = new StringBuilder();

            @Override
            public synchronized void write(int one) {
                write(new byte[] {(byte) one}, 0, 1);
            }

            @Override
            public synchronized void write(byte[] bytes, int offset, int length) {
                real.write(bytes, offset, length);
                line.append(new String(bytes, offset, length, StandardCharsets.ISO_8859_1));
                if (line.indexOf("\n") >= 0) {
                    if (line.toString().matches("(?s).*Loaded \\d+ logs in .*")) {
                        real.flush();
                        Runtime.getRuntime().halt(0);
                    }
                    line.delete(0, line.lastIndexOf("\n") + 1);
                }
            }
        }, true));
        kafka.Kafka.main(args);
    }
}

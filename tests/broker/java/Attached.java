import java.util.Arrays;

/**
 * Runs another program and dies with whoever started it, who holds the other end of the standard input.
 *
 * <pre>java Attached CLASS [ARGUMENT..]</pre>
 */
public final class Attached {
    public static void main(String[] args) throws Exception {
        Thread watch = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                    // Nobody writes there.
                }
            } catch (java.io.IOException e) {
                // As good as the end.
            }
            Runtime.getRuntime().halt(9);
        });
        watch.setDaemon(true);
        watch.start();
        Class.forName(args[0]).getMethod("main", String[].class).invoke(null, (Object) Arrays.copyOfRange(args, 1, args.length));
    }
}

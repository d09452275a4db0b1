import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.Base64;

/**
 * Writes the one key and certificate of a PKCS12 store as PEM.
 *
 * <pre>java WritePem STORE PASSWORD KEY_AND_CERTIFICATE.pem CERTIFICATE.pem</pre>
 */
public final class WritePem {
    public static void main(String[] args) throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(Path.of(args[0]))) {
            store.load(in, args[1].toCharArray());
        }
        String alias = store.aliases().nextElement();
        Certificate certificate = store.getCertificate(alias);
        String key = pem("PRIVATE KEY", store.getKey(alias, args[1].toCharArray()).getEncoded());
        String chain = pem("CERTIFICATE", certificate.getEncoded());
        Files.writeString(Path.of(args[2]), key + chain);
        Files.writeString(Path.of(args[3]), chain);
    }

    private static String pem(String label, byte[] bytes) {
        String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(bytes);
        return "-----BEGIN " + label + "-----\n" + text + "\n-----END " + label + "-----\n";
    }
}

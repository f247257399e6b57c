// Stands in for nothing: turns PEM files, as Kubernetes Secrets hold them, into settings of a Kafka client.
package io.distverify.lab.kafka;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** TLS settings of Kafka clients, with the PEM text by value. */
public final class Tls {
    private Tls() { }

    /** Without trusted certificates: no TLS. Without certificate and key: TLS that shows no client certificate. */
    public static Map<String, Object> client(String trusted, String certificate, String key) throws IOException {
        Map<String, Object> settings = new HashMap<>();
        if (trusted == null) {
            return settings;
        }
        settings.put("security.protocol", "SSL");
        settings.put("ssl.truststore.type", "PEM");
        settings.put("ssl.truststore.certificates", Files.readString(Path.of(trusted)));
        if (certificate != null) {
            settings.put("ssl.keystore.type", "PEM");
            settings.put("ssl.keystore.certificate.chain", Files.readString(Path.of(certificate)));
            settings.put("ssl.keystore.key", Files.readString(Path.of(key)));
        }
        return settings;
    }
}

// Stands in for the start script of Strimzi's Kafka Connect image: environment in, Kafka's own ConnectDistributed run. Leaves out SASL, metrics, tracing and OAuth.
package io.distverify.lab.connect;

import io.distverify.lab.kafka.Tls;
import java.io.IOException;
import java.io.OutputStream;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.connect.cli.ConnectDistributed;

/** Environment: KAFKA_CONNECT_BOOTSTRAP_SERVERS, _CONFIGURATION (properties), _TRUSTED_CERTS, _TLS_CERT, _TLS_KEY (paths). */
public final class Worker {
    private static final String[] PREFIXES = {"", "producer.", "consumer.", "admin."};

    private Worker() { }

    public static void main(String[] args) throws Exception {
        Path file = write(settings(System.getenv()));
        ConnectDistributed.main(new String[] {file.toString()});
    }

    static Properties settings(Map<String, String> env) throws IOException {
        Properties settings = new Properties();
        settings.load(new StringReader(env.getOrDefault("KAFKA_CONNECT_CONFIGURATION", "")));
        settings.setProperty("bootstrap.servers", env.get("KAFKA_CONNECT_BOOTSTRAP_SERVERS"));
        settings.setProperty("listeners", "http://" + env.get("POD_IP") + ":8083");
        settings.setProperty("rest.advertised.host.name", env.get("POD_IP"));
        settings.setProperty("rest.advertised.port", "8083");
        Map<String, Object> tls = Tls.client(env.get("KAFKA_CONNECT_TRUSTED_CERTS"), env.get("KAFKA_CONNECT_TLS_CERT"), env.get("KAFKA_CONNECT_TLS_KEY"));
        for (String prefix : PREFIXES) {
            tls.forEach((key, value) -> settings.setProperty(prefix + key, value.toString()));
        }
        return settings;
    }

    private static Path write(Properties settings) throws IOException {
        Path file = Files.createTempFile("connect-", ".properties",
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        file.toFile().deleteOnExit();
        try (OutputStream out = Files.newOutputStream(file)) {
            settings.store(out, null);
        }
        return file;
    }
}

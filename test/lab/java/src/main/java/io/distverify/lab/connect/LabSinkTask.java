// Stands in for what the Axual Distributor's tasks have in common. Leaves out metrics and dead letter queues.
package io.distverify.lab.connect;

import io.distverify.lab.faults.Fault;
import io.distverify.lab.faults.Faults;
import java.time.Duration;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.connect.sink.SinkTask;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A sink task with faults and with clients of its own. */
abstract class LabSinkTask extends SinkTask {
    protected final Logger log = LoggerFactory.getLogger(getClass());
    protected final Faults faults = Faults.fromEnvironment();
    private String lineLogged = "";

    @Override
    public String version() {
        return "1.0";
    }

    /** The fault {@code log.line}: its text appears once in the worker's log, at ERROR, and harms nothing. */
    protected void logFault() {
        String line = faults.text(Fault.LOG_LINE, "");
        if (!line.equals(lineLogged)) {
            lineLogged = line;
            if (!line.isEmpty()) {
                log.error("{}", line);
            }
        }
    }

    protected static KafkaProducer<byte[], byte[]> producer(Map<String, String> config) {
        Map<String, Object> settings = Settings.clients(config, Settings.REMOTE);
        settings.put("acks", "all");
        settings.put("enable.idempotence", "true");
        return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }

    protected static void close(KafkaProducer<byte[], byte[]> producer) {
        if (producer != null) {
            producer.close(Duration.ofSeconds(2));
        }
    }
}

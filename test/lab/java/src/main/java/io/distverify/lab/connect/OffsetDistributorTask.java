// Stands in for the work of the Axual Offset Distributor: commits of local groups become timestamps on the remote cluster, once per window. Leaves out group filters other than Connect's own groups.
package io.distverify.lab.connect;

import io.distverify.lab.faults.Fault;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkRecord;

/** Gathers the last commit of every group and partition for a window, then looks up and sends their timestamps. */
public final class OffsetDistributorTask extends LabSinkTask {
    private static final String CONNECT_GROUPS = "connect-";

    private final Map<GroupPartition, Long> commits = new LinkedHashMap<>();
    private final Map<TopicPartition, OffsetAndMetadata> sentUpTo = new HashMap<>();
    private Pattern topics;
    private String timestampsTopic;
    private long windowNanos;
    private long windowEnd;
    private KafkaProducer<byte[], byte[]> producer;
    private RecordTimes times;

    @Override
    public void start(Map<String, String> config) {
        topics = Pattern.compile(Settings.required(config, Settings.TOPICS));
        timestampsTopic = Settings.required(config, Settings.TIMESTAMPS_TOPIC);
        windowNanos = Long.parseLong(config.getOrDefault(Settings.WINDOW, "60000")) * 1_000_000;
        producer = producer(config);
        times = new RecordTimes(Settings.clients(config, Settings.LOCAL));
    }

    @Override
    public void put(Collection<SinkRecord> records) {
        logFault();
        for (SinkRecord record : records) {
            Commit.parse((byte[]) record.key(), (byte[]) record.value()).filter(this::isDistributed).ifPresent(this::gather);
        }
        if (commits.isEmpty()) {
            return;
        }
        long left = windowEnd - System.nanoTime();
        if (left > 0) {
            context.timeout(left / 1_000_000 + 1);
            return;
        }
        try {
            send();
        } catch (InterruptedException | InterruptException e) {
            Thread.currentThread().interrupt();
            throw new ConnectException("Interrupted while sending", e);
        }
        commits.clear();
    }

    private boolean isDistributed(Commit commit) {
        GroupPartition position = commit.position();
        return !position.group().startsWith(CONNECT_GROUPS) && topics.matcher(position.partition().topic()).matches();
    }

    private void gather(Commit commit) {
        if (commits.isEmpty()) {
            windowEnd = System.nanoTime() + windowNanos;
        }
        commits.put(commit.position(), commit.offset());
    }

    private void send() throws InterruptedException {
        if (faults.on(Fault.OD_SILENT)) {
            return;
        }
        OffsetTimestamp.Format format = OffsetTimestamp.Format.valueOf(faults.text(Fault.OD_FORMAT, "json").toUpperCase(Locale.ROOT));
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (var commit : commits.entrySet()) {
            GroupPartition position = commit.getKey();
            OptionalLong timestamp = timestamp(position.partition(), commit.getValue());
            if (timestamp.isPresent()) {
                var record = new OffsetTimestamp(position.group(), position.partition(), timestamp.getAsLong());
                sent.add(producer.send(new ProducerRecord<>(timestampsTopic, record.key(format), record.value(format))));
            }
        }
        producer.flush();
        for (Future<RecordMetadata> result : sent) {
            try {
                result.get();
            } catch (ExecutionException e) {
                throw new ConnectException("Sending timestamps to the remote cluster failed", e.getCause());
            }
        }
    }

    private OptionalLong timestamp(TopicPartition partition, long offset) {
        if (faults.text(Fault.OD_TIMESTAMP_OF, "committed").equals("previous")) {
            OptionalLong previous = times.ofPrevious(partition, offset);
            if (previous.isPresent()) {
                return previous;
            }
        }
        return times.ofCommitted(partition, offset);
    }

    /** Commits nothing past what was sent, so that a restart repeats an unfinished window. */
    @Override
    public Map<TopicPartition, OffsetAndMetadata> preCommit(Map<TopicPartition, OffsetAndMetadata> delivered) {
        if (commits.isEmpty()) {
            sentUpTo.clear();
            sentUpTo.putAll(delivered);
        }
        sentUpTo.keySet().retainAll(delivered.keySet());
        return new HashMap<>(sentUpTo);
    }

    @Override
    public void close(Collection<TopicPartition> partitions) {
        commits.clear();
        sentUpTo.clear();
    }

    @Override
    public void stop() {
        close(producer);
        if (times != null) {
            times.close();
        }
    }
}

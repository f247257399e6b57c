// Stands in for the work of the Axual Message Distributor: copies every record once, headed by its copy flags. Leaves out topic name patterns per cluster and schema handling.
package io.distverify.lab.connect;

import io.distverify.lab.faults.Fault;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkRecord;

/**
 * Records wait in a queue until they are due (at once, unless a fault slows them down), and only those that the remote
 * cluster has acknowledged are committed.
 */
public final class MessageDistributorTask extends LabSinkTask {
    private static final int QUEUE_FULL = 2_000;
    private static final int QUEUE_LOW = 500;
    private static final int BATCH = 500;
    private static final int LOOP_COPIES = 1_000;
    private static final long LOOP_DELAY = 200;

    private final Deque<Waiting> queue = new ArrayDeque<>();
    private KafkaProducer<byte[], byte[]> producer;
    private int level;
    private boolean paused;
    private long startedAt;
    private long accepted;
    private long looped;

    private record Waiting(SinkRecord record, long dueAt) {
        TopicPartition partition() {
            return new TopicPartition(record.originalTopic(), record.originalKafkaPartition());
        }
    }

    @Override
    public void start(Map<String, String> config) {
        level = Integer.parseInt(config.getOrDefault(Settings.LEVEL, "1"));
        producer = producer(config);
        startedAt = now();
    }

    @Override
    public void put(Collection<SinkRecord> records) {
        logFault();
        for (SinkRecord record : records) {
            accept(record);
        }
        failTask();
        try {
            sendDue();
        } catch (InterruptedException | InterruptException e) {
            Thread.currentThread().interrupt();
            throw new ConnectException("Interrupted while sending", e);
        }
        throttle();
    }

    private void accept(SinkRecord record) {
        long delay = faults.number(Fault.MD_DELAY_PER_RECORD, 0);
        if (CopyFlags.of(record.headers()).stops(level())) {
            if (!faults.on(Fault.MD_IGNORE_FLAGS) || ++looped > LOOP_COPIES) {
                return;
            }
            delay += LOOP_DELAY;
        }
        accepted++;
        if (dropped(record)) {
            return;
        }
        long after = delay > 0 && faults.isSet(Fault.MD_DELAY_PER_RECORD) && !queue.isEmpty() ? queue.peekLast().dueAt() : now();
        queue.add(new Waiting(record, after + delay));
    }

    private boolean dropped(SinkRecord record) {
        long every = faults.number(Fault.MD_DROP_EVERY, 0);
        return every > 0 && accepted % every == 0 || faults.number(Fault.MD_DROP_PARTITION, -1) == record.originalKafkaPartition();
    }

    private void failTask() {
        String after = faults.text(Fault.MD_FAIL_TASK, "");
        if (after.isEmpty()) {
            return;
        }
        boolean due = after.endsWith("ms")
                ? now() - startedAt >= Long.parseLong(after.substring(0, after.length() - 2))
                : accepted >= Long.parseLong(after);
        if (due) {
            throw new ConnectException("Distribution failed", new IllegalStateException("lab fault md.failTask=" + after));
        }
    }

    private void sendDue() throws InterruptedException {
        while (!queue.isEmpty() && queue.peek().dueAt() <= now() && !faults.on(Fault.MD_STALL)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            List<Waiting> batch = new ArrayList<>();
            while (!queue.isEmpty() && queue.peek().dueAt() <= now() && batch.size() < BATCH) {
                Waiting waiting = queue.poll();
                batch.add(waiting);
                for (long copies = faults.number(Fault.MD_DUPLICATE, 0); copies >= 0; copies--) {
                    sent.add(producer.send(copy(waiting.record())));
                }
            }
            producer.flush();
            for (Future<RecordMetadata> result : sent) {
                acknowledged(result);
            }
        }
    }

    private void acknowledged(Future<RecordMetadata> result) throws InterruptedException {
        try {
            result.get();
        } catch (ExecutionException e) {
            throw new ConnectException("Sending to the remote cluster failed", e.getCause());
        }
    }

    private ProducerRecord<byte[], byte[]> copy(SinkRecord record) {
        int partition = record.originalKafkaPartition();
        if (faults.on(Fault.MD_ALTER_PARTITION)) {
            partition = (partition + 1) % producer.partitionsFor(record.originalTopic()).size();
        }
        Long timestamp = record.timestamp();
        if (timestamp != null) {
            timestamp += faults.number(Fault.MD_ALTER_TIMESTAMP, 0);
        }
        ProducerRecord<byte[], byte[]> copy = new ProducerRecord<>(record.originalTopic(), partition, timestamp,
                altered(Fault.MD_ALTER_KEY, record.key()), altered(Fault.MD_ALTER_VALUE, record.value()));
        for (var header : CopyFlags.of(record.headers()).with(level()).applyTo(record.headers())) {
            boolean own = header.key().equals(CopyFlags.HEADER);
            copy.headers().add(header.key(), own ? header.value() : altered(Fault.MD_ALTER_HEADER, header.value()));
        }
        return copy;
    }

    private byte[] altered(Fault fault, Object value) {
        byte[] bytes = (byte[]) value;
        if (!faults.on(fault)) {
            return bytes;
        }
        byte[] changed = bytes == null ? new byte[1] : java.util.Arrays.copyOf(bytes, bytes.length + 1);
        changed[changed.length - 1] = '!';
        return changed;
    }

    private int level() {
        return (int) faults.number(Fault.MD_LEVEL, level);
    }

    /** Asks to be called again when the next record is due, and stops fetching while too many wait. */
    private void throttle() {
        if (!queue.isEmpty()) {
            context.timeout(Math.max(1, Math.min(queue.peek().dueAt() - now(), 500)));
        }
        boolean full = queue.size() > (paused ? QUEUE_LOW : QUEUE_FULL);
        if (full != paused) {
            paused = full;
            TopicPartition[] all = context.assignment().toArray(new TopicPartition[0]);
            if (full) {
                context.pause(all);
            } else {
                context.resume(all);
            }
        }
    }

    @Override
    public Map<TopicPartition, OffsetAndMetadata> preCommit(Map<TopicPartition, OffsetAndMetadata> delivered) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>(delivered);
        Map<TopicPartition, Long> first = new HashMap<>();
        for (Waiting waiting : queue) {
            first.putIfAbsent(waiting.partition(), waiting.record().originalKafkaOffset());
        }
        first.forEach((partition, offset) -> offsets.replace(partition, new OffsetAndMetadata(offset)));
        return offsets;
    }

    @Override
    public void open(Collection<TopicPartition> partitions) {
        paused = false;
    }

    @Override
    public void close(Collection<TopicPartition> partitions) {
        Set<TopicPartition> gone = Set.copyOf(partitions);
        queue.removeIf(waiting -> gone.contains(waiting.partition()));
    }

    @Override
    public void stop() {
        close(producer);
    }

    private static long now() {
        return System.nanoTime() / 1_000_000;
    }
}

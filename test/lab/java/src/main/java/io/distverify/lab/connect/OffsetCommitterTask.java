// Stands in for the work of the Axual Offset Committer: timestamps become commits of the same group on the local cluster. Leaves out groups with members, which Kafka refuses.
package io.distverify.lab.connect;

import io.distverify.lab.faults.Fault;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnknownMemberIdException;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkRecord;

/** Finds, for each timestamp that arrives, the first local record that is not older, and commits its offset. */
public final class OffsetCommitterTask extends LabSinkTask {
    private final Map<GroupPartition, Long> timestamps = new LinkedHashMap<>();
    private final Deque<Rewind> rewinds = new ArrayDeque<>();
    private Admin admin;

    private record Rewind(GroupPartition position, long offset, long dueAt) { }

    @Override
    public void start(Map<String, String> config) {
        admin = Admin.create(Settings.clients(config, Settings.LOCAL));
    }

    @Override
    public void put(Collection<SinkRecord> records) {
        logFault();
        for (SinkRecord record : records) {
            gather(record);
        }
        if (faults.text(Fault.OC_COMMIT, "now").equals("now")) {
            commitAll();
        }
        rewindDue();
    }

    private void gather(SinkRecord record) {
        byte[] value = (byte[]) record.value();
        if (value == null || value.length == 0) {
            return;
        }
        try {
            OffsetTimestamp timestamp = OffsetTimestamp.parse(value);
            timestamps.put(new GroupPartition(timestamp.group(), timestamp.partition()), timestamp.timestamp());
        } catch (IOException | IllegalArgumentException e) {
            log.warn("Record {} of {}-{} is no timestamp: {}", record.kafkaOffset(), record.topic(), record.kafkaPartition(), e.getMessage());
        }
    }

    private void commitAll() {
        try {
            for (var entry : timestamps.entrySet()) {
                commit(entry.getKey(), entry.getValue());
            }
        } catch (ExecutionException e) {
            throw new ConnectException("Committing on the local cluster failed", e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ConnectException("Interrupted while committing", e);
        }
        timestamps.clear();
    }

    private void commit(GroupPartition position, long timestamp) throws ExecutionException, InterruptedException {
        long target = translate(position.partition(), timestamp);
        Long current = current(position);
        if (faults.on(Fault.OC_IGNORE) || current != null && (target == current || target < current && !faults.on(Fault.OC_BACKWARDS))) {
            return;
        }
        set(position, target);
        long rewindAfter = faults.number(Fault.OC_REWIND_AFTER, 0);
        if (rewindAfter > 0 && target > 0) {
            rewinds.add(new Rewind(position, target - 1, now() + rewindAfter));
        }
    }

    private long translate(TopicPartition partition, long timestamp) throws ExecutionException, InterruptedException {
        long end = list(partition, OffsetSpec.latest());
        long found = list(partition, OffsetSpec.forTimestamp(timestamp));
        long target = found < 0 ? end : found;
        if (faults.isSet(Fault.OC_BEYOND_END)) {
            return end + faults.number(Fault.OC_BEYOND_END, 1);
        }
        target = Math.min(end, target + faults.number(Fault.OC_AHEAD, 0));
        return Math.max(list(partition, OffsetSpec.earliest()), target - faults.number(Fault.OC_BEHIND, 0));
    }

    private long list(TopicPartition partition, OffsetSpec spec) throws ExecutionException, InterruptedException {
        return admin.listOffsets(Map.of(partition, spec)).partitionResult(partition).get().offset();
    }

    private Long current(GroupPartition position) throws ExecutionException, InterruptedException {
        OffsetAndMetadata committed = admin.listConsumerGroupOffsets(position.group())
                .partitionsToOffsetAndMetadata().get().get(position.partition());
        return committed == null ? null : committed.offset();
    }

    private void set(GroupPartition position, long offset) throws ExecutionException, InterruptedException {
        try {
            admin.alterConsumerGroupOffsets(position.group(), Map.of(position.partition(), new OffsetAndMetadata(offset)))
                    .partitionResult(position.partition()).get();
            log.info("Group {}: {} set to {}", position.group(), position.partition(), offset);
        } catch (ExecutionException e) {
            if (!(e.getCause() instanceof UnknownMemberIdException)) {
                throw e;
            }
            log.info("Group {} has members, its offset of {} stays", position.group(), position.partition());
        }
    }

    private void rewindDue() {
        try {
            while (!rewinds.isEmpty() && rewinds.peek().dueAt() <= now()) {
                Rewind rewind = rewinds.poll();
                set(rewind.position(), rewind.offset());
            }
        } catch (ExecutionException e) {
            throw new ConnectException("Committing on the local cluster failed", e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ConnectException("Interrupted while committing", e);
        }
        if (!rewinds.isEmpty()) {
            context.timeout(Math.max(1, rewinds.peek().dueAt() - now()));
        }
    }

    @Override
    public Map<TopicPartition, OffsetAndMetadata> preCommit(Map<TopicPartition, OffsetAndMetadata> delivered) {
        commitAll();
        return delivered;
    }

    @Override
    public void close(Collection<TopicPartition> partitions) {
        timestamps.clear();
    }

    @Override
    public void stop() {
        if (admin != null) {
            admin.close();
        }
    }

    private static long now() {
        return System.nanoTime() / 1_000_000;
    }
}

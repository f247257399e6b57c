// Stands in for the Axual Offset Distributor's look at the record behind an offset. Leaves out caching.
package io.distverify.lab.connect;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Timestamps of single records of the local cluster. */
final class RecordTimes implements AutoCloseable {
    private static final Duration DEADLINE = Duration.ofSeconds(10);
    private static final int STEPS_BACK = 16;

    private final KafkaConsumer<byte[], byte[]> consumer;

    RecordTimes(Map<String, Object> settings) {
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "none");
        settings.put("max.poll.records", "1");
        settings.put("max.partition.fetch.bytes", "65536");
        consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    /** Of the record to be read next; past the last record, a millisecond after the last one. */
    OptionalLong ofCommitted(TopicPartition partition, long offset) {
        consumer.assign(List.of(partition));
        long start = consumer.beginningOffsets(List.of(partition)).get(partition);
        if (offset < end(partition)) {
            ConsumerRecord<byte[], byte[]> record = readFrom(partition, Math.max(offset, start));
            if (record != null) {
                return OptionalLong.of(record.timestamp());
            }
        }
        OptionalLong last = ofPrevious(partition, end(partition));
        return last.isPresent() ? OptionalLong.of(last.getAsLong() + 1) : last;
    }

    /** Of the last record read: the nearest one before the offset. */
    OptionalLong ofPrevious(TopicPartition partition, long offset) {
        consumer.assign(List.of(partition));
        long start = consumer.beginningOffsets(List.of(partition)).get(partition);
        long before = Math.min(offset, end(partition));
        for (long at = before - 1; at >= start && at >= before - STEPS_BACK; at--) {
            ConsumerRecord<byte[], byte[]> record = readFrom(partition, at);
            if (record != null && record.offset() < before) {
                return OptionalLong.of(record.timestamp());
            }
        }
        return OptionalLong.empty();
    }

    private long end(TopicPartition partition) {
        return consumer.endOffsets(List.of(partition)).get(partition);
    }

    /** The first record at or after the offset; none when only control records follow. */
    private ConsumerRecord<byte[], byte[]> readFrom(TopicPartition partition, long offset) {
        consumer.seek(partition, offset);
        long end = end(partition);
        long deadline = System.nanoTime() + DEADLINE.toNanos();
        while (consumer.position(partition) < end) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                return record;
            }
            if (System.nanoTime() > deadline) {
                throw new TimeoutException("No record of " + partition + " at offset " + offset + " within " + DEADLINE.toSeconds() + " s");
            }
        }
        return null;
    }

    @Override
    public void close() {
        consumer.close();
    }
}

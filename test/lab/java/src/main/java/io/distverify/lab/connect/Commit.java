// Stands in for the Axual Offset Distributor's reading of __consumer_offsets, with Kafka's own schemas. Leaves out every kind of record but offset commits.
package io.distverify.lab.connect;

import java.nio.ByteBuffer;
import java.util.Optional;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.coordinator.group.generated.CoordinatorRecordType;
import org.apache.kafka.coordinator.group.generated.OffsetCommitKey;
import org.apache.kafka.coordinator.group.generated.OffsetCommitValue;

/** An offset commit of a group. */
record Commit(GroupPartition position, long offset) {
    static Optional<Commit> parse(byte[] key, byte[] value) {
        if (key == null || value == null || key.length < Short.BYTES) {
            return Optional.empty();
        }
        ByteBuffer keyBuffer = ByteBuffer.wrap(key);
        short type = keyBuffer.getShort();
        if (type != CoordinatorRecordType.OFFSET_COMMIT.id() && type != CoordinatorRecordType.LEGACY_OFFSET_COMMIT.id()) {
            return Optional.empty();
        }
        OffsetCommitKey committed = new OffsetCommitKey(new ByteBufferAccessor(keyBuffer), OffsetCommitKey.HIGHEST_SUPPORTED_VERSION);
        ByteBuffer valueBuffer = ByteBuffer.wrap(value);
        short version = valueBuffer.getShort();
        OffsetCommitValue position = new OffsetCommitValue(new ByteBufferAccessor(valueBuffer), version);
        return Optional.of(new Commit(
                new GroupPartition(committed.group(), new TopicPartition(committed.topic(), committed.partition())), position.offset()));
    }
}

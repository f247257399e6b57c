package io.distverify.lab.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.coordinator.group.generated.OffsetCommitKey;
import org.apache.kafka.coordinator.group.generated.OffsetCommitValue;
import org.junit.jupiter.api.Test;

class OffsetRecordsTest {
    private static final TopicPartition PARTITION = new TopicPartition("distribution-test", 2);

    @Test
    void aTimestampComesBackFromEitherFormat() throws IOException {
        var timestamp = new OffsetTimestamp("group \"x\", ü", PARTITION, 1_700_000_000_123L);
        for (OffsetTimestamp.Format format : OffsetTimestamp.Format.values()) {
            assertEquals(timestamp, OffsetTimestamp.parse(timestamp.value(format)));
        }
    }

    @Test
    void aCommitIsReadWithKafkasOwnSchema() {
        byte[] key = MessageUtil.toVersionPrefixedBytes((short) 1,
                new OffsetCommitKey().setGroup("g").setTopic(PARTITION.topic()).setPartition(PARTITION.partition()));
        byte[] value = MessageUtil.toVersionPrefixedBytes((short) 3, new OffsetCommitValue().setOffset(42).setMetadata(OffsetAndMetadata.class.getName()));
        assertEquals(new Commit(new GroupPartition("g", PARTITION), 42), Commit.parse(key, value).orElseThrow());
    }

    @Test
    void otherRecordsAndTombstonesAreNone() {
        assertTrue(Commit.parse(new byte[] {0, 2, 0, 0}, new byte[] {0, 0}).isEmpty());
        assertTrue(Commit.parse(new byte[] {0, 1, 0, 0}, null).isEmpty());
    }
}

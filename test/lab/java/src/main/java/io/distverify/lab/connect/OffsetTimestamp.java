// Stands in for the records of the Axual Distributor's timestamps topic, whose real format is not public: JSON, or a length-prefixed binary form. Leaves out schemas.
package io.distverify.lab.connect;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.TopicPartition;

/** A group's position in a partition, as the timestamp of a record. */
record OffsetTimestamp(String group, TopicPartition partition, long timestamp) {
    private static final ObjectMapper JSON = new ObjectMapper();

    enum Format { JSON, BINARY }

    byte[] key(Format format) {
        return format == Format.JSON ? bytes(json()) : binary(false);
    }

    byte[] value(Format format) {
        return format == Format.JSON ? bytes(json().put("timestamp", timestamp)) : binary(true);
    }

    static OffsetTimestamp parse(byte[] value) throws IOException {
        return value[0] == '{' ? parseJson(value) : parseBinary(value);
    }

    private ObjectNode json() {
        return JSON.createObjectNode().put("group", group).put("topic", partition.topic()).put("partition", partition.partition());
    }

    private static byte[] bytes(ObjectNode node) {
        return node.toString().getBytes(StandardCharsets.UTF_8);
    }

    private byte[] binary(boolean withTimestamp) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeUTF(group);
            out.writeUTF(partition.topic());
            out.writeInt(partition.partition());
            if (withTimestamp) {
                out.writeLong(timestamp);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    private static OffsetTimestamp parseJson(byte[] value) throws IOException {
        JsonNode node = JSON.readTree(value);
        return new OffsetTimestamp(node.required("group").textValue(),
                new TopicPartition(node.required("topic").textValue(), node.required("partition").intValue()),
                node.required("timestamp").longValue());
    }

    private static OffsetTimestamp parseBinary(byte[] value) throws IOException {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(value))) {
            return new OffsetTimestamp(in.readUTF(), new TopicPartition(in.readUTF(), in.readInt()), in.readLong());
        }
    }
}

// Stands in for nothing: a pair that both offset stand-ins need.
package io.distverify.lab.connect;

import org.apache.kafka.common.TopicPartition;

/** A group and a partition it has a position in. */
record GroupPartition(String group, TopicPartition partition) { }

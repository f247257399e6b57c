// Stands in for the Axual Offset Committer as a Connect plugin: the connector; its work is in OffsetCommitterTask. Leaves out what that says.
package io.distverify.lab.connect;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;

/** Turns timestamps that arrived into commits on the local cluster. */
public final class OffsetCommitter extends LabSinkConnector {
    @Override
    public Class<? extends Task> taskClass() {
        return OffsetCommitterTask.class;
    }

    @Override
    public ConfigDef config() {
        return Settings.offsetCommitter();
    }
}

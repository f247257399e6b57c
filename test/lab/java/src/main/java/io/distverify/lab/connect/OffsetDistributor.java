// Stands in for the Axual Offset Distributor as a Connect plugin: the connector; its work is in OffsetDistributorTask. Leaves out what that says.
package io.distverify.lab.connect;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;

/** Turns commits of local groups into timestamps on the remote cluster. */
public final class OffsetDistributor extends LabSinkConnector {
    @Override
    public Class<? extends Task> taskClass() {
        return OffsetDistributorTask.class;
    }

    @Override
    public ConfigDef config() {
        return Settings.offsetDistributor();
    }
}

// Stands in for the Axual Message Distributor as a Connect plugin: the connector; its work is in MessageDistributorTask. Leaves out what that says.
package io.distverify.lab.connect;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;

/** Copies records to the same topic of the remote cluster. */
public final class MessageDistributor extends LabSinkConnector {
    @Override
    public Class<? extends Task> taskClass() {
        return MessageDistributorTask.class;
    }

    @Override
    public ConfigDef config() {
        return Settings.messageDistributor();
    }
}

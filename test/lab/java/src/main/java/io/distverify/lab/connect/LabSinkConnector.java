// Stands in for what the Axual Distributor's connectors have in common as Connect plugins. Leaves out their own validation.
package io.distverify.lab.connect;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.sink.SinkConnector;

/** A sink whose tasks all get the connector's own configuration. */
abstract class LabSinkConnector extends SinkConnector {
    private Map<String, String> config = Map.of();

    @Override
    public void start(Map<String, String> properties) {
        config = properties;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        List<Map<String, String>> tasks = new ArrayList<>();
        for (int i = 0; i < maxTasks; i++) {
            tasks.add(config);
        }
        return tasks;
    }

    @Override
    public void stop() { }

    @Override
    public String version() {
        return "1.0";
    }
}

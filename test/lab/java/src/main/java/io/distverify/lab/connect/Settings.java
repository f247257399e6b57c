// Stands in for the settings of the Axual Distributor's connectors, whose names are not public. Leaves out everything the lab does not need.
package io.distverify.lab.connect;

import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.common.config.ConfigException;

/** What the three connectors are configured with. Client settings have the prefix {@code remote.} or {@code local.}. */
final class Settings {
    static final String LEVEL = "level";
    static final String TOPICS = "distributed.topics.regex";
    static final String TIMESTAMPS_TOPIC = "timestamps.topic";
    static final String WINDOW = "window.ms";
    static final String REMOTE = "remote.";
    static final String LOCAL = "local.";
    private static final String BOOTSTRAP = "bootstrap.servers";

    private Settings() { }

    static ConfigDef messageDistributor() {
        return new ConfigDef()
                .define(LEVEL, Type.INT, 1, ConfigDef.Range.between(0, 30), Importance.HIGH, "level in the distribution model")
                .define(REMOTE + BOOTSTRAP, Type.STRING, Importance.HIGH, "brokers of the remote cluster");
    }

    static ConfigDef offsetDistributor() {
        return new ConfigDef()
                .define(WINDOW, Type.LONG, 60_000L, Importance.MEDIUM, "period in which commits are gathered")
                .define(TOPICS, Type.STRING, Importance.HIGH, "whose offsets are distributed")
                .define(TIMESTAMPS_TOPIC, Type.STRING, Importance.HIGH, "topic on the remote cluster")
                .define(LOCAL + BOOTSTRAP, Type.STRING, Importance.HIGH, "brokers of the local cluster")
                .define(REMOTE + BOOTSTRAP, Type.STRING, Importance.HIGH, "brokers of the remote cluster");
    }

    static ConfigDef offsetCommitter() {
        return new ConfigDef()
                .define(LOCAL + BOOTSTRAP, Type.STRING, Importance.HIGH, "brokers of the local cluster");
    }

    static Map<String, Object> clients(Map<String, String> config, String prefix) {
        Map<String, Object> clients = new HashMap<>();
        config.forEach((key, value) -> {
            if (key.startsWith(prefix)) {
                clients.put(key.substring(prefix.length()), value);
            }
        });
        return clients;
    }

    static String required(Map<String, String> config, String key) {
        String value = config.get(key);
        if (value == null || value.isEmpty()) {
            throw new ConfigException("Missing required configuration \"" + key + "\" which has no default value.");
        }
        return value;
    }
}

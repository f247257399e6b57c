// Stands in for the settings of the Axual Distributor's initialisation job, whose names are not public. Leaves out everything the lab does not need.
package io.distverify.lab.init;

import java.util.List;
import java.util.Map;
import java.util.Set;

/** What the chart tells the job. Principals come one a line: they hold commas and blanks. */
record InitSettings(String bootstrapServers, String trusted, String certificate, String key, List<String> principals, String ownPrincipal,
                    String topicPrefix, String groupPrefix, String timestampsTopic, Map<String, String> connectors, Set<String> on,
                    boolean grantAll, long delayMs) {
    private static final long FIELD_DELAY_MS = 15_000;

    static InitSettings of(Map<String, String> env) {
        boolean field = "field".equals(env.get("LAB_PROFILE"));
        return new InitSettings(
                env.get("INIT_BOOTSTRAP_SERVERS"), env.get("INIT_TRUSTED_CERTS"), env.get("INIT_TLS_CERT"), env.get("INIT_TLS_KEY"),
                env.getOrDefault("INIT_PRINCIPALS", "").lines().filter(line -> !line.isBlank()).toList(), env.get("INIT_OWN_PRINCIPAL"),
                env.get("INIT_TOPIC_PREFIX"), env.get("INIT_GROUP_PREFIX"), env.get("INIT_TIMESTAMPS_TOPIC"),
                Map.of("messageDistributor", env.get("INIT_MESSAGE_DISTRIBUTOR"), "offsetDistributor", env.get("INIT_OFFSET_DISTRIBUTOR"),
                        "offsetCommitter", env.get("INIT_OFFSET_COMMITTER")),
                Set.of(env.getOrDefault("INIT_ENABLED", "").trim().split("[, ]+")),
                !field, field ? FIELD_DELAY_MS : 0);
    }

    boolean enabled(String connector) {
        return on.contains(connector);
    }

    /** In the fast profile everything is granted at once, in field only what the enabled connectors need. */
    boolean wants(Grant grant) {
        return grantAll || grant.neededBy().isEmpty() || grant.neededBy().stream().anyMatch(this::enabled);
    }
}

// Stands in for the list of rights that the Axual Distributor's initialisation job gives, which is not public. Leaves out deny rules and transactional ids.
package io.distverify.lab.init;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/** A kind of right; its name is what the fault {@code init.skip} takes. */
enum Grant {
    REMOTE_WRITE("remoteWrite", true, List.of(), topicPrefix(), AclOperation.WRITE),
    REMOTE_TIMESTAMPS("remoteTimestamps", true, List.of("offsetCommitter"), topic(InitSettings::timestampsTopic), AclOperation.WRITE),
    OWN_READ("ownRead", false, List.of("messageDistributor", "offsetDistributor", "offsetCommitter"), topicPrefix(), AclOperation.READ),
    OWN_MESSAGE_DISTRIBUTOR_GROUP("ownGroupMd", false, List.of("messageDistributor"), group("messageDistributor"), AclOperation.READ),
    OWN_OFFSET_DISTRIBUTOR_GROUP("ownGroupOd", false, List.of("offsetDistributor"), group("offsetDistributor"), AclOperation.READ),
    OWN_OFFSET_COMMITTER_GROUP("ownGroupOc", false, List.of("offsetCommitter"), group("offsetCommitter"), AclOperation.READ),
    OWN_OFFSETS("ownOffsets", false, List.of("offsetDistributor"), topic(settings -> "__consumer_offsets"), AclOperation.READ),
    OWN_TIMESTAMPS("ownTimestamps", false, List.of("offsetCommitter"), topic(InitSettings::timestampsTopic), AclOperation.READ),
    OWN_COMMITS("ownCommits", false, List.of("offsetCommitter"), groupPrefix(), AclOperation.READ);

    private final String kind;
    private final boolean everyPrincipal;
    private final List<String> neededBy;
    private final Function<InitSettings, ResourcePattern> resource;
    private final AclOperation operation;

    Grant(String kind, boolean everyPrincipal, List<String> neededBy, Function<InitSettings, ResourcePattern> resource, AclOperation operation) {
        this.kind = kind;
        this.everyPrincipal = everyPrincipal;
        this.neededBy = neededBy;
        this.resource = resource;
        this.operation = operation;
    }

    String kind() {
        return kind;
    }

    List<String> neededBy() {
        return neededBy;
    }

    List<AclBinding> bindings(InitSettings settings) {
        List<AclBinding> bindings = new ArrayList<>();
        for (String principal : everyPrincipal ? settings.principals() : List.of(settings.ownPrincipal())) {
            for (AclOperation each : List.of(operation, AclOperation.DESCRIBE)) {
                bindings.add(new AclBinding(resource.apply(settings), new AccessControlEntry(principal, "*", each, AclPermissionType.ALLOW)));
            }
        }
        return bindings;
    }

    private static Function<InitSettings, ResourcePattern> topicPrefix() {
        return settings -> new ResourcePattern(ResourceType.TOPIC, settings.topicPrefix(), PatternType.PREFIXED);
    }

    private static Function<InitSettings, ResourcePattern> topic(Function<InitSettings, String> name) {
        return settings -> new ResourcePattern(ResourceType.TOPIC, name.apply(settings), PatternType.LITERAL);
    }

    private static Function<InitSettings, ResourcePattern> groupPrefix() {
        return settings -> new ResourcePattern(ResourceType.GROUP, settings.groupPrefix(), PatternType.PREFIXED);
    }

    private static Function<InitSettings, ResourcePattern> group(String connector) {
        return settings -> new ResourcePattern(ResourceType.GROUP, "connect-" + settings.connectors().get(connector), PatternType.LITERAL);
    }
}

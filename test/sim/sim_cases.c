#include "sim_cases.h"

#define PASSED(name, script)                                                                                            \
    {                                                                                                                   \
        name, script, "Passed", "Passed", "Persisted", "11111", "11111", "verified in both directions", false, false, 0 \
    }
#define RETRIED(name, script)                                                                                           \
    {                                                                                                                   \
        name, script, "Passed", "Passed", "Persisted", "11111", "11111", "verified in both directions", false, false, 2 \
    }
#define FIELD(name, script)                                                                                            \
    {                                                                                                                  \
        name, script, "Passed", "Passed", "Persisted", "11111", "11111", "verified in both directions", true, false, 0 \
    }
#define TWO(name, script)                                                                                              \
    {                                                                                                                  \
        name, script, "Passed", "Passed", "Persisted", "11111", "11111", "verified in both directions", false, true, 2 \
    }
#define FAILED(name, script, reason, stage, a, b, message)                    \
    {                                                                         \
        name, script, "Failed", reason, stage, a, b, message, false, false, 0 \
    }
#define ERROR(name, script, reason, stage, a, b, message)                    \
    {                                                                        \
        name, script, "Error", reason, stage, a, b, message, false, false, 0 \
    }
#define UNSURE(name, script, reason, stage, a, b, message)                          \
    {                                                                               \
        name, script, "Inconclusive", reason, stage, a, b, message, false, false, 2 \
    }

const struct sim_case sim_cases[] = {
    /* what may be so or so in a healthy pair */
    PASSED("healthy", ""),
    PASSED("healthy-timestamp-of-previous", "a:od.previous=1; b:od.previous=1"),
    PASSED("healthy-committer-goes-back", "a:oc.backwards=1; b:oc.backwards=1"),
    PASSED("healthy-commit-at-flush", "a:oc.flush=1; b:oc.flush=1"),
    PASSED("healthy-binary-timestamps", "a:od.binary=1; b:od.binary=1"),
    PASSED("healthy-init-hook", "a:init.hook=1; b:init.hook=1"),
    PASSED("healthy-init-late-and-narrow",
           "a:init.narrow=1; b:init.narrow=1; a:init.delay=900; b:init.delay=900; a:strimzi.autoRestart=1; b:strimzi.autoRestart=1"),
    PASSED("healthy-strimzi-at-its-interval-only", "a:strimzi.slow=1; b:strimzi.slow=1"),
    PASSED("healthy-applier-late", "a:applier.delay=15000; b:applier.delay=15000"),
    PASSED("healthy-applier-later-than-arrival",
           "spec=deadlines.stage:5m; spec=deadlines.run:1h; a:applier.delay=100000; b:applier.delay=100000; a:init.narrow=1; "
           "b:init.narrow=1; a:init.delay=3000; b:init.delay=3000; "
           "a:strimzi.autoRestart=1; b:strimzi.autoRestart=1"),
    PASSED("healthy-applier-later-than-arrival-no-selector",
           "spec=deadlines.stage:5m; spec=deadlines.run:1h; a:applier.delay=100000; b:applier.delay=100000; a:init.narrow=1; "
           "b:init.narrow=1; a:init.delay=3000; b:init.delay=3000; "
           "a:strimzi.autoRestart=1; b:strimzi.autoRestart=1; spec=clusters.a.distributor.initJob:{}; "
           "spec=clusters.b.distributor.initJob:{}; api.deny=list jobs,watch jobs"),
    PASSED("healthy-own-principal-not-listed", "a:principals.ownMissing; b:principals.ownMissing; a:acls.own; b:acls.own"),
    PASSED("healthy-no-init-job-selector",
           "spec=clusters.a.distributor.initJob:{}; spec=clusters.b.distributor.initJob:{}; api.deny=list jobs,watch jobs"),
    PASSED("healthy-others-on-topic",
           "topic.noise=20; b:topic.noise=20; @MessagesBothWays.Settle topic.noise=5; @Persisted.MovedA b:topic.noise=5"),
    PASSED("healthy-others-in-group-before", "group.set=1; b:group.set=2"),
    PASSED("healthy-comment-edited", "@MessagesBothWays.Settle a:values.comment"),
    PASSED("healthy-values-replaced", "@MessagesAtoB.Arrive a:values.replaced=900; @OffsetsAtoB.Before b:values.replaced=25000"),
    PASSED("healthy-replayed", "topic.noise=200; b:topic.noise=200; a:md.delay=100; b:md.delay=100"),
    PASSED("healthy-one-behind", "b:oc.behind=1; a:oc.behind=1"),
    PASSED("take-over", "a:values.on; b:values.on; spec=takeOver:true"),
    PASSED("log-warning", "@MessagesAtoB.Held a:log=WARN [dc1-message-distributor-level-1|task-0] Commit of offsets took long "
                          "(org.apache.kafka.connect.runtime.WorkerSinkTask)"),
    PASSED(
        "log-broker-went-down",
        "@MessagesAtoB.Held a:log=WARN [Producer clientId=p] Connection to node -1 (dc2/10.0.0.1:9094) terminated during authentication. "
        "This may happen due to any of the following reasons: (3) Transient network issue. (org.apache.kafka.clients.NetworkClient)"),
    PASSED("log-allowed", "spec=checks.logs.allow:[\"Something broke\"]; @MessagesAtoB.Held a:log=ERROR "
                          "[dc1-message-distributor-level-1|task-0] Something broke (io.x.Y)"),
    PASSED("suspended-and-resumed", "@MessagesBothWays.Settle spec=suspend:true; @MessagesBothWays.Settle+20000 spec=suspend:false"),
    PASSED("deadlines-changed", "@MessagesBothWays.Settle spec=deadlines.run:20m"),
    {"healthy-finally-offsets-off",
     "spec=clusters.a.distributor.finally:{\"offsetDistributor\":false,\"offsetCommitter\":false}; "
     "spec=clusters.b.distributor.finally:{\"init\":false}",
     "Passed", "Passed", "Persisted", "11100", "10111", "verified", false, false, 0},
    {"healthy-finally-all-off",
     "spec=clusters.a.distributor.finally:{\"messageDistributor\":false,\"offsetDistributor\":false,\"offsetCommitter\":false}", "Passed",
     "Passed", "Persisted", "01000", "11111", "verified", false, false, 0},
    FIELD("field", ""),
    FIELD("field-init-late-and-narrow", "a:init.narrow=1; b:init.narrow=1; a:init.delay=20000; b:init.delay=20000; "
                                        "a:strimzi.autoRestart=1; b:strimzi.autoRestart=1; a:strimzi.slow=1; b:strimzi.slow=1"),
    FIELD("field-timestamp-of-previous", "a:od.previous=1; b:od.previous=1; a:oc.flush=1; b:oc.flush=1"),
    FIELD("field-strimzi-at-its-interval-only", "a:strimzi.slow=1; b:strimzi.slow=1"),

    TWO("two-api-servers", ""),
    TWO("two-api-servers-far-one-down", "@MessagesBothWays.Held b:api.down=30000; @OffsetsBtoA.Before b:api.relist"),
    PASSED("healthy-new-group-protocol", "a:connect.newProtocol=1; b:connect.newProtocol=1"),
    PASSED("healthy-offset-distributor-is-a-source", "a:od.source=1; b:od.source=1"),
    PASSED("healthy-group-of-its-own", "a:md.ownGroup=1"),
    PASSED("healthy-eight-partitions", "a:topic.partitions=8; b:topic.partitions=8"),
    PASSED("healthy-eighty-partitions", "a:topic.partitions=80; b:topic.partitions=80; b:oc.behind=1; a:oc.behind=1"),
    PASSED("healthy-one-partition", "a:topic.partitions=1; b:topic.partitions=1"),

    /* disturbances that pass */
    PASSED("outage-preflight", "@Preflight a:kafka.down=20000"),
    RETRIED("outage-30s-messages", "@MessagesAtoB.Arrive a:kafka.down=30000"),
    PASSED("outage-30s-far", "@MessagesBothWays.Settle b:kafka.down=30000"),
    PASSED("outage-30s-lag", "@LagDrained.Drain b:kafka.down=30000"),
    PASSED("outage-30s-offsets", "@OffsetsAtoB.Moved b:kafka.down=30000"),
    PASSED("outage-30s-echo", "@Persisted.EchoA a:kafka.down=30000"),
    PASSED("api-outage", "@MessagesBothWays.Held api.down=30000"),
    TWO("api-outage-at-a-write", "@MessagesBothWays b:api.down=30000"),
    PASSED("api-conflicts", "@InitA api.conflicts=5"),
    PASSED("api-answers-lost", "@MessagesAtoB.Held api.lose=3; @OffsetsAtoB.DistributorHeld api.lose=2"),
    PASSED("api-relist", "@MessagesAtoB.Held api.relist; @OffsetsBtoA.Moved api.relist"),
    PASSED("lease-short", "@MessagesAtoB.Held lease=1000; @MessagesAtoB.Held+9000 lease=900000"),
    RETRIED("produce-answer-lost", "@MessagesAtoB.Held a:kafka.loseProduce=1"),
    RETRIED("commit-answer-lost", "@OffsetsAtoB.DistributorHeld a:kafka.loseCommit=1"),
    RETRIED("pod-restart-clean", "@MessagesBothWays.Settle a:pod.restart"),
    RETRIED("pod-killed", "@MessagesBothWays.Settle a:pod.restart=kill"),
    RETRIED("pod-killed-after-produce", "@MessagesBothWays.Arrive+80 a:pod.restart=kill"),
    RETRIED("pod-killed-offsets", "@OffsetsAtoB.Moved a:pod.restart=kill"),
    RETRIED("pod-restarted-tasks-held-back-messages",
            "a:connect.holdBack=45000; b:connect.holdBack=45000; @MessagesBothWays.Arrive a:pod.restart; @LagDrained b:pod.restart"),
    RETRIED("pod-restarted-tasks-held-back-offsets",
            "a:connect.holdBack=45000; b:connect.holdBack=45000; @OffsetsAtoB.Moved b:pod.restart; @Persisted.EchoA a:pod.restart"),
    RETRIED("pod-killed-committer", "@OffsetsAtoB.Moved b:pod.restart=kill"),
    RETRIED("dirty-log-of-a-restart",
            "@MessagesBothWays.Settle b:pod.restart=kill; @MessagesBothWays.Settle+100 b:log=ERROR "
            "[dc2-message-distributor-level-1|task-0] Uncaught exception in REST call. (org.apache.kafka.connect.runtime.Worker)"),

    /* Preflight */
    ERROR("api-rights-missing", "api.deny=watch jobs,get pods,list pods", "PermissionMissing", "Preflight", "01000", "01000",
          "may not list pods, get pods/log, watch jobs in namespace kafka"),
    ERROR("api-right-missing", "api.deny=patch configmaps", "PermissionMissing", "Preflight", "01000", "01000", "patch configmaps"),
    ERROR("secret-missing", "b:kafka.refuse=secret", "SecretNotFound", "Preflight", "01000", "01000", "dc2"),
    ERROR("authentication-failed", "a:kafka.refuse=auth", "AuthenticationFailed", "Preflight", "01000", "01000", "dc1"),
    ERROR("certificate-invalid", "a:kafka.refuse=cert", "CertificateInvalid", "Preflight", "01000", "01000", "dc1"),
    ERROR("kafka-right-missing", "b:kafka.denyAsk=4", "PermissionMissing", "Preflight", "01000", "01000", "dc2"),
    ERROR("kafka-right-to-settings-missing", "b:topic.hideConfigs", "PermissionMissing", "Preflight", "01000", "01000", "DescribeConfigs"),
    ERROR("values-missing", "a:values.remove", "ValuesNotFound", "Preflight", "?????", "01000", "ConfigMap kafka/dc1-distributor-values"),
    ERROR("values-key-missing", "a:values.noKey", "ValuesNotFound", "Preflight", "?????", "01000", "values.yaml"),
    ERROR("values-invalid-yaml", "b:values.invalid", "ValuesInvalid", "Preflight", "01000", "?????", "dc2"),
    ERROR("values-template", "a:values.template", "ValuesInvalid", "Preflight", "?????", "01000", "dc1"),
    ERROR("values-switch-is-text", "a:values.text", "ValuesInvalid", "Preflight", "00000", "01000", "init"),
    ERROR("connect-missing", "a:connect.remove", "ConnectNotReady", "Preflight", "01000", "01000", "dc1-distributor"),
    ERROR("connect-paused", "b:connect.paused", "ConnectNotReady", "Preflight", "01000", "01000", "dc2-distributor"),
    ERROR("connect-unmanaged", "b:connect.unmanaged", "ConnectNotReady", "Preflight", "01000", "01000", "use-connector-resources"),
    FAILED("same-cluster", "kafka.same", "SameKafkaCluster", "Preflight", "01000", "01000", "same Kafka cluster"),
    FAILED("topic-missing", "b:topic.remove", "TopicNotFound", "Preflight", "01000", "01000", "dc2"),
    FAILED("topic-partitions-differ", "b:topic.partitions=4", "TopicUnsuitable", "Preflight", "01000", "01000", "4 on dc2"),
    FAILED("topic-log-append-time", "a:topic.logAppend", "TopicUnsuitable", "Preflight", "01000", "01000", "LogAppendTime"),
    FAILED("topic-compacted", "b:topic.compacted", "TopicUnsuitable", "Preflight", "01000", "01000", "compacted"),
    FAILED("topic-retention", "a:topic.retention=60000", "TopicUnsuitable", "Preflight", "01000", "01000", "retention"),
    FAILED("group-not-empty", "b:group.members=2", "GroupNotEmpty", "Preflight", "01000", "01000", "dc2"),
    FAILED("group-of-the-new-protocol", "a:group.newProtocol", "GroupNotEmpty", "Preflight", "01000", "01000", "new consumer protocol"),
    FAILED("distribution-already-on", "b:values.on", "DistributionAlreadyOn", "Preflight", "01000", "11000", "dc2"),
    FAILED("foreign-connector", "a:connector.foreign", "UnexpectedConnectorRunning", "Preflight", "01000", "01000", "mirror"),
    ERROR("spec-path-mistyped", "spec=clusters.a.distributor.switches.init.path:[\"init\",\"enbled\"]", "ValuesInvalid", "Preflight",
          "01000", "01000", "init.enbled is not there, but init.enabled"),
    ERROR("spec-path-at-a-scalar", "spec=clusters.b.distributor.switches.init.path:[\"init\",\"enabled\",\"now\"]", "ValuesInvalid",
          "Preflight", "01000", "01000", "spec.clusters.b.distributor.switches.init.path"),
    ERROR("spec-principals-path-mistyped", "spec=clusters.b.distributor.principalsPath:[\"init\",\"principal\"]", "ValuesInvalid",
          "Preflight", "01000", "01000", "spec.clusters.b.distributor.principalsPath"),
    FAILED("spec-connector-mistyped", "spec=clusters.b.distributor.switches.messageDistributor.connector:dc2-message-distributr-level-1",
           "UnexpectedConnectorRunning", "MessagesBothWays", "11100", "11100", "spec.clusters.b.distributor.switches.*.connector"),
    ERROR("spec-flush-too-long", "spec=checks.commitInterval:10m", "InvalidSpec", "Preflight", "01000", "01000", "spec.deadlines.stage"),

    /* InitA, InitB */
    FAILED("principal-not-listed", "a:principals.remoteMissing", "PrincipalNotListed", "InitA", "01000", "01000", "CN=dist-dc2"),
    ERROR("principal-is-a-number", "a:principals.number", "ValuesInvalid", "InitA", "01000", "01000", "item 1"),
    FAILED("principal-not-listed-b", "b:principals.remoteMissing", "PrincipalNotListed", "InitB", "01000", "01000", "CN=dist-dc1"),
    FAILED("init-job-failed", "a:init.fail=1; @InitA values.comment", "InitJobFailed", "InitA", "01000", "01000", "dc1-distributor-init"),
    FAILED("init-write-missing", "b:init.skip=4", "AclMissing", "InitB", "01000", "01000", "dc2"),
    FAILED("init-write-denied", "a:acl.deny", "AclMissing", "InitA", "01000", "01000", "deny"),
    FAILED("foreign-replicator", "replicate=1", "ForeignReplicator", "InitB", "01000", "01000", "MirrorMaker"),
    FAILED("foreign-replicator-back", "b:replicate=1", "ForeignReplicator", "InitB", "01000", "01000", "produced on dc2"),
    ERROR("pod-down", "@InitA a:pod.down", "ConnectNotReady", "InitA", "01000", "01000", "CrashLoopBackOff"),

    /* messages */
    FAILED("loop", "a:md.ignoreFlags=1; b:md.ignoreFlags=1", "LoopDetected", "MessagesBothWays", "11100", "11000", "level"),
    FAILED("loop-hold", "a:md.ignoreFlags=1; b:md.ignoreFlags=1; spec=onLoop:Hold", "LoopDetected", "MessagesBothWays", "11100", "11100",
           "level"),
    FAILED("loop-slow-replay", "topic.noise=100; b:topic.noise=100; a:md.delay=300; b:md.delay=300; a:md.ignoreFlags=1; b:md.ignoreFlags=1",
           "LoopDetected", "MessagesBothWays", "11100", "11000", "level"),
    FAILED("level-mismatch-b", "b:md.level=2", "LoopDetected", "MessagesBothWays", "11100", "11000", "level"),
    FAILED("level-mismatch-a", "a:md.level=2", "LoopDetected", "MessagesBothWays", "11100", "11000", "level"),
    FAILED("duplicates", "a:md.duplicate=1", "DuplicateRecords", "MessagesAtoB", "11100", "01000", "dc2"),
    FAILED("duplicates-back", "b:md.duplicate=1", "DuplicateRecords", "MessagesBothWays", "11100", "11100", "dc1"),
    FAILED("duplicates-later", "@LagDrained.Mark a:md.duplicate=1", "DuplicateRecords", "OffsetsAtoB", "11110", "11101", "dc2"),
    FAILED("record-missing", "a:md.dropEvery=4", "RecordsMissing", "MessagesAtoB", "11100", "01000", "dc2"),
    FAILED("record-missing-back", "b:md.dropEvery=4", "RecordsMissing", "MessagesBothWays", "11100", "11100", "dc1"),
    FAILED("record-missing-late", "@LagDrained.Mark b:md.dropEvery=2", "RecordsMissing", "OffsetsBtoA", "11101", "11110", "dc1"),
    FAILED("altered-key", "a:md.alter=1", "RecordAltered", "MessagesAtoB", "11100", "01000", "key"),
    FAILED("altered-value", "b:md.alter=2", "RecordAltered", "MessagesBothWays", "11100", "11100", "value"),
    FAILED("altered-header", "a:md.alter=3", "RecordAltered", "MessagesAtoB", "11100", "01000", "header"),
    FAILED("altered-headers-gone", "a:md.alter=6", "RecordAltered", "MessagesAtoB", "11100", "01000", "header"),
    FAILED("altered-timestamp", "a:md.alter=4", "RecordAltered", "MessagesAtoB", "11100", "01000", "timestamp"),
    FAILED("altered-partition", "b:md.alter=5", "RecordAltered", "MessagesBothWays", "11100", "11100", "partition"),
    FAILED("stalled", "a:md.stall=1", "DistributionStalled", "MessagesAtoB", "11100", "01000", "stands still"),
    FAILED("stalled-back", "@MessagesBothWays.Settle b:md.stall=1", "DistributionStalled", "MessagesBothWays", "11100", "11100",
           "stands still"),
    FAILED("not-subscribed", "a:md.skipPartition=1", "TopicNotSubscribed", "MessagesAtoB", "11100", "01000", "partition 1"),
    FAILED("group-right-missing", "a:init.skip=1", "AclMissing", "MessagesAtoB", "11100", "01000", "dc1"),
    FAILED("group-right-missing-back", "b:init.skip=1", "AclMissing", "MessagesBothWays", "11100", "11100", "dc2"),
    FAILED("topic-read-missing", "a:init.skip=2", "AclMissing", "MessagesAtoB", "11100", "01000", "dc1"),
    FAILED("task-failed", "a:md.failAfter=500", "TaskFailed", "MessagesAtoB", "11100", "01000", "made to fail"),
    FAILED("task-failed-late", "@MessagesBothWays.Settle b:task.fail", "TaskFailed", "MessagesBothWays", "11100", "11100", "dc2"),
    FAILED("connector-failed", "@MessagesAtoB.Held a:connector.fail", "ConnectorFailed", "MessagesAtoB", "11100", "01000", "Invalid value"),
    FAILED("auto-restarted", "@MessagesBothWays.Settle a:connector.autoRestarted=1", "TaskFailed", "MessagesBothWays", "11100", "11100",
           "restarted"),
    FAILED("plugin-missing", "a:plugin.missing", "PluginMissing", "MessagesAtoB", "11100", "01000", "MessageDistributor"),
    FAILED("log-error", "@MessagesAtoB.Held a:log=ERROR [dc1-message-distributor-level-1|task-0] Something broke (io.x.Y)", "LogsNotClean",
           "MessagesAtoB", "11100", "01000", "Something broke"),
    FAILED("log-out-of-memory", "@MessagesBothWays.Settle b:log=java.lang.OutOfMemoryError: Java heap space", "LogsNotClean",
           "MessagesBothWays", "11100", "11100", "OutOfMemoryError"),
    FAILED("values-reverted", "@MessagesAtoB.Held a:values.revert", "ValuesReverted", "MessagesAtoB", "01000", "01000", "gitops"),
    FAILED("values-changed", "@MessagesBothWays.Settle b:values.edit", "ValuesChanged", "MessagesBothWays", "11100", "11110",
           "kubectl-edit"),
    FAILED("principal-removed-in-mid-run", "@MessagesBothWays.Settle b:principals.remoteMissing", "ValuesChanged", "MessagesBothWays",
           "11100", "11100", "no longer lists User:CN=dist-dc1"),
    FAILED("partitions-changed-in-mid-run", "@MessagesBothWays.Settle a:topic.partitions=2", "TopicUnsuitable", "MessagesBothWays", "11100",
           "11100", "it had 3 when the run began"),
    FAILED("compacted-in-mid-run", "@Persisted.BeforeA b:topic.compacted", "TopicUnsuitable", "Persisted", "11111", "11111", "compacted"),
    ERROR("values-gone-in-mid-run", "@MessagesBothWays.Settle a:values.remove", "ValuesNotFound", "MessagesBothWays", "?????", "11100",
          "dc1-distributor-values"),
    ERROR("values-not-applied", "@MessagesAtoB.Write a:applier.refuse=1", "ValuesNotApplied", "MessagesAtoB", "11100", "01000",
          "KafkaConnector dc1-message-distributor-level-1"),
    ERROR("kafka-unreachable", "a:kafka.down", "ClusterUnreachable", "Preflight", "01000", "01000", "dc1"),
    ERROR("kafka-unreachable-later", "@MessagesBothWays.Settle b:kafka.down", "ClusterUnreachable", "MessagesBothWays", "11100", "11100",
          "dc2"),
    ERROR("pod-down-later", "@MessagesAtoB.Held a:pod.down", "ConnectNotReady", "MessagesAtoB", "11100", "01000", "CrashLoopBackOff"),
    UNSURE("open-transaction", "@MessagesAtoB.Held b:topic.openTransaction", "OpenTransaction", "MessagesAtoB", "11100", "01000",
           "open transaction"),
    FAILED("foreign-connector-later", "@MessagesAtoB.Held b:connector.foreign", "UnexpectedConnectorRunning", "MessagesAtoB", "11100",
           "01000", "mirror"),

    FAILED("stray-connector", "@MessagesAtoB.Held a:connector.stray", "UnexpectedConnectorRunning", "MessagesAtoB", "11100", "01000",
           "offset-distributor"),
    FAILED("log-right-refused",
           "@MessagesBothWays.Settle a:log=WARN [dc1-message-distributor-level-1|task-0] [Consumer clientId=c, groupId=g] Not authorized "
           "to read from "
           "partition distribution-test-0. (org.apache.kafka.clients.consumer.internals.FetchCollector)",
           "AclMissing", "MessagesBothWays", "11100", "11100", "dc1"),
    ERROR("connector-never-starts", "a:connector.startDelay=100000000", "StageDeadlineExceeded", "MessagesAtoB", "11100", "01000",
          "KafkaConnector dc1-message-distributor-level-1"),
    ERROR("run-deadline", "a:topic.noise=200; a:md.delay=30000", "RunDeadlineExceeded", "MessagesAtoB", "11100", "01000",
          "spec.deadlines.run"),

    /* lag */
    FAILED("lag-not-drained", "@MessagesBothWays.SettleFar+2900 b:md.delay=30000; @MessagesBothWays.SettleFar+2950 b:topic.noise=60",
           "LagNotDrained", "LagDrained", "11100", "11100", "partition"),

    /* offsets */
    FAILED("timestamps-topic-missing", "a:init.noTopic=1; b:init.noTopic=1", "TimestampsTopicNotFound", "OffsetsAtoB", "11100", "11101",
           "_distributor-timestamps"),
    FAILED("timestamps-write-missing", "b:init.skip=8", "AclMissing", "OffsetsAtoB", "11100", "11101", "dc2"),
    FAILED("timestamps-read-missing", "b:init.skip=16", "AclMissing", "OffsetsAtoB", "11100", "11101", "dc2"),
    FAILED("timestamp-record-missing", "a:od.silent=1", "TimestampRecordMissing", "OffsetsAtoB", "11110", "11101",
           "Offset Distributor of dc1"),
    FAILED("timestamp-record-missing-back", "b:od.silent=1", "TimestampRecordMissing", "OffsetsBtoA", "11101", "11110",
           "Offset Distributor of dc2"),
    UNSURE("timestamp-record-not-seen", "a:od.silent=1; @OffsetsAtoB.Before b:group.follow", "TimestampRecordNotSeen", "OffsetsAtoB",
           "11110", "11101", "_distributor-timestamps"),
    FAILED("offset-not-moved", "b:oc.ignore=1", "OffsetNotMoved", "OffsetsAtoB", "11110", "11101", "Offset Committer of dc2"),
    FAILED("offset-not-moved-back", "a:oc.ignore=1", "OffsetNotMoved", "OffsetsBtoA", "11101", "11110", "Offset Committer of dc1"),
    FAILED("offset-not-moved-in-one-partition", "b:oc.onlyPartitions=2", "OffsetNotMoved", "OffsetsAtoB", "11110", "11101", "partition 2"),
    FAILED("offset-ahead", "b:oc.ahead=1", "OffsetAhead", "OffsetsAtoB", "11110", "11101", "skip"),
    FAILED("offset-ahead-back", "a:oc.ahead=2", "OffsetAhead", "OffsetsBtoA", "11101", "11110", "dc1"),
    FAILED("offset-beyond-end", "b:oc.beyondEnd=5", "OffsetBeyondLogEnd", "OffsetsAtoB", "11110", "11101", "log end"),
    FAILED("offset-behind", "b:oc.behind=4", "OffsetBehindTolerance", "OffsetsAtoB", "11110", "11101", "behind"),
    UNSURE("timestamps-out-of-order", "@OffsetsAtoB.Before b:topic.future=1; @OffsetsAtoB.Before+200 b:topic.noise=30",
           "TimestampsOutOfOrder", "OffsetsAtoB", "11110", "11101", "out-of-order"),
    {"near-offset-reset", "@OffsetsAtoB.Moved a:group.set=1", "Passed", "Passed", "Persisted", "11111", "11111", "verified", false, false,
     1},
    UNSURE("group-gets-members", "@OffsetsAtoB.Before b:group.members=1", "GroupActive", "OffsetsAtoB", "11110", "11101", "members"),
    UNSURE("group-gets-new-protocol-members", "@OffsetsAtoB.Before b:group.newProtocol", "GroupActive", "OffsetsAtoB", "11110", "11101",
           "new consumer protocol"),
    FAILED("offset-distributor-fails", "@OffsetsAtoB.DistributorHeld a:task.fail=od", "TaskFailed", "OffsetsAtoB", "11110", "11101",
           "Offset Distributor"),
    FAILED("offset-committer-fails", "@OffsetsAtoB.Moved b:task.fail=oc", "TaskFailed", "OffsetsAtoB", "11110", "11101",
           "Offset Committer"),
    FAILED("echo", "a:od.previous=1; b:od.previous=1; a:oc.backwards=1; b:oc.backwards=1", "OffsetEcho", "Persisted", "11111", "11111",
           "echo"),
    FAILED("offset-rewound", "@Persisted.BeforeA b:oc.rewind=3", "OffsetRewound", "Persisted", "11111", "11111", "dc2"),
    FAILED("values-reverted-at-the-end", "@Persisted.EchoB a:values.revert", "ValuesReverted", "Persisted", "01000", "11111", "gitops"),
    FAILED("loop-at-the-end", "@Persisted.AllHeld a:md.ignoreFlags=1; @Persisted.AllHeld b:md.ignoreFlags=1", "LoopDetected", "Persisted",
           "11111", "11011", "level"),

    /* people */
    {"aborted", "@MessagesBothWays.Settle abort", "Aborted", "Aborted", "MessagesBothWays", "11100", "11100", "abort", false, false, 0},
};
const size_t sim_case_count = sizeof sim_cases / sizeof sim_cases[0];

/* Every reason a stage, condition or event can carry, in one table: name, verdict it stands for, what a person should do. The
 * documentation and the tests are made from it. */
#ifndef DV_MODEL_REASONS_H
#define DV_MODEL_REASONS_H

enum model_verdict { MODEL_NO_VERDICT, MODEL_PASSED, MODEL_FAILED, MODEL_ERROR, MODEL_INCONCLUSIVE, MODEL_ABORTED };

#define MODEL_REASONS(X)                                                                                                            \
    X(None, NO_VERDICT, "")                                                                                                         \
    X(ClusterUnreachable, ERROR, "check that it answers from where the controller runs")                                            \
    X(CRDTooOld, ERROR, "apply the CRD of the controller's version")                                                                \
    X(ConnectNotReady, ERROR, "look at the Kafka Connect pods")                                                                     \
    X(AuthenticationFailed, ERROR, "check spec.clusters.*.kafka.authentication for Kafka, kubeConfig for an API server")            \
    X(CertificateInvalid, ERROR, "check trustedCertificates and certificateAndKey")                                                 \
    X(SecretNotFound, ERROR, "create the Secret or correct its name and key")                                                       \
    X(PermissionMissing, ERROR, "give the right that is named, or correct the name in the spec")                                    \
    X(ValuesNotFound, ERROR, "create the values object or correct spec.clusters.*.distributor.values")                              \
    X(ValuesInvalid, ERROR, "correct the values or the path in the spec that is named")                                             \
    X(ValuesNotApplied, ERROR, "look at the tool that applies the values and at the names in the spec")                             \
    X(ValuesReverted, FAILED, "find out what put the old values back")                                                              \
    X(ValuesChanged, FAILED, "find out who changed the values during the run")                                                      \
    X(SameKafkaCluster, FAILED, "correct bootstrapServers")                                                                         \
    X(TopicNotFound, FAILED, "create the test topic on both clusters")                                                              \
    X(TopicUnsuitable, FAILED, "use a test topic with equal partition counts, CreateTime, no compaction and long enough retention") \
    X(GroupNotEmpty, FAILED, "use a test group without members")                                                                    \
    X(DistributionAlreadyOn, FAILED, "switch distribution off or set spec.takeOver")                                                \
    X(PrincipalNotListed, FAILED, "add the principal to init.principals or correct the principals in the spec")                     \
    X(InitJobFailed, FAILED, "look at the init job's log")                                                                          \
    X(TimestampsTopicNotFound, FAILED, "check spec.timestampsTopic and the init job")                                               \
    X(ForeignReplicator, FAILED, "stop what copies records between the clusters")                                                   \
    X(UnexpectedConnectorRunning, FAILED, "remove the connector or correct the connector names in the spec")                        \
    X(GroupActive, INCONCLUSIVE, "stop the members of the test group")                                                              \
    X(AclMissing, FAILED, "add the principal to init.principals of the cluster that is named")                                      \
    X(ConnectorFailed, FAILED, "look at the connector's trace")                                                                     \
    X(TaskFailed, FAILED, "look at the task's trace")                                                                               \
    X(PluginMissing, FAILED, "use an image that holds the connector's class")                                                       \
    X(LogsNotClean, FAILED, "look at the log line")                                                                                 \
    X(LoopDetected, FAILED, "check the distribution model and the level configuration")                                             \
    X(RedeliverySuspected, INCONCLUSIVE, "nothing; it is tried again")                                                              \
    X(DuplicateRecords, FAILED, "check whether two Distributors write to one target")                                               \
    X(OpenTransaction, INCONCLUSIVE, "end the open transaction on the test topic")                                                  \
    X(RecordsMissing, FAILED, "check level, left-over copy flags and filters")                                                      \
    X(TopicNotSubscribed, FAILED, "check the Message Distributor's topics pattern")                                                 \
    X(DistributionStalled, FAILED, "look at the Message Distributor")                                                               \
    X(LagNotDrained, FAILED, "look at the partition that is named")                                                                 \
    X(RecordAltered, FAILED, "check transforms and converters")                                                                     \
    X(TimestampRecordNotSeen, INCONCLUSIVE, "check spec.timestampsTopic")                                                           \
    X(TimestampRecordMissing, FAILED, "look at the Offset Distributor")                                                             \
    X(TimestampsOutOfOrder, INCONCLUSIVE, "keep other producers off the test topic")                                                \
    X(OffsetNotMoved, FAILED, "look at the Offset Committer there")                                                                 \
    X(OffsetBeyondLogEnd, FAILED, "look at the Offset Committer there")                                                             \
    X(OffsetAhead, FAILED, "look at the Offset Committer there")                                                                    \
    X(OffsetRewound, FAILED, "find out what moved the offset back")                                                                 \
    X(OffsetBehindTolerance, FAILED, "look at the Offset Committer there or raise checks.behindTolerance")                          \
    X(OffsetEcho, FAILED,                                                                                                           \
      "look at the Offset Committer there, its tolerance for older offsets, and who else sets offsets of the test group")           \
    X(ValuesNotPersisted, FAILED, "write what is live into the values")                                                             \
    X(StageDeadlineExceeded, ERROR, "look at what is waited for")                                                                   \
    X(RunDeadlineExceeded, ERROR, "look at what is waited for")                                                                     \
    X(EffectUnknown, INCONCLUSIVE, "nothing; it is tried again with new ids")                                                       \
    X(StageNotAvailable, ERROR, "use a version that has this stage")                                                                \
    X(InvalidSpec, ERROR, "correct the field that is named")                                                                        \
    X(Conflict, NO_VERDICT, "wait for the other verification or delete it")                                                         \
    X(Aborted, ABORTED, "nothing")                                                                                                  \
    X(SpecChanged, ABORTED, "nothing; a new run starts")                                                                            \
    X(Passed, PASSED, "")                                                                                                           \
    X(Stale, NO_VERDICT, "set the annotation distverify.io/reverify")                                                               \
    X(Running, NO_VERDICT, "")                                                                                                      \
    X(Pending, NO_VERDICT, "")                                                                                                      \
    X(Suspended, NO_VERDICT, "set spec.suspend to false")

enum model_reason {
#define X(name, verdict, todo) REASON_##name,
    MODEL_REASONS(X)
#undef X
        MODEL_REASON_COUNT
};

const char *model_reason_name(enum model_reason reason); /* "" for None */
enum model_verdict model_reason_verdict(enum model_reason reason);
const char *model_reason_todo(enum model_reason reason);
int model_reason_parse(const char *name, enum model_reason *reason); /* 0 or -1 */
const char *model_verdict_name(enum model_verdict verdict);

#endif

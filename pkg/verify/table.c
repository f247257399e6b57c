#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "verify/guards.h"
#include "verify/tables.h"

/* The nine stages as tables. A stage waits in one step at a time; the first row of the step whose guard is true applies. */

#define STEP(name, what, demanded, row, late, resume)    \
    {                                                    \
        name, what, demanded, row, REASON_##late, resume \
    }

/* ---------------------------------------------------------------- rows that several stages share */

#define APPLY_ROWS(write, applied_step, on)                                                                                \
    ROW(write, declared_all, nothing, OUT_GO, None, applied_step), ROW(write, always, write_values, OUT_WAIT, None, NULL), \
        ROW(applied_step, applied, turn_progress, OUT_GO, None, on), ROW(applied_step, always, nothing, OUT_WAIT, None, NULL)

#define ON_ROWS(on, held, next)                                                                                                      \
    ROW(on, connectors_on, nothing, OUT_GO, None, held), ROW(on, partition_unassigned, nothing, OUT_STOP, TopicNotSubscribed, NULL), \
        ROW(on, always, nothing, OUT_WAIT, None, NULL), ROW(held, connectors_held, nothing, OUT_GO, None, next),                     \
        ROW(held, connectors_fell, nothing, OUT_GO, None, on), ROW(held, always, nothing, OUT_WAIT, None, NULL)

#define ARRIVE_ROWS(arrive, guard, next)                                                                                    \
    ROW(arrive, records_missing, nothing, OUT_STOP, RecordsMissing, NULL), ROW(arrive, guard, nothing, OUT_GO, None, next), \
        ROW(arrive, partition_unassigned, nothing, OUT_STOP, TopicNotSubscribed, NULL),                                     \
        ROW(arrive, distribution_stalled, nothing, OUT_STOP, DistributionStalled, NULL),                                    \
        ROW(arrive, always, nothing, OUT_WAIT, None, NULL)

#define SETTLE_ROWS(pass, settle, next)                                                                                                  \
    ROW(pass, records_missing, nothing, OUT_STOP, RecordsMissing, NULL), ROW(pass, commits_passed, nothing, OUT_GO, None, settle),       \
        ROW(pass, distribution_stalled, nothing, OUT_STOP, DistributionStalled, NULL), ROW(pass, always, nothing, OUT_WAIT, None, NULL), \
        ROW(settle, commits_behind, nothing, OUT_GO, None, pass), ROW(settle, settled, nothing, OUT_GO, None, next),                     \
        ROW(settle, always, nothing, OUT_WAIT, None, NULL)

#define OFFSET_ROWS(before, reader, barrier, copied, commit, moved, next)                                                                 \
    ROW(before, before_steady, nothing, OUT_GO, None, reader), ROW(before, always, nothing, OUT_WAIT, None, NULL),                        \
        ROW(reader, ts_reader_ready, nothing, OUT_GO, None, barrier), ROW(reader, always, nothing, OUT_WAIT, None, NULL),                 \
        ROW(barrier, always, produce_barrier, OUT_GO, None, copied),                                                                      \
        ROW(copied, records_missing, nothing, OUT_STOP, RecordsMissing, NULL), ROW(copied, barrier_known, nothing, OUT_GO, None, commit), \
        ROW(copied, distribution_stalled, nothing, OUT_STOP, DistributionStalled, NULL),                                                  \
        ROW(copied, always, nothing, OUT_WAIT, None, NULL), ROW(commit, always, commit_barrier, OUT_GO, None, moved),                     \
        ROW(moved, near_reset, nothing, OUT_UNSURE, GroupActive, NULL),                                                                   \
        ROW(moved, offset_beyond_end, nothing, OUT_STOP, OffsetBeyondLogEnd, NULL),                                                       \
        ROW(moved, offset_ahead, nothing, OUT_STOP, OffsetAhead, NULL), ROW(moved, offset_proven, note_offsets, OUT_GO, None, next),      \
        ROW(moved, near_moved_disturbed, nothing, OUT_UNSURE, OffsetEcho, NULL),                                                          \
        ROW(moved, near_moved, nothing, OUT_STOP, OffsetEcho, NULL),                                                                      \
        ROW(moved, ts_not_seen_late, nothing, OUT_STOP, TimestampRecordNotSeen, NULL),                                                    \
        ROW(moved, ts_missing_late, nothing, OUT_STOP, TimestampRecordMissing, NULL),                                                     \
        ROW(moved, timestamps_out_of_order, nothing, OUT_STOP, TimestampsOutOfOrder, NULL),                                               \
        ROW(moved, offset_not_moved_late, nothing, OUT_STOP, OffsetNotMoved, NULL),                                                       \
        ROW(moved, offset_behind_late, nothing, OUT_STOP, OffsetBehindTolerance, NULL), ROW(moved, always, nothing, OUT_WAIT, None, NULL)

/* What Preflight asked of the test topic must still be so when the counting ends. */
#define TOPIC_ROWS(step)                                                \
    ROW(step, topic_not_found, nothing, OUT_STOP, TopicNotFound, NULL), \
        ROW(step, topic_unsuitable, nothing, OUT_STOP, TopicUnsuitable, NULL)

#define OFFSET_STEPS(side, row)                                                                                      \
    STEP("Before" side, "the far offset to stay unchanged for one window", true, row, None, NULL),                   \
        STEP("Reader" side, "the reader of the timestamps topic to be positioned", false, row, None, "Before" side), \
        STEP("Barrier" side, NULL, false, row, None, "Before" side),                                                 \
        STEP("Copied" side, "the barrier records to arrive", false, row, None, "Before" side),                       \
        STEP("Commit" side, NULL, false, row, None, "Before" side),                                                  \
        STEP("Moved" side, "the offset to follow the commit", false, row, None, "Before" side)

/* Only reported, unless it is ahead. */
#define EQUAL_ROWS(next)                                                                                                                 \
    ROW("Equal", always, produce_equal, OUT_GO, None, "EqualCopied"),                                                                    \
        ROW("EqualCopied", records_missing, nothing, OUT_STOP, RecordsMissing, NULL),                                                    \
        ROW("EqualCopied", barrier_known, nothing, OUT_GO, None, "EqualCommit"),                                                         \
        ROW("EqualCopied", distribution_stalled, nothing, OUT_STOP, DistributionStalled, NULL),                                          \
        ROW("EqualCopied", always, nothing, OUT_WAIT, None, NULL), ROW("EqualCommit", always, commit_equal, OUT_GO, None, "EqualMoved"), \
        ROW("EqualMoved", near_reset, nothing, OUT_UNSURE, GroupActive, NULL),                                                           \
        ROW("EqualMoved", offset_beyond_end, nothing, OUT_STOP, OffsetBeyondLogEnd, NULL),                                               \
        ROW("EqualMoved", offset_ahead, nothing, OUT_STOP, OffsetAhead, NULL),                                                           \
        ROW("EqualMoved", offset_proven, note_equal, OUT_GO, None, next),                                                                \
        ROW("EqualMoved", equal_late, note_equal_late, OUT_GO, None, next), ROW("EqualMoved", always, nothing, OUT_WAIT, None, NULL)

#define EQUAL_STEPS(row)                                                                               \
    STEP("Equal", NULL, false, row, None, "Start"),                                                    \
        STEP("EqualCopied", "the records with equal timestamps to arrive", false, row, None, "Start"), \
        STEP("EqualCommit", NULL, false, row, None, "Start"),                                          \
        STEP("EqualMoved", "the offset among equal timestamps to follow", false, row, None, "Start")

static bool offset_proven(struct turn *t)
{
    return offset_right(t) && ts_seen(t);
}

/* ---------------------------------------------------------------- Preflight */

static const struct verify_step steps_preflight[] = {
    STEP("Look", "answers of both API servers and both Kafka clusters", false, ROW_NOTHING, None, NULL),
};
static const struct verify_row rows_preflight[] = {
    ROW("Look", access_missing, nothing, OUT_STOP, PermissionMissing, NULL),
    ROW("Look", connect_unusable, nothing, OUT_STOP, ConnectNotReady, NULL),
    ROW("Look", plugin_not_listed, nothing, OUT_STOP, PluginMissing, NULL),
    ROW("Look", flush_too_long, nothing, OUT_STOP, InvalidSpec, NULL),
    ROW("Look", cluster_same, nothing, OUT_STOP, SameKafkaCluster, NULL),
    ROW("Look", topic_not_found, nothing, OUT_STOP, TopicNotFound, NULL),
    ROW("Look", topic_unsuitable, nothing, OUT_STOP, TopicUnsuitable, NULL),
    ROW("Look", partitions_too_many, nothing, OUT_STOP, TopicUnsuitable, NULL),
    ROW("Look", group_not_empty, nothing, OUT_STOP, GroupNotEmpty, NULL),
    ROW("Look", distribution_on, nothing, OUT_STOP, DistributionAlreadyOn, NULL),
    ROW("Look", preflight_unknown, nothing, OUT_WAIT, None, NULL),
    ROW("Look", always, remember_before, OUT_PASS, Passed, NULL),
};

/* ---------------------------------------------------------------- InitA, InitB */

#define INIT_STEPS(row)                                                                              \
    STEP("Principals", "the values to be known", false, row - 1, None, NULL),                        \
        STEP("Write", "the values to be written", false, row, None, NULL),                           \
        STEP("Applied", "the values to be applied", false, row, ValuesNotApplied, NULL),             \
        STEP("Job", "this revision's init job to finish", false, row, ValuesNotApplied, NULL),       \
        STEP("Connect", "KafkaConnect and its pods to be ready", false, row, ConnectNotReady, NULL), \
        STEP("Off", "all connectors to be off", false, row, None, NULL),                             \
        STEP("Quiet", "all connectors to stay off", true, row, None, "Off"),                         \
        STEP("Acls", "the remote principals' ACLs", false, row, None, NULL)

#define INIT_ROWS                                                                                                                      \
    ROW("Principals", values_unknown, nothing, OUT_WAIT, None, NULL),                                                                  \
        ROW("Principals", principals_unreadable, nothing, OUT_STOP, ValuesInvalid, NULL),                                              \
        ROW("Principals", principal_not_listed, nothing, OUT_STOP, PrincipalNotListed, NULL),                                          \
        ROW("Principals", always, own_principal_note, OUT_GO, None, "Write"), APPLY_ROWS("Write", "Applied", "Job"),                   \
        ROW("Job", init_job_failed, nothing, OUT_STOP, InitJobFailed, NULL), ROW("Job", init_job_open, nothing, OUT_WAIT, None, NULL), \
        ROW("Job", always, job_seen, OUT_GO, None, "Connect"), ROW("Connect", connect_not_ready, nothing, OUT_WAIT, None, NULL),       \
        ROW("Connect", always, nothing, OUT_GO, None, "Off"), ROW("Off", not_quiet, nothing, OUT_WAIT, None, NULL),                    \
        ROW("Off", always, nothing, OUT_GO, None, "Quiet"), ROW("Quiet", quiet_held, nothing, OUT_GO, None, "Acls"),                   \
        ROW("Quiet", quiet_ended, nothing, OUT_GO, None, "Off"), ROW("Quiet", always, nothing, OUT_WAIT, None, NULL),                  \
        ROW("Acls", acls_late, nothing, OUT_STOP, AclMissing, NULL)

static const struct verify_step steps_init_a[] = {INIT_STEPS(ROW_INIT_A)};
static const struct verify_row rows_init_a[] = {
    INIT_ROWS,
    ROW("Acls", acls_effective, nothing, OUT_PASS, Passed, NULL),
    ROW("Acls", always, nothing, OUT_WAIT, None, NULL),
};

static const struct verify_step steps_init_b[] = {
    INIT_STEPS(ROW_INIT_B),
    STEP("Marks", "the log ends of the test topic", false, ROW_INIT_B, None, NULL),
    STEP("Control", "the readers to stand at the log end", false, ROW_INIT_B, None, NULL),
    STEP("ControlFar", NULL, false, ROW_INIT_B, None, "Control"),
    STEP("Unreplicated", "records of the negative control to stay where they were produced", true, ROW_INIT_B, None, NULL),
};
static const struct verify_row rows_init_b[] = {
    INIT_ROWS,
    ROW("Acls", acls_effective, nothing, OUT_GO, None, "Marks"),
    ROW("Acls", always, nothing, OUT_WAIT, None, NULL),
    ROW("Marks", marks_taken, nothing, OUT_GO, None, "Control"),
    ROW("Marks", always, take_marks, OUT_WAIT, None, NULL),
    ROW("Control", readers_ready, produce_near, OUT_GO, None, "ControlFar"),
    ROW("Control", always, nothing, OUT_WAIT, None, NULL),
    ROW("ControlFar", always, produce_far, OUT_GO, None, "Unreplicated"),
    ROW("Unreplicated", replicated_while_off, nothing, OUT_STOP, ForeignReplicator, NULL),
    ROW("Unreplicated", control_settled, nothing, OUT_PASS, Passed, NULL),
    ROW("Unreplicated", always, nothing, OUT_WAIT, None, NULL),
};

/* ---------------------------------------------------------------- messages */

#define ON_STEPS(write, applied_step, on, held, row)                                        \
    STEP(write, "the values to be written", false, row, None, NULL),                        \
        STEP(applied_step, "the values to be applied", false, row, ValuesNotApplied, NULL), \
        STEP(on, "the connectors to be on", false, row, None, NULL), STEP(held, "the connectors to stay on", true, row, None, on)

static const struct verify_step steps_messages_a[] = {
    ON_STEPS("Write", "Applied", "On", "Held", ROW_MESSAGES_A),
    STEP("Produce", "the readers to stand at the log end", false, ROW_MESSAGES_A, None, NULL),
    STEP("Arrive", "the records to arrive", false, ROW_MESSAGES_A, None, NULL),
    STEP("Passed", "the Message Distributor to commit past the records", false, ROW_MESSAGES_A, None, NULL),
};
static const struct verify_row rows_messages_a[] = {
    APPLY_ROWS("Write", "Applied", "On"),
    ON_ROWS("On", "Held", "Produce"),
    ROW("Produce", readers_ready, produce_near, OUT_GO, None, "Arrive"),
    ROW("Produce", always, nothing, OUT_WAIT, None, NULL),
    ARRIVE_ROWS("Arrive", near_arrived, "Passed"),
    ROW("Passed", records_missing, nothing, OUT_STOP, RecordsMissing, NULL),
    ROW("Passed", near_passed, nothing, OUT_PASS, Passed, NULL),
    ROW("Passed", distribution_stalled, nothing, OUT_STOP, DistributionStalled, NULL),
    ROW("Passed", always, nothing, OUT_WAIT, None, NULL),
};

static const struct verify_step steps_messages_both[] = {
    ON_STEPS("Write", "Applied", "On", "Held", ROW_MESSAGES_B),
    STEP("Produce", "the readers to stand at the log end", false, ROW_MESSAGES_B, None, NULL),
    STEP("Arrive", "the records to arrive", false, ROW_MESSAGES_B, None, NULL),
    STEP("Passed", "both Message Distributors to commit past the records", false, ROW_MESSAGES_B, None, NULL),
    STEP("Settle", "extra copies that must not come", true, ROW_MESSAGES_B, None, "Passed"),
    STEP("ProduceFar", "the readers to stand at the log end again", false, ROW_MESSAGES_B, None, NULL),
    STEP("ArriveFar", "the far records to arrive", false, ROW_MESSAGES_B, None, NULL),
    STEP("PassedFar", "both Message Distributors to commit past the far records", false, ROW_MESSAGES_B, None, NULL),
    STEP("SettleFar", "extra copies of the far records that must not come", true, ROW_MESSAGES_B, None, "PassedFar"),
};
static const struct verify_row rows_messages_both[] = {
    APPLY_ROWS("Write", "Applied", "On"),
    ON_ROWS("On", "Held", "Produce"),
    ROW("Produce", readers_ready, produce_near, OUT_GO, None, "Arrive"),
    ROW("Produce", always, nothing, OUT_WAIT, None, NULL),
    ARRIVE_ROWS("Arrive", near_arrived, "Passed"),
    SETTLE_ROWS("Passed", "Settle", "ProduceFar"),
    ROW("ProduceFar", readers_ready, produce_far, OUT_GO, None, "ArriveFar"),
    ROW("ProduceFar", always, nothing, OUT_WAIT, None, NULL),
    ARRIVE_ROWS("ArriveFar", both_arrived, "PassedFar"),
    ROW("PassedFar", records_missing, nothing, OUT_STOP, RecordsMissing, NULL),
    ROW("PassedFar", commits_passed, nothing, OUT_GO, None, "SettleFar"),
    ROW("PassedFar", distribution_stalled, nothing, OUT_STOP, DistributionStalled, NULL),
    ROW("PassedFar", always, nothing, OUT_WAIT, None, NULL),
    ROW("SettleFar", commits_behind, nothing, OUT_GO, None, "PassedFar"),
    ROW("SettleFar", settled, nothing, OUT_PASS, Passed, NULL),
    ROW("SettleFar", always, nothing, OUT_WAIT, None, NULL),
};

/* ---------------------------------------------------------------- lag */

/* Records are produced only when those of before cannot be counted: the stage is tried again because they were delivered twice. */
static const struct verify_step steps_lag[] = {
    STEP("Produce", "the readers to stand at the log end", false, ROW_MESSAGES_B, None, NULL),
    STEP("ProduceFar", NULL, false, ROW_MESSAGES_B, None, "Produce"),
    STEP("Arrive", "the records to arrive", false, ROW_MESSAGES_B, None, "Produce"),
    STEP("Mark", "the log ends of the test topic", false, ROW_MESSAGES_B, None, NULL),
    STEP("Drain", "both Message Distributors to reach the mark", false, ROW_MESSAGES_B, LagNotDrained, "Mark"),
    STEP("SecondMark", "the log ends of the test topic, again", false, ROW_MESSAGES_B, None, NULL),
    STEP("SecondDrain", "both Message Distributors to reach the second mark", false, ROW_MESSAGES_B, LagNotDrained, "SecondMark"),
    STEP("ReadAgain", NULL, false, ROW_MESSAGES_B, None, NULL),
    STEP("Counted", "the test topic to be read again", false, ROW_MESSAGES_B, None, "ReadAgain"),
};
static const struct verify_row rows_lag[] = {
    ROW("Produce", both_counted, nothing, OUT_GO, None, "Mark"),
    ROW("Produce", readers_ready, produce_near, OUT_GO, None, "ProduceFar"),
    ROW("Produce", always, nothing, OUT_WAIT, None, NULL),
    ROW("ProduceFar", always, produce_far, OUT_GO, None, "Arrive"),
    ARRIVE_ROWS("Arrive", both_arrived, "Mark"),
    ROW("Mark", mark_known, set_mark, OUT_GO, None, "Drain"),
    ROW("Mark", always, nothing, OUT_WAIT, None, NULL),
    ROW("Drain", mark_reached, nothing, OUT_GO, None, "SecondMark"),
    ROW("Drain", always, nothing, OUT_WAIT, None, NULL),
    ROW("SecondMark", mark_known, set_mark, OUT_GO, None, "SecondDrain"),
    ROW("SecondMark", always, nothing, OUT_WAIT, None, NULL),
    ROW("SecondDrain", mark_reached, nothing, OUT_GO, None, "ReadAgain"),
    ROW("SecondDrain", second_mark_late, nothing, OUT_GO, None, "SecondMark"),
    ROW("SecondDrain", always, nothing, OUT_WAIT, None, NULL),
    ROW("ReadAgain", always, read_again, OUT_GO, None, "Counted"),
    TOPIC_ROWS("Counted"),
    ROW("Counted", read_again_and_lag_asked, note_group_lag, OUT_PASS, Passed, NULL),
    ROW("Counted", read_again_missing, nothing, OUT_STOP, RecordsMissing, NULL),
    ROW("Counted", always, nothing, OUT_WAIT, None, NULL),
};

/* ---------------------------------------------------------------- offsets */

#define OFFSETS_STEPS(committer, distributor)                                                                \
    ON_STEPS("WriteCommitter", "AppliedCommitter", "CommitterOn", "CommitterHeld", committer),               \
        STEP("TimestampsTopic", "the timestamps topic", false, committer, None, NULL),                       \
        ON_STEPS("WriteDistributor", "AppliedDistributor", "DistributorOn", "DistributorHeld", distributor), \
        STEP("Start", NULL, false, distributor, None, NULL), OFFSET_STEPS("", distributor)

#define OFFSETS_ROWS                                                                                                                 \
    APPLY_ROWS("WriteCommitter", "AppliedCommitter", "CommitterOn"),                                                                 \
        ROW("CommitterOn", ts_topic_missing, nothing, OUT_STOP, TimestampsTopicNotFound, NULL),                                      \
        ROW("CommitterOn", committer_elsewhere, nothing, OUT_STOP, TimestampsTopicNotFound, NULL),                                   \
        ON_ROWS("CommitterOn", "CommitterHeld", "TimestampsTopic"),                                                                  \
        ROW("TimestampsTopic", ts_topic_ready, nothing, OUT_GO, None, "WriteDistributor"),                                           \
        ROW("TimestampsTopic", ts_topic_missing, nothing, OUT_STOP, TimestampsTopicNotFound, NULL),                                  \
        ROW("TimestampsTopic", ts_write_late, nothing, OUT_STOP, AclMissing, NULL),                                                  \
        ROW("TimestampsTopic", always, nothing, OUT_WAIT, None, NULL),                                                               \
        APPLY_ROWS("WriteDistributor", "AppliedDistributor", "DistributorOn"), ON_ROWS("DistributorOn", "DistributorHeld", "Start"), \
        ROW("Start", always, start_before, OUT_GO, None, "Before"),                                                                  \
        OFFSET_ROWS("Before", "Reader", "Barrier", "Copied", "Commit", "Moved", "Equal"), EQUAL_ROWS("Done"),                        \
        ROW("Done", always, nothing, OUT_PASS, Passed, NULL)

static bool ts_write_late(struct turn *t)
{
    char path[PRINCIPALS_PATH_TEXT];
    const struct verify_right *right = &turn_side(t, t->far)->write_ts;
    int64_t due = t->m->step_since_ms + verify_arrival_ms(t->s);
    if (t->now < due)
        turn_wake(t, due);
    if (!turn_side(t, t->far)->ts_topic.found || right->allowed || t->now < due)
        return false;
    turn_say(t, "%s %s Write on topic %s of Kafka cluster %s; check %s of %s and its init job", right->principal,
             right->denied ? "is denied" : "lacks", turn_cluster(t, t->far)->timestamps_topic, turn_name(t, t->far),
             principals_path(t, t->far, path), turn_name(t, t->far));
    return true;
}

static const struct verify_step steps_offsets_ab[] = {
    OFFSETS_STEPS(ROW_OFFSETS_7A, ROW_OFFSETS_7B),
    EQUAL_STEPS(ROW_OFFSETS_7B),
    STEP("Done", NULL, false, ROW_OFFSETS_7B, None, "Start"),
};
static const struct verify_step steps_offsets_ba[] = {
    OFFSETS_STEPS(ROW_OFFSETS_8A, ROW_OFFSETS_8B),
    EQUAL_STEPS(ROW_OFFSETS_8B),
    STEP("Done", NULL, false, ROW_OFFSETS_8B, None, "Start"),
};
static const struct verify_row rows_offsets[] = {OFFSETS_ROWS};

/* ---------------------------------------------------------------- Persisted */

#define ECHO_ROWS(echo, next)                                                                                                      \
    ROW(echo, echo_ahead, nothing, OUT_STOP, OffsetEcho, NULL), ROW(echo, offset_rewound, nothing, OUT_STOP, OffsetRewound, NULL), \
        ROW(echo, echo_behind_disturbed, nothing, OUT_UNSURE, OffsetEcho, NULL),                                                   \
        ROW(echo, echo_behind, nothing, OUT_STOP, OffsetEcho, NULL), ROW(echo, echo_quiet, nothing, OUT_GO, None, next),           \
        ROW(echo, echo_moving, nothing, OUT_STOP, OffsetEcho, NULL), ROW(echo, always, nothing, OUT_WAIT, None, NULL)

static const struct verify_step steps_persisted[] = {
    STEP("WriteCommitters", "the values to be written", false, ROW_PERSIST_9A, None, NULL),
    STEP("AppliedCommitters", "the values to be applied", false, ROW_PERSIST_9A, ValuesNotApplied, NULL),
    STEP("CommittersOn", "the connectors to be on", false, ROW_PERSIST_9A, None, NULL),
    ON_STEPS("WriteAll", "AppliedAll", "AllOn", "AllHeld", ROW_PERSIST_9B),
    STEP("Produce", "the readers to stand at the log end", false, ROW_PERSIST_9B, None, NULL),
    STEP("ProduceFar", NULL, false, ROW_PERSIST_9B, None, NULL),
    STEP("Arrive", "the records to arrive", false, ROW_PERSIST_9B, None, NULL),
    STEP("Passed", "both Message Distributors to commit past the records", false, ROW_PERSIST_9B, None, NULL),
    STEP("Settle", "extra copies that must not come", true, ROW_PERSIST_9B, None, "Passed"),
    STEP("StartA", NULL, false, ROW_PERSIST_9B, None, NULL),
    OFFSET_STEPS("A", ROW_PERSIST_9B),
    STEP("EchoA", "the offsets of both sides to stay for two windows", true, ROW_PERSIST_9B, None, "StartA"),
    STEP("StartB", NULL, false, ROW_PERSIST_9B, None, NULL),
    OFFSET_STEPS("B", ROW_PERSIST_9B),
    STEP("EchoB", "the offsets of both sides to stay for two windows", true, ROW_PERSIST_9B, None, "StartB"),
    STEP("ReadAgain", NULL, false, ROW_PERSIST_9B, None, NULL),
    STEP("Counted", "the test topic to be read again", false, ROW_PERSIST_9B, None, "ReadAgain"),
    STEP("WriteFinally", "the values to be written as spec.clusters.*.distributor.finally says", false, ROW_FINALLY, None, NULL),
    STEP("AppliedFinally", "the values to be applied", false, ROW_FINALLY, ValuesNotApplied, NULL),
    STEP("Done", NULL, false, ROW_FINALLY, None, NULL),
};
static const struct verify_row rows_persisted[] = {
    APPLY_ROWS("WriteCommitters", "AppliedCommitters", "CommittersOn"),
    ROW("CommittersOn", connectors_on, nothing, OUT_GO, None, "WriteAll"),
    ROW("CommittersOn", always, nothing, OUT_WAIT, None, NULL),
    APPLY_ROWS("WriteAll", "AppliedAll", "AllOn"),
    ON_ROWS("AllOn", "AllHeld", "Produce"),
    ROW("Produce", readers_ready, produce_near, OUT_GO, None, "ProduceFar"),
    ROW("Produce", always, nothing, OUT_WAIT, None, NULL),
    ROW("ProduceFar", always, produce_far, OUT_GO, None, "Arrive"),
    ARRIVE_ROWS("Arrive", both_arrived, "Passed"),
    SETTLE_ROWS("Passed", "Settle", "StartA"),
    ROW("StartA", always, start_before, OUT_GO, None, "BeforeA"),
    OFFSET_ROWS("BeforeA", "ReaderA", "BarrierA", "CopiedA", "CommitA", "MovedA", "EchoA"),
    ECHO_ROWS("EchoA", "StartB"),
    ROW("StartB", always, start_before, OUT_GO, None, "BeforeB"),
    OFFSET_ROWS("BeforeB", "ReaderB", "BarrierB", "CopiedB", "CommitB", "MovedB", "EchoB"),
    ECHO_ROWS("EchoB", "ReadAgain"),
    ROW("ReadAgain", always, read_again, OUT_GO, None, "Counted"),
    TOPIC_ROWS("Counted"),
    ROW("Counted", read_again_complete, nothing, OUT_GO, None, "WriteFinally"),
    ROW("Counted", read_again_missing, nothing, OUT_STOP, RecordsMissing, NULL),
    ROW("Counted", always, nothing, OUT_WAIT, None, NULL),
    APPLY_ROWS("WriteFinally", "AppliedFinally", "Done"),
    ROW("Done", values_not_persisted, nothing, OUT_STOP, ValuesNotPersisted, NULL),
    ROW("Done", always, nothing, OUT_PASS, Passed, NULL),
};

/* ---------------------------------------------------------------- every stage */

const struct verify_row verify_early_rows[] = {
    ROW(NULL, secret_missing, nothing, OUT_STOP, SecretNotFound, NULL),
    ROW(NULL, credentials_refused, nothing, OUT_STOP, AuthenticationFailed, NULL),
    ROW(NULL, certificate_unusable, nothing, OUT_STOP, CertificateInvalid, NULL),
    ROW(NULL, right_missing, nothing, OUT_STOP, PermissionMissing, NULL),
    ROW(NULL, values_gone, nothing, OUT_STOP, ValuesNotFound, NULL),
    ROW(NULL, values_unusable, nothing, OUT_STOP, ValuesInvalid, NULL),
    ROW(NULL, values_reverted, nothing, OUT_STOP, ValuesReverted, NULL),
    ROW(NULL, values_changed, nothing, OUT_STOP, ValuesChanged, NULL),
    ROW(NULL, connector_unexpected, nothing, OUT_STOP, UnexpectedConnectorRunning, NULL),
    ROW(NULL, records_deleted, nothing, OUT_STOP, TopicUnsuitable, NULL),
    ROW(NULL, log_cut_off, nothing, OUT_STOP, TopicUnsuitable, NULL),
    ROW(NULL, partitions_changed, nothing, OUT_STOP, TopicUnsuitable, NULL),
    ROW(NULL, group_active, nothing, OUT_STOP, GroupActive, NULL),
    ROW(NULL, acls_open, nothing, OUT_WAIT, None, NULL),
    ROW(NULL, acl_missing, nothing, OUT_STOP, AclMissing, NULL),
    ROW(NULL, plugin_missing, nothing, OUT_STOP, PluginMissing, NULL),
    ROW(NULL, connector_failed, nothing, OUT_STOP, ConnectorFailed, NULL),
    ROW(NULL, task_failed, nothing, OUT_STOP, TaskFailed, NULL),
    ROW(NULL, logs_open, nothing, OUT_WAIT, None, NULL),
    ROW(NULL, logs_disturbed, nothing, OUT_UNSURE, LogsNotClean, NULL),
    ROW(NULL, logs_dirty, nothing, OUT_STOP, LogsNotClean, NULL),
    ROW(NULL, loop_seen, nothing, OUT_STOP, LoopDetected, NULL),
    ROW(NULL, redelivery_suspected, nothing, OUT_STOP, RedeliverySuspected, NULL),
    ROW(NULL, records_duplicated, nothing, OUT_STOP, DuplicateRecords, NULL),
    ROW(NULL, transaction_open, nothing, OUT_STOP, OpenTransaction, NULL),
    ROW(NULL, record_altered, nothing, OUT_STOP, RecordAltered, NULL),
    ROW(NULL, extra_watched, nothing, OUT_WAIT, None, NULL),
    ROW(NULL, values_open, nothing, OUT_WAIT, None, NULL),
};
const size_t verify_early_row_count = sizeof verify_early_rows / sizeof verify_early_rows[0];

/* Tried when a step waits. */
const struct verify_row verify_late_rows[] = {
    ROW(NULL, unreachable_late, nothing, OUT_STOP, ClusterUnreachable, NULL),
    ROW(NULL, connect_late, nothing, OUT_STOP, ConnectNotReady, NULL),
    ROW(NULL, values_late, nothing, OUT_STOP, ValuesNotApplied, NULL),
    ROW(NULL, drain_late, nothing, OUT_STOP, LagNotDrained, NULL),
    ROW(NULL, run_late, nothing, OUT_STOP, RunDeadlineExceeded, NULL),
    ROW(NULL, stage_late, nothing, OUT_STOP, StageDeadlineExceeded, NULL),
};
const size_t verify_late_row_count = sizeof verify_late_rows / sizeof verify_late_rows[0];

/* After a loop: B's Message Distributor off again, in whichever stage. */
static const struct verify_step step_disable = {
    "DisableLast", "the Message Distributor that was switched on last to be off again", false, ROW_LOOP_OFF, REASON_None, NULL,
};

#define TABLE(steps, rows, retry)                                                                \
    {                                                                                            \
        steps, sizeof(steps) / sizeof((steps)[0]), rows, sizeof(rows) / sizeof((rows)[0]), retry \
    }

const struct verify_table verify_tables[MODEL_STAGES] = {
    [STAGE_PREFLIGHT] = TABLE(steps_preflight, rows_preflight, "Look"),
    [STAGE_INIT_A] = TABLE(steps_init_a, rows_init_a, "Principals"),
    [STAGE_INIT_B] = TABLE(steps_init_b, rows_init_b, "Control"),
    [STAGE_MESSAGES_A_TO_B] = TABLE(steps_messages_a, rows_messages_a, "Produce"),
    [STAGE_MESSAGES_BOTH_WAYS] = TABLE(steps_messages_both, rows_messages_both, "Produce"),
    [STAGE_LAG_DRAINED] = TABLE(steps_lag, rows_lag, "Produce"),
    [STAGE_OFFSETS_A_TO_B] = TABLE(steps_offsets_ab, rows_offsets, "Start"),
    [STAGE_OFFSETS_B_TO_A] = TABLE(steps_offsets_ba, rows_offsets, "Start"),
    [STAGE_PERSISTED] = TABLE(steps_persisted, rows_persisted, "Produce"),
};

const struct verify_step *table_step(enum model_stage stage, const char *name)
{
    const struct verify_table *table = &verify_tables[stage];
    for (size_t i = 0; i < table->step_count; i++)
        if (dv_streq(table->steps[i].name, name))
            return &table->steps[i];
    return dv_streq(name, step_disable.name) ? &step_disable : &table->steps[0];
}

/* ---------------------------------------------------------------- the normative table of switches */

bool table_switches(const struct model_spec *spec, enum switch_row row, enum model_side side, struct model_switches *out)
{
    static const char *const rows[ROW_FINALLY][MODEL_SIDES] = {
        [ROW_NOTHING] = {NULL, NULL},          [ROW_INIT_A] = {"01000", NULL},        [ROW_INIT_B] = {"01000", "01000"},
        [ROW_MESSAGES_A] = {"11100", "01000"}, [ROW_MESSAGES_B] = {"11100", "11100"}, [ROW_OFFSETS_7A] = {"11100", "11101"},
        [ROW_OFFSETS_7B] = {"11110", "11101"}, [ROW_OFFSETS_8A] = {"11101", "11101"}, [ROW_OFFSETS_8B] = {"11101", "11110"},
        [ROW_PERSIST_9A] = {"11101", "11111"}, [ROW_PERSIST_9B] = {"11111", "11111"},
    };
    if (row == ROW_FINALLY) {
        *out = spec->cluster[side].distributor.finally;
        return true;
    }
    if (row >= ROW_FINALLY || rows[row][side] == NULL)
        return false;
    for (int i = 0; i < MODEL_SWITCHES; i++)
        out->on[i] = rows[row][side][i] == '1';
    return true;
}

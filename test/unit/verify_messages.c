#include "../support/scene.h"

/* Negative control, arrival, settling, lag, reading again. */

#define ARRIVAL 35000 /* the scene's flush interval + 30 s */
#define SETTLE 30000
#define FLUSH 5000

static void readers_at_end(struct scene *scene)
{
    for (int side = 0; side < MODEL_SIDES; side++) {
        scene->s.side[side].reader_at_ms = scene->s.now.mono_ms;
        memcpy(scene->side[side].next, scene->side[side].test_log.high, sizeof scene->side[side].next);
    }
}

static void later(struct scene *scene, int64_t ms)
{
    scene_later(scene, ms);
    readers_at_end(scene);
}

/* ---------------------------------------------------------------- arrival */

static size_t produced(struct scene *scene)
{
    size_t batch = scene_batch(scene, MODEL_A, STAGE_MESSAGES_A_TO_B, 3);
    scene_see(scene, batch, MODEL_A, 100, NULL);
    return batch;
}

static void not_arrived(struct scene *scene)
{
    (void)produced(scene);
}

static void not_even_seen_at_home(struct scene *scene)
{
    size_t batch = scene_batch(scene, MODEL_A, STAGE_MESSAGES_A_TO_B, 3);
    scene_see(scene, batch, MODEL_B, 200, "\1");
}

static void arrived_and_committed(struct scene *scene)
{
    (void)scene_copied(scene, MODEL_A, STAGE_MESSAGES_A_TO_B, 3);
}

static void arrived_below_commit(struct scene *scene)
{
    arrived_and_committed(scene);
    scene_offsets_all(scene->side[MODEL_A].md.high, 102); /* the next one to read is the last record */
}

static void arrived_just_committed(struct scene *scene)
{
    arrived_and_committed(scene);
    scene_offsets_all(scene->side[MODEL_A].md.high, 103);
}

static void arrived_commit_missing(struct scene *scene)
{
    arrived_and_committed(scene);
    scene_offsets_all(scene->side[MODEL_A].md.high, -1);
}

static void arrived_commit_of_fewer_partitions(struct scene *scene)
{
    arrived_and_committed(scene);
    scene->side[MODEL_A].md.fact.partitions = 1;
}

static void arrived_commit_not_known(struct scene *scene)
{
    arrived_and_committed(scene);
    scene->s.side[MODEL_A].stamp[VF_MD_COMMITS].as_of_ms = scene->memory.step_since_ms - 1;
}

static void one_partition_missing(struct scene *scene)
{
    arrived_and_committed(scene);
    scene_offsets_all(scene->side[MODEL_A].md.high, 50);
    for (int i = 3; i < 6; i++)
        scene->probes.probes[i].on[MODEL_B].count = 0;
}

static void lost_first_look(struct scene *scene)
{
    (void)produced(scene);
    scene_offsets_all(scene->side[MODEL_A].md.high, 300);
}

static void lost(struct scene *scene)
{
    lost_first_look(scene);
    scene->memory.look_ms = scene->s.now.mono_ms;
    later(scene, FLUSH + 1000);
}

static void lost_by_a_reader_that_is_behind(struct scene *scene)
{
    lost(scene);
    scene_offsets_all(scene->side[MODEL_B].next, 99);
}

static void lost_doubtful(struct scene *scene)
{
    lost(scene);
    scene->status.run.batches[0].maybe = scene->probes.batches[0].maybe = true;
}

static void stalled(struct scene *scene)
{
    (void)produced(scene);
    scene->memory.best_commit = 1000;
    scene->memory.best_copies = 1000;
    later(scene, ARRIVAL - SCENE_AGE);
}

static void nearly_stalled(struct scene *scene)
{
    stalled(scene);
    scene->memory.progress_ms++;
}

/* Others write to the topic, and the Message Distributor reads them in one partition; the other one stands. */
static void stalled_in_one_partition(struct scene *scene)
{
    stalled(scene);
    scene->memory.best_commit = 203; /* all of the first, none of ours in the second */
    scene->side[MODEL_A].md.high[0] = 5000;
    scene->side[MODEL_A].test_log.high[0] = 9000;
}

static void stalled_without_a_member(struct scene *scene)
{
    stalled(scene);
    scene->side[MODEL_A].groups[MODEL_MD].state = FACT_GROUP_EMPTY;
    scene->side[MODEL_A].groups[MODEL_MD].members = 0;
}

static void stalled_group_not_looked_at(struct scene *scene)
{
    stalled(scene);
    scene->s.side[MODEL_A].stamp[VF_GROUPS].as_of_ms = scene->memory.step_since_ms;
}

static void stalled_but_disturbed(struct scene *scene)
{
    stalled(scene);
    scene->memory.disturbed_ms = scene->s.now.mono_ms - 1000;
}

static void stalled_but_commits_grow(struct scene *scene)
{
    stalled(scene);
    scene->memory.best_commit = 0;
}

static void stalled_out_of_reach(struct scene *scene)
{
    stalled(scene);
    scene_fail(scene, MODEL_B, VF_TEST_LOG, DV_ERR_UNREACHABLE);
}

static void unassigned(struct scene *scene)
{
    stalled(scene);
    scene->side[MODEL_A].groups[MODEL_MD].assignment_count = 1;
}

static void unassigned_elsewhere(struct scene *scene)
{
    stalled(scene);
    scene->side[MODEL_A].assigned[1].topic = scene->spec->cluster[MODEL_A].group;
}

static void unassigned_while_rebalancing(struct scene *scene)
{
    unassigned(scene);
    scene->side[MODEL_A].groups[MODEL_MD].state = FACT_GROUP_REBALANCING;
}

#define ARRIVE(name, change, want, reason, text)                                   \
    {                                                                              \
        name, STAGE_MESSAGES_A_TO_B, "Arrive", change, want, REASON_##reason, text \
    }
#define PASSED(name, change, want, reason, text)                                   \
    {                                                                              \
        name, STAGE_MESSAGES_A_TO_B, "Passed", change, want, REASON_##reason, text \
    }

static const struct scene_case arrival[] = {
    ARRIVE("not arrived", not_arrived, WANT_STEP, None, "Arrive"),
    ARRIVE("not seen at home", not_even_seen_at_home, WANT_STEP, None, "Arrive"),
    ARRIVE("one partition missing", one_partition_missing, WANT_STEP, None, "Arrive"),
    ARRIVE("arrived and committed", arrived_and_committed, WANT_STAGE, None, NULL),
    ARRIVE("arrived, commit below", arrived_below_commit, WANT_STEP, None, "Passed"),
    ARRIVE("lost, first look", lost_first_look, WANT_STEP, None, "Arrive"),
    ARRIVE("lost", lost, WANT_FAILED, RecordsMissing, "did not arrive on dc2 although the Message Distributor of dc1"),
    ARRIVE("lost, reader behind", lost_by_a_reader_that_is_behind, WANT_STEP, None, "Arrive"),
    ARRIVE("doubtful records are not missed", lost_doubtful, WANT_STEP, None, "Arrive"),
    ARRIVE("stalled", stalled, WANT_FAILED, DistributionStalled, "stands still for 35 s"),
    ARRIVE("stalled in one partition", stalled_in_one_partition, WANT_FAILED, DistributionStalled, "(partition 0)"),
    ARRIVE("stalled, its task is held back", stalled_without_a_member, WANT_STEP, None, "Arrive"),
    ARRIVE("stalled, the group not looked at since", stalled_group_not_looked_at, WANT_STEP, None, "Arrive"),
    ARRIVE("nearly stalled", nearly_stalled, WANT_STEP, None, "Arrive"),
    ARRIVE("stalled after a disturbance", stalled_but_disturbed, WANT_STEP, None, "Arrive"),
    ARRIVE("commits grow", stalled_but_commits_grow, WANT_STEP, None, "Arrive"),
    ARRIVE("out of reach", stalled_out_of_reach, WANT_STEP, None, "Arrive"),
    ARRIVE("unassigned", unassigned, WANT_FAILED, TopicNotSubscribed,
           "reads no partition 1 of topic distribution-test: its topics are \".*\""),
    ARRIVE("unassigned, other topic", unassigned_elsewhere, WANT_FAILED, TopicNotSubscribed, "no partition 1"),
    ARRIVE("rebalancing", unassigned_while_rebalancing, WANT_FAILED, DistributionStalled, NULL),
    PASSED("committed", arrived_just_committed, WANT_STAGE, None, NULL),
    PASSED("commit below", arrived_below_commit, WANT_STEP, None, "Passed"),
    PASSED("commit missing is unknown", arrived_commit_missing, WANT_STEP, None, "Passed"),
    PASSED("commit of fewer partitions", arrived_commit_of_fewer_partitions, WANT_STEP, None, "Passed"),
    PASSED("commit not known", arrived_commit_not_known, WANT_STEP, None, "Passed"),
};

static void records_arrive_or_not(void **state)
{
    (void)state;
    SCENE_RUN_CASES(arrival);
}

/* ---------------------------------------------------------------- settle */

/* Both ways; what must hold has held since `ms` ago. */
static void settling(struct scene *scene, int64_t ms)
{
    (void)scene_copied(scene, MODEL_A, STAGE_MESSAGES_BOTH_WAYS, 3);
    readers_at_end(scene);
    scene->memory.hold_since_ms = scene->s.now.mono_ms - ms;
}

static void settled_now(struct scene *scene)
{
    settling(scene, SETTLE);
}

static void settled_not_yet(struct scene *scene)
{
    settling(scene, SETTLE - 1);
}

static void settled_b_below(struct scene *scene)
{
    settling(scene, SETTLE);
    scene_offsets_all(scene->side[MODEL_B].md.high, 202);
}

/* Nothing moved for longer than arrival: that is what settling is. */
static void settled_b_below_idle(struct scene *scene)
{
    settled_b_below(scene);
    scene->memory.progress_ms -= ARRIVAL;
}

static void settled_commits_unknown(struct scene *scene)
{
    settled_b_below(scene);
    scene->s.side[MODEL_B].stamp[VF_MD_COMMITS].as_of_ms = scene->memory.step_since_ms - 1;
}

static void settled_reader_behind(struct scene *scene)
{
    settling(scene, SETTLE);
    scene->side[MODEL_A].next[1]--;
}

static void settled_by_old_log(struct scene *scene)
{
    settling(scene, SETTLE);
    scene->s.side[MODEL_A].stamp[VF_TEST_LOG].as_of_ms = scene->s.now.mono_ms - 1;
}

static const struct scene_case settle[] = {
    {"settled", STAGE_MESSAGES_BOTH_WAYS, "Settle", settled_now, WANT_STEP, REASON_None, "ArriveFar"},
    {"not yet", STAGE_MESSAGES_BOTH_WAYS, "Settle", settled_not_yet, WANT_STEP, REASON_None, "Settle"},
    {"B's commit below the copies", STAGE_MESSAGES_BOTH_WAYS, "Settle", settled_b_below, WANT_STEP, REASON_None, "Passed"},
    {"B's commit below the far copies", STAGE_MESSAGES_BOTH_WAYS, "SettleFar", settled_b_below, WANT_STEP, REASON_None, "PassedFar"},
    {"after the messages were proved", STAGE_PERSISTED, "Settle", settled_b_below, WANT_STEP, REASON_None, "Passed"},
    {"the commits are not known", STAGE_MESSAGES_BOTH_WAYS, "Settle", settled_commits_unknown, WANT_STEP, REASON_None, "Settle"},
    {"a step back waits anew", STAGE_MESSAGES_BOTH_WAYS, "Settle", settled_b_below_idle, WANT_STEP, REASON_None, "Passed"},
    {"reader behind", STAGE_MESSAGES_BOTH_WAYS, "Settle", settled_reader_behind, WANT_STEP, REASON_None, "Settle"},
    {"old log end", STAGE_MESSAGES_BOTH_WAYS, "Settle", settled_by_old_log, WANT_STEP, REASON_None, "Settle"},
    {"both must have passed before", STAGE_MESSAGES_BOTH_WAYS, "Passed", settled_b_below, WANT_STEP, REASON_None, "Passed"},
};

static void settle_time_is_demanded(void **state)
{
    (void)state;
    SCENE_RUN_CASES(settle);
}

/* A fall starts it again; not knowing neither ends nor completes it. */
static void a_fall_starts_the_hold_again(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_MESSAGES_BOTH_WAYS, "Settle");
    settling(scene, 10000);
    int64_t since = scene->memory.hold_since_ms;
    assert_int_equal(scene_decide(scene)->memory.hold_since_ms, since);
    scene->s.side[MODEL_B].stamp[VF_MD_COMMITS].as_of_ms = scene->memory.step_since_ms - 1;
    assert_int_equal(scene_decide(scene)->memory.hold_since_ms, since);
    scene_fresh(scene);
    scene_offsets_all(scene->side[MODEL_B].md.high, 202);
    assert_int_equal(scene_decide(scene)->memory.hold_since_ms, 0);
    scene_adopt(scene);
    scene_fresh(scene);
    scene_offsets_all(scene->side[MODEL_B].md.high, 300);
    assert_string_equal(scene_decide(scene)->memory.step, "Settle");
    scene_adopt(scene);
    scene_fresh(scene);
    assert_int_equal(scene_decide(scene)->memory.hold_since_ms, scene->s.now.mono_ms);
    scene_free(scene);
}

/* ---------------------------------------------------------------- negative control */

static void controls(struct scene *scene)
{
    for (int side = 0; side < MODEL_SIDES; side++)
        scene_see(scene, scene_batch(scene, (enum model_side)side, STAGE_INIT_B, 3), (enum model_side)side, 100, NULL);
    readers_at_end(scene);
    scene->memory.hold_since_ms = scene->s.now.mono_ms - SETTLE;
}

static void control_not_settled(struct scene *scene)
{
    controls(scene);
    scene->memory.hold_since_ms++;
}

static void control_unseen(struct scene *scene)
{
    controls(scene);
    scene->probes.probes[7].on[MODEL_B].count = 0;
}

static void control_replicated(struct scene *scene)
{
    controls(scene);
    scene->probes.probes[7].on[MODEL_A].count = 1;
}

static void control_reader_behind(struct scene *scene)
{
    controls(scene);
    scene->side[MODEL_A].next[0] = 99;
}

static void readers_stand(struct scene *scene)
{
    readers_at_end(scene);
}

static void one_reader_only(struct scene *scene)
{
    scene->s.side[MODEL_B].reader_at_ms = 0;
}

static const struct scene_case control[] = {
    {"stays", STAGE_INIT_B, "Unreplicated", controls, WANT_STAGE, REASON_None, NULL},
    {"not settled", STAGE_INIT_B, "Unreplicated", control_not_settled, WANT_STEP, REASON_None, "Unreplicated"},
    {"unseen at home", STAGE_INIT_B, "Unreplicated", control_unseen, WANT_STEP, REASON_None, "Unreplicated"},
    {"reader behind", STAGE_INIT_B, "Unreplicated", control_reader_behind, WANT_STEP, REASON_None, "Unreplicated"},
    {"replicated", STAGE_INIT_B, "Unreplicated", control_replicated, WANT_FAILED, REASON_ForeignReplicator,
     "produced on dc2 arrived on dc1"},
    {"readers", STAGE_INIT_B, "Control", readers_stand, WANT_STEP, REASON_None, "ControlFar"},
    {"one reader", STAGE_INIT_B, "Control", one_reader_only, WANT_STEP, REASON_None, "Control"},
};

static void nothing_else_replicates(void **state)
{
    (void)state;
    SCENE_RUN_CASES(control);
}

/* ---------------------------------------------------------------- lag */

static void marks(struct scene *scene)
{
    for (int side = 0; side < MODEL_SIDES; side++)
        scene_offsets_all(scene->memory.mark[side], 100);
}

static void drained(struct scene *scene)
{
    marks(scene);
}

static void one_behind(struct scene *scene)
{
    marks(scene);
    scene->side[MODEL_B].md.high[1] = 99;
}

static void lag_is(struct scene *scene, int64_t records)
{
    one_behind(scene);
    (void)scene_distance(scene, MODEL_B,
                         (struct verify_distance){.partition = 1, .from = 99, .to = 100, .before_ms = INT64_MAX, .records = records});
}

static void one_marker_behind(struct scene *scene)
{
    lag_is(scene, 0);
}

static void one_record_behind(struct scene *scene)
{
    lag_is(scene, 1);
}

/* Not within commit interval and margin: what was committed meanwhile says nothing about this mark. */
static void second_mark_missed(struct scene *scene)
{
    one_record_behind(scene);
    scene->memory.step_since_ms = scene->s.now.mono_ms - FLUSH - 30000;
}

static void missing_commit(struct scene *scene)
{
    marks(scene);
    scene->side[MODEL_A].md.high[0] = -1;
}

static void missing_commit_of_an_empty_partition(struct scene *scene)
{
    missing_commit(scene);
    scene->side[MODEL_A].test_log.low[0] = 100;
}

static void commits_of_fewer_partitions(struct scene *scene)
{
    marks(scene);
    scene->side[MODEL_A].md.fact.partitions = 1;
}

static void run_over(struct scene *scene)
{
    one_behind(scene);
    scene->status.run.started_ms = scene->s.now.wall_ms - scene->spec->run_deadline_ms;
}

static void records_gone(struct scene *scene)
{
    drained(scene);
    scene->side[MODEL_B].test_log.low[1] = 101;
}

static void records_of_before_gone(struct scene *scene)
{
    drained(scene);
    scene_offsets_all(scene->side[MODEL_B].test_log.low, 100);
}

static const struct scene_case lag[] = {
    {"drained", STAGE_LAG_DRAINED, "Drain", drained, WANT_STEP, REASON_None, "Counted"},
    {"one behind", STAGE_LAG_DRAINED, "Drain", one_behind, WANT_STEP, REASON_None, "Drain"},
    {"a marker behind", STAGE_LAG_DRAINED, "SecondDrain", one_marker_behind, WANT_STEP, REASON_None, "Counted"},
    {"a record behind", STAGE_LAG_DRAINED, "SecondDrain", one_record_behind, WANT_STEP, REASON_None, "SecondDrain"},
    {"second mark missed", STAGE_LAG_DRAINED, "SecondDrain", second_mark_missed, WANT_STEP, REASON_None, "SecondDrain"},
    {"missing commit", STAGE_LAG_DRAINED, "Drain", missing_commit, WANT_STEP, REASON_None, "Drain"},
    {"missing commit, empty partition", STAGE_LAG_DRAINED, "Drain", missing_commit_of_an_empty_partition, WANT_STEP, REASON_None,
     "Counted"},
    {"fewer partitions", STAGE_LAG_DRAINED, "Drain", commits_of_fewer_partitions, WANT_STEP, REASON_None, "Drain"},
    {"records deleted", STAGE_LAG_DRAINED, "Drain", records_gone, WANT_FAILED, REASON_TopicUnsuitable,
     "deleted from partition 1 of topic distribution-test on dc2 (it starts at offset 101 now)"},
    {"records of before deleted", STAGE_LAG_DRAINED, "Drain", records_of_before_gone, WANT_STEP, REASON_None, "Counted"},
    {"run over", STAGE_LAG_DRAINED, "Drain", run_over, WANT_FAILED, REASON_LagNotDrained, "offset 100 of partition 1 (now 99)"},
};

static void lag_is_drained_or_not(void **state)
{
    (void)state;
    SCENE_RUN_CASES(lag);
}

/* What lies between the commit and the mark is asked for. */
static void what_lags_is_looked_at(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_LAG_DRAINED, "SecondDrain");
    one_behind(scene);
    scene->side[MODEL_A].md.high[0] = 98;
    const struct verify_plan *plan = scene_decide(scene);
    assert_int_equal(plan->ask[MODEL_A] >> VF_DISTANCE & 1, 1);
    assert_int_equal(plan->ask[MODEL_B] >> VF_DISTANCE & 1, 1);
    assert_int_equal(plan->distance_count[MODEL_A], 1);
    assert_int_equal(plan->distances[MODEL_A][0].partition, 0);
    assert_int_equal(plan->distances[MODEL_A][0].from, 98);
    assert_int_equal(plan->distances[MODEL_A][0].to, 100);
    assert_int_equal(plan->distances[MODEL_B][0].partition, 1);
    scene->side[MODEL_A].md.high[0] = -1;
    assert_int_equal(scene_decide(scene)->ask[MODEL_A] >> VF_DISTANCE & 1, 0);
    scene_free(scene);
}

/* Records that were delivered twice around a restart count for nothing: before the lag can be judged again there must be new ones. */
static void lag_needs_records_that_count(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_LAG_DRAINED, "Produce");
    readers_at_end(scene);
    (void)scene_copied(scene, MODEL_A, STAGE_MESSAGES_BOTH_WAYS, 3);
    (void)scene_copied(scene, MODEL_B, STAGE_MESSAGES_BOTH_WAYS, 3);
    const struct verify_plan *plan = scene_decide(scene);
    assert_int_equal(plan->status.run.batch_count, 2);
    assert_string_not_equal(plan->memory.step, "Produce");
    scene->status.run.batches[1].maybe = true;
    plan = scene_decide(scene);
    assert_int_equal(plan->status.run.intent.kind, INTENT_RECORDS);
    assert_int_equal(plan->status.run.batch_count, 3);
    assert_string_equal(plan->memory.step, "ProduceFar");
    scene_free(scene);
}

/* ---------------------------------------------------------------- reading again */

static void read_again_done(struct scene *scene)
{
    (void)scene_copied(scene, MODEL_A, STAGE_MESSAGES_A_TO_B, 3);
    scene->memory.reread_ms = scene->s.now.mono_ms - 1000;
    readers_at_end(scene);
}

static void read_again_not_at_end(struct scene *scene)
{
    read_again_done(scene);
    scene->s.side[MODEL_B].reader_at_ms = 0;
}

static void read_again_and_gone(struct scene *scene)
{
    read_again_done(scene);
    scene->probes.probes[0].on[MODEL_B].count = 0;
    scene->memory.step_since_ms = scene->memory.progress_ms = scene->s.now.mono_ms - ARRIVAL;
}

static void group_lag_open(struct scene *scene)
{
    read_again_done(scene);
    scene->s.side[MODEL_B].stamp[VF_GROUP_LAG].as_of_ms = scene->memory.step_since_ms - 1;
}

static void group_lag_late(struct scene *scene)
{
    scene->memory.step_since_ms = scene->s.now.mono_ms - ARRIVAL;
    group_lag_open(scene);
}

static void group_lag_denied(struct scene *scene)
{
    read_again_done(scene);
    scene_fail(scene, MODEL_B, VF_GROUP_LAG, DV_ERR_DENIED);
}

static void group_lag_timed_out(struct scene *scene)
{
    read_again_done(scene);
    scene_fail(scene, MODEL_B, VF_GROUP_LAG, DV_ERR_TIMEOUT);
}

/* What cannot be seen now may be otherwise by now. */
static void again_values_out_of_sight(struct scene *scene)
{
    read_again_done(scene);
    scene_fail(scene, MODEL_B, VF_VALUES, DV_ERR_UNREACHABLE);
}

static void again_logs_out_of_sight(struct scene *scene)
{
    read_again_done(scene);
    scene_fail(scene, MODEL_A, VF_LOGS, DV_ERR_UNREACHABLE);
}

static void again_out_of_sight_for_too_long(struct scene *scene)
{
    again_logs_out_of_sight(scene);
    scene->memory.best_score = 1000;
    scene->memory.progress_ms = scene->s.now.mono_ms - scene->spec->stage_deadline_ms;
}

static void again_stopped(struct scene *scene)
{
    read_again_done(scene);
    scene->side[MODEL_B].health[MODEL_MD] = VERIFY_BLOCKED;
}

static void again_without_members(struct scene *scene)
{
    read_again_done(scene);
    scene->side[MODEL_B].groups[MODEL_MD].members = 0;
    scene->side[MODEL_B].groups[MODEL_MD].state = FACT_GROUP_EMPTY;
}

static void again_partitions_added(struct scene *scene)
{
    read_again_done(scene);
    scene->side[MODEL_A].test_log.fact.partitions = SCENE_PARTITIONS + 1;
}

static void again_partitions_added_on_both(struct scene *scene)
{
    again_partitions_added(scene);
    scene->side[MODEL_B].test_log.fact.partitions = SCENE_PARTITIONS + 1;
}

/* A log end that was asked for after a record of ours was read, and lies before it. */
static void again_made_anew(struct scene *scene)
{
    read_again_done(scene);
    scene->side[MODEL_B].test_log.high[1] = 202;
    scene_later(scene, 1);
    scene_fresh(scene);
}

static void again_log_end_of_before(struct scene *scene)
{
    again_made_anew(scene);
    scene->s.side[MODEL_B].stamp[VF_TEST_LOG].as_of_ms = scene->s.now.mono_ms - 1;
}

static void again_compacted(struct scene *scene)
{
    read_again_done(scene);
    scene->s.side[MODEL_B].test_topic.compacted = true;
}

static void again_topic_gone(struct scene *scene)
{
    read_again_done(scene);
    scene->s.side[MODEL_B].test_topic = (struct fact_topic){0};
}

static void again_topic_not_looked_at(struct scene *scene)
{
    read_again_done(scene);
    scene->s.side[MODEL_B].stamp[VF_TEST_TOPIC].as_of_ms = scene->memory.step_since_ms - 1;
}

static const struct scene_case again[] = {
    {"all there", STAGE_LAG_DRAINED, "Counted", read_again_done, WANT_STAGE, REASON_None, NULL},
    {"partitions were added", STAGE_LAG_DRAINED, "Counted", again_partitions_added, WANT_FAILED, REASON_TopicUnsuitable,
     "topic distribution-test on dc1 has 3 partitions now, it had 2 when the run began"},
    {"partitions were added on both", STAGE_PERSISTED, "Counted", again_partitions_added_on_both, WANT_FAILED, REASON_TopicUnsuitable,
     NULL},
    {"topic made anew", STAGE_LAG_DRAINED, "Counted", again_made_anew, WANT_FAILED, REASON_TopicUnsuitable,
     "partition 1 of topic distribution-test on dc2 ends at offset 202, before a record of this run (202)"},
    {"a log end of before", STAGE_LAG_DRAINED, "Counted", again_log_end_of_before, WANT_STAGE, REASON_None, NULL},
    {"compacted by now", STAGE_LAG_DRAINED, "Counted", again_compacted, WANT_FAILED, REASON_TopicUnsuitable, "on dc2 is compacted"},
    {"compacted in the end", STAGE_PERSISTED, "Counted", again_compacted, WANT_FAILED, REASON_TopicUnsuitable, "on dc2 is compacted"},
    {"topic gone", STAGE_LAG_DRAINED, "Counted", again_topic_gone, WANT_FAILED, REASON_TopicNotFound, "does not exist on dc2"},
    {"topic not looked at", STAGE_LAG_DRAINED, "Counted", again_topic_not_looked_at, WANT_STEP, REASON_None, "Counted"},
    {"topic not looked at, in the end", STAGE_PERSISTED, "Counted", again_topic_not_looked_at, WANT_STEP, REASON_None, "Counted"},
    {"not at the end", STAGE_LAG_DRAINED, "Counted", read_again_not_at_end, WANT_STEP, REASON_None, "Counted"},
    {"one is gone", STAGE_LAG_DRAINED, "Counted", read_again_and_gone, WANT_FAILED, REASON_RecordsMissing, "was gone"},
    {"values out of sight", STAGE_LAG_DRAINED, "Counted", again_values_out_of_sight, WANT_STEP, REASON_None, "Counted"},
    {"logs out of sight", STAGE_LAG_DRAINED, "Counted", again_logs_out_of_sight, WANT_STEP, REASON_None, "Counted"},
    {"logs out of sight for too long", STAGE_LAG_DRAINED, "Counted", again_out_of_sight_for_too_long, WANT_ERROR, REASON_ClusterUnreachable,
     NULL},
    {"a connector was stopped", STAGE_LAG_DRAINED, "Counted", again_stopped, WANT_STEP, REASON_None, "Counted"},
    {"a group without members", STAGE_LAG_DRAINED, "Counted", again_without_members, WANT_STEP, REASON_None, "Counted"},
    {"lag over all topics open", STAGE_LAG_DRAINED, "Counted", group_lag_open, WANT_STEP, REASON_None, "Counted"},
    {"lag over all topics late", STAGE_LAG_DRAINED, "Counted", group_lag_late, WANT_STAGE, REASON_None, NULL},
    {"lag over all topics denied", STAGE_LAG_DRAINED, "Counted", group_lag_denied, WANT_STAGE, REASON_None, NULL},
    {"lag over all topics timed out", STAGE_LAG_DRAINED, "Counted", group_lag_timed_out, WANT_STAGE, REASON_None, NULL},
};

static void the_topic_is_read_again(void **state)
{
    (void)state;
    SCENE_RUN_CASES(again);
}

/* ---------------------------------------------------------------- lag over all topics, in the evidence */

static int64_t evidence_number(const struct verify_plan *plan, size_t side, const char *key)
{
    const json_t *row = json_array_get(json_object_get(plan->status.stages[STAGE_LAG_DRAINED].evidence, "lag"), side);
    const json_t *number = json_object_get(row, key);
    return number != NULL ? json_integer_value(number) : -1;
}

static const char *evidence_note(const struct verify_plan *plan, size_t i)
{
    const char *text = json_string_value(json_array_get(json_object_get(plan->status.stages[STAGE_LAG_DRAINED].evidence, "notes"), i));
    return text != NULL ? text : "";
}

static void lag_over_all_topics_is_reported(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_LAG_DRAINED, "Counted");
    read_again_done(scene);
    scene->s.side[MODEL_A].group_lag = (struct fact_group_lag){.records = 5000000000, .partitions = 7};
    scene->s.side[MODEL_B].group_lag = (struct fact_group_lag){.records = 1, .partitions = 2000, .unseen = 3};
    const struct verify_plan *plan = scene_decide(scene);
    assert_int_equal(plan->status.stages[STAGE_LAG_DRAINED].state, STATE_PASSED);
    assert_int_equal(evidence_number(plan, 0, "lag"), 0);
    assert_int_equal(evidence_number(plan, 0, "groupLag"), 5000000000);
    assert_int_equal(evidence_number(plan, 0, "groupPartitions"), 7);
    assert_int_equal(evidence_number(plan, 0, "groupPartitionsUnseen"), -1);
    assert_int_equal(evidence_number(plan, 1, "groupLag"), 1);
    assert_int_equal(evidence_number(plan, 1, "groupPartitions"), 2000);
    assert_int_equal(evidence_number(plan, 1, "groupPartitionsUnseen"), 3);
    assert_string_equal(evidence_note(plan, 0), "");
    scene_free(scene);
}

/* It is asked for; that it cannot be had, and why, is a note; what failed is neither a verdict nor a disturbance. */
static void lag_over_all_topics_is_not_known(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_LAG_DRAINED, "Counted");
    group_lag_open(scene);
    const struct verify_plan *plan = scene_decide(scene);
    assert_int_equal(plan->ask[MODEL_A] >> VF_GROUP_LAG & 1, 0);
    assert_int_equal(plan->ask[MODEL_B] >> VF_GROUP_LAG & 1, 1);
    assert_non_null(strstr(plan->waits_for, "group on dc2 over all topics"));
    assert_true(plan->wake_ms <= scene->memory.step_since_ms + ARRIVAL);
    scene_fail(scene, MODEL_A, VF_GROUP_LAG, DV_ERR_UNREACHABLE);
    plan = scene_decide(scene);
    assert_int_equal(plan->memory.disturbed_ms, 0);
    group_lag_late(scene);
    scene_fail(scene, MODEL_A, VF_GROUP_LAG, DV_ERR_UNREACHABLE);
    plan = scene_decide(scene);
    assert_int_equal(plan->status.stages[STAGE_LAG_DRAINED].state, STATE_PASSED);
    assert_int_equal(evidence_number(plan, 0, "lag"), 0);
    assert_int_equal(evidence_number(plan, 0, "groupLag"), -1);
    assert_int_equal(evidence_number(plan, 1, "groupPartitions"), -1);
    assert_string_equal(evidence_note(plan, 0), "the lag of the Message Distributor's group on dc1 over all topics is not known: "
                                                "lag of the Message Distributor's whole group went wrong");
    assert_string_equal(evidence_note(plan, 1), "the lag of the Message Distributor's group on dc2 over all topics is not known: "
                                                "there was no answer within the arrival time");
    scene_free(scene);
}

/* What is not known is left out: nothing counted is not nothing behind. */
static void lag_that_is_not_known_is_not_told(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_LAG_DRAINED, "Counted");
    group_lag_late(scene);
    for (int side = 0; side < MODEL_SIDES; side++)
        scene->s.side[side].group_lag = (struct fact_group_lag){.unseen = 5};
    scene->side[MODEL_A].md.high[0] = -1;
    scene->side[MODEL_B].md.high[0] = -1;
    scene->side[MODEL_B].test_log.low[0] = scene->side[MODEL_B].test_log.high[0];
    const struct verify_plan *plan = scene_decide(scene);
    assert_int_equal(evidence_number(plan, 0, "lag"), -1);
    assert_int_equal(evidence_number(plan, 1, "lag"), 0);
    assert_int_equal(evidence_number(plan, 0, "groupLag"), -1);
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_arrive_or_not),
        cmocka_unit_test(settle_time_is_demanded),
        cmocka_unit_test(a_fall_starts_the_hold_again),
        cmocka_unit_test(nothing_else_replicates),
        cmocka_unit_test(lag_is_drained_or_not),
        cmocka_unit_test(what_lags_is_looked_at),
        cmocka_unit_test(the_topic_is_read_again),
        cmocka_unit_test(lag_over_all_topics_is_reported),
        cmocka_unit_test(lag_over_all_topics_is_not_known),
        cmocka_unit_test(lag_needs_records_that_count),
        cmocka_unit_test(lag_that_is_not_known_is_not_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

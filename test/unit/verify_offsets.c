#include "../support/scene.h"

/* What follows a commit on the near side: the barrier is the middle one of three records, its copy lies at RIGHT on the far side. */

#define RIGHT 201
#define SET 101
#define WINDOW 60000
#define COMMIT_PLUS 35000 /* commit interval + 30 s */
#define DEADLINE (2 * WINDOW + COMMIT_PLUS)

static enum model_side far_of(const struct scene *scene)
{
    return scene->status.stage == STAGE_OFFSETS_B_TO_A ? MODEL_A : MODEL_B;
}

static void barrier(struct scene *scene)
{
    enum model_side far = far_of(scene);
    (void)scene_copied(scene, model_far(far), scene->status.stage, 3);
    scene_offsets_all(scene->side[far].test_log.high, 300);
    scene_offsets_all(scene->memory.before, -1);
    scene_offsets_all(scene->memory.mark[model_far(far)], SET);
    scene_offsets_all(scene->side[model_far(far)].commits.high, SET);
    scene->s.side[far].ts_reader_at_ms = 1;
}

static void far_at(struct scene *scene, int64_t offset)
{
    scene_offsets_all(scene->side[far_of(scene)].commits.high, offset);
}

static void record_seen(struct scene *scene)
{
    scene->s.side[far_of(scene)].ts_seen = 1;
    scene->s.side[far_of(scene)].ts_last_ms = scene->s.now.mono_ms;
    scene->memory.ts_last_ms = scene->s.now.mono_ms;
    scene->memory.best_ts = 1;
}

/* Data records that lie between two offsets of a partition of the far side. */
static void records_between(struct scene *scene, int64_t from, int64_t to, int64_t records)
{
    enum model_side far = far_of(scene);
    const struct probe *middle = probes_find(&scene->probes, scene->probes.batch_count - 1, 0, 1);
    for (int32_t p = 0; p < SCENE_PARTITIONS; p++)
        (void)scene_distance(scene, far,
                             (struct verify_distance){
                                 .partition = p, .from = from, .to = to, .before_ms = middle->on[far].timestamp_ms, .records = records});
}

/* ---------------------------------------------------------------- right, ahead, behind */

static void nothing_yet(struct scene *scene)
{
    barrier(scene);
}

static void right_and_seen(struct scene *scene)
{
    barrier(scene);
    far_at(scene, RIGHT);
    record_seen(scene);
}

static void right_on_one_partition(struct scene *scene)
{
    right_and_seen(scene);
    scene->side[MODEL_B].commits.high[1] = -1;
}

static void right_but_not_seen(struct scene *scene)
{
    barrier(scene);
    far_at(scene, RIGHT);
}

/* The record came before the answer to our commit did. */
static void right_and_seen_early(struct scene *scene)
{
    right_and_seen(scene);
    scene->s.side[MODEL_B].ts_last_ms = scene->memory.step_since_ms - 100;
}

static void seen_before_our_commit(struct scene *scene)
{
    right_and_seen(scene);
    scene->memory.ts_base = 1;
}

static void right_as_before(struct scene *scene)
{
    right_and_seen(scene);
    scene_offsets_all(scene->memory.before, RIGHT);
}

static void one_ahead(struct scene *scene)
{
    barrier(scene);
    far_at(scene, RIGHT);
    scene->side[MODEL_B].commits.high[1] = RIGHT + 1;
}

static void ahead_and_a_member(struct scene *scene)
{
    one_ahead(scene);
    scene->side[MODEL_B].groups[VERIFY_TEST_GROUP].members = 1;
}

/* The group was last looked at before the offset was: a member may have moved it. */
static void ahead_and_group_unseen(struct scene *scene)
{
    one_ahead(scene);
    scene->s.side[MODEL_B].stamp[VF_GROUPS].as_of_ms = scene->memory.step_since_ms;
}

/* A stranger set the near offset after we did, and the far side follows that. */
static void near_set_by_a_stranger(struct scene *scene)
{
    one_ahead(scene);
    scene->side[model_far(far_of(scene))].commits.high[1] = SET + 1;
}

static void near_offset_gone(struct scene *scene)
{
    nothing_yet(scene);
    scene->side[MODEL_A].commits.high[0] = -1;
}

static void ahead_and_near_unseen(struct scene *scene)
{
    one_ahead(scene);
    scene->s.side[MODEL_A].stamp[VF_TEST_COMMITS].as_of_ms = scene->s.side[MODEL_B].stamp[VF_TEST_COMMITS].as_of_ms - 1;
}

/* An emptied source: the number was copied to a log that never had that many records. */
static void beyond_the_end(struct scene *scene)
{
    barrier(scene);
    far_at(scene, 400);
}

static void at_the_end(struct scene *scene)
{
    barrier(scene);
    far_at(scene, RIGHT);
    scene_offsets_all(scene->side[MODEL_B].test_log.high, RIGHT);
    record_seen(scene);
}

static void behind_by_nothing_but_markers(struct scene *scene)
{
    barrier(scene);
    far_at(scene, 190);
    records_between(scene, 190, RIGHT, 0);
    record_seen(scene);
}

static void behind_by_one(struct scene *scene)
{
    barrier(scene);
    far_at(scene, 200);
    records_between(scene, 200, RIGHT, 1);
    record_seen(scene);
}

static void behind_by_two(struct scene *scene)
{
    barrier(scene);
    far_at(scene, 199);
    records_between(scene, 199, RIGHT, 2);
    records_between(scene, 199, 200, 1);
    record_seen(scene);
}

/* The Offset Committer has had its time, the Offset Distributor not yet: what was seen may be of an older commit. */
static void behind_by_two_early(struct scene *scene)
{
    behind_by_two(scene);
    scene_later(scene, DEADLINE - SCENE_AGE - 1);
}

static void behind_by_two_late(struct scene *scene)
{
    behind_by_two(scene);
    scene_later(scene, DEADLINE - SCENE_AGE);
}

static void behind_within_a_wider_tolerance(struct scene *scene)
{
    behind_by_two(scene);
    scene->spec->behind_tolerance = 2;
}

/* The scan gave up counting: it is known to be more. */
static void behind_by_too_many_to_count(struct scene *scene)
{
    behind_by_two_late(scene);
    for (size_t i = 0; i < SCENE_PARTITIONS; i++)
        scene->side[MODEL_B].distances[i].records = scene->side[MODEL_B].distances[i].limit = 10001;
}

/* What was counted while less was tolerated does not tell whether it is within what is tolerated now. */
static void counted_for_another_tolerance(struct scene *scene)
{
    behind_by_too_many_to_count(scene);
    scene->spec->behind_tolerance = 20000;
}

/* The answers come in any order: what would be told first is not known yet. */
static void behind_and_the_record_there_not_known(struct scene *scene)
{
    barrier(scene);
    far_at(scene, 199);
    records_between(scene, 199, RIGHT, 2);
    record_seen(scene);
    scene_later(scene, DEADLINE - SCENE_AGE);
}

static void one_behind_and_one_not_moved(struct scene *scene)
{
    behind_and_the_record_there_not_known(scene);
    scene->memory.before[1] = 199;
}

static void distance_not_known(struct scene *scene)
{
    barrier(scene);
    far_at(scene, 190);
    record_seen(scene);
    scene_later(scene, DEADLINE - SCENE_AGE);
}

/* It stands at a record that is younger than the barrier. */
static void out_of_order(struct scene *scene)
{
    behind_by_two(scene);
    records_between(scene, 199, 200, 0);
    scene->side[MODEL_B].distances[2] = scene->side[MODEL_B].distances[4];
    scene->side[MODEL_B].distances[3] = scene->side[MODEL_B].distances[5];
}

/* ---------------------------------------------------------------- deadlines */

static void record_not_seen_late(struct scene *scene)
{
    right_but_not_seen(scene);
    scene->memory.right_ms = scene->s.now.mono_ms;
    scene_later(scene, COMMIT_PLUS);
}

static void record_missing_early(struct scene *scene)
{
    barrier(scene);
    scene_later(scene, DEADLINE - SCENE_AGE - 1);
}

static void record_missing(struct scene *scene)
{
    barrier(scene);
    scene_later(scene, DEADLINE - SCENE_AGE);
}

static void record_missing_but_right(struct scene *scene)
{
    right_but_not_seen(scene);
    scene_later(scene, DEADLINE - SCENE_AGE);
}

static void record_missing_but_behind(struct scene *scene)
{
    barrier(scene);
    far_at(scene, 199);
    records_between(scene, 199, RIGHT, 2);
    records_between(scene, 199, 200, 1);
    scene_later(scene, DEADLINE - SCENE_AGE);
}

static void not_moved_early(struct scene *scene)
{
    barrier(scene);
    record_seen(scene);
    scene_later(scene, DEADLINE - SCENE_AGE - 1);
}

static void not_moved(struct scene *scene)
{
    barrier(scene);
    record_seen(scene);
    scene_later(scene, DEADLINE - SCENE_AGE);
}

/* Older commits of the group are told of one after the other, the last one when the Offset Distributor's time is nearly over. */
static void not_moved_while_replaying(struct scene *scene)
{
    barrier(scene);
    scene_later(scene, DEADLINE - SCENE_AGE - 1);
    record_seen(scene);
    scene_later(scene, COMMIT_PLUS - 1);
}

static void not_moved_after_replaying(struct scene *scene)
{
    not_moved_while_replaying(scene);
    scene_later(scene, 1);
}

static void one_more_is_told_of(struct scene *scene)
{
    not_moved_after_replaying(scene);
    scene->s.side[MODEL_B].ts_seen = 2;
}

/* As after a suspension: the time is over, and nobody has looked since. */
static void not_moved_by_old_facts(struct scene *scene)
{
    not_moved(scene);
    scene->s.side[MODEL_B].stamp[VF_TEST_COMMITS].as_of_ms--;
}

static void behind_by_old_facts(struct scene *scene)
{
    behind_by_two_late(scene);
    scene->s.side[MODEL_B].stamp[VF_TEST_COMMITS].as_of_ms--;
}

static void record_missing_by_old_facts(struct scene *scene)
{
    record_missing(scene);
    scene->s.side[MODEL_B].stamp[VF_TEST_COMMITS].as_of_ms--;
}

static void commit_gone(struct scene *scene)
{
    not_moved(scene);
    scene_offsets_all(scene->memory.before, 150);
}

static void far_commits_unknown(struct scene *scene)
{
    right_and_seen(scene);
    scene->s.side[MODEL_B].stamp[VF_TEST_COMMITS].as_of_ms = scene->memory.step_since_ms - 1;
}

static void out_of_reach(struct scene *scene)
{
    record_missing(scene);
    scene_fail(scene, MODEL_B, VF_TEST_COMMITS, DV_ERR_UNREACHABLE);
}

static void record_missing_with_a_task_held_back(struct scene *scene)
{
    record_missing(scene);
    scene->side[MODEL_A].groups[MODEL_OD].state = FACT_GROUP_EMPTY;
    scene->side[MODEL_A].groups[MODEL_OD].members = 0;
}

static void not_moved_with_a_task_held_back(struct scene *scene)
{
    not_moved(scene);
    scene->side[MODEL_B].groups[MODEL_OC].state = FACT_GROUP_EMPTY;
    scene->side[MODEL_B].groups[MODEL_OC].members = 0;
}

#define MOVED(name, change, want, reason, text)                                  \
    {                                                                            \
        name, STAGE_OFFSETS_A_TO_B, "Moved", change, want, REASON_##reason, text \
    }

static const struct scene_case moved[] = {
    MOVED("nothing yet", nothing_yet, WANT_STEP, None, "Moved"),
    MOVED("right and seen", right_and_seen, WANT_STEP, None, "EqualCopied"),
    {"right and seen, swapped", STAGE_OFFSETS_B_TO_A, "Moved", right_and_seen, WANT_STEP, REASON_None, "EqualCopied"},
    MOVED("right on one partition", right_on_one_partition, WANT_STEP, None, "Moved"),
    MOVED("right, not seen", right_but_not_seen, WANT_STEP, None, "Moved"),
    MOVED("seen before the answer", right_and_seen_early, WANT_STEP, None, "EqualCopied"),
    MOVED("seen before our commit", seen_before_our_commit, WANT_STEP, None, "Moved"),
    MOVED("no change is no proof", right_as_before, WANT_STEP, None, "Moved"),
    MOVED("one ahead", one_ahead, WANT_FAILED, OffsetAhead, "is 202 in partition 1, 1 ahead of the right one (201)"),
    MOVED("ahead by a member", ahead_and_a_member, WANT_RETRY, None, "Start"),
    MOVED("ahead, group not looked at since", ahead_and_group_unseen, WANT_STEP, None, "Moved"),
    MOVED("near offset set by a stranger", near_set_by_a_stranger, WANT_RETRY, None, "Start"),
    {"near offset set by a stranger, swapped", STAGE_OFFSETS_B_TO_A, "Moved", near_set_by_a_stranger, WANT_RETRY, REASON_None, "Start"},
    MOVED("near offset gone", near_offset_gone, WANT_RETRY, None, "Start"),
    MOVED("ahead, near side not looked at since", ahead_and_near_unseen, WANT_STEP, None, "Moved"),
    MOVED("beyond the end", beyond_the_end, WANT_FAILED, OffsetBeyondLogEnd, "is 400 in partition 0, past the log end 300"),
    MOVED("at the end", at_the_end, WANT_STEP, None, "EqualCopied"),
    MOVED("markers count nothing", behind_by_nothing_but_markers, WANT_STEP, None, "EqualCopied"),
    MOVED("behind within tolerance", behind_by_one, WANT_STEP, None, "EqualCopied"),
    MOVED("behind beyond tolerance waits", behind_by_two, WANT_STEP, None, "Moved"),
    MOVED("behind beyond tolerance waits for the Offset Distributor", behind_by_two_early, WANT_STEP, None, "Moved"),
    MOVED("behind beyond tolerance", behind_by_two_late, WANT_FAILED, OffsetBehindTolerance,
          "2 records behind the right one (201), where 1 are"),
    MOVED("behind, the record there not known", behind_and_the_record_there_not_known, WANT_STEP, None, "Moved"),
    MOVED("behind, one not moved", one_behind_and_one_not_moved, WANT_STEP, None, "Moved"),
    MOVED("behind by too many to count", behind_by_too_many_to_count, WANT_FAILED, OffsetBehindTolerance,
          "is 199 in partition 0, more than 10000 records behind the right one (201), where 1 are"),
    MOVED("counted for another tolerance", counted_for_another_tolerance, WANT_STEP, None, "Moved"),
    MOVED("wider tolerance", behind_within_a_wider_tolerance, WANT_STEP, None, "EqualCopied"),
    MOVED("distance not known", distance_not_known, WANT_STEP, None, "Moved"),
    MOVED("out of order", out_of_order, WANT_RETRY, None, "Start"),
    MOVED("right, no record seen", record_not_seen_late, WANT_RETRY, None, "Start"),
    MOVED("record missing, not yet", record_missing_early, WANT_STEP, None, "Moved"),
    MOVED("record missing", record_missing, WANT_FAILED, TimestampRecordMissing, "Offset Distributor of dc1"),
    MOVED("record missing, a task held back", record_missing_with_a_task_held_back, WANT_STEP, None, "Moved"),
    MOVED("not moved, a task held back", not_moved_with_a_task_held_back, WANT_STEP, None, "Moved"),
    MOVED("record missing, offset right", record_missing_but_right, WANT_STEP, None, "Moved"),
    MOVED("record missing, offset behind", record_missing_but_behind, WANT_FAILED, OffsetBehindTolerance, "2 records behind"),
    MOVED("not moved, not yet", not_moved_early, WANT_STEP, None, "Moved"),
    MOVED("not moved", not_moved, WANT_FAILED, OffsetNotMoved, "is still none"),
    MOVED("not moved, older commits come in", not_moved_while_replaying, WANT_STEP, None, "Moved"),
    MOVED("not moved, older commits came in", not_moved_after_replaying, WANT_FAILED, OffsetNotMoved, "is still none"),
    MOVED("not moved, one more commit comes in", one_more_is_told_of, WANT_STEP, None, "Moved"),
    MOVED("not moved, old facts", not_moved_by_old_facts, WANT_STEP, None, "Moved"),
    MOVED("behind, old facts", behind_by_old_facts, WANT_STEP, None, "Moved"),
    MOVED("record missing, old facts", record_missing_by_old_facts, WANT_STEP, None, "Moved"),
    MOVED("commit gone", commit_gone, WANT_FAILED, OffsetNotMoved, "is still none"),
    MOVED("commits not known", far_commits_unknown, WANT_STEP, None, "Moved"),
    MOVED("far cluster out of reach", out_of_reach, WANT_STEP, None, "Moved"),
};

static void offsets_follow_or_not(void **state)
{
    (void)state;
    SCENE_RUN_CASES(moved);
}

/* All that are not known are asked for, each once however many guards need it; after a failure not at once again. */
static void distances_are_asked_for_together(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_OFFSETS_A_TO_B, "Moved");
    distance_not_known(scene);
    const struct verify_plan *plan = scene_decide(scene);
    assert_int_equal(plan->ask[MODEL_B] >> VF_DISTANCE & 1, 1);
    assert_int_equal(plan->distance_count[MODEL_A], 0);
    size_t found = 0;
    for (size_t i = 0; i < plan->distance_count[MODEL_B]; i++)
        if (plan->distances[MODEL_B][i].from == 190 && plan->distances[MODEL_B][i].to == RIGHT)
            found += (size_t)1 << (4 * plan->distances[MODEL_B][i].partition);
    assert_int_equal(found, 0x11);
    scene_fail(scene, MODEL_B, VF_DISTANCE, DV_ERR_TIMEOUT);
    plan = scene_decide(scene);
    assert_int_equal(plan->ask[MODEL_B] >> VF_DISTANCE & 1, 0);
    assert_in_range(plan->wake_ms, scene->s.now.mono_ms + 1, scene->s.now.mono_ms + 1000);
    scene_free(scene);
}

/* A distance that decides nothing more by its size is not counted out, and one that is not counted out has no number. */
static void far_distances_are_not_counted_out(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_OFFSETS_A_TO_B, "Moved");
    distance_not_known(scene);
    assert_int_equal(scene_decide(scene)->distances[MODEL_B][0].limit, 10001);
    scene->spec->behind_tolerance = 20000;
    assert_int_equal(scene_decide(scene)->distances[MODEL_B][0].limit, 20001);
    scene_free(scene);
    scene = scene_new();
    scene_at(scene, STAGE_OFFSETS_A_TO_B, "Moved");
    behind_by_too_many_to_count(scene);
    const json_t *evidence = scene_decide(scene)->status.stages[STAGE_OFFSETS_A_TO_B].evidence;
    const json_t *offset = json_array_get(json_object_get(evidence, "offsets"), 0);
    assert_int_equal(json_integer_value(json_object_get(offset, "actual")), 199);
    assert_null(json_object_get(offset, "distance"));
    scene_free(scene);
}

/* ---------------------------------------------------------------- before, barrier, commit */

static void steady(struct scene *scene)
{
    scene->memory.changed_ms[MODEL_B] = scene->s.now.mono_ms - WINDOW;
    scene_offsets_all(scene->memory.last[MODEL_B], 150);
    scene_offsets_all(scene->side[MODEL_B].commits.high, 150);
}

static void not_steady_yet(struct scene *scene)
{
    steady(scene);
    scene->memory.changed_ms[MODEL_B]++;
}

static void moving(struct scene *scene)
{
    steady(scene);
    scene->side[MODEL_B].commits.high[1] = 151;
}

static void steady_by_old_facts(struct scene *scene)
{
    steady(scene);
    scene->s.side[MODEL_B].stamp[VF_TEST_COMMITS].as_of_ms -= 4000;
}

static void steady_but_members_unknown(struct scene *scene)
{
    steady(scene);
    scene->s.side[MODEL_A].stamp[VF_GROUPS].as_of_ms = scene->memory.step_since_ms - 1;
}

static void reader_there(struct scene *scene)
{
    scene->s.side[MODEL_B].ts_reader_at_ms = scene->s.now.mono_ms;
}

static void one_copy_missing(struct scene *scene)
{
    barrier(scene);
    scene->probes.probes[2].on[MODEL_B].count = 0;
    scene_offsets_all(scene->side[MODEL_A].md.high, 50);
}

static const struct scene_case before[] = {
    {"steady", STAGE_OFFSETS_A_TO_B, "Before", steady, WANT_STEP, REASON_None, "Reader"},
    {"first look", STAGE_OFFSETS_A_TO_B, "Before", NULL, WANT_STEP, REASON_None, "Before"},
    {"not for a window", STAGE_OFFSETS_A_TO_B, "Before", not_steady_yet, WANT_STEP, REASON_None, "Before"},
    {"moving", STAGE_OFFSETS_A_TO_B, "Before", moving, WANT_STEP, REASON_None, "Before"},
    {"old facts", STAGE_OFFSETS_A_TO_B, "Before", steady_by_old_facts, WANT_STEP, REASON_None, "Before"},
    {"members unknown", STAGE_OFFSETS_A_TO_B, "Before", steady_but_members_unknown, WANT_STEP, REASON_None, "Before"},
    {"reader", STAGE_OFFSETS_A_TO_B, "Reader", reader_there, WANT_STEP, REASON_None, "Copied"},
    {"no reader", STAGE_OFFSETS_A_TO_B, "Reader", NULL, WANT_STEP, REASON_None, "Reader"},
    {"copied", STAGE_OFFSETS_A_TO_B, "Copied", barrier, WANT_STEP, REASON_None, "Moved"},
    {"one copy missing", STAGE_OFFSETS_A_TO_B, "Copied", one_copy_missing, WANT_STEP, REASON_None, "Copied"},
};

static void the_far_side_is_looked_at_before(void **state)
{
    (void)state;
    SCENE_RUN_CASES(before);
}

static void the_barrier_is_what_is_set(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_OFFSETS_B_TO_A, "Copied");
    barrier(scene);
    scene->s.side[MODEL_A].ts_seen = 4;
    const struct verify_plan *plan = scene_decide(scene);
    const struct model_intent *intent = &plan->status.run.intent;
    assert_int_equal(intent->kind, INTENT_COMMIT);
    assert_int_equal(intent->side, MODEL_B);
    assert_int_equal(intent->partitions, SCENE_PARTITIONS);
    for (int p = 0; p < SCENE_PARTITIONS; p++) {
        assert_int_equal(intent->offsets[p], SET); /* the barrier's own offset, never the log end */
        assert_int_equal(intent->before[p], -1);
    }
    assert_int_equal(plan->memory.ts_base, 4);
    assert_false(plan->act); /* not before it is written */
    scene_adopt(scene);
    assert_true(scene_decide(scene)->act);
    scene_free(scene);
}

/* ---------------------------------------------------------------- echo */

/* Both sides stand where the proof left them since `ms` ago. */
static void stands(struct scene *scene, int64_t ms)
{
    scene->status.stage = STAGE_PERSISTED;
    barrier(scene);
    scene_offsets_all(scene->memory.mark[MODEL_B], RIGHT);
    far_at(scene, RIGHT);
    scene->memory.step_since_ms = scene->memory.progress_ms = scene->memory.right_ms = scene->s.now.mono_ms - ms;
    for (int side = 0; side < MODEL_SIDES; side++) {
        scene->memory.changed_ms[side] = scene->s.now.mono_ms - ms;
        memcpy(scene->memory.last[side], scene->side[side].commits.high, sizeof scene->side[side].commits.high);
    }
}

static void moves(struct scene *scene, enum model_side side, int64_t to, int64_t ms_ago)
{
    scene_offsets_all(scene->side[side].commits.high, to);
    scene_offsets_all(scene->memory.last[side], to);
    scene->memory.changed_ms[side] = scene->s.now.mono_ms - ms_ago;
    scene->memory.changes[side]++;
}

static void quiet(struct scene *scene)
{
    stands(scene, 2 * WINDOW);
}

static void quiet_not_yet(struct scene *scene)
{
    stands(scene, 2 * WINDOW - 1);
}

static void quiet_by_old_facts(struct scene *scene)
{
    quiet(scene);
    scene->s.side[MODEL_A].stamp[VF_TEST_COMMITS].as_of_ms -= 3000;
}

static void near_ahead(struct scene *scene)
{
    stands(scene, WINDOW);
    moves(scene, MODEL_A, SET + 1, 0);
}

static void far_ahead(struct scene *scene)
{
    stands(scene, WINDOW);
    moves(scene, MODEL_B, RIGHT + 1, 0);
}

/* It was one behind, within tolerance, and comes to the right answer. */
static void far_comes_nearer(struct scene *scene)
{
    stands(scene, WINDOW);
    scene_offsets_all(scene->memory.mark[MODEL_B], RIGHT - 1);
    moves(scene, MODEL_B, RIGHT, 2 * WINDOW);
    scene->memory.changed_ms[MODEL_A] = scene->s.now.mono_ms - 2 * WINDOW;
}

static void far_rewound(struct scene *scene)
{
    stands(scene, 3 * WINDOW);
    moves(scene, MODEL_B, 190, WINDOW);
    records_between(scene, 190, RIGHT, 5);
}

static void far_dips(struct scene *scene)
{
    far_rewound(scene);
    scene->memory.changed_ms[MODEL_B] = scene->s.now.mono_ms - WINDOW + 1;
}

static void far_commit_vanishes(struct scene *scene)
{
    stands(scene, 3 * WINDOW);
    moves(scene, MODEL_B, -1, WINDOW);
}

static void near_behind_for_a_window(struct scene *scene)
{
    stands(scene, 3 * WINDOW);
    moves(scene, MODEL_A, 90, WINDOW);
    const struct probe *middle = probes_find(&scene->probes, 0, 0, 1);
    (void)scene_distance(
        scene, MODEL_A,
        (struct verify_distance){.partition = 0, .from = 90, .to = SET, .before_ms = middle->on[MODEL_A].timestamp_ms, .records = 9});
}

static void near_behind_within_tolerance(struct scene *scene)
{
    near_behind_for_a_window(scene);
    scene->side[MODEL_A].distances[0].records = 1;
    scene_distance(scene, MODEL_A, scene->side[MODEL_A].distances[0])->partition = 1;
    scene->memory.changed_ms[MODEL_A] = scene->s.now.mono_ms - 2 * WINDOW;
    scene->memory.changed_ms[MODEL_B] = scene->s.now.mono_ms - 2 * WINDOW;
}

/* How far it is behind is not known: neither within nor beyond tolerance. */
static void near_behind_nobody_knows_how_far(struct scene *scene)
{
    near_behind_within_tolerance(scene);
    scene->s.side[MODEL_A].distance_count = 1;
    scene->memory.step_since_ms = scene->s.now.mono_ms - 2 * DEADLINE;
}

static void far_behind_nobody_knows_how_far(struct scene *scene)
{
    stands(scene, 4 * WINDOW);
    moves(scene, MODEL_B, 190, 2 * WINDOW);
}

static void near_behind_by_too_many_to_count(struct scene *scene)
{
    near_behind_for_a_window(scene);
    scene->side[MODEL_A].distances[0].records = scene->side[MODEL_A].distances[0].limit = 10001;
}

static void far_rewound_by_old_facts(struct scene *scene)
{
    far_rewound(scene);
    scene->s.side[MODEL_B].stamp[VF_TEST_COMMITS].as_of_ms--;
}

static void near_behind_by_old_facts(struct scene *scene)
{
    near_behind_for_a_window(scene);
    scene->s.side[MODEL_A].stamp[VF_TEST_COMMITS].as_of_ms--;
}

static void near_behind_and_a_restart(struct scene *scene)
{
    near_behind_for_a_window(scene);
    scene->memory.disturbed_ms = scene->s.now.mono_ms - 2 * WINDOW;
}

/* The far side has not followed, and never will: what it should follow was taken back. */
static void far_never_follows(struct scene *scene)
{
    near_behind_for_a_window(scene);
    scene->memory.right_ms = 0;
    scene_offsets_all(scene->side[MODEL_B].commits.high, 150);
    scene_offsets_all(scene->memory.before, 150);
}

static void far_never_follows_after_a_restart(struct scene *scene)
{
    far_never_follows(scene);
    scene->memory.disturbed_ms = scene->s.now.mono_ms - 2 * WINDOW;
}

static void far_has_not_followed_yet(struct scene *scene)
{
    far_never_follows(scene);
    scene->memory.changed_ms[MODEL_A] = scene->s.now.mono_ms - WINDOW + 1;
    scene->memory.step_since_ms = scene->s.now.mono_ms - WINDOW;
}

/* Its task waits for its time in a rebalance of Kafka Connect: it could not echo. */
static void quiet_with_a_task_held_back(struct scene *scene)
{
    quiet(scene);
    scene->side[MODEL_B].groups[MODEL_OC].state = FACT_GROUP_EMPTY;
    scene->side[MODEL_B].groups[MODEL_OC].members = 0;
}

static void keeps_moving(struct scene *scene)
{
    stands(scene, 2 * DEADLINE);
    moves(scene, MODEL_A, SET, 1000);
}

#define ECHO(name, change, want, reason, text) ECHO_IN("EchoA", name, change, want, reason, text)
#define ECHO_IN(step, name, change, want, reason, text)                  \
    {                                                                    \
        name, STAGE_PERSISTED, step, change, want, REASON_##reason, text \
    }

static const struct scene_case echo[] = {
    ECHO("quiet", quiet, WANT_STEP, None, "BeforeB"),
    ECHO("not for two windows", quiet_not_yet, WANT_STEP, None, "EchoA"),
    ECHO("a task held back", quiet_with_a_task_held_back, WANT_STEP, None, "EchoA"),
    ECHO("old facts", quiet_by_old_facts, WANT_STEP, None, "EchoA"),
    ECHO("near ahead", near_ahead, WANT_FAILED, OffsetEcho, "on dc1 from 101 to 102"),
    ECHO("far ahead", far_ahead, WANT_FAILED, OffsetEcho, "on dc2 from 201 to 202"),
    ECHO("far comes nearer", far_comes_nearer, WANT_STEP, None, "BeforeB"),
    ECHO("far rewound", far_rewound, WANT_FAILED, OffsetRewound, "was right and went back to 190"),
    ECHO("a shorter dip", far_dips, WANT_STEP, None, "EchoA"),
    ECHO("far commit vanishes", far_commit_vanishes, WANT_FAILED, OffsetRewound, "went back to -1"),
    ECHO("near behind", near_behind_for_a_window, WANT_FAILED, OffsetEcho, "on dc1 from 101 to 90"),
    ECHO("near behind within tolerance", near_behind_within_tolerance, WANT_STEP, None, "BeforeB"),
    ECHO("near behind, nobody knows how far", near_behind_nobody_knows_how_far, WANT_STEP, None, "EchoA"),
    ECHO("far behind, nobody knows how far", far_behind_nobody_knows_how_far, WANT_STEP, None, "EchoA"),
    ECHO("near behind by too many to count", near_behind_by_too_many_to_count, WANT_FAILED, OffsetEcho, "on dc1 from 101 to 90"),
    ECHO("far rewound, old facts", far_rewound_by_old_facts, WANT_STEP, None, "EchoA"),
    ECHO("near behind, old facts", near_behind_by_old_facts, WANT_STEP, None, "EchoA"),
    ECHO("near behind and a restart", near_behind_and_a_restart, WANT_RETRY, None, "Produce"),
    ECHO_IN("MovedA", "far never follows", far_never_follows, WANT_FAILED, OffsetEcho,
            "on dc1 from 101 to 90 in partition 0 after it was set"),
    ECHO_IN("MovedA", "far never follows after a restart", far_never_follows_after_a_restart, WANT_RETRY, None, "Produce"),
    ECHO_IN("MovedA", "far has not followed yet", far_has_not_followed_yet, WANT_STEP, None, "MovedA"),
    ECHO("keeps moving", keeps_moving, WANT_FAILED, OffsetEcho, "keep moving"),
};

static void echoes_are_told_from_rest(void **state)
{
    (void)state;
    SCENE_RUN_CASES(echo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_follow_or_not),
        cmocka_unit_test(distances_are_asked_for_together),
        cmocka_unit_test(far_distances_are_not_counted_out),
        cmocka_unit_test(the_far_side_is_looked_at_before),
        cmocka_unit_test(the_barrier_is_what_is_set),
        cmocka_unit_test(echoes_are_told_from_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "../support/scene.h"

/* What copies of the records say, in whichever step: loops, level mismatch, redelivery, duplicates, altered records. */

#define LONG_MS 200000

/* The extra copies have been watched for as long as anything asks. */
static void watched(struct scene *scene)
{
    scene->memory.extra_since_ms = scene->s.now.mono_ms;
    scene->memory.progress_ms = scene->s.now.mono_ms + LONG_MS;
    scene_later(scene, LONG_MS);
    for (int side = 0; side < MODEL_SIDES; side++)
        scene->s.side[side].reader_at_ms = scene->s.now.mono_ms;
}

static void again(struct scene *scene, size_t batch, enum model_side side, int64_t offset, const char *flags)
{
    scene_see(scene, batch, side, offset, flags);
}

/* One record of a partition once more. */
static void again_one(struct scene *scene, size_t batch, enum model_side side, int32_t partition, int32_t sequence)
{
    size_t count = 0;
    struct fact_record *records = probes_records(&scene->probes, batch, SCENE_WALL, 2, &count);
    int32_t per = scene->probes.batches[batch].per_partition;
    struct fact_record *record = &records[partition * per + sequence];
    record->offset = 951 + sequence;
    scene_read(scene, side, record);
    probes_records_free(records, count);
}

static void restarted(struct scene *scene)
{
    scene->memory.disturbed_ms = scene->s.now.mono_ms;
}

/* ---------------------------------------------------------------- loops */

static void no_extra(struct scene *scene)
{
    (void)scene_copied(scene, MODEL_A, STAGE_MESSAGES_BOTH_WAYS, 3);
}

static void extra_at_home(struct scene *scene)
{
    again(scene, scene_copied(scene, MODEL_A, STAGE_MESSAGES_BOTH_WAYS, 3), MODEL_A, 300, "\1");
}

static void extra_at_home_settled(struct scene *scene)
{
    extra_at_home(scene);
    watched(scene);
}

static void extra_at_home_two_levels(struct scene *scene)
{
    again(scene, scene_copied(scene, MODEL_A, STAGE_MESSAGES_BOTH_WAYS, 3), MODEL_A, 300, "\3");
}

static void extra_at_home_of_b(struct scene *scene)
{
    again(scene, scene_copied(scene, MODEL_B, STAGE_MESSAGES_BOTH_WAYS, 3), MODEL_B, 300, "\1");
    watched(scene);
}

static void growing_at_home(struct scene *scene)
{
    size_t batch = scene_copied(scene, MODEL_A, STAGE_MESSAGES_BOTH_WAYS, 3);
    for (int i = 0; i < 3; i++) {
        again(scene, batch, MODEL_A, 300 + 10 * i, "\1");
        again(scene, batch, MODEL_B, 400 + 10 * i, "\1");
    }
}

static void growing_far(struct scene *scene)
{
    size_t batch = scene_copied(scene, MODEL_A, STAGE_MESSAGES_BOTH_WAYS, 3);
    for (int i = 0; i < 3; i++)
        again(scene, batch, MODEL_B, 400 + 10 * i, "\1");
}

/* A pod that keeps crashing delivers again and again; that is no loop. */
static void growing_far_with_restarts(struct scene *scene)
{
    growing_far(scene);
    restarted(scene);
}

static void growing_far_for_ever(struct scene *scene)
{
    size_t batch = scene_copied(scene, MODEL_A, STAGE_MESSAGES_BOTH_WAYS, 3);
    for (int i = 0; i < 9; i++)
        again(scene, batch, MODEL_B, 400 + 10 * i, "\1");
    restarted(scene);
}

static void loop_of_doubtful_records(struct scene *scene)
{
    extra_at_home_settled(scene);
    scene->status.run.batches[0].maybe = scene->probes.batches[0].maybe = true;
}

/* ---------------------------------------------------------------- redelivery, duplicates */

/* The first three of five came a second time after a restart, from the last committed offset on. */
static void block_after_restart(struct scene *scene)
{
    size_t batch = scene_copied(scene, MODEL_A, STAGE_MESSAGES_BOTH_WAYS, 5);
    scene_later(scene, 20000);
    restarted(scene);
    for (int32_t s = 0; s < 3; s++)
        again_one(scene, batch, MODEL_B, 0, s);
}

static void block_after_restart_watched(struct scene *scene)
{
    block_after_restart(scene);
    watched(scene);
}

static void block_without_restart(struct scene *scene)
{
    block_after_restart_watched(scene);
    scene->memory.disturbed_ms = 0;
}

static void block_with_restart_before(struct scene *scene)
{
    scene->memory.disturbed_ms = scene->s.now.mono_ms - 1000;
    size_t batch = scene_copied(scene, MODEL_A, STAGE_MESSAGES_BOTH_WAYS, 5);
    again_one(scene, batch, MODEL_B, 0, 0);
    watched(scene);
}

/* The task went on to another worker, no pod was restarted. */
static void block_after_move(struct scene *scene)
{
    size_t batch = scene_copied(scene, MODEL_A, STAGE_MESSAGES_BOTH_WAYS, 5);
    scene->memory.workers[MODEL_A][MODEL_MD] = 1;
    scene->side[MODEL_A].connector[MODEL_MD].workers = 2;
    scene_later(scene, 20000);
    (void)scene_decide(scene);
    scene_adopt(scene);
    for (int32_t s = 0; s < 3; s++)
        again_one(scene, batch, MODEL_B, 0, s);
    watched(scene);
}

static void two_blocks_after_restart(struct scene *scene)
{
    size_t batch = scene_copied(scene, MODEL_A, STAGE_MESSAGES_BOTH_WAYS, 5);
    restarted(scene);
    again_one(scene, batch, MODEL_B, 0, 0);
    again_one(scene, batch, MODEL_B, 0, 2);
    watched(scene);
}

static void last_block_after_restart(struct scene *scene)
{
    size_t batch = scene_copied(scene, MODEL_A, STAGE_MESSAGES_BOTH_WAYS, 5);
    restarted(scene);
    again_one(scene, batch, MODEL_B, 0, 3);
    again_one(scene, batch, MODEL_B, 0, 4);
    again_one(scene, batch, MODEL_B, 1, 4);
    watched(scene);
}

static void duplicates_everywhere(struct scene *scene)
{
    again(scene, scene_copied(scene, MODEL_A, STAGE_MESSAGES_BOTH_WAYS, 3), MODEL_B, 300, "\1");
    watched(scene);
}

static void duplicates_of_doubtful_records(struct scene *scene)
{
    duplicates_everywhere(scene);
    scene->status.run.batches[0].maybe = scene->probes.batches[0].maybe = true;
    (void)scene_copied(scene, MODEL_A, STAGE_MESSAGES_BOTH_WAYS, 3);
    scene_offsets_all(scene->side[MODEL_B].md.high, 400);
}

static const struct scene_case copies[] = {
    {"one copy each", STAGE_MESSAGES_BOTH_WAYS, "Arrive", no_extra, WANT_STEP, REASON_None, "Settle"},
    {"extra at home is watched", STAGE_MESSAGES_BOTH_WAYS, "Arrive", extra_at_home, WANT_STEP, REASON_None, "Arrive"},
    {"extra at home, settled", STAGE_MESSAGES_BOTH_WAYS, "Arrive", extra_at_home_settled, WANT_FAILED, REASON_LoopDetected,
     "a record produced on dc1 came back: seen 2 times there and no more so far"},
    {"two levels need no watch", STAGE_MESSAGES_BOTH_WAYS, "Arrive", extra_at_home_two_levels, WANT_FAILED, REASON_LoopDetected,
     "two levels"},
    {"extra at home of B", STAGE_MESSAGES_BOTH_WAYS, "ArriveFar", extra_at_home_of_b, WANT_FAILED, REASON_LoopDetected, "produced on dc2"},
    {"growing on both sides", STAGE_MESSAGES_BOTH_WAYS, "Settle", growing_at_home, WANT_FAILED, REASON_LoopDetected, "keep coming"},
    {"growing on the far side", STAGE_MESSAGES_BOTH_WAYS, "Settle", growing_far, WANT_FAILED, REASON_LoopDetected, "keep coming"},
    {"restarts deliver again and again", STAGE_MESSAGES_BOTH_WAYS, "Settle", growing_far_with_restarts, WANT_STEP, REASON_None, "Settle"},
    {"for ever is a loop", STAGE_MESSAGES_BOTH_WAYS, "Settle", growing_far_for_ever, WANT_FAILED, REASON_LoopDetected, "keep coming"},
    {"a doubtful record that came back", STAGE_MESSAGES_BOTH_WAYS, "Arrive", loop_of_doubtful_records, WANT_FAILED, REASON_LoopDetected,
     NULL},
    {"loop in a later stage", STAGE_LAG_DRAINED, "Drain", extra_at_home_settled, WANT_FAILED, REASON_LoopDetected, NULL},
    {"redelivery is watched", STAGE_MESSAGES_BOTH_WAYS, "Settle", block_after_restart, WANT_STEP, REASON_None, "Settle"},
    {"redelivery after a restart", STAGE_MESSAGES_BOTH_WAYS, "Settle", block_after_restart_watched, WANT_RETRY, REASON_None, "Produce"},
    {"redelivery after a move", STAGE_MESSAGES_BOTH_WAYS, "Settle", block_after_move, WANT_RETRY, REASON_None, "Produce"},
    {"redelivery of the last", STAGE_MESSAGES_BOTH_WAYS, "Settle", last_block_after_restart, WANT_RETRY, REASON_None, "Produce"},
    {"no restart", STAGE_MESSAGES_BOTH_WAYS, "Settle", block_without_restart, WANT_FAILED, REASON_DuplicateRecords, "two Distributors"},
    {"restart before the first", STAGE_MESSAGES_BOTH_WAYS, "Settle", block_with_restart_before, WANT_FAILED, REASON_DuplicateRecords, NULL},
    {"two blocks", STAGE_MESSAGES_BOTH_WAYS, "Settle", two_blocks_after_restart, WANT_FAILED, REASON_DuplicateRecords, NULL},
    {"duplicates", STAGE_MESSAGES_BOTH_WAYS, "Settle", duplicates_everywhere, WANT_FAILED, REASON_DuplicateRecords,
     "extra copies arrived on dc2"},
    {"duplicates of doubtful records", STAGE_MESSAGES_BOTH_WAYS, "Passed", duplicates_of_doubtful_records, WANT_STEP, REASON_None,
     "Settle"},
};

static void extra_copies_are_told_apart(void **state)
{
    (void)state;
    SCENE_RUN_CASES(copies);
}

/* ---------------------------------------------------------------- altered */

static void alter(struct scene *scene, uint32_t bits)
{
    (void)scene_copied(scene, MODEL_A, STAGE_MESSAGES_A_TO_B, 3);
    scene->probes.probes[4].on[MODEL_B].altered = bits;
}

static void alter_key(struct scene *scene)
{
    alter(scene, PROBE_ALTERED_KEY);
}

static void alter_value(struct scene *scene)
{
    alter(scene, PROBE_ALTERED_VALUE | PROBE_ALTERED_TIMESTAMP);
}

static void alter_header(struct scene *scene)
{
    alter(scene, PROBE_ALTERED_HEADER);
}

static void alter_timestamp(struct scene *scene)
{
    alter(scene, PROBE_ALTERED_TIMESTAMP);
}

static void alter_partition(struct scene *scene)
{
    alter(scene, PROBE_ALTERED_PARTITION);
}

static const struct scene_case altered[] = {
    {"key", STAGE_MESSAGES_A_TO_B, "Arrive", alter_key, WANT_FAILED, REASON_RecordAltered, "the key of a record differs"},
    {"value", STAGE_MESSAGES_A_TO_B, "Arrive", alter_value, WANT_FAILED, REASON_RecordAltered, "the value of a record differs"},
    {"header", STAGE_LAG_DRAINED, "Drain", alter_header, WANT_FAILED, REASON_RecordAltered, "the header of"},
    {"timestamp", STAGE_MESSAGES_A_TO_B, "Passed", alter_timestamp, WANT_FAILED, REASON_RecordAltered, "the timestamp of"},
    {"partition", STAGE_MESSAGES_A_TO_B, "Arrive", alter_partition, WANT_FAILED, REASON_RecordAltered, "(partition 1)"},
};

static void altered_records_name_what_differs(void **state)
{
    (void)state;
    SCENE_RUN_CASES(altered);
}

/* ---------------------------------------------------------------- after a loop */

/* Until the values say that B's Message Distributor is off. */
static struct scene *switched_off(void)
{
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_MESSAGES_BOTH_WAYS, "Arrive");
    growing_at_home(scene);
    const struct verify_plan *plan = scene_decide(scene);
    assert_true(model_run_active(&plan->status));
    assert_string_equal(plan->memory.step, "DisableLast");
    assert_int_equal(plan->status.run.intent.kind, INTENT_VALUES);
    assert_int_equal(plan->status.run.intent.side, MODEL_B);
    scene_adopt(scene);
    plan = scene_decide(scene);
    assert_true(plan->act);
    static const bool want[MODEL_SWITCHES] = {true, true, false, false, false};
    assert_memory_equal(plan->act_switches.on, want, sizeof want);
    scene_adopt(scene);
    scene_declare(scene, MODEL_B, "11000");
    scene->side[MODEL_B].there[MODEL_MD] = true; /* the values are not applied yet */
    scene_effect(scene, DV_ERR_NONE);
    return scene;
}

static const char *loop_said(const struct verify_plan *plan)
{
    assert_int_equal(plan->status.result, MODEL_FAILED);
    assert_int_equal(plan->status.stages[STAGE_MESSAGES_BOTH_WAYS].reason, REASON_LoopDetected);
    assert_non_null(strstr(plan->status.stages[STAGE_MESSAGES_BOTH_WAYS].message, "keep coming"));
    return plan->status.message;
}

static void the_last_message_distributor_goes_off(void **state)
{
    (void)state;
    struct scene *scene = switched_off();
    assert_true(model_run_active(&scene_decide(scene)->status)); /* its connector is still there */
    scene_adopt(scene);
    scene->side[MODEL_B].there[MODEL_MD] = false;
    assert_null(strstr(loop_said(scene_decide(scene)), "still runs"));
    scene_free(scene);
}

/* In the pause before another attempt a loop is answered at once, told once, and stays the verdict. */
static void a_loop_in_the_pause_does_not_wait(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_MESSAGES_BOTH_WAYS, "Arrive");
    growing_at_home(scene);
    scene->memory.retry_ms = scene->s.now.mono_ms + 60000;
    const struct verify_plan *plan = scene_decide(scene);
    assert_string_equal(plan->memory.step, "DisableLast");
    assert_int_equal(plan->memory.retry_ms, 0);
    assert_non_null(scene_event(plan, "LoopDetected"));
    scene_adopt(scene);
    plan = scene_decide(scene);
    assert_int_equal(plan->status.run.intent.kind, INTENT_VALUES);
    assert_int_equal(plan->event_count, 0);
    scene_adopt(scene);
    scene_effect(scene, DV_ERR_DENIED);
    plan = scene_decide(scene);
    assert_string_equal(plan->memory.step, "DisableLast");
    assert_int_equal(plan->status.run.intent.kind, INTENT_NONE); /* tried again a little later */
    assert_int_equal(plan->event_count, 0);
    scene_free(scene);
}

/* What a restart of ours leaves unknown is about the records from before it. */
static void records_after_a_restart_are_judged(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_MESSAGES_BOTH_WAYS, "Settle");
    scene->memory.resumed = true;
    size_t batch = scene_copied(scene, MODEL_A, STAGE_MESSAGES_BOTH_WAYS, 5);
    again_one(scene, batch, MODEL_B, 0, 0);
    watched(scene);
    const struct verify_plan *plan = scene_decide(scene);
    assert_int_equal(plan->status.stages[STAGE_MESSAGES_BOTH_WAYS].attempts, 2);
    assert_false(plan->memory.resumed);
    scene_free(scene);
}

static void a_loop_that_goes_on_is_told(void **state)
{
    (void)state;
    struct scene *scene = switched_off();
    assert_true(model_run_active(&scene_decide(scene)->status));
    scene_adopt(scene);
    scene_later(scene, verify_arrival_ms(&scene->s));
    assert_true(dv_ends_with(loop_said(scene_decide(scene)),
                             "the Message Distributor of dc2 still runs although it is off in the values: stop it by hand"));
    scene_free(scene);
}

static void on_loop_hold_writes_nothing(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene->spec->on_loop = MODEL_LOOP_HOLD;
    scene_at(scene, STAGE_MESSAGES_BOTH_WAYS, "Arrive");
    growing_at_home(scene);
    const struct verify_plan *plan = scene_decide(scene);
    assert_int_equal(plan->status.result, MODEL_FAILED);
    assert_int_equal(plan->status.run.intent.kind, INTENT_NONE);
    assert_false(plan->act);
    scene_free(scene);
}

/* The values cannot be written: the loop is the verdict all the same. */
static void a_failed_clean_up_hides_no_loop(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_MESSAGES_BOTH_WAYS, "Arrive");
    growing_at_home(scene);
    (void)scene_decide(scene);
    scene_adopt(scene);
    (void)scene_decide(scene);
    scene_adopt(scene);
    scene_effect(scene, DV_ERR_DENIED);
    scene_later(scene, scene->spec->stage_deadline_ms);
    assert_true(dv_ends_with(loop_said(scene_decide(scene)), "the Message Distributor of dc2 still runs: stop it by hand"));
    scene_free(scene);
}

static void a_restart_goes_on_switching_off(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_MESSAGES_BOTH_WAYS, "Arrive");
    growing_at_home(scene);
    (void)scene_decide(scene);
    scene_adopt(scene);
    scene_restart(scene);
    const struct verify_plan *plan = scene_decide(scene);
    assert_true(model_run_active(&plan->status));
    assert_string_equal(plan->memory.step, "DisableLast");
    assert_int_equal(plan->status.run.intent.kind, INTENT_VALUES); /* a new one: the old one was not found done */
    scene_declare(scene, MODEL_B, "11000");
    scene->side[MODEL_B].there[MODEL_MD] = false;
    (void)loop_said(scene_decide(scene));
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extra_copies_are_told_apart),           cmocka_unit_test(altered_records_name_what_differs),
        cmocka_unit_test(the_last_message_distributor_goes_off), cmocka_unit_test(a_loop_in_the_pause_does_not_wait),
        cmocka_unit_test(records_after_a_restart_are_judged),    cmocka_unit_test(a_loop_that_goes_on_is_told),
        cmocka_unit_test(on_loop_hold_writes_nothing),           cmocka_unit_test(a_failed_clean_up_hides_no_loop),
        cmocka_unit_test(a_restart_goes_on_switching_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "../support/scene.h"

/* A run that is suspended, and one that another process took up. */

/* ---------------------------------------------------------------- suspend */

static void suspended_time_counts_nowhere(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_MESSAGES_A_TO_B, "Arrive");
    (void)scene_batch(scene, MODEL_A, STAGE_MESSAGES_A_TO_B, 3);
    scene->memory.best_commit = 1000;
    scene->spec->suspend = true;
    const struct verify_plan *plan = scene_decide(scene);
    assert_true(model_run_active(&plan->status));
    assert_non_null(strstr(plan->status.message, ": suspended in step "));
    scene_adopt(scene);
    scene_later(scene, 2 * scene->spec->run_deadline_ms);
    (void)scene_decide(scene);
    scene_adopt(scene);
    scene->spec->suspend = false;
    plan = scene_decide(scene);
    assert_true(model_run_active(&plan->status));
    assert_int_equal(plan->status.run.paused_ms, 2 * scene->spec->run_deadline_ms);
    assert_int_equal(plan->memory.step_since_ms, scene->s.now.mono_ms - SCENE_AGE);
    assert_int_equal(plan->memory.hold_since_ms, 0);
    scene_free(scene);
}

/* Where a wait has come to when the run is suspended, there it goes on. */
static void every_wait_stands_still_while_suspended(void **state)
{
    (void)state;
    static const size_t marks[] = {offsetof(struct verify_memory, step_since_ms),      offsetof(struct verify_memory, stage_since_ms),
                                   offsetof(struct verify_memory, progress_ms),        offsetof(struct verify_memory, extra_since_ms),
                                   offsetof(struct verify_memory, right_ms),           offsetof(struct verify_memory, ts_last_ms),
                                   offsetof(struct verify_memory, stuck_since_ms),     offsetof(struct verify_memory, look_ms),
                                   offsetof(struct verify_memory, retry_ms),           offsetof(struct verify_memory, changed_ms[MODEL_A]),
                                   offsetof(struct verify_memory, changed_ms[MODEL_B])};
    const int64_t paused = INT64_C(3600000);
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        struct scene *scene = scene_new();
        scene_at(scene, STAGE_OFFSETS_A_TO_B, "TimestampsTopic");
        scene->s.side[MODEL_B].write_ts.allowed = false;
        scene->memory.retry_ms = scene->s.now.mono_ms + 1; /* nothing else moves them meanwhile */
        *(int64_t *)(void *)((char *)&scene->memory + marks[i]) = scene->s.now.mono_ms - 1234;
        scene->spec->suspend = true;
        (void)scene_decide(scene);
        scene_adopt(scene);
        scene_later(scene, paused);
        scene->spec->suspend = false;
        const struct verify_plan *plan = scene_decide(scene);
        const int64_t *mark = (const int64_t *)(const void *)((const char *)&plan->memory + marks[i]);
        if (*mark != scene->s.now.mono_ms - 1234)
            fail_msg("mark %zu: %lld ms ago", i, (long long)(scene->s.now.mono_ms - *mark));
        scene_free(scene);
    }
}

/* The controller is restarted while a run is suspended; it goes on before or after it is up again. */
static void a_suspension_outlives_a_restart(void **state)
{
    (void)state;
    for (int seen = 0; seen < 2; seen++) {
        struct scene *scene = scene_new();
        scene_at(scene, STAGE_MESSAGES_A_TO_B, "Arrive");
        (void)scene_batch(scene, MODEL_A, STAGE_MESSAGES_A_TO_B, 3);
        scene->spec->suspend = true;
        (void)scene_decide(scene);
        scene_adopt(scene);
        scene_restart(scene);
        scene_later(scene, 2 * scene->spec->run_deadline_ms);
        if (seen) { /* what was logged before the stage is not read either */
            const struct verify_plan *seen_plan = scene_decide(scene);
            assert_int_equal(seen_plan->observe.logs_since_ms, scene->status.stages[STAGE_MESSAGES_A_TO_B].started_ms);
            scene_adopt(scene);
        }
        scene->spec->suspend = false;
        const struct verify_plan *plan = scene_decide(scene);
        assert_true(model_run_active(&plan->status));
        assert_int_equal(plan->status.run.paused_ms, 2 * scene->spec->run_deadline_ms);
        assert_int_equal(plan->status.run.paused_at_ms, 0);
        scene_free(scene);
    }
}

static void a_suspended_run_acts_on_nothing(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_MESSAGES_A_TO_B, "Write");
    scene_declare(scene, MODEL_A, "01000");
    scene->spec->suspend = true;
    const struct verify_plan *plan = scene_decide(scene);
    assert_int_equal(plan->status.run.intent.kind, INTENT_NONE);
    assert_false(plan->act);
    scene_free(scene);
}

/* ---------------------------------------------------------------- restarts */

static void a_restart_takes_up_the_step(void **state)
{
    (void)state;
    for (int stage = STAGE_INIT_A; stage < MODEL_STAGES; stage++) {
        const struct verify_table *table = &verify_tables[stage];
        size_t steps = table->step_count - (stage == STAGE_PERSISTED ? 1 : 0); /* in the last one nothing is left to be seen */
        for (size_t i = 0; i < steps; i++) {
            struct scene *scene = scene_new();
            scene_at(scene, (enum model_stage)stage, table->steps[i].name);
            scene_restart(scene);
            for (int side = 0; side < MODEL_SIDES; side++)
                memset(scene->s.side[side].stamp, 0, sizeof scene->s.side[side].stamp);
            const struct verify_plan *plan = scene_decide(scene);
            if (!model_run_active(&plan->status))
                fail_msg("%s: %s ends the run", model_stage_name((enum model_stage)stage), table->steps[i].name);
            assert_int_equal(plan->status.run.resumes, 1);
            assert_true(scene_has_event(plan, "RunResumed"));
            assert_false(plan->act);
            assert_int_equal(plan->status.stages[stage].attempts, 1);
            scene_free(scene);
        }
    }
}

/* A controller that is restarted again and again does not wait for ever; a single restart leaves time to see progress. */
static void time_without_progress_outlives_a_restart(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_MESSAGES_A_TO_B, "On");
    scene->side[MODEL_A].there[MODEL_MD] = false;
    scene->status.run.last_progress_ms = scene->s.now.wall_ms - 10 * scene->spec->stage_deadline_ms;
    scene_restart(scene);
    assert_true(model_run_active(&scene_decide(scene)->status));
    scene_adopt(scene);
    assert_int_equal(scene->memory.idle_before_ms, 0); /* a pod that is ready is progress to a process that knows nothing */
    scene->memory.progress_ms = scene->s.now.mono_ms - 60000;
    scene->memory.idle_before_ms = scene->spec->stage_deadline_ms - 61000;
    assert_true(model_run_active(&scene_decide(scene)->status));
    scene->memory.idle_before_ms += 1000;
    assert_false(model_run_active(&scene_decide(scene)->status));
    scene_free(scene);
}

/* A worker that was restarted leaves an error in its log; what is known of it does not go with the process, the attempt or the stage. */
static void a_disturbance_outlives_a_restart(void **state)
{
    (void)state;
    for (int restarted = 0; restarted < 2; restarted++) {
        struct scene *scene = scene_new();
        scene_at(scene, STAGE_MESSAGES_A_TO_B, "Arrive");
        (void)scene_batch(scene, MODEL_A, STAGE_MESSAGES_A_TO_B, 3);
        scene->memory.disturbed_ms = scene->s.now.mono_ms;
        (void)scene_decide(scene);
        scene_adopt(scene);
        scene_later(scene, 1000);
        if (restarted)
            scene_restart(scene);
        scene_finding(scene, MODEL_A, FACT_LOG_ERROR, true);
        const struct verify_plan *plan = scene_decide(scene);
        assert_true(model_run_active(&plan->status));
        assert_int_equal(plan->status.stages[STAGE_MESSAGES_A_TO_B].attempts, 2);
        scene_adopt(scene);
        assert_true(scene->status.run.logs_since_ms > scene->status.stages[STAGE_MESSAGES_A_TO_B].started_ms);
        scene_restart(scene); /* the next process reads the log from the second attempt on */
        assert_true(scene_decide(scene)->observe.logs_since_ms >= scene->s.now.wall_ms);
        scene_free(scene);
    }
}

static void a_disturbance_is_carried_as_long_as_it_may_matter(void **state)
{
    (void)state;
    for (int old = 0; old < 2; old++) {
        struct scene *scene = scene_new();
        scene_at(scene, STAGE_OFFSETS_A_TO_B, "Done");
        scene->memory.disturbed_ms = scene->s.now.mono_ms - (old ? verify_arrival_ms(&scene->s) : 1000);
        const struct verify_plan *plan = scene_decide(scene);
        assert_int_equal(plan->status.stage, STAGE_OFFSETS_B_TO_A);
        assert_true((plan->memory.disturbed_ms == 0) == (old == 1));
        assert_true((plan->status.run.disturbed_ms == 0) == (old == 1));
        scene_free(scene);
    }
}

static void values_of_an_earlier_process_are_judged_by_content(void **state)
{
    (void)state;
    for (int done = 0; done < 2; done++) {
        struct scene *scene = scene_new();
        scene_at(scene, STAGE_MESSAGES_A_TO_B, "Write");
        scene_declare(scene, MODEL_A, "01000");
        scene_left(scene, MODEL_A, "01000");
        (void)scene_decide(scene);
        scene_adopt(scene);
        char id[16];
        (void)dv_strlcpy(id, scene->status.run.intent.id, sizeof id);
        scene_restart(scene);
        if (done)
            scene_declare(scene, MODEL_A, "11100");
        scene_later(scene, 500);
        const struct verify_plan *plan = scene_decide(scene);
        assert_true(model_run_active(&plan->status));
        assert_int_equal(plan->status.run.intent.kind, done ? INTENT_NONE : INTENT_VALUES);
        if (!done)
            assert_string_not_equal(plan->status.run.intent.id, id);
        scene_free(scene);
    }
}

static void records_of_an_earlier_process_are_doubtful(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_MESSAGES_A_TO_B, "Produce");
    (void)scene_decide(scene);
    scene_adopt(scene);
    assert_int_equal(scene->status.run.intent.kind, INTENT_RECORDS);
    scene_restart(scene);
    const struct verify_plan *plan = scene_decide(scene);
    assert_true(plan->status.run.batches[0].maybe);
    assert_int_equal(plan->status.stages[STAGE_MESSAGES_A_TO_B].attempts, 2);
    assert_false(plan->act);
    scene_free(scene);
}

/* The same commit is never made twice: a new barrier follows. */
static void a_commit_of_an_earlier_process_is_not_repeated(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_OFFSETS_A_TO_B, "Copied");
    (void)scene_copied(scene, MODEL_A, STAGE_OFFSETS_A_TO_B, 3);
    (void)scene_decide(scene);
    scene_adopt(scene);
    assert_int_equal(scene->status.run.intent.kind, INTENT_COMMIT);
    scene_restart(scene);
    const struct verify_plan *plan = scene_decide(scene);
    assert_int_equal(plan->status.run.intent.kind, INTENT_NONE);
    assert_int_equal(plan->status.stages[STAGE_OFFSETS_A_TO_B].attempts, 2);
    assert_string_equal(plan->memory.step, "Start");
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suspended_time_counts_nowhere),
        cmocka_unit_test(every_wait_stands_still_while_suspended),
        cmocka_unit_test(a_suspension_outlives_a_restart),
        cmocka_unit_test(a_suspended_run_acts_on_nothing),
        cmocka_unit_test(a_restart_takes_up_the_step),
        cmocka_unit_test(time_without_progress_outlives_a_restart),
        cmocka_unit_test(a_disturbance_outlives_a_restart),
        cmocka_unit_test(a_disturbance_is_carried_as_long_as_it_may_matter),
        cmocka_unit_test(values_of_an_earlier_process_are_judged_by_content),
        cmocka_unit_test(records_of_an_earlier_process_are_doubtful),
        cmocka_unit_test(a_commit_of_an_earlier_process_is_not_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

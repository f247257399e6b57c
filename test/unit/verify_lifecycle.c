#include "../support/scene.h"

/* When runs start, pause, resume and end; effects and their intents; restarts. */

static enum model_verdict result(const struct verify_plan *plan)
{
    return plan->status.result;
}

static void end_run(struct scene *scene, enum model_verdict verdict)
{
    scene_at(scene, STAGE_LAG_DRAINED, "Drain");
    scene->status.result = verdict;
    scene->status.run.finished_ms = scene->s.now.wall_ms;
}

/* ---------------------------------------------------------------- start */

static void a_new_resource_starts_a_run(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene->s.reverify = "token-0";
    const struct verify_plan *plan = scene_decide(scene);
    assert_string_equal(plan->status.run.id, "newrun0001");
    assert_string_equal(plan->status.run.spec_hash, scene->spec->hash);
    assert_string_equal(plan->status.last_handled_reverify, "token-0");
    assert_true(scene_has_event(plan, "RunStarted"));
    assert_true(plan->observe.clients && plan->observe.watches && plan->finalizer);
    assert_false(plan->act);
    scene_free(scene);
}

static void nothing_starts_without_the_finalizer(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene->s.has_finalizer = false;
    const struct verify_plan *plan = scene_decide(scene);
    assert_string_equal(plan->status.run.id, "");
    assert_true(plan->finalizer);
    scene_free(scene);
}

static void an_ended_run_stays_ended(void **state)
{
    (void)state;
    for (int verdict = MODEL_PASSED; verdict <= MODEL_ABORTED; verdict++) {
        struct scene *scene = scene_new();
        end_run(scene, (enum model_verdict)verdict);
        const struct verify_plan *plan = scene_decide(scene);
        assert_string_equal(plan->status.run.id, SCENE_RUN);
        assert_false(plan->act || plan->observe.clients);
        assert_int_equal(result(plan), verdict);
        scene_free(scene);
    }
}

static void reverify_starts_one_run_a_token(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    end_run(scene, MODEL_PASSED);
    scene->s.reverify = "token-1";
    assert_string_equal(scene_decide(scene)->status.run.id, "newrun0001");
    assert_string_equal(scene->plan.status.last_handled_reverify, "token-1");
    assert_int_equal(result(&scene->plan), MODEL_NO_VERDICT);
    (void)dv_strlcpy(scene->status.last_handled_reverify, "token-1", sizeof scene->status.last_handled_reverify);
    assert_string_equal(scene_decide(scene)->status.run.id, SCENE_RUN);
    scene->s.reverify = "";
    assert_string_equal(scene_decide(scene)->status.run.id, SCENE_RUN);
    scene_free(scene);
}

/* The status as it is read again: what decides is what was stored. */
static void stored(struct scene *scene)
{
    json_t *json = model_status_encode(&scene->plan.status, scene->spec);
    struct model_status again;
    assert_true(strlen(json_string_value(json_object_get(json, "lastHandledReverify"))) <= MODEL_TOKEN_MAX);
    model_status_decode(json, &again);
    (void)dv_strlcpy(scene->status.last_handled_reverify, again.last_handled_reverify, sizeof scene->status.last_handled_reverify);
    model_status_clear(&again);
    json_decref(json);
}

static void taken_once(struct scene *scene, const char *token)
{
    scene->s.reverify = token;
    assert_string_equal(scene_decide(scene)->status.run.id, "newrun0001");
    stored(scene);
    assert_string_equal(scene_decide(scene)->status.run.id, SCENE_RUN);
}

/* Wherever a cut falls, of whatever length: each token starts one run, and one that begins alike another. */
static void long_tokens_are_told_apart_and_taken_once(void **state)
{
    (void)state;
    static const size_t lengths[] = {62, 63, 64, 200, 255, 256, 257, 300, 4096};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        for (size_t shift = 0; shift < 3; shift++) {
            struct scene *scene = scene_new();
            char *token = dv_alloc(lengths[i] + 4);
            end_run(scene, MODEL_FAILED);
            memset(token, 't', shift);
            for (size_t at = shift; at < lengths[i]; at += 3)
                memcpy(token + at, "\xe2\x82\xac", 3);
            taken_once(scene, token);
            memset(token + shift + (lengths[i] - shift - 1) / 3 * 3, 'x', 3);
            taken_once(scene, token);
            free(token);
            scene_free(scene);
        }
    }
}

/* A run switches distribution off first: after a pass only a person starts one. */
static void a_changed_spec_starts_a_run_unless_passed(void **state)
{
    (void)state;
    for (int verdict = MODEL_PASSED; verdict <= MODEL_ABORTED; verdict++) {
        struct scene *scene = scene_new();
        end_run(scene, (enum model_verdict)verdict);
        (void)dv_strlcpy(scene->status.run.spec_hash, "0123456789abcdef", sizeof scene->status.run.spec_hash);
        assert_string_equal(scene_decide(scene)->status.run.id, verdict == MODEL_PASSED ? SCENE_RUN : "newrun0001");
        scene_free(scene);
    }
}

static void what_the_last_run_left_is_remembered(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    end_run(scene, MODEL_PASSED);
    scene->s.reverify = "again";
    scene_left(scene, MODEL_A, "11111");
    scene_left(scene, MODEL_B, "11111");
    scene_declare(scene, MODEL_A, "11111");
    scene_declare(scene, MODEL_B, "11111");
    const struct verify_plan *plan = scene_decide(scene);
    assert_int_equal(plan->status.stages[STAGE_PREFLIGHT].state, STATE_PASSED);
    assert_true(scene_has_event(plan, "DistributionInterrupted"));
    assert_true(plan->status.run.have_left[MODEL_A] && plan->status.run.have_left[MODEL_B]); /* a run that ends before it writes keeps it */
    scene_free(scene);
}

/* The spec names another Distributor now, which is on as well: nothing says that it may be switched off. */
static void what_was_left_elsewhere_says_nothing(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    end_run(scene, MODEL_FAILED);
    scene->s.reverify = "again";
    for (int side = 0; side < MODEL_SIDES; side++) {
        scene_left(scene, (enum model_side)side, "11111");
        scene_declare(scene, (enum model_side)side, "11111");
    }
    char *key = scene->spec->cluster[MODEL_B].distributor.values.key;
    scene->spec->cluster[MODEL_B].distributor.values.key = (char *)(uintptr_t) "production.yaml";
    const struct verify_plan *plan = scene_decide(scene);
    assert_int_equal(plan->status.stages[STAGE_PREFLIGHT].reason, REASON_DistributionAlreadyOn);
    assert_non_null(strstr(plan->status.message, "dc2"));
    scene->spec->cluster[MODEL_B].distributor.values.key = key;
    scene_free(scene);
}

/* ---------------------------------------------------------------- ends from outside */

static void abort_names_its_run(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_LAG_DRAINED, "Drain");
    scene->s.abort = "otherrun01";
    assert_true(model_run_active(&scene_decide(scene)->status));
    assert_true(scene_event(&scene->plan, "AbortIgnored")->warning);
    assert_non_null(strstr(scene_event(&scene->plan, "AbortIgnored")->note, "otherrun01, but run " SCENE_RUN));
    scene_adopt(scene);
    assert_false(scene_has_event(scene_decide(scene), "AbortIgnored")); /* once */
    scene->s.abort = "otherrun02";
    assert_true(scene_has_event(scene_decide(scene), "AbortIgnored"));
    (void)dv_strlcpy(scene->status.history[scene->status.history_count++].run, "otherrun02", sizeof scene->status.history[0].run);
    assert_false(scene_has_event(scene_decide(scene), "AbortIgnored")); /* it ended an earlier run */
    scene->s.abort = SCENE_RUN;
    const struct verify_plan *plan = scene_decide(scene);
    assert_int_equal(result(plan), MODEL_ABORTED);
    assert_int_equal(plan->status.stages[STAGE_LAG_DRAINED].reason, REASON_Aborted);
    assert_true(plan->release);
    assert_false(plan->act);
    assert_false(scene_event(plan, "Aborted")->warning); /* by whoever asked for it */
    scene_free(scene);
}

/* Nobody switches anything off when people end a run: it is said what stays on. */
static void what_an_ended_run_leaves_on_is_told(void **state)
{
    (void)state;
    static const struct {
        bool deleting;
        const char *event, *why;
    } ends[] = {{false, "Aborted", "aborted by the annotation distverify.io/abort; "},
                {true, "Aborted", "the resource is being deleted; "}};
    static const struct {
        const char *a, *b, *left; /* NULL: not written */
    } rows[] = {
        {"11100", "01000", "left on: distribution, init, messageDistributor of dc1 and init of dc2"},
        {"01000", NULL, "left on: init of dc1"},
        {"11111", "00000", "left on: all of dc1 and nothing of dc2"},
        {NULL, NULL, "no switch was touched"},
    };
    for (size_t end = 0; end < sizeof ends / sizeof ends[0]; end++) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            struct scene *scene = scene_new();
            scene_at(scene, STAGE_LAG_DRAINED, "Drain");
            scene->status.run.have_left[MODEL_A] = scene->status.run.have_left[MODEL_B] = false;
            if (rows[i].a != NULL)
                scene_left(scene, MODEL_A, rows[i].a);
            if (rows[i].b != NULL)
                scene_left(scene, MODEL_B, rows[i].b);
            scene->s.abort = ends[end].deleting ? NULL : SCENE_RUN;
            scene->s.deleting = ends[end].deleting;
            const struct verify_plan *plan = scene_decide(scene);
            char said[200];
            (void)dv_format(said, sizeof said, "%s%s", ends[end].why, rows[i].left);
            assert_string_equal(plan->status.stages[STAGE_LAG_DRAINED].message, said);
            assert_true(dv_ends_with(plan->status.message, rows[i].left));
            assert_true(dv_ends_with(scene_event(plan, ends[end].event)->note, said));
            scene_free(scene);
        }
    }
}

static void a_changed_spec_ends_the_run_and_starts_another(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_MESSAGES_A_TO_B, "On");
    (void)dv_strlcpy(scene->status.run.spec_hash, "0123456789abcdef", sizeof scene->status.run.spec_hash);
    const struct verify_plan *plan = scene_decide(scene);
    assert_int_equal(result(plan), MODEL_NO_VERDICT);
    assert_string_equal(plan->status.run.id, "newrun0001");
    assert_int_equal(plan->status.history_count, 1);
    assert_string_equal(plan->status.history[0].run, SCENE_RUN);
    assert_int_equal(plan->status.history[0].result, MODEL_ABORTED);
    assert_int_equal(plan->status.history[0].reason, REASON_SpecChanged);
    assert_true(scene_has_event(plan, "SpecChanged") && scene_has_event(plan, "RunStarted"));
    assert_false(scene_event(plan, "SpecChanged")->warning);
    assert_string_equal(plan->events[0].run, SCENE_RUN);
    assert_string_equal(plan->events[1].run, "newrun0001");
    scene_free(scene);
}

/* An effect that was asked for is waited out. */
static void nothing_ends_before_the_answer(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_MESSAGES_A_TO_B, "Write");
    scene_declare(scene, MODEL_A, "01000");
    scene_left(scene, MODEL_A, "01000");
    (void)scene_decide(scene);
    scene_adopt(scene);
    assert_true(scene_decide(scene)->act);
    scene_adopt(scene);
    scene->s.abort = SCENE_RUN;
    assert_true(model_run_active(&scene_decide(scene)->status));
    scene->s.abort = NULL;
    scene->s.deleting = true;
    assert_true(scene_decide(scene)->finalizer);
    scene_effect(scene, DV_ERR_NONE);
    const struct verify_plan *plan = scene_decide(scene);
    assert_false(plan->finalizer);
    assert_int_equal(result(plan), MODEL_ABORTED);
    scene_free(scene);
}

static void history_keeps_five(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    for (int i = 0; i < 8; i++) {
        char id[11];
        scene->s.new_run_id = dv_format(id, sizeof id, "run%07d", i);
        char token[8];
        scene->s.reverify = dv_format(token, sizeof token, "t%d", i);
        (void)scene_decide(scene);
        scene_adopt(scene);
        scene->s.abort = id;
        (void)scene_decide(scene);
        scene_adopt(scene);
        scene->s.abort = NULL;
    }
    assert_int_equal(scene->status.history_count, MODEL_HISTORY_MAX);
    assert_string_equal(scene->status.history[0].run, "run0000007");
    assert_string_equal(scene->status.history[4].run, "run0000003");
    scene_free(scene);
}

/* ---------------------------------------------------------------- intents and effects */

static void intents_are_written_before_effects(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_MESSAGES_A_TO_B, "Write");
    scene_declare(scene, MODEL_A, "01000");
    scene_left(scene, MODEL_A, "01000");
    const struct verify_plan *plan = scene_decide(scene);
    assert_int_equal(plan->status.run.intent.kind, INTENT_VALUES);
    assert_false(plan->act);
    (void)scene_decide(scene); /* not adopted: the write failed */
    assert_false(scene->plan.act);
    scene_adopt(scene);
    plan = scene_decide(scene);
    assert_true(plan->act);
    scene_adopt(scene);
    assert_false(scene_decide(scene)->act); /* once */
    scene_declare(scene, MODEL_A, "11100");
    scene_effect(scene, DV_ERR_NONE);
    plan = scene_decide(scene);
    assert_int_equal(plan->status.run.intent.kind, INTENT_NONE);
    assert_true(plan->status.run.have_left[MODEL_A] && plan->status.run.left[MODEL_A].on[MODEL_SW_MD]);
    assert_true(scene_has_event(plan, "ValuesPatched"));
    scene_free(scene);
}

/* The answer to the patch is lost, but it was done: nobody else has changed anything. */
static void a_lost_answer_is_no_change_by_others(void **state)
{
    (void)state;
    static const enum dv_err_kind kinds[] = {DV_ERR_TIMEOUT, DV_ERR_UNREACHABLE, DV_ERR_CONFLICT};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct scene *scene = scene_new();
        scene_at(scene, STAGE_MESSAGES_A_TO_B, "Write");
        scene_declare(scene, MODEL_A, "01000");
        scene_left(scene, MODEL_A, "01000");
        (void)scene_decide(scene);
        scene_adopt(scene);
        (void)scene_decide(scene);
        scene_adopt(scene);
        scene_effect(scene, kinds[i]);
        (void)scene_decide(scene);
        scene_adopt(scene);
        assert_true(model_run_active(&scene->status));
        scene_declare(scene, MODEL_A, "11100");
        scene_later(scene, 1000);
        const struct verify_plan *plan = scene_decide(scene);
        assert_true(model_run_active(&plan->status));
        assert_string_not_equal(plan->memory.step, "Write");
        scene_free(scene);
    }
}

static const struct {
    const char *name;
    enum dv_err_kind kind;
    enum model_reason reason;
} refusals[] = {
    {"denied", DV_ERR_DENIED, REASON_PermissionMissing},     {"credentials", DV_ERR_AUTH, REASON_AuthenticationFailed},
    {"certificate", DV_ERR_CERT, REASON_CertificateInvalid}, {"secret", DV_ERR_SECRET, REASON_SecretNotFound},
    {"values", DV_ERR_INVALID, REASON_ValuesInvalid},
};

static void refused_effects_end_the_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        struct scene *scene = scene_new();
        scene_at(scene, STAGE_MESSAGES_A_TO_B, "Write");
        scene_declare(scene, MODEL_A, "01000");
        scene_left(scene, MODEL_A, "01000");
        (void)scene_decide(scene);
        scene_adopt(scene);
        (void)scene_decide(scene);
        scene_adopt(scene);
        scene_effect(scene, refusals[i].kind);
        scene->memory.refused_ms = scene->s.now.mono_ms - TURN_REFUSED_MS;
        const struct verify_plan *plan = scene_decide(scene);
        assert_int_equal(result(plan), MODEL_ERROR);
        assert_int_equal(plan->status.stages[STAGE_MESSAGES_A_TO_B].reason, refusals[i].reason);
        scene_free(scene);
    }
}

/* The patch is tried again for a while: an API server that was just started refuses what it allows. */
static void a_refused_patch_is_tried_again(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_MESSAGES_A_TO_B, "Write");
    scene_declare(scene, MODEL_A, "01000");
    scene_left(scene, MODEL_A, "01000");
    for (int i = 0; i < 2; i++) {
        (void)scene_decide(scene);
        scene_adopt(scene);
    }
    scene_effect(scene, DV_ERR_DENIED);
    const struct verify_plan *plan = scene_decide(scene);
    assert_true(model_run_active(&plan->status));
    assert_int_equal(plan->status.run.intent.kind, INTENT_NONE);
    assert_int_equal(plan->wake_ms, scene->s.now.mono_ms + 5000);
    scene_adopt(scene);
    scene_later(scene, 4999);
    assert_int_equal(scene_decide(scene)->status.run.intent.kind, INTENT_NONE);
    scene_adopt(scene);
    scene_later(scene, 1);
    assert_int_equal(scene_decide(scene)->status.run.intent.kind, INTENT_VALUES);
    scene_free(scene);
}

/* Perhaps produced: at most one copy of each is expected, and new ones are made. */
static void lost_records_are_made_anew(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_MESSAGES_A_TO_B, "Produce");
    (void)scene_decide(scene);
    scene_adopt(scene);
    assert_int_equal(scene->status.run.batch_count, 1);
    (void)scene_decide(scene);
    scene_adopt(scene);
    scene_effect(scene, DV_ERR_TIMEOUT);
    (void)scene_decide(scene);
    scene_adopt(scene);
    scene_later(scene, 1000);
    for (int i = 0; i < 3 && scene->status.run.batch_count < 2; i++) {
        (void)scene_decide(scene);
        scene_adopt(scene);
        scene_later(scene, 1000);
    }
    assert_true(scene->status.run.batches[0].maybe);
    assert_int_equal(scene->status.run.batch_count, 2);
    assert_false(scene->status.run.batches[1].maybe);
    assert_string_not_equal(scene->status.run.batches[0].id, scene->status.run.batches[1].id);
    assert_int_equal(scene->status.stages[STAGE_MESSAGES_A_TO_B].attempts, 2);
    scene_free(scene);
}

static void retries_are_bounded(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_OFFSETS_A_TO_B, "Before");
    scene->side[MODEL_B].groups[VERIFY_TEST_GROUP].members = 1;
    int rounds = 0;
    while (model_run_active(&scene->status) && rounds++ < 10) {
        (void)scene_decide(scene);
        scene_adopt(scene);
        scene_later(scene, scene->spec->window_ms); /* what was in the way gets a window to go */
    }
    assert_int_equal(rounds, 3);
    assert_int_equal(scene->status.result, MODEL_INCONCLUSIVE);
    assert_int_equal(scene->status.stages[STAGE_OFFSETS_A_TO_B].reason, REASON_GroupActive);
    assert_int_equal(scene->status.stages[STAGE_OFFSETS_A_TO_B].attempts, 3);
    scene_free(scene);
}

/* What cannot be told apart before the stage has come to where it produces leaves no step out. */
static void a_retry_skips_nothing(void **state)
{
    (void)state;
    for (int stage = STAGE_INIT_A; stage < MODEL_STAGES; stage++) {
        const struct verify_table *table = &verify_tables[stage];
        for (size_t i = 0; i < table->step_count; i++) {
            struct scene *scene = scene_new();
            scene_at(scene, (enum model_stage)stage, table->steps[i].name);
            scene->memory.disturbed_ms = scene->s.now.mono_ms;
            scene_finding(scene, MODEL_A, FACT_LOG_ERROR, true);
            const struct verify_plan *plan = scene_decide(scene);
            assert_int_equal(plan->status.stages[stage].attempts, 2);
            if (table_step((enum model_stage)stage, plan->memory.step) > &table->steps[i])
                fail_msg("%s: from %s on to %s", model_stage_name((enum model_stage)stage), table->steps[i].name, plan->memory.step);
            scene_free(scene);
        }
    }
}

/* ---------------------------------------------------------------- deadlines */

static void progress_puts_the_stage_deadline_off(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_LAG_DRAINED, "Drain");
    scene_offsets_all(scene->memory.mark[MODEL_A], 100);
    scene->side[MODEL_A].md.high[0] = 40;
    scene->memory.best_commit = 1000;
    scene->memory.progress_ms = scene->s.now.mono_ms - scene->spec->stage_deadline_ms;
    assert_int_equal(scene_decide(scene)->status.stages[STAGE_LAG_DRAINED].reason, REASON_StageDeadlineExceeded);
    assert_int_equal(result(&scene->plan), MODEL_ERROR);
    assert_non_null(strstr(scene->plan.status.stages[STAGE_LAG_DRAINED].message, "offset 100 of partition 0 (now 40)"));
    scene->memory.best_commit = 0;
    assert_true(model_run_active(&scene_decide(scene)->status));
    scene->status.run.started_ms = scene->s.now.wall_ms - scene->spec->run_deadline_ms;
    assert_int_equal(scene_decide(scene)->status.stages[STAGE_LAG_DRAINED].reason, REASON_LagNotDrained);
    scene_free(scene);
}

/* Every wait has an end: a wake is due in each step, whatever else happens. */
static void no_step_waits_for_ever(void **state)
{
    (void)state;
    for (int stage = 0; stage < MODEL_STAGES; stage++) {
        const struct verify_table *table = &verify_tables[stage];
        for (size_t i = 0; i < table->step_count; i++) {
            struct scene *scene = scene_new();
            scene_at(scene, (enum model_stage)stage, table->steps[i].name);
            const struct verify_plan *plan = scene_decide(scene);
            if (model_run_active(&plan->status) && plan->status.run.intent.kind == INTENT_NONE && plan->event_count == 0)
                assert_true(plan->wake_ms > scene->s.now.mono_ms && plan->wake_ms <= scene->s.now.mono_ms + scene->spec->run_deadline_ms);
            scene->status.run.started_ms -= 2 * scene->spec->run_deadline_ms;
            scene->memory.progress_ms -= 2 * scene->spec->stage_deadline_ms;
            for (int turn = 0; turn < 20 && model_run_active(&scene->status) && scene->status.run.intent.kind == INTENT_NONE; turn++) {
                (void)scene_decide(scene);
                scene_adopt(scene);
            }
            scene_free(scene);
        }
    }
}

/* ---------------------------------------------------------------- determinism */

static void the_same_snapshot_gives_the_same_plan(void **state)
{
    (void)state;
    for (int stage = 0; stage < MODEL_STAGES; stage++) {
        const struct verify_table *table = &verify_tables[stage];
        for (size_t i = 0; i < table->step_count; i++) {
            struct scene *scene = scene_new();
            struct verify_plan again;
            scene_at(scene, (enum model_stage)stage, table->steps[i].name);
            const struct verify_plan *plan = scene_decide(scene);
            verify_decide(&scene->s, &again);
            json_t *one = model_status_encode(&plan->status, scene->spec);
            json_t *two = model_status_encode(&again.status, scene->spec);
            assert_true(json_equal(one, two));
            assert_memory_equal(&plan->memory, &again.memory, sizeof again.memory);
            assert_memory_equal(plan->ask, again.ask, sizeof again.ask);
            assert_true(plan->wake_ms == again.wake_ms && plan->act == again.act && plan->event_count == again.event_count);
            json_decref(one);
            json_decref(two);
            verify_plan_clear(&again);
            scene_free(scene);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_resource_starts_a_run),
        cmocka_unit_test(nothing_starts_without_the_finalizer),
        cmocka_unit_test(an_ended_run_stays_ended),
        cmocka_unit_test(reverify_starts_one_run_a_token),
        cmocka_unit_test(long_tokens_are_told_apart_and_taken_once),
        cmocka_unit_test(a_changed_spec_starts_a_run_unless_passed),
        cmocka_unit_test(what_the_last_run_left_is_remembered),
        cmocka_unit_test(what_was_left_elsewhere_says_nothing),
        cmocka_unit_test(abort_names_its_run),
        cmocka_unit_test(what_an_ended_run_leaves_on_is_told),
        cmocka_unit_test(a_changed_spec_ends_the_run_and_starts_another),
        cmocka_unit_test(nothing_ends_before_the_answer),
        cmocka_unit_test(history_keeps_five),
        cmocka_unit_test(intents_are_written_before_effects),
        cmocka_unit_test(a_lost_answer_is_no_change_by_others),
        cmocka_unit_test(refused_effects_end_the_run),
        cmocka_unit_test(a_refused_patch_is_tried_again),
        cmocka_unit_test(lost_records_are_made_anew),
        cmocka_unit_test(retries_are_bounded),
        cmocka_unit_test(a_retry_skips_nothing),
        cmocka_unit_test(progress_puts_the_stage_deadline_off),
        cmocka_unit_test(no_step_waits_for_ever),
        cmocka_unit_test(the_same_snapshot_gives_the_same_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "../support/crd_schema.h"
#include "../support/scene.h"

/* The conditions are a function of the rest of the status. */

static const struct model_condition *condition(const struct verify_plan *plan, const char *type)
{
    for (size_t i = 0; i < plan->status.condition_count; i++)
        if (dv_streq(plan->status.conditions[i].type, type))
            return &plan->status.conditions[i];
    return NULL;
}

static void expect(const struct verify_plan *plan, const char *type, const char *status, const char *reason)
{
    const struct model_condition *found = condition(plan, type);
    if (found == NULL || !dv_streq(found->status, status) || !dv_streq(found->reason, reason))
        fail_msg("%s: want %s %s, have %s %s", type, status, reason, found != NULL ? found->status : "none",
                 found != NULL ? found->reason : "");
    assert_true(found->observed_generation == plan->status.observed_generation && found->transition_ms != 0);
}

static const char *const lasting[] = {"Ready",      "Finished",        "PreflightPassed", "InitVerified", "MessagesVerified",
                                      "LagDrained", "OffsetsVerified", "ValuesPersisted"};
#define LASTING (sizeof lasting / sizeof lasting[0])

/* A run that ended with this verdict in this stage. */
static void end_run(struct scene *scene, enum model_stage stage, enum model_verdict verdict, enum model_reason reason)
{
    static const enum model_state states[] = {STATE_ERROR, STATE_PASSED, STATE_FAILED, STATE_ERROR, STATE_INCONCLUSIVE, STATE_ABORTED};
    scene_at(scene, stage, verify_tables[stage].steps[0].name);
    scene->status.stages[stage].state = states[verdict];
    scene->status.stages[stage].reason = reason;
    scene->status.result = verdict;
    scene->status.run.finished_ms = scene->s.now.wall_ms;
}

static void all_are_there_from_the_first_write(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene->s.has_finalizer = false;
    const struct verify_plan *plan = scene_decide(scene);
    for (size_t i = 0; i < LASTING; i++)
        expect(plan, lasting[i], "Unknown", "Pending");
    assert_int_equal(plan->status.condition_count, LASTING);
    assert_true(plan->finalizer);
    scene_free(scene);
}

static void waiting_says_what_for(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene->s.conflict = "kafka/other";
    const struct verify_plan *plan = scene_decide(scene);
    expect(plan, "Ready", "Unknown", "Conflict");
    assert_non_null(strstr(plan->status.message, "kafka/other"));
    assert_string_equal(plan->status.run.id, "");
    scene->s.conflict = NULL;
    scene->spec->suspend = true;
    expect(scene_decide(scene), "Ready", "Unknown", "Suspended");
    scene->spec->suspend = false;
    scene->s.may_run = false;
    expect(scene_decide(scene), "Ready", "Unknown", "Pending");
    scene_free(scene);
}

static void nothing_has_ended(const struct verify_plan *plan, const char *reason)
{
    expect(plan, "Ready", "Unknown", reason);
    for (size_t i = 1; i < LASTING; i++)
        expect(plan, lasting[i], "Unknown", "Pending");
    assert_int_equal(plan->status.condition_count, LASTING);
    assert_false(model_run_active(&plan->status));
}

/* A run that is wanted and cannot start yet is pending, whatever the last one found: nobody takes its end for that of the next. */
static void a_run_that_is_to_start_is_pending(void **state)
{
    (void)state;
    for (int verdict = MODEL_NO_VERDICT; verdict <= MODEL_ABORTED; verdict++) {
        struct scene *scene = scene_new();
        if (verdict == MODEL_NO_VERDICT)
            scene_at(scene, STAGE_LAG_DRAINED, "Drain");
        else
            end_run(scene, STAGE_LAG_DRAINED, (enum model_verdict)verdict, REASON_LagNotDrained);
        (void)dv_strlcpy(scene->status.run.spec_hash, "0123456789abcdef", sizeof scene->status.run.spec_hash);
        scene->s.reverify = "anew";
        scene->spec->suspend = true;
        nothing_has_ended(scene_decide(scene), "Suspended");
        scene->spec->suspend = false;
        scene->s.conflict = "kafka/other";
        nothing_has_ended(scene_decide(scene), "Conflict");
        scene->s.conflict = NULL;
        scene->s.may_run = false;
        nothing_has_ended(scene_decide(scene), "Pending");
        scene->s.may_run = true;
        assert_string_equal(scene_decide(scene)->status.run.id, "newrun0001");
        scene_free(scene);
    }
}

/* That another run drives the same Distributor may show only after the start: it is waited for before anything is written. */
static void a_run_in_preflight_waits_for_the_first(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_PREFLIGHT, "Look");
    scene->s.goes_first = "kafka/other";
    const struct verify_plan *plan = scene_decide(scene);
    expect(plan, "Ready", "Unknown", "Conflict");
    assert_non_null(strstr(plan->status.message, "kafka/other"));
    assert_int_equal(plan->status.stage, STAGE_PREFLIGHT);
    assert_true(plan->status.run.paused_at_ms != 0 && plan->observe.watches);
    scene_adopt(scene);
    scene->s.goes_first = NULL;
    plan = scene_decide(scene);
    expect(plan, "Ready", "Unknown", "Running");
    assert_int_equal(plan->status.run.paused_at_ms, 0);
    scene_at(scene, STAGE_INIT_A, verify_tables[STAGE_INIT_A].steps[0].name);
    scene->s.goes_first = "kafka/other";
    expect(scene_decide(scene), "Ready", "Unknown", "Running");
    scene_free(scene);
}

/* In every step of every stage. */
static void ready_is_never_false_while_running(void **state)
{
    (void)state;
    for (int stage = 0; stage < MODEL_STAGES; stage++) {
        for (size_t i = 0; i < verify_tables[stage].step_count; i++) {
            struct scene *scene = scene_new();
            scene_at(scene, (enum model_stage)stage, verify_tables[stage].steps[i].name);
            const struct verify_plan *plan = scene_decide(scene);
            if (model_run_active(&plan->status)) {
                expect(plan, "Ready", "Unknown", "Running");
                expect(plan, "Finished", "Unknown", "Running");
                expect(plan, "Reconciling", "True", "Running");
                assert_null(condition(plan, "Stalled"));
            }
            scene_free(scene);
        }
    }
}

static void a_pass_is_ready(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    end_run(scene, STAGE_PERSISTED, MODEL_PASSED, REASON_Passed);
    const struct verify_plan *plan = scene_decide(scene);
    expect(plan, "Ready", "True", "Passed");
    expect(plan, "Finished", "True", "Passed");
    for (size_t i = 2; i < LASTING; i++)
        expect(plan, lasting[i], "True", "Passed");
    assert_int_equal(plan->status.condition_count, LASTING);
    scene_free(scene);
}

static void ends_without_a_pass(void **state)
{
    (void)state;
    static const struct {
        enum model_verdict verdict;
        enum model_reason reason;
        const char *verified;
    } rows[] = {
        {MODEL_FAILED, REASON_LoopDetected, "False"},
        {MODEL_ERROR, REASON_ClusterUnreachable, "Unknown"},
        {MODEL_INCONCLUSIVE, REASON_RedeliverySuspected, "Unknown"},
        {MODEL_ABORTED, REASON_Aborted, "Unknown"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scene *scene = scene_new();
        end_run(scene, STAGE_MESSAGES_BOTH_WAYS, rows[i].verdict, rows[i].reason);
        const struct verify_plan *plan = scene_decide(scene);
        expect(plan, "Ready", "False", model_reason_name(rows[i].reason));
        expect(plan, "Finished", "True", model_verdict_name(rows[i].verdict));
        expect(plan, "InitVerified", "True", "Passed");
        expect(plan, "MessagesVerified", rows[i].verified, model_reason_name(rows[i].reason));
        expect(plan, "LagDrained", "Unknown", "Pending");
        expect(plan, "Stalled", "True", model_reason_name(rows[i].reason));
        assert_null(condition(plan, "Reconciling"));
        scene_free(scene);
    }
}

static void a_spec_that_cannot_be_used_stalls(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    struct dv_err err = DV_ERR_INIT;
    (void)dv_err_set(&err, DV_ERR_INVALID, "spec.topic: needs either name or nameOn");
    scene->s.spec = NULL;
    scene->s.spec_err = &err;
    const struct verify_plan *plan = scene_decide(scene);
    expect(plan, "Ready", "False", "InvalidSpec");
    expect(plan, "Stalled", "True", "InvalidSpec");
    assert_string_equal(plan->status.message, err.text);
    scene_free(scene);
}

/* What an earlier run found says nothing of a spec that cannot be used; when it is as it was, it counts again. */
static void a_spec_that_cannot_be_used_has_no_end(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    struct dv_err err = DV_ERR_INIT;
    (void)dv_err_set(&err, DV_ERR_INVALID, "spec.topic: needs either name or nameOn");
    scene_at(scene, STAGE_PERSISTED, "Done");
    (void)scene_decide(scene);
    scene_adopt(scene);
    scene->s.spec = NULL;
    scene->s.spec_err = &err;
    const struct verify_plan *plan = scene_decide(scene);
    expect(plan, "Ready", "False", "InvalidSpec");
    expect(plan, "Stalled", "True", "InvalidSpec");
    expect(plan, "Finished", "Unknown", "Pending");
    expect(plan, "PreflightPassed", "Unknown", "Pending");
    expect(plan, "ValuesPersisted", "Unknown", "Pending");
    scene_adopt(scene);
    scene->s.spec = scene->spec;
    plan = scene_decide(scene);
    expect(plan, "Ready", "True", "Passed");
    expect(plan, "Finished", "True", "Passed");
    assert_null(condition(plan, "Stalled"));
    scene_free(scene);
}

/* ---------------------------------------------------------------- times */

static void times_move_with_the_status_only(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_MESSAGES_A_TO_B, "Arrive");
    (void)scene_copied(scene, MODEL_A, STAGE_MESSAGES_A_TO_B, 3);
    scene_offsets_all(scene->side[MODEL_A].md.high, 50);
    (void)scene_decide(scene);
    scene_adopt(scene);
    int64_t began = scene->s.now.wall_ms;
    scene_later(scene, 7000);
    scene->s.generation = 2;
    const struct verify_plan *plan = scene_decide(scene);
    for (size_t i = 0; i < plan->status.condition_count; i++)
        assert_int_equal(plan->status.conditions[i].transition_ms, began);
    expect(plan, "Ready", "Unknown", "Running");
    scene_adopt(scene);
    scene->s.abort = SCENE_RUN;
    scene_later(scene, 1000);
    plan = scene_decide(scene);
    expect(plan, "Ready", "False", "Aborted");
    assert_int_equal(condition(plan, "Ready")->transition_ms, scene->s.now.wall_ms);
    assert_int_equal(condition(plan, "InitVerified")->transition_ms, began);
    scene_free(scene);
}

/* A settled resource causes no writes. */
static void what_is_settled_stays_equal(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    end_run(scene, STAGE_PERSISTED, MODEL_PASSED, REASON_Passed);
    (void)scene_decide(scene);
    scene_adopt(scene);
    json_t *one = model_status_encode(&scene->status, scene->spec);
    scene_restart(scene);
    scene_later(scene, 3600000);
    json_t *two = model_status_encode(&scene_decide(scene)->status, scene->spec);
    assert_true(json_equal(one, two));
    assert_true(scene->plan.wake_ms == INT64_MAX);
    json_decref(one);
    json_decref(two);
    scene_free(scene);
}

/* ---------------------------------------------------------------- stale */

static void pass(struct scene *scene)
{
    scene_at(scene, STAGE_PERSISTED, "Done");
    (void)scene_decide(scene);
    scene_adopt(scene);
    assert_int_equal(scene->status.result, MODEL_PASSED);
    assert_int_equal(strlen(scene->status.run.fingerprint), 16);
    expect(&scene->plan, "Ready", "True", "Passed");
}

static void stale(struct scene *scene, const char *why)
{
    const struct verify_plan *plan = scene_decide(scene);
    if (strstr(plan->status.message, why) == NULL)
        fail_msg("\"%s\" does not say: %s", plan->status.message, why);
    expect(plan, "Ready", "False", "Stale");
    expect(plan, "Stalled", "True", "Stale");
    expect(plan, "Finished", "True", "Passed");
    assert_non_null(strstr(plan->status.message, "distverify.io/reverify"));
    assert_int_equal(plan->status.result, MODEL_PASSED);
    assert_false(plan->act);
}

static void changes_after_a_pass_make_it_stale(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    pass(scene);
    expect(scene_decide(scene), "Ready", "True", "Passed");
    scene->side[MODEL_B].values.declared[MODEL_SW_OC] = VERIFY_OFF;
    stale(scene, "switch offsetCommitter of dc2 is off in the values, it was on when the run passed; distverify.io/reverify");
    assert_true(scene_event(&scene->plan, "Stale")->warning);
    assert_non_null(strstr(scene_event(&scene->plan, "Stale")->note, "interrupts distribution"));
    scene_adopt(scene);
    assert_int_equal(scene_decide(scene)->event_count, 0); /* once */
    scene->s.conflict = "kafka/other";
    const struct verify_plan *driven = scene_decide(scene);
    assert_true(dv_ends_with(driven->status.message, "; DistributionVerification kafka/other drives these Distributors now"));
    scene->s.conflict = NULL;
    scene->side[MODEL_B].values.declared[MODEL_SW_OC] = VERIFY_ON;
    const struct verify_plan *back = scene_decide(scene);
    expect(back, "Ready", "True", "Passed");
    assert_null(strstr(back->status.message, "stale"));
    scene_adopt(scene);
    scene->side[MODEL_A].values.principal_count = 1;
    stale(scene, "principals, or class, config or tasksMax of a connector, changed after the pass");
    scene->side[MODEL_A].values.principal_count = 2;
    scene->side[MODEL_A].connector[MODEL_OD].spec_hash++;
    stale(scene, "principals, or class, config or tasksMax of a connector, changed");
    scene->side[MODEL_A].connector[MODEL_OD].spec_hash--;
    scene->side[MODEL_A].there[MODEL_OD] = false;
    stale(scene, "KafkaConnector dc1-od of dc1 is gone");
    scene->side[MODEL_A].there[MODEL_OD] = true;
    scene->side[MODEL_A].values.declared[MODEL_SW_INIT] = VERIFY_ABSENT;
    stale(scene, "switch init of dc1 is not there in the values, it was on");
    scene->side[MODEL_A].values.declared[MODEL_SW_INIT] = VERIFY_ON;
    (void)dv_strlcpy(scene->spec->hash, "0000000000000000", sizeof scene->spec->hash);
    stale(scene, "the spec changed after the pass");
    scene_free(scene);
}

/* A pass vouches for values that can be seen. */
static void lost_values_make_it_stale(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    struct verify_values *values = &scene->side[MODEL_B].values;
    pass(scene);
    values->key_found = false;
    stale(scene, "stale: values.yaml in ConfigMap dc2-values of dc2 is gone; distverify.io/reverify");
    assert_true(scene_event(&scene->plan, "Stale")->warning);
    values->found = false;
    stale(scene, "values.yaml in ConfigMap dc2-values of dc2 is gone");
    values->found = values->key_found = true;
    values->readable = false;
    stale(scene, "values.yaml in ConfigMap dc2-values of dc2 cannot be read");
    values->readable = true;
    expect(scene_decide(scene), "Ready", "True", "Passed");
    scene_free(scene);
}

static void other_changes_do_not(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    pass(scene);
    scene->side[MODEL_A].pod.restarts++;
    scene->side[MODEL_A].pod.ready = false;
    scene->side[MODEL_A].connector[MODEL_MD].generation++;
    scene->side[MODEL_A].connector[MODEL_MD].tasks_running = 0;
    scene->side[MODEL_B].groups[MODEL_MD].members = 0;
    (void)dv_strlcpy(scene->side[MODEL_A].values.manager, "kubectl", sizeof scene->side[MODEL_A].values.manager);
    expect(scene_decide(scene), "Ready", "True", "Passed");
    scene_free(scene);
}

/* After a restart nothing is known at first: neither does a pass turn stale, nor a stale one ready. */
static void a_restart_changes_nothing(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    pass(scene);
    scene_restart(scene);
    scene->s.side[MODEL_A].values = NULL;
    expect(scene_decide(scene), "Ready", "True", "Passed");
    scene->s.side[MODEL_A].values = &scene->side[MODEL_A].values;
    scene->side[MODEL_B].values.declared[MODEL_SW_OC] = VERIFY_OFF;
    stale(scene, "stale: ");
    scene_adopt(scene);
    scene_restart(scene);
    scene->s.side[MODEL_A].values = NULL;
    stale(scene, "stale: ");
    scene_free(scene);
}

/* ---------------------------------------------------------------- texts */

static void every_status_fits_the_crd(void **state)
{
    (void)state;
    json_t *schema = crd_status_schema();
    for (int stage = 0; stage < MODEL_STAGES; stage++) {
        for (size_t i = 0; i < verify_tables[stage].step_count; i++) {
            struct scene *scene = scene_new();
            scene_at(scene, (enum model_stage)stage, verify_tables[stage].steps[i].name);
            scene->s.side[MODEL_B].stamp[VF_GROUPS].failed_ms = 0;
            json_t *json = model_status_encode(&scene_decide(scene)->status, scene->spec);
            crd_check(schema, json, "status");
            json_decref(json);
            scene_fail(scene, MODEL_A, VF_ACLS, DV_ERR_DENIED);
            json = model_status_encode(&scene_decide(scene)->status, scene->spec);
            crd_check(schema, json, "status");
            json_decref(json);
            scene_free(scene);
        }
    }
    json_decref(schema);
}

static void top_messages_are_cut_between_characters(void **state)
{
    (void)state;
    char text[300];
    char out[201];
    for (size_t shift = 0; shift < 4; shift++) {
        text[0] = '\0';
        for (size_t i = 0; i < shift; i++)
            text[i] = 'x';
        for (size_t i = shift; i + 2 < sizeof text - 1; i += 2)
            memcpy(text + i, "\xc3\xbc", 3);
        texts_top(out, sizeof out, "Preflight", text);
        json_t *json = json_string(out);
        assert_non_null(json);
        assert_true(dv_ends_with(out, "...") && strlen(out) > 190);
        json_decref(json);
    }
    texts_top(out, sizeof out, "Preflight", "short");
    assert_string_equal(out, "Preflight: short");
    for (size_t i = 0; i + 6 < sizeof text; i += 6)
        memcpy(text + i, "abcde ", 7);
    texts_top(out, sizeof out, "Preflight", text);
    assert_true(dv_ends_with(out, " abcde...") && strlen(out) > 190);
}

static void what_to_do_is_never_cut(void **state)
{
    (void)state;
    char out[201];
    char text[400];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < MODEL_REASON_COUNT; i++) {
        enum model_reason reason = (enum model_reason)i;
        const char *todo = model_reason_todo(reason);
        texts_end(out, sizeof out, "MessagesBothWays", text, reason);
        assert_true(dv_ends_with(out, todo[0] == '\0' || dv_starts_with(todo, "nothing") ? "..." : todo));
    }
    texts_end(out, sizeof out, "Preflight", "no topic; create it", REASON_TopicNotFound);
    assert_string_equal(out, "Preflight: no topic; create it");
    memcpy(text + sizeof text - 21, "x; what; do this now", 21);
    texts_end(out, sizeof out, "Preflight", text, REASON_TopicNotFound);
    assert_true(dv_ends_with(out, "...; do this now"));
    texts_end(out, sizeof out, "Preflight", "no Secret", REASON_SecretNotFound);
    assert_string_equal(out, "Preflight: no Secret; create the Secret or correct its name and key");
    (void)dv_format(text, sizeof text, "%0150d Authentication failed and more; check it in spec.clusters.a.kafka.authentication", 0);
    texts_end(out, sizeof out, "Preflight", text, REASON_AuthenticationFailed);
    assert_true(strlen(out) < sizeof out && dv_ends_with(out, "0...; check it in spec.clusters.a.kafka.authentication"));
}

/* Whatever is cut, wherever: an event or a note is JSON. */
static void cut_texts_are_whole_characters(void **state)
{
    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        struct scene *scene = scene_new();
        char *name = dv_alloc(1200);
        memset(name, 'x', shift);
        for (size_t i = shift; i + 3 < 1200; i += 3)
            memcpy(name + i, "\xe2\x82\xac", 3);
        free(scene->spec->cluster[MODEL_A].name);
        scene->spec->cluster[MODEL_A].name = name;
        scene_at(scene, STAGE_MESSAGES_A_TO_B, "Arrive");
        scene_finding(scene, MODEL_A, FACT_LOG_RETRYING, true);
        const struct verify_plan *plan = scene_decide(scene);
        assert_int_equal(json_array_size(json_object_get(plan->status.stages[STAGE_MESSAGES_A_TO_B].evidence, "notes")), 1);
        scene_fail(scene, MODEL_A, VF_ACLS, DV_ERR_DENIED);
        plan = scene_decide(scene);
        assert_int_equal(plan->status.result, MODEL_ERROR);
        for (size_t i = 0; i < plan->event_count; i++) {
            json_t *json = json_string(plan->events[i].note);
            assert_non_null(json);
            json_decref(json);
        }
        scene_free(scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_there_from_the_first_write),
        cmocka_unit_test(waiting_says_what_for),
        cmocka_unit_test(a_run_that_is_to_start_is_pending),
        cmocka_unit_test(a_run_in_preflight_waits_for_the_first),
        cmocka_unit_test(ready_is_never_false_while_running),
        cmocka_unit_test(a_pass_is_ready),
        cmocka_unit_test(ends_without_a_pass),
        cmocka_unit_test(a_spec_that_cannot_be_used_stalls),
        cmocka_unit_test(a_spec_that_cannot_be_used_has_no_end),
        cmocka_unit_test(times_move_with_the_status_only),
        cmocka_unit_test(what_is_settled_stays_equal),
        cmocka_unit_test(changes_after_a_pass_make_it_stale),
        cmocka_unit_test(lost_values_make_it_stale),
        cmocka_unit_test(other_changes_do_not),
        cmocka_unit_test(a_restart_changes_nothing),
        cmocka_unit_test(every_status_fits_the_crd),
        cmocka_unit_test(top_messages_are_cut_between_characters),
        cmocka_unit_test(what_to_do_is_never_cut),
        cmocka_unit_test(cut_texts_are_whole_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

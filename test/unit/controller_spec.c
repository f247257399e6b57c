#include "../support/controller_rig.h"

/* What is under way when somebody changes the spec: its answers come later, and are about the spec of before. */

static const char *run_id(const struct rig *rig)
{
    return rig->entry->status.run.id;
}

static enum model_reason reason(const struct rig *rig)
{
    return rig->entry->status.stages[STAGE_PREFLIGHT].reason;
}

/* ---------------------------------------------------------------- a patch of the values */

static void values_told(struct rig *rig, enum port_kube_event_kind kind, port_id id)
{
    static int version = 1;
    char number[16];
    json_t *object = json_pack("{s:{s:s, s:s, s:s}, s:{s:s}}", "metadata", "name", "dc1-values", "uid", "u", "resourceVersion",
                               dv_format(number, sizeof number, "%d", version++), "data", "values.yaml", "distribution: {enabled: true}\n");
    rig_tell(rig, (struct port_kube_event){.kind = kind, .id = id, .json = object, .ns = "kafka", .name = "dc1-values"});
    json_decref(object);
}

/* The intent stands in the status, and the effect was asked for. Returns the patch's id. */
static port_id patch_asked(struct rig *rig, const char *id)
{
    struct entry *entry = rig->entry;
    struct model_intent *intent = &entry->status.run.intent;
    struct verify_plan *plan = dv_alloc(sizeof *plan);
    rig_settle(rig);
    values_told(rig, PORT_KUBE_ITEM, entry->side[MODEL_A].watch_values);
    rig_settle(rig);
    assert_true(entry->side[MODEL_A].values_known);
    *intent = (struct model_intent){.kind = INTENT_VALUES, .side = MODEL_A};
    (void)dv_strlcpy(intent->id, id, sizeof intent->id);
    (void)dv_strlcpy(entry->memory.effect_id, id, sizeof entry->memory.effect_id);
    entry->memory.effect = EFFECT_ASKED;
    act_effect(entry, plan);
    free(plan);
    json_object_set_new(rig->object, "status", model_status_encode(&entry->status, entry->spec));
    const struct rig_call *call = &rig->calls[rig->call_count - 1];
    assert_int_equal(call->verb, PORT_MERGE_PATCH);
    assert_string_equal(call->plural, "configmaps");
    return call->id;
}

static void a_patch_is_answered_after_the_spec_became_unusable(void **state)
{
    struct rig *rig = *state;
    port_id patch = patch_asked(rig, "patch1");
    rig_edit(rig, "clusters.b.namespace", "\"elsewhere\"");
    assert_null(rig->entry->spec);
    values_told(rig, PORT_KUBE_ANSWER, patch);
    rig_settle(rig);
    assert_int_equal(reason(rig), REASON_InvalidSpec);
    assert_non_null(strstr(rig->entry->status.message, "spec.clusters.b.namespace"));
    assert_false(rig->entry->side[MODEL_A].values_known);
}

/* What came of it is still waited for: the next run begins from what this one left. */
static void a_patch_is_answered_after_the_target_changed(void **state)
{
    struct rig *rig = *state;
    char first[16];
    port_id patch = patch_asked(rig, "patch1");
    (void)dv_strlcpy(first, run_id(rig), sizeof first);
    rig_edit(rig, "clusters.a.distributor.values.configMapRef.name", "\"other\"");
    rig_settle(rig);
    assert_string_equal(run_id(rig), first);
    assert_int_not_equal(rig->entry->side[MODEL_A].watch_values, 0);
    values_told(rig, PORT_KUBE_ANSWER, patch);
    assert_false(rig->entry->side[MODEL_A].values_known);
    assert_int_equal(rig->entry->memory.effect, EFFECT_DONE);
    rig_settle(rig);
    assert_string_not_equal(run_id(rig), first);
}

static void a_patch_of_before_is_not_a_later_one(void **state)
{
    struct rig *rig = *state;
    port_id old = patch_asked(rig, "patch1");
    rig_edit(rig, "clusters.b.namespace", "\"elsewhere\"");
    rig_settle(rig);
    rig_edit(rig, "clusters.b.namespace", NULL);
    port_id new = patch_asked(rig, "patch2");
    values_told(rig, PORT_KUBE_ANSWER, old);
    assert_int_equal(rig->entry->memory.effect, EFFECT_ASKED);
    values_told(rig, PORT_KUBE_ANSWER, new);
    assert_int_equal(rig->entry->memory.effect, EFFECT_DONE);
}

/* ---------------------------------------------------------------- a status that holds an intent */

static struct verify_plan *commit_plan(const struct entry *entry)
{
    struct verify_plan *plan = dv_alloc(sizeof *plan);
    struct model_intent *intent = &plan->status.run.intent;
    model_status_copy(&plan->status, &entry->status);
    *intent = (struct model_intent){.id = "commit1", .kind = INTENT_COMMIT, .side = MODEL_B, .partitions = 1};
    intent->offsets = dv_calloc(1, sizeof *intent->offsets);
    intent->before = dv_calloc(1, sizeof *intent->before);
    plan->memory = entry->memory;
    plan->memory.effect = EFFECT_ASKED;
    (void)dv_strlcpy(plan->memory.effect_id, intent->id, sizeof plan->memory.effect_id);
    plan->observe = (struct verify_observe){.watches = true, .clients = true};
    plan->act = true;
    plan->wake_ms = INT64_MAX;
    return plan;
}

/* The write is under way, or it got no answer and is looked for. Returns the id of what is waited for; the status is there already. */
static port_id commit_written(struct rig *rig, bool looked)
{
    struct entry *entry = rig->entry;
    struct verify_plan *plan = commit_plan(entry);
    entry->writing = true;
    *(looked ? &entry->unsure : &entry->plan) = plan;
    json_object_set_new(rig->object, "status", model_status_encode(&plan->status, entry->spec));
    return ticket_new(rig->ctl, looked ? TICKET_LOOK : TICKET_STATUS, entry, MODEL_A)->id;
}

static void commit_row(bool looked, const char *at, const char *value, bool wanted)
{
    void *state = NULL;
    char first[16];
    (void)rig_begin(&state);
    struct rig *rig = state;
    rig_settle(rig);
    (void)dv_strlcpy(first, run_id(rig), sizeof first);
    port_id written = commit_written(rig, looked);
    if (at != NULL)
        rig_edit(rig, at, value);
    rig_tell(rig, (struct port_kube_event){.kind = PORT_KUBE_ANSWER, .id = written, .json = rig->object});
    assert_int_equal(rig->commits, wanted);
    if (wanted)
        assert_string_equal(rig->commit_group, "distribution-test-group");
    assert_int_equal(rig->entry->memory.effect, wanted ? EFFECT_ASKED : EFFECT_NONE);
    rig_settle(rig);
    assert_int_equal(rig->commits, wanted);
    if (!wanted && rig->entry->spec != NULL)
        assert_string_not_equal(run_id(rig), first);
    (void)rig_end(&state);
}

static void an_effect_is_not_begun_with_another_spec(void **state)
{
    (void)state;
    for (int looked = 0; looked < 2; looked++) {
        commit_row(looked, NULL, NULL, true);
        commit_row(looked, "deadlines.stage", "\"20m\"", true);
        commit_row(looked, "group.name", "\"other\"", false);
        commit_row(looked, "clusters.b.namespace", "\"elsewhere\"", false);
        commit_row(looked, "window", "7", false);
    }
}

/* ---------------------------------------------------------------- reviews of our own rights */

static size_t reviews(const struct rig *rig, size_t from, port_id *ids)
{
    size_t count = 0;
    for (size_t i = from; i < rig->call_count; i++)
        if (dv_streq(rig->calls[i].plural, "selfsubjectaccessreviews"))
            ids[count++] = rig->calls[i].id;
    return count;
}

static void reviewed(struct rig *rig, port_id id, bool allowed, enum dv_err_kind trouble)
{
    struct port_kube_event event = {.kind = PORT_KUBE_ANSWER, .id = id};
    json_t *json = json_pack("{s:{s:b}}", "status", "allowed", allowed);
    event.json = json;
    if (trouble != DV_ERR_NONE)
        (void)dv_err_set(&event.err, trouble, "the old server: trouble");
    rig_tell(rig, event);
    json_decref(json);
}

static void review_row(size_t share, enum dv_err_kind trouble)
{
    void *state = NULL;
    port_id old[RIG_MAX], new[RIG_MAX];
    (void)rig_begin(&state);
    struct rig *rig = state;
    rig_settle(rig);
    size_t count = reviews(rig, 0, old);
    size_t calls = rig->call_count;
    assert_true(count > 10);
    rig_edit(rig, "window", "\"61s\"");
    rig_settle(rig);
    assert_int_equal(reviews(rig, calls, new), count);
    for (size_t i = 0; i < count * share / 2; i++)
        reviewed(rig, old[i], true, trouble);
    rig_settle(rig);
    for (int side = 0; side < MODEL_SIDES; side++) {
        assert_int_equal(rig->entry->side[side].stamp[VF_ACCESS].as_of_ms, 0);
        assert_int_equal(rig->entry->side[side].stamp[VF_ACCESS].failed_ms, 0);
    }
    for (size_t i = 0; i < count; i++)
        reviewed(rig, new[i], i + 1 < count, DV_ERR_NONE);
    rig_settle(rig);
    assert_int_equal(reason(rig), REASON_PermissionMissing);
    assert_non_null(strstr(rig->entry->status.message, "patch configmaps dc2-values"));
    (void)rig_end(&state);
}

static void reviews_of_before_do_not_count(void **state)
{
    (void)state;
    for (size_t share = 0; share <= 2; share++) {
        review_row(share, DV_ERR_NONE);
        review_row(share, DV_ERR_UNREACHABLE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_patch_is_answered_after_the_spec_became_unusable, rig_begin, rig_end),
        cmocka_unit_test_setup_teardown(a_patch_is_answered_after_the_target_changed, rig_begin, rig_end),
        cmocka_unit_test_setup_teardown(a_patch_of_before_is_not_a_later_one, rig_begin, rig_end),
        cmocka_unit_test(an_effect_is_not_begun_with_another_spec),
        cmocka_unit_test(reviews_of_before_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

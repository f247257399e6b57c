#include "../support/crd_schema.h"
#include "../support/json_edit.h"

#include "base/mem.h"
#include "base/timefmt.h"
#include "model/status.h"

#define NOW 1772445600000 /* 2026-03-02T10:00:00Z */

static json_t *schema;

static int read_schema(void **state)
{
    (void)state;
    schema = crd_status_schema();
    return 0;
}

static int drop_schema(void **state)
{
    (void)state;
    json_decref(schema);
    return 0;
}

/* ---------------------------------------------------------------- a status with every field */

static int64_t *offsets(int64_t first, int32_t n)
{
    int64_t *list = dv_calloc((size_t)n, sizeof *list);
    for (int32_t i = 0; i < n; i++)
        list[i] = first + i;
    return list;
}

static void fill_run(struct model_run *run)
{
    *run = (struct model_run){.id = "abcdefghi1",
                              .spec_hash = "0123456789abcdef",
                              .attempt = 2,
                              .resumes = 3,
                              .started_ms = NOW,
                              .finished_ms = NOW + 60000,
                              .partitions = 3,
                              .start_offsets = {offsets(10, 3), offsets(20, 3)},
                              .batch_count = 2,
                              .have_before = {true, true},
                              .have_left = {true, false},
                              .left_of = {"0123456789abcdef", "00000000000000aa"},
                              .paused_ms = 7000,
                              .last_progress_ms = NOW + 5000,
                              .disturbed_ms = NOW + 3000,
                              .logs_since_ms = NOW + 2000,
                              .fingerprint = "fedcba9876543210"};
    run->intent = (struct model_intent){.kind = INTENT_COMMIT,
                                        .id = "12345678",
                                        .side = MODEL_B,
                                        .hash = "00000000000000ff",
                                        .at_ms = NOW + 4000,
                                        .partitions = 3,
                                        .offsets = offsets(30, 3),
                                        .before = offsets(-1, 3)};
    run->batches[0] = (struct model_batch){.id = "b0", .side = MODEL_B, .per_partition = 3, .stage = STAGE_INIT_B};
    run->batches[1] = (struct model_batch){.id = "b1", .side = MODEL_A, .per_partition = 5, .stage = STAGE_OFFSETS_A_TO_B, .maybe = true};
    run->before[MODEL_A].on[MODEL_SW_INIT] = true;
    run->before[MODEL_B].on[MODEL_SW_OC] = true;
    run->left[MODEL_A].on[MODEL_SW_MD] = true;
}

static void fill_stages(struct model_status *status)
{
    for (int i = 0; i < MODEL_STAGES; i++) {
        struct model_stage_status *st = &status->stages[i];
        st->state = (enum model_state)i;
        st->reason = (enum model_reason)(i + 1);
        st->started_ms = NOW + i * 1000;
        st->finished_ms = NOW + i * 2000;
        st->attempts = i + 1;
        (void)dv_strlcpy(st->step, "Step", sizeof st->step);
        (void)dv_format(st->message, sizeof st->message, "message %d", i);
    }
    json_object_set_new(model_evidence(status, STAGE_LAG_DRAINED), "partitions", json_integer(3));
}

static void fill_rest(struct model_status *status)
{
    static const char *const types[] = {"Ready",      "Finished",        "PreflightPassed", "InitVerified", "MessagesVerified",
                                        "LagDrained", "OffsetsVerified", "ValuesPersisted", "Reconciling",  "Stalled"};
    static const char *const states[] = {"True", "False", "Unknown"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        status->conditions[status->condition_count++] = (struct model_condition){.type = types[i],
                                                                                 .status = states[i % 3],
                                                                                 .reason = "Reason",
                                                                                 .message = "said",
                                                                                 .transition_ms = NOW + (int64_t)i * 1000,
                                                                                 .observed_generation = (int64_t)i};
    for (int i = 0; i < MODEL_HISTORY_MAX; i++)
        status->history[status->history_count++] = (struct model_history){.run = "abcdefghi2",
                                                                          .result = (enum model_verdict)(MODEL_PASSED + i),
                                                                          .stage = (enum model_stage)i,
                                                                          .reason = (enum model_reason)(i + 1),
                                                                          .started_ms = NOW + i * 1000,
                                                                          .finished_ms = NOW + i * 2000};
}

static void fill(struct model_status *status)
{
    *status = (struct model_status){.present = true,
                                    .observed_generation = 4,
                                    .stage = STAGE_OFFSETS_A_TO_B,
                                    .result = MODEL_INCONCLUSIVE,
                                    .message = "what is going on",
                                    .last_handled_reverify = "token-1"};
    fill_run(&status->run);
    fill_stages(status);
    fill_rest(status);
}

static json_t *filled_json(void)
{
    struct model_status status;
    fill(&status);
    json_t *json = model_status_encode(&status, NULL);
    model_status_clear(&status);
    return json;
}

/* ---------------------------------------------------------------- round trip */

static void assert_same_run(const struct model_run *a, const struct model_run *b)
{
    const int64_t one[] = {a->attempt,   a->resumes,          a->started_ms,   a->finished_ms,  a->partitions, (int64_t)a->batch_count,
                           a->paused_ms, a->last_progress_ms, a->disturbed_ms, a->logs_since_ms};
    const int64_t two[] = {b->attempt,   b->resumes,          b->started_ms,   b->finished_ms,  b->partitions, (int64_t)b->batch_count,
                           b->paused_ms, b->last_progress_ms, b->disturbed_ms, b->logs_since_ms};
    for (size_t i = 0; i < sizeof one / sizeof one[0]; i++)
        assert_int_equal(one[i], two[i]);
    assert_string_equal(a->id, b->id);
    assert_string_equal(a->spec_hash, b->spec_hash);
    assert_string_equal(a->fingerprint, b->fingerprint);
    for (int side = 0; side < MODEL_SIDES; side++) {
        assert_string_equal(a->left_of[side], b->left_of[side]);
        assert_memory_equal(a->start_offsets[side], b->start_offsets[side], (size_t)a->partitions * sizeof(int64_t));
        assert_true(a->have_before[side] == b->have_before[side] && a->have_left[side] == b->have_left[side]);
        for (int i = 0; i < MODEL_SWITCHES; i++)
            assert_true(a->before[side].on[i] == b->before[side].on[i] && a->left[side].on[i] == b->left[side].on[i]);
    }
    for (size_t i = 0; i < a->batch_count; i++) {
        assert_string_equal(a->batches[i].id, b->batches[i].id);
        assert_int_equal(a->batches[i].side, b->batches[i].side);
        assert_int_equal(a->batches[i].per_partition, b->batches[i].per_partition);
        assert_int_equal(a->batches[i].stage, b->batches[i].stage);
        assert_true(a->batches[i].maybe == b->batches[i].maybe);
    }
}

static void assert_same_intent(const struct model_intent *a, const struct model_intent *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_string_equal(a->id, b->id);
    assert_int_equal(a->side, b->side);
    assert_string_equal(a->hash, b->hash);
    assert_int_equal(a->at_ms, b->at_ms);
    assert_int_equal(a->partitions, b->partitions);
    assert_memory_equal(a->offsets, b->offsets, (size_t)a->partitions * sizeof(int64_t));
    assert_memory_equal(a->before, b->before, (size_t)a->partitions * sizeof(int64_t));
}

static void assert_same_stages(const struct model_status *a, const struct model_status *b)
{
    for (int i = 0; i < MODEL_STAGES; i++) {
        assert_int_equal(a->stages[i].state, b->stages[i].state);
        assert_int_equal(a->stages[i].reason, b->stages[i].reason);
        assert_int_equal(a->stages[i].started_ms, b->stages[i].started_ms);
        assert_int_equal(a->stages[i].finished_ms, b->stages[i].finished_ms);
        assert_int_equal(a->stages[i].attempts, b->stages[i].attempts);
        assert_string_equal(a->stages[i].step, b->stages[i].step);
        assert_string_equal(a->stages[i].message, b->stages[i].message);
        assert_true((a->stages[i].evidence == NULL) == (b->stages[i].evidence == NULL));
        assert_true(a->stages[i].evidence == NULL || json_equal(a->stages[i].evidence, b->stages[i].evidence));
    }
}

static void assert_same_rest(const struct model_status *a, const struct model_status *b)
{
    assert_true(a->present == b->present);
    assert_int_equal(a->observed_generation, b->observed_generation);
    assert_int_equal(a->stage, b->stage);
    assert_int_equal(a->result, b->result);
    assert_string_equal(a->message, b->message);
    assert_string_equal(a->last_handled_reverify, b->last_handled_reverify);
    assert_int_equal(a->condition_count, b->condition_count);
    for (size_t i = 0; i < a->condition_count; i++) {
        assert_string_equal(a->conditions[i].type, b->conditions[i].type);
        assert_string_equal(a->conditions[i].status, b->conditions[i].status);
        assert_string_equal(a->conditions[i].reason, b->conditions[i].reason);
        assert_string_equal(a->conditions[i].message, b->conditions[i].message);
        assert_int_equal(a->conditions[i].transition_ms, b->conditions[i].transition_ms);
        assert_int_equal(a->conditions[i].observed_generation, b->conditions[i].observed_generation);
    }
    assert_int_equal(a->history_count, b->history_count);
    assert_memory_equal(a->history, b->history, a->history_count * sizeof a->history[0]);
}

static void assert_same(const struct model_status *a, const struct model_status *b)
{
    assert_same_run(&a->run, &b->run);
    assert_same_intent(&a->run.intent, &b->run.intent);
    assert_same_stages(a, b);
    assert_same_rest(a, b);
}

static void every_field_survives(void **state)
{
    (void)state;
    struct model_status status, copy, back;
    fill(&status);
    model_status_copy(&copy, &status);
    assert_same(&status, &copy);
    json_t *json = model_status_encode(&status, NULL);
    model_status_decode(json, &back);
    assert_same(&status, &back);
    json_t *again = model_status_encode(&back, NULL);
    assert_true(json_equal(json, again));
    json_decref(again);
    json_decref(json);
    model_status_clear(&status);
    model_status_clear(&copy);
    model_status_clear(&back);
    model_status_clear(NULL);
}

/* What a copy holds is its own: evidence of a status that was handed out never changes. */
static void copies_are_independent(void **state)
{
    (void)state;
    struct model_status status, copy;
    fill(&status);
    model_status_copy(&copy, &status);
    json_object_set_new(model_evidence(&copy, STAGE_LAG_DRAINED), "partitions", json_integer(9));
    copy.run.start_offsets[MODEL_A][0] = 99;
    copy.run.intent.offsets[0] = 99;
    assert_int_equal(json_integer_value(json_object_get(status.stages[STAGE_LAG_DRAINED].evidence, "partitions")), 3);
    assert_int_equal(status.run.start_offsets[MODEL_A][0], 10);
    assert_int_equal(status.run.intent.offsets[0], 30);
    model_status_clear(&status);
    model_status_clear(&copy);
}

static void nothing_is_an_empty_status(void **state)
{
    (void)state;
    struct model_status status;
    json_t *null = json_null();
    json_t *born = json_pack("{s:i}", "observedGeneration", -1);
    const json_t *inputs[] = {NULL, null, born};
    for (size_t i = 0; i < 3; i++) {
        model_status_decode(inputs[i], &status);
        assert_false(status.present);
        assert_int_equal(status.observed_generation, -1);
        assert_int_equal(status.result, MODEL_NO_VERDICT);
        assert_false(model_run_active(&status));
        assert_int_equal(model_stages_passed(&status), 0);
        model_status_clear(&status);
    }
    json_decref(born);
}

static void progress_counts_from_the_first_stage(void **state)
{
    (void)state;
    struct model_status status = {0};
    status.stages[0].state = status.stages[1].state = status.stages[3].state = STATE_PASSED;
    assert_int_equal(model_stages_passed(&status), 2);
    for (int i = 0; i < MODEL_STAGES; i++)
        status.stages[i].state = STATE_PASSED;
    assert_int_equal(model_stages_passed(&status), MODEL_STAGES);
    (void)dv_strlcpy(status.run.id, "abcdefghi1", sizeof status.run.id);
    assert_true(model_run_active(&status));
    status.run.finished_ms = 1;
    assert_false(model_run_active(&status));
}

/* ---------------------------------------------------------------- the CRD */

static void the_crd_knows_what_is_written(void **state)
{
    (void)state;
    struct model_status status;
    model_status_decode(NULL, &status);
    json_t *json = model_status_encode(&status, NULL);
    status.observed_generation = 1;
    crd_check(schema, json, "status");
    json_decref(json);
    model_status_clear(&status);
    json = filled_json();
    crd_check(schema, json, "status");
    json_decref(json);
}

/* The longest texts that the structs hold. */
static void texts_fit_the_crd(void **state)
{
    (void)state;
    struct model_status status;
    fill(&status);
    memset(status.message, 'x', sizeof status.message - 1);
    memset(status.last_handled_reverify, 'x', sizeof status.last_handled_reverify - 1);
    for (int i = 0; i < MODEL_STAGES; i++) {
        memset(status.stages[i].message, 'x', sizeof status.stages[i].message - 1);
        memset(status.stages[i].step, 'x', sizeof status.stages[i].step - 1);
    }
    for (size_t i = 0; i < status.condition_count; i++)
        memset(status.conditions[i].message, 'x', sizeof status.conditions[i].message - 1);
    json_t *json = model_status_encode(&status, NULL);
    crd_check(schema, json, "status");
    json_decref(json);
    model_status_clear(&status);
}

/* A cut in the middle of a character, or bytes of another encoding: the API server must still take the status. */
static void broken_characters_lose_no_field(void **state)
{
    (void)state;
    static const char *const texts[] = {"caf\xc3", "\xff\xfe", "ok \xe2\x82", "M\xfcller", "\xed\xa0\x80"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct model_status status;
        fill(&status);
        (void)dv_strlcpy(status.message, texts[i], sizeof status.message);
        (void)dv_strlcpy(status.conditions[0].message, texts[i], sizeof status.conditions[0].message);
        (void)dv_strlcpy(status.stages[0].message, texts[i], sizeof status.stages[0].message);
        json_t *json = model_status_encode(&status, NULL);
        crd_check(schema, json, "status");
        assert_non_null(json_object_get(json, "message"));
        assert_non_null(json_object_get(json_array_get(json_object_get(json, "stages"), 0), "message"));
        json_decref(json);
        model_status_clear(&status);
    }
}

static void characters_that_are_whole_stay(void **state)
{
    (void)state;
    struct model_status status;
    fill(&status);
    (void)dv_strlcpy(status.message, "M\xc3\xbcller \xe2\x82\xac \xf0\x9f\x98\x80", sizeof status.message);
    json_t *json = model_status_encode(&status, NULL);
    assert_string_equal(json_string_value(json_object_get(json, "message")), status.message);
    json_decref(json);
    model_status_clear(&status);
}

/* ---------------------------------------------------------------- odd input */

static void lists_are_bounded(void **state)
{
    (void)state;
    json_t *json = filled_json();
    const json_t *first = json_array_get(json_object_get(json, "history"), 0);
    const json_t *batch = json_array_get(json_object_get(json_object_get(json, "run"), "batches"), 0);
    const json_t *condition = json_array_get(json_object_get(json, "conditions"), 0);
    for (int i = 0; i < 100; i++) {
        json_array_append_new(json_object_get(json, "history"), json_deep_copy(first));
        json_array_append_new(json_object_get(json_object_get(json, "run"), "batches"), json_deep_copy(batch));
        json_array_append_new(json_object_get(json, "conditions"), json_deep_copy(condition));
    }
    struct model_status status;
    model_status_decode(json, &status);
    assert_int_equal(status.history_count, MODEL_HISTORY_MAX);
    assert_int_equal(status.run.batch_count, MODEL_BATCHES_MAX);
    assert_int_equal(status.condition_count, MODEL_CONDITIONS_MAX);
    model_status_clear(&status);
    json_decref(json);
}

/* A batch's size is what memory is taken for. */
static void sizes_of_batches_are_bounded(void **state)
{
    (void)state;
    static const int64_t odd[] = {-1, 0, 101, 2000000000, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        json_t *json = filled_json();
        json_t *value = json_integer(odd[i]);
        json_edit(json, "run.batches.0.perPartition", value);
        struct model_status status;
        model_status_decode(json, &status);
        assert_int_equal(status.run.batch_count, 2);
        assert_in_range(status.run.batches[0].per_partition, 0, 100);
        model_status_clear(&status);
        json_decref(value);
        json_decref(json);
    }
}

static void offsets_of_one_side_alone_are_none(void **state)
{
    (void)state;
    struct model_status status;
    json_t *json = filled_json();
    json_edit(json, "run.startOffsets.b", NULL);
    json_edit(json, "run.intent.before", NULL);
    model_status_decode(json, &status);
    assert_int_equal(status.run.partitions, 0);
    assert_int_equal(status.run.intent.partitions, 0);
    model_status_clear(&status);
    json_decref(json);
}

static void take_and_give_back(const json_t *json)
{
    struct model_status status, copy;
    model_status_decode(json, &status);
    model_status_copy(&copy, &status);
    json_t *again = model_status_encode(&copy, NULL);
    assert_non_null(again);
    json_decref(again);
    model_status_clear(&status);
    model_status_clear(&copy);
}

static void replace_each(json_t *root, json_t *json, const json_t *odd, size_t *count)
{
    for (size_t i = 0; json_is_array(json) && i < json_array_size(json); i++) {
        json_t *kept = json_incref(json_array_get(json, i));
        json_array_set_new(json, i, json_deep_copy(odd));
        take_and_give_back(root);
        json_array_set_new(json, i, kept);
        replace_each(root, kept, odd, count);
    }
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(json, next, key, value)
    {
        json_t *kept = json_incref(value);
        DV_CLEANUP_FREE char *name = dv_strdup(key);
        json_object_set_new(json, name, json_deep_copy(odd));
        take_and_give_back(root);
        json_object_set_new(json, name, kept);
        replace_each(root, kept, odd, count);
        (*count)++;
    }
}

static void any_value_anywhere_is_survived(void **state)
{
    (void)state;
    static const char *const odd[] = {
        "null", "-9223372036854775808", "9223372036854775807", "1e300", "\"\"", "\"Passed\"", "[]", "[null, 1]", "{}", "true"};
    size_t count = 0;
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        json_t *json = filled_json();
        json_t *value = json_loads(odd[i], JSON_DECODE_ANY, NULL);
        replace_each(json, json, value, &count);
        json_decref(value);
        json_decref(json);
    }
    assert_true(count > 1000);
}

/* One stage twice, as no API server would let it through. */
static void a_repeated_stage_leaks_nothing(void **state)
{
    (void)state;
    json_t *json = filled_json();
    json_t *stages = json_object_get(json, "stages");
    json_array_append_new(stages, json_deep_copy(json_array_get(stages, STAGE_LAG_DRAINED)));
    take_and_give_back(json);
    json_decref(json);
}

static void what_a_later_version_writes_is_left_out(void **state)
{
    (void)state;
    json_t *json = filled_json();
    json_t *word = json_string("SomethingNew");
    static const char *const places[] = {
        "result", "stage", "run.intent.kind", "stages.2.state", "stages.3.reason", "conditions.1.type", "history.0.result"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        json_edit(json, places[i], word);
    struct model_status status;
    model_status_decode(json, &status);
    assert_int_equal(status.result, MODEL_NO_VERDICT);
    assert_int_equal(status.run.intent.kind, INTENT_NONE);
    assert_int_equal(status.stages[2].state, STATE_PENDING);
    assert_int_equal(status.stages[3].reason, REASON_None);
    assert_int_equal(status.condition_count, 9);
    model_status_clear(&status);
    json_decref(word);
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_survives),
        cmocka_unit_test(copies_are_independent),
        cmocka_unit_test(nothing_is_an_empty_status),
        cmocka_unit_test(progress_counts_from_the_first_stage),
        cmocka_unit_test(the_crd_knows_what_is_written),
        cmocka_unit_test(texts_fit_the_crd),
        cmocka_unit_test(broken_characters_lose_no_field),
        cmocka_unit_test(characters_that_are_whole_stay),
        cmocka_unit_test(lists_are_bounded),
        cmocka_unit_test(sizes_of_batches_are_bounded),
        cmocka_unit_test(offsets_of_one_side_alone_are_none),
        cmocka_unit_test(any_value_anywhere_is_survived),
        cmocka_unit_test(a_repeated_stage_leaks_nothing),
        cmocka_unit_test(what_a_later_version_writes_is_left_out),
    };
    return cmocka_run_group_tests(tests, read_schema, drop_schema);
}

#include "../support/controller_rig.h"

/* What is asked of Kafka, and what is kept of the answers. */

static int asked_begin(void **state)
{
    (void)rig_begin(state);
    struct rig *rig = *state;
    rig->entry->side[MODEL_A].client = rig->entry->side[MODEL_B].client = 1;
    return 0;
}

static void asked_answer(struct rig *rig, size_t i, int64_t number)
{
    ask_answer(ticket_find(rig->ctl, rig->asked[i]), &(struct port_kafka_event){.kind = PORT_KAFKA_ANSWER, .number = number});
}

static void asked_plan(struct verify_plan *plan, struct verify_distance distance)
{
    plan->ask[MODEL_B] = 1u << VF_DISTANCE;
    plan->distances[MODEL_B][plan->distance_count[MODEL_B]++] = distance;
}

static const struct verify_distance *asked_found(const struct rig *rig, int32_t partition, int64_t from)
{
    const struct ctl_side *facts = &rig->entry->side[MODEL_B];
    for (size_t i = 0; i < facts->distance_count; i++)
        if (facts->distances[i].partition == partition && facts->distances[i].from == from)
            return &facts->distances[i];
    return NULL;
}

/* With as many partitions as there may be, two distances of each are known in the end: how far behind, and what lies there. */
static void distances_of_all_partitions_are_kept(void **state)
{
    struct rig *rig = *state;
    for (int64_t from = 0; from < 3; from++) {
        for (int32_t p = 0; p < MODEL_PARTITIONS_MAX; p++) {
            struct verify_plan *plan = dv_alloc(sizeof *plan);
            asked_plan(plan, (struct verify_distance){.partition = p, .from = from, .to = 10, .before_ms = 5, .limit = 7});
            rig->asked_count = 0;
            ask_all(rig->entry, plan);
            assert_int_equal(rig->asked_count, 1);
            assert_int_equal(rig->question[0].limit, 7);
            asked_answer(rig, 0, from + p);
            free(plan);
        }
    }
    for (int32_t p = 0; p < MODEL_PARTITIONS_MAX; p++) {
        assert_null(asked_found(rig, p, 0)); /* the oldest of its own gave way */
        for (int64_t from = 1; from < 3; from++) {
            assert_non_null(asked_found(rig, p, from));
            assert_int_equal(asked_found(rig, p, from)->records, from + p);
        }
    }
}

static void several_distances_are_under_way_each_once(void **state)
{
    struct rig *rig = *state;
    struct verify_plan *plan = dv_alloc(sizeof *plan);
    for (int32_t p = 0; p < VERIFY_QUESTIONS; p++)
        asked_plan(plan, (struct verify_distance){.partition = p, .from = 1, .to = 2});
    ask_all(rig->entry, plan);
    assert_int_equal(rig->asked_count, VERIFY_QUESTIONS);
    ask_all(rig->entry, plan);
    assert_int_equal(rig->asked_count, VERIFY_QUESTIONS);

    /* One is answered, and another takes its place; no more than that. */
    asked_answer(rig, 3, 1);
    plan->distances[MODEL_B][3].partition = 100;
    plan->distances[MODEL_B][4].partition = 101;
    ask_all(rig->entry, plan);
    assert_int_equal(rig->asked_count, VERIFY_QUESTIONS + 1);
    assert_int_equal(rig->question[VERIFY_QUESTIONS].partition, 100);
    free(plan);
}

/* The name of an event begins with the resource's, and may not be cut behind a dash or a dot. */
static void events_of_long_names_have_a_name(void **state)
{
    struct rig *rig = *state;
    char name[254];
    memset(name, 'a', sizeof name);
    memcpy(name + 227, "-.-", 3);
    name[253] = '\0';
    char *real = rig->entry->name;
    rig->entry->name = name;
    act_event(rig->entry, &(struct verify_event){.reason = "Tried", .note = "a note"});
    const json_t *meta = json_object_get(rig->calls[rig->call_count - 1].body, "metadata");
    const char *made = json_string_value(json_object_get(meta, "name"));
    assert_int_equal(strspn(made, "a"), 227);
    assert_int_equal(made[227], '.');
    assert_int_equal(strlen(made), 227 + 11);
    rig->entry->name = real;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(distances_of_all_partitions_are_kept, asked_begin, rig_end),
        cmocka_unit_test_setup_teardown(several_distances_are_under_way_each_once, asked_begin, rig_end),
        cmocka_unit_test_setup_teardown(events_of_long_names_have_a_name, rig_begin, rig_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

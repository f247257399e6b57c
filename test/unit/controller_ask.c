#include "../support/support.h"

#include <string.h>

#include "base/mem.h"
#include "controller/internal.h"

/* What is asked of Kafka, and what is kept of the answers. */

#define ASKED_MAX 64

struct asked {
    struct controller ctl;
    struct entry entry;
    port_id id[ASKED_MAX];
    struct port_question question[ASKED_MAX];
    size_t count;
};

static struct dv_now asked_clock(void *arg)
{
    (void)arg;
    return (struct dv_now){1000, 1000};
}

static void asked_question(void *impl, port_id client, port_id id, const struct port_question *question)
{
    struct asked *asked = impl;
    (void)client;
    assert_true(asked->count < ASKED_MAX);
    asked->id[asked->count] = id;
    asked->question[asked->count++] = *question;
}

static int asked_begin(void **state)
{
    struct asked *asked = dv_alloc(sizeof *asked);
    json_t *json = test_read_json("test/unit/cases/spec/minimal.json");
    assert_int_equal(model_spec_decode(json, "kafka", &asked->entry.spec, NULL), 0);
    json_decref(json);
    asked->ctl.options.clock = asked_clock;
    asked->ctl.kafka = (struct port_kafka){.impl = asked, .ask = asked_question};
    asked->entry.ctl = &asked->ctl;
    asked->entry.key = (char *)(uintptr_t) "ns/name";
    asked->entry.side[MODEL_A].client = asked->entry.side[MODEL_B].client = 1;
    *state = asked;
    return 0;
}

static int asked_end(void **state)
{
    struct asked *asked = *state;
    struct ticket *ticket = NULL;
    struct ticket *next = NULL;
    HASH_ITER (hh, asked->ctl.tickets, ticket, next)
        ticket_drop(&asked->ctl, ticket);
    for (int side = 0; side < MODEL_SIDES; side++)
        side_free_facts(&asked->entry.side[side]);
    model_spec_free(asked->entry.spec);
    free(asked);
    return 0;
}

static void asked_answer(struct asked *asked, size_t i, int64_t number)
{
    ask_answer(ticket_find(&asked->ctl, asked->id[i]), &(struct port_kafka_event){.kind = PORT_KAFKA_ANSWER, .number = number});
}

static void asked_plan(struct verify_plan *plan, struct verify_distance distance)
{
    plan->ask[MODEL_B] = 1u << VF_DISTANCE;
    plan->distances[MODEL_B][plan->distance_count[MODEL_B]++] = distance;
}

static const struct verify_distance *asked_found(const struct asked *asked, int32_t partition, int64_t from)
{
    const struct ctl_side *facts = &asked->entry.side[MODEL_B];
    for (size_t i = 0; i < facts->distance_count; i++)
        if (facts->distances[i].partition == partition && facts->distances[i].from == from)
            return &facts->distances[i];
    return NULL;
}

/* With as many partitions as there may be, two distances of each are known in the end: how far behind, and what lies there. */
static void distances_of_all_partitions_are_kept(void **state)
{
    struct asked *asked = *state;
    for (int64_t from = 0; from < 3; from++) {
        for (int32_t p = 0; p < MODEL_PARTITIONS_MAX; p++) {
            struct verify_plan *plan = dv_alloc(sizeof *plan);
            asked_plan(plan, (struct verify_distance){.partition = p, .from = from, .to = 10, .before_ms = 5, .limit = 7});
            asked->count = 0;
            ask_all(&asked->entry, plan);
            assert_int_equal(asked->count, 1);
            assert_int_equal(asked->question[0].limit, 7);
            asked_answer(asked, 0, from + p);
            free(plan);
        }
    }
    for (int32_t p = 0; p < MODEL_PARTITIONS_MAX; p++) {
        assert_null(asked_found(asked, p, 0)); /* the oldest of its own gave way */
        for (int64_t from = 1; from < 3; from++) {
            assert_non_null(asked_found(asked, p, from));
            assert_int_equal(asked_found(asked, p, from)->records, from + p);
        }
    }
}

static void several_distances_are_under_way_each_once(void **state)
{
    struct asked *asked = *state;
    struct verify_plan *plan = dv_alloc(sizeof *plan);
    for (int32_t p = 0; p < VERIFY_QUESTIONS; p++)
        asked_plan(plan, (struct verify_distance){.partition = p, .from = 1, .to = 2});
    ask_all(&asked->entry, plan);
    assert_int_equal(asked->count, VERIFY_QUESTIONS);
    ask_all(&asked->entry, plan);
    assert_int_equal(asked->count, VERIFY_QUESTIONS);

    /* One is answered, and another takes its place; no more than that. */
    asked_answer(asked, 3, 1);
    plan->distances[MODEL_B][3].partition = 100;
    plan->distances[MODEL_B][4].partition = 101;
    ask_all(&asked->entry, plan);
    assert_int_equal(asked->count, VERIFY_QUESTIONS + 1);
    assert_int_equal(asked->question[VERIFY_QUESTIONS].partition, 100);
    free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(distances_of_all_partitions_are_kept, asked_begin, asked_end),
        cmocka_unit_test_setup_teardown(several_distances_are_under_way_each_once, asked_begin, asked_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

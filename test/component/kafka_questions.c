#include "kafka_lab.h"

/* Every question against a real broker, with a principal that has exactly the documented rights. */

#define ADMIN 2

static void cluster_id(void **state)
{
    struct lab *lab = *state;
    const struct port_kafka_event *event = lab_ask(lab, LAB_CLIENT, &(struct port_question){.ask = PORT_ASK_CLUSTER});
    lab_good(event);
    assert_non_null(event->text);
    assert_int_equal(strlen(event->text), 22);
}

static void topic_and_settings(void **state)
{
    struct lab *lab = *state;
    const struct port_kafka_event *event =
        lab_ask(lab, LAB_CLIENT, &(struct port_question){.ask = PORT_ASK_TOPIC, .topic = lab_env("TEST_TOPIC")});
    lab_good(event);
    assert_true(event->topic->found);
    assert_int_equal(event->topic->partitions, 3);
    assert_true(event->topic->configs_known);
    assert_true(event->topic->create_time);
    assert_true(event->topic->deleted);
    assert_false(event->topic->compacted);
    assert_true(event->topic->retention_ms > 0);
}

static void log_of_the_test_topic(void **state)
{
    struct lab *lab = *state;
    const struct port_kafka_event *event =
        lab_ask(lab, LAB_CLIENT, &(struct port_question){.ask = PORT_ASK_LOG, .topic = lab_env("TEST_TOPIC")});
    lab_good(event);
    assert_int_equal(event->offsets->partitions, 3);
    for (int p = 0; p < 3; p++) {
        assert_true(event->offsets->low[p] >= 0);
        assert_true(event->offsets->high[p] >= event->offsets->low[p]);
        assert_int_equal(event->offsets->stable[p], event->offsets->high[p]);
    }
}

static void right_to_read(void **state)
{
    struct lab *lab = *state;
    lab_good(lab_ask(lab, LAB_CLIENT, &(struct port_question){.ask = PORT_ASK_READ_RIGHT, .topic = lab_env("TEST_TOPIC")}));
}

static void access_control_lists(void **state)
{
    struct lab *lab = *state;
    const struct port_kafka_event *event = lab_ask(lab, LAB_CLIENT, &(struct port_question){.ask = PORT_ASK_ACLS});
    lab_good(event);
    bool ours = false, distributor = false;
    for (size_t i = 0; i < event->acl_count; i++) {
        const struct fact_acl *acl = &event->acls[i];
        ours = ours || (strcmp(acl->principal, "User:distverify") == 0 && acl->resource == FACT_ACL_TOPIC &&
                        strcmp(acl->name, lab_env("TEST_TOPIC")) == 0 && acl->operation == FACT_ACL_WRITE && !acl->deny);
        distributor = distributor || strcmp(acl->principal, lab_env("PRINCIPAL_A")) == 0;
    }
    assert_true(ours);
    assert_true(distributor);
}

static void groups(void **state)
{
    struct lab *lab = *state;
    const char *names[] = {lab_env("TEST_GROUP"), "no-such-group", "no-such-group"};
    const struct port_kafka_event *event =
        lab_ask(lab, LAB_CLIENT, &(struct port_question){.ask = PORT_ASK_GROUPS, .groups = names, .group_count = 3});
    lab_good(event);
    assert_int_equal(event->group_count, 3);
    assert_string_equal(event->groups[1].name, "no-such-group");
    for (int i = 0; i < 3; i++)
        lab_good_err(&event->groups[i].err);
    assert_int_equal(event->groups[1].state, FACT_GROUP_DEAD);
    assert_int_equal(event->groups[2].state, FACT_GROUP_DEAD);
    assert_int_equal(event->groups[1].members, 0);
    assert_false(event->groups[1].listed);
}

static void produce_commit_and_ask_again(void **state)
{
    struct lab *lab = *state;
    int64_t now = dv_clock_now().wall_ms;
    const char *topic = lab_env("TEST_TOPIC"), *group = lab_env("TEST_GROUP");
    struct fact_record record = lab_record(1, now, "k", "v");
    int64_t offset = lab_produce(lab, LAB_CLIENT, topic, &record, 1);
    assert_true(offset >= 0);
    int64_t offsets[3] = {-1, offset, -1};
    lab->port.commit(lab->port.impl, LAB_CLIENT, 7, group, topic, offsets, 3);
    const struct port_kafka_event *event = lab_wait(lab, PORT_KAFKA_COMMITTED, 7, 0, 16000);
    assert_non_null(event);
    lab_good(event);
    event = lab_ask(lab, LAB_CLIENT, &(struct port_question){.ask = PORT_ASK_COMMITS, .topic = topic, .group = group});
    lab_good(event);
    assert_int_equal(event->offsets->partitions, 3);
    assert_int_equal(event->offsets->high[1], offset);
    event = lab_ask(lab, LAB_CLIENT, &(struct port_question){.ask = PORT_ASK_GROUPS, .groups = &group, .group_count = 1});
    lab_good(event);
    assert_int_equal(event->groups[0].state, FACT_GROUP_EMPTY);
    assert_true(event->groups[0].listed);
    struct port_question distance = {.ask = PORT_ASK_DISTANCE, .topic = topic, .partition = 1, .from = offset, .to = offset + 1};
    distance.before_ms = now;
    event = lab_ask(lab, LAB_CLIENT, &distance);
    lab_good(event);
    assert_int_equal(event->number, 0);
    distance.before_ms++;
    event = lab_ask(lab, LAB_CLIENT, &distance);
    lab_good(event);
    assert_int_equal(event->number, 1);
}

static void a_reader(void **state)
{
    struct lab *lab = *state;
    const char *topic = lab_env("TEST_TOPIC");
    int64_t now = dv_clock_now().wall_ms;
    const struct port_kafka_event *event = lab_ask(lab, LAB_CLIENT, &(struct port_question){.ask = PORT_ASK_LOG, .topic = topic});
    lab_good(event);
    struct port_reader reader = {.topic = topic, .from = event->offsets->high, .partitions = 3};
    lab->port.read(lab->port.impl, LAB_CLIENT, 9, &reader);
    event = lab_wait(lab, PORT_KAFKA_POSITION, 9, 0, 10000);
    assert_non_null(event);
    size_t from = lab->count;
    struct fact_record record = lab_record(2, now, "key", "value");
    int64_t offset = lab_produce(lab, LAB_CLIENT, topic, &record, 1);
    event = lab_wait(lab, PORT_KAFKA_RECORD, 9, from, 10000);
    assert_non_null(event);
    assert_int_equal(event->record->offset, offset);
    event = lab_wait(lab, PORT_KAFKA_POSITION, 9, from, 10000);
    assert_non_null(event);
    assert_int_equal(event->offsets->high[2], offset + 1);
    assert_int_equal(event->offsets->low[2], offset + 1);
    assert_int_equal(event->offsets->stable[2], offset + 1);
    lab->port.read_stop(lab->port.impl, 9);
}

/* ---------------------------------------------------------------- lag over all topics of a group */

static void lag_records(struct lab *lab, const char *topic, int32_t partition, size_t count)
{
    struct fact_record records[8] = {{.partition = 0}};
    for (size_t i = 0; i < count && i < 8; i++)
        records[i] = lab_record(partition, dv_clock_now().wall_ms, "k", "v");
    assert_int_equal(lab_produce(lab, ADMIN, topic, records, count), 0);
}

static void lag_commit(struct lab *lab, const char *group, const char *topic, const int64_t *offsets, int32_t partitions)
{
    port_id id = lab->next_id++;
    lab->port.commit(lab->port.impl, ADMIN, id, group, topic, offsets, partitions);
    const struct port_kafka_event *event = lab_wait(lab, PORT_KAFKA_COMMITTED, id, 0, 16000);
    assert_non_null(event);
    lab_good(event);
}

static void lag_is(struct lab *lab, port_id client, const char *group, int64_t records, int32_t partitions)
{
    const struct port_kafka_event *event = lab_ask(lab, client, &(struct port_question){.ask = PORT_ASK_GROUP_LAG, .group = group});
    for (int i = 0; i < 50 && event->err.kind == DV_ERR_NONE && event->lag->partitions != partitions; i++) {
        lab_run(lab, 200); /* a rule takes a moment to reach the brokers */
        event = lab_ask(lab, client, &(struct port_question){.ask = PORT_ASK_GROUP_LAG, .group = group});
    }
    lab_good(event);
    assert_int_equal(event->lag->records, records);
    assert_int_equal(event->lag->partitions, partitions);
    assert_int_equal(event->lag->unseen, 0);
}

/* Whoever may describe all topics sees all; we see those that we may describe, and nothing is said of the others. */
static void lag_of_a_whole_group(void **state)
{
    struct lab *lab = *state;
    const rd_kafka_AclOperation_t describe[] = {RD_KAFKA_ACL_OPERATION_DESCRIBE};
    char ours[40];
    char theirs[40];
    lab_topic(ours, 3, NULL);
    lab_topic(theirs, 3, NULL);
    const char *group = theirs; /* a name that nobody else has */
    lab_open_admin(lab, ADMIN);
    lag_records(lab, ours, 0, 5);
    lag_records(lab, ours, 1, 3);
    lag_records(lab, theirs, 2, 4);
    lag_is(lab, ADMIN, group, 0, 0);
    lag_is(lab, LAB_CLIENT, group, 0, 0);
    lag_commit(lab, group, ours, (const int64_t[]){2, 3, 0}, 3);
    lag_commit(lab, group, theirs, (const int64_t[]){-1, 0, 1}, 3);
    lag_is(lab, ADMIN, group, 3 + 3, 5);
    lag_is(lab, LAB_CLIENT, group, 0, 0);
    lab_allow(RD_KAFKA_RESOURCE_TOPIC, ours, describe, 1, RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW);
    lag_is(lab, LAB_CLIENT, group, 3, 3);
    lab_allow(RD_KAFKA_RESOURCE_GROUP, group, describe, 1, RD_KAFKA_ACL_PERMISSION_TYPE_DENY);
    const struct port_kafka_event *event = NULL;
    for (int i = 0; i < 50 && (event == NULL || event->err.kind == DV_ERR_NONE); i++) {
        lab_run(lab, 200);
        event = lab_ask(lab, LAB_CLIENT, &(struct port_question){.ask = PORT_ASK_GROUP_LAG, .group = group});
    }
    lab_bad(event, DV_ERR_DENIED, group);
    lab->port.close(lab->port.impl, ADMIN);
}

/* ---------------------------------------------------------------- partitions that are added while a client is up */

#define GROWN_WAIT_MS 15000 /* three times what it should take */

/* Until the question counts so many partitions; it may say for a moment that it cannot. */
static const struct port_kafka_event *grown_log(struct lab *lab, const char *topic, int32_t partitions)
{
    int64_t until = dv_clock_now().mono_ms + GROWN_WAIT_MS;
    for (;;) {
        const struct port_kafka_event *event = lab_ask(lab, ADMIN, &(struct port_question){.ask = PORT_ASK_LOG, .topic = topic});
        if (event->err.kind == DV_ERR_NONE && event->offsets->partitions == partitions)
            return event;
        if (dv_clock_now().mono_ms > until)
            fail_msg("not %d partitions: %s", partitions, event->err.text);
        lab_run(lab, 200);
    }
}

/* Everything that goes by a handle's knowledge of the topic, each from before there were five. */
static void partitions_that_are_added(void **state)
{
    struct lab *lab = *state;
    char topic[40];
    lab_topic(topic, 3, NULL);
    lab_open_admin(lab, ADMIN);
    lag_records(lab, topic, 2, 1);
    assert_int_equal(grown_log(lab, topic, 3)->offsets->high[2], 1);
    lag_commit(lab, topic, topic, (const int64_t[]){-1, -1, 0}, 3);
    lag_is(lab, ADMIN, topic, 1, 1);
    lab_run(lab, 2000); /* librdkafka looks more often at a topic that is new to it */
    lab_topic_grow(topic, 5);
    lag_records(lab, topic, 4, 2);
    lag_commit(lab, topic, topic, (const int64_t[]){-1, -1, 0, -1, 0}, 5);
    lag_is(lab, ADMIN, topic, 1 + 2, 2);
    const struct port_kafka_event *event = grown_log(lab, topic, 5);
    assert_int_equal(event->offsets->stable[2], 1);
    assert_int_equal(event->offsets->stable[4], 2);
    lab->port.close(lab->port.impl, ADMIN);
    lab_topic_delete(topic);
}

static int begin(void **state)
{
    struct lab *lab = lab_new();
    lab_open(lab);
    *state = lab;
    return 0;
}

static int end(void **state)
{
    lab_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cluster_id),
        cmocka_unit_test(topic_and_settings),
        cmocka_unit_test(log_of_the_test_topic),
        cmocka_unit_test(right_to_read),
        cmocka_unit_test(access_control_lists),
        cmocka_unit_test(groups),
        cmocka_unit_test(produce_commit_and_ask_again),
        cmocka_unit_test(a_reader),
        cmocka_unit_test(lag_of_a_whole_group),
        cmocka_unit_test(partitions_that_are_added),
    };
    cmocka_set_test_filter(getenv("TEST")); /* a pattern; all without it */
    return cmocka_run_group_tests(tests, begin, end);
}

#include "kafka_lab.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

/* Records, transactions, filters, rights and groups, on topics of the tests' own. The super user's port client produces where the
 * program's principal must not. */

#define ADMIN 2

static port_id records_reader(struct lab *lab, port_id client, const char *topic, const int64_t *from, int32_t partitions)
{
    port_id id = lab->next_id++;
    lab->port.read(lab->port.impl, client, id, &(struct port_reader){.topic = topic, .from = from, .partitions = partitions});
    return id;
}

static const struct port_kafka_event *records_position(struct lab *lab, port_id id, size_t from)
{
    const struct port_kafka_event *event = lab_wait(lab, PORT_KAFKA_POSITION, id, from, 10000);
    assert_non_null(event);
    return event;
}

static size_t records_count(const struct lab *lab, enum port_kafka_event_kind kind, port_id id)
{
    size_t count = 0;
    for (size_t i = 0; i < lab->count; i++)
        count += lab->events[i].event.kind == kind && lab->events[i].event.id == id;
    return count;
}

static const struct fact_record *records_nth(const struct lab *lab, port_id id, size_t nth)
{
    for (size_t i = 0; i < lab->count; i++)
        if (lab->events[i].event.kind == PORT_KAFKA_RECORD && lab->events[i].event.id == id && nth-- == 0)
            return &lab->events[i].record;
    fail_msg("no such record");
    return NULL;
}

/* ---------------------------------------------------------------- what is in a record */

static void a_record_comes_back_whole(void **state)
{
    struct lab *lab = *state;
    char topic[40];
    int64_t now = dv_clock_now().wall_ms, from[2] = {0, 0};
    lab_topic(topic, 2, NULL);
    struct fact_header headers[4] = {{(char[]){"run"}, (unsigned char[]){"r1"}, 2},
                                     {(char[]){"null"}, NULL, 0},
                                     {(char[]){"empty"}, (unsigned char[]){""}, 0},
                                     {(char[]){"run"}, (unsigned char[]){"a\0b"}, 3}};
    struct fact_record records[3] = {lab_record(1, now - 12345, "key", "value"), lab_record(1, now, NULL, NULL),
                                     lab_record(0, now + 1, "", "")};
    records[0].headers = headers;
    records[0].header_count = 4;
    assert_int_equal(lab_produce(lab, ADMIN, topic, records, 3), 0);
    port_id id = records_reader(lab, ADMIN, topic, from, 2);
    (void)records_position(lab, id, 0);
    assert_int_equal(records_count(lab, PORT_KAFKA_RECORD, id), 3);
    for (size_t i = 0; i < 3; i++) {
        const struct fact_record *record = records_nth(lab, id, i);
        if (record->partition == 0) {
            assert_int_equal(record->timestamp_ms, now + 1);
            assert_int_equal(record->key_len, 0);
            assert_int_equal(record->value_len, 0);
        } else if (record->offset == 0) {
            assert_int_equal(record->timestamp_ms, now - 12345);
            assert_memory_equal(record->key, "key", 3);
            assert_memory_equal(record->value, "value", 5);
            assert_int_equal(record->header_count, 4);
            assert_string_equal(record->headers[0].name, "run");
            assert_null(record->headers[1].value);
            assert_int_equal(record->headers[2].len, 0);
            assert_int_equal(record->headers[3].len, 3);
            assert_memory_equal(record->headers[3].value, "a\0b", 3);
        } else {
            assert_null(record->key);
            assert_null(record->value);
            assert_int_equal(record->header_count, 0);
        }
    }
}

static void filters(void **state)
{
    struct lab *lab = *state;
    char topic[40];
    int64_t now = dv_clock_now().wall_ms, from[1] = {0};
    lab_topic(topic, 1, NULL);
    struct fact_header mine = {(char[]){"run"}, (unsigned char[]){"r1"}, 2}, other = {(char[]){"run"}, (unsigned char[]){"r11"}, 3};
    struct fact_record records[6] = {lab_record(0, now, "a", "1"),
                                     lab_record(0, now, "group-1", "topic-1"),
                                     lab_record(0, now, "x", "{\"g\":\"group-1\",\"t\":\"topic-1\"}"),
                                     lab_record(0, now, "group-11", "topic-1"),
                                     lab_record(0, now, "b", "2"),
                                     lab_record(0, now, "r1/5", "its headers were taken away")};
    records[0].headers = &mine;
    records[0].header_count = 1;
    records[4].headers = &other;
    records[4].header_count = 1;
    (void)lab_produce(lab, ADMIN, topic, records, 6);
    struct port_reader by_header = {
        .topic = topic, .from = from, .partitions = 1, .header = "run", .header_value = "r1", .key_prefix = "r1/"};
    struct port_reader by_needle = {.topic = topic, .from = from, .partitions = 1, .needle = {"group-1", "topic-1"}};
    lab->port.read(lab->port.impl, ADMIN, 50, &by_header);
    lab->port.read(lab->port.impl, ADMIN, 51, &by_needle);
    assert_int_equal(records_position(lab, 50, 0)->offsets->high[0], 6);
    (void)records_position(lab, 51, 0);
    assert_int_equal(records_count(lab, PORT_KAFKA_RECORD, 50), 2);
    assert_int_equal(records_nth(lab, 50, 0)->offset, 0);
    assert_int_equal(records_nth(lab, 50, 1)->offset, 5);
    assert_int_equal(records_count(lab, PORT_KAFKA_RECORD, 51), 2);
    assert_int_equal(records_nth(lab, 51, 0)->offset, 1);
    assert_int_equal(records_nth(lab, 51, 1)->offset, 2);
}

static void many_records(void **state)
{
    struct lab *lab = *state;
    char topic[40];
    int64_t now = dv_clock_now().wall_ms, from[3] = {0, 0, 0};
    lab_topic(topic, 3, NULL);
    struct fact_record *records = dv_calloc(1000, sizeof *records);
    for (int i = 0; i < 1000; i++)
        records[i] = lab_record(i % 3, now + i, "key", "value");
    (void)lab_produce(lab, ADMIN, topic, records, 1000);
    free(records);
    port_id id = records_reader(lab, ADMIN, topic, from, 3);
    const struct port_kafka_event *event = records_position(lab, id, 0);
    assert_int_equal(event->offsets->high[0] + event->offsets->high[1] + event->offsets->high[2], 1000);
    assert_int_equal(records_count(lab, PORT_KAFKA_RECORD, id), 1000);
    struct port_question distance = {
        .ask = PORT_ASK_DISTANCE, .topic = topic, .partition = 0, .from = 10, .to = 300, .before_ms = now + 600};
    event = lab_ask(lab, ADMIN, &distance);
    lab_good(event);
    assert_int_equal(event->number, 190); /* offset o of partition 0 has timestamp now + 3 o */
}

/* Somebody else writes to all partitions, more often than a broker answers fetches at the log end. */
struct records_flow {
    rd_kafka_t *rk;
    const char *topic;
    atomic_bool over;
    int64_t produced;
    pthread_t thread;
};

static void *records_flow(void *arg)
{
    struct records_flow *flow = arg;
    while (!atomic_load(&flow->over)) {
        for (int p = 0; p < 3; p++)
            flow->produced +=
                rd_kafka_producev(flow->rk, RD_KAFKA_V_TOPIC(flow->topic), RD_KAFKA_V_PARTITION(p),
                                  RD_KAFKA_V_VALUE((void *)(uintptr_t) "other", 5), RD_KAFKA_V_END) == RD_KAFKA_RESP_ERR_NO_ERROR;
        (void)rd_kafka_poll(flow->rk, 10);
    }
    (void)rd_kafka_flush(flow->rk, 10000);
    return NULL;
}

static int64_t records_sum(const struct port_kafka_event *event)
{
    return event->offsets->high[0] + event->offsets->high[1] + event->offsets->high[2];
}

/* The position is told all the same: what was the end when it was asked for is reached. */
static void a_reader_among_other_writers(void **state)
{
    struct lab *lab = *state;
    char topic[40];
    int64_t from[3] = {0, 0, 0};
    lab_topic(topic, 3, NULL);
    struct records_flow flow = {.rk = lab_admin(RD_KAFKA_PRODUCER, (const char *[]){"linger.ms", "0", NULL}), .topic = topic};
    struct fact_record record = lab_record(1, dv_clock_now().wall_ms, "k", "ours");
    struct fact_header mine = {(char[]){"run"}, (unsigned char[]){"r1"}, 2};
    record.headers = &mine;
    record.header_count = 1;
    assert_int_equal(pthread_create(&flow.thread, NULL, records_flow, &flow), 0);
    port_id id = lab->next_id++;
    lab->port.read(lab->port.impl, ADMIN, id,
                   &(struct port_reader){.topic = topic, .from = from, .partitions = 3, .header = "run", .header_value = "r1"});
    int64_t first = records_sum(records_position(lab, id, 0));
    int64_t offset = lab_produce(lab, ADMIN, topic, &record, 1);
    const struct port_kafka_event *event = records_position(lab, id, lab->count);
    while (event->offsets->high[1] <= offset)
        event = records_position(lab, id, lab->count);
    assert_int_equal(records_count(lab, PORT_KAFKA_RECORD, id), 1); /* it comes before the position that lies behind it */
    assert_true(records_sum(event) > first);
    atomic_store(&flow.over, true);
    assert_int_equal(pthread_join(flow.thread, NULL), 0);
    while (records_sum(event) < flow.produced + 1)
        event = records_position(lab, id, lab->count);
    rd_kafka_destroy(flow.rk);
}

/* ---------------------------------------------------------------- transactions */

static rd_kafka_t *records_transactional(void)
{
    char id[16], name[32];
    dv_random_id(id, sizeof id);
    const char *options[] = {"transactional.id", dv_format(name, sizeof name, "tx-%s", id), NULL};
    rd_kafka_t *rk = lab_admin(RD_KAFKA_PRODUCER, options);
    assert_null(rd_kafka_init_transactions(rk, 20000));
    return rk;
}

static void records_in_transaction(rd_kafka_t *rk, const char *topic, int count, int64_t now)
{
    assert_null(rd_kafka_begin_transaction(rk));
    for (int i = 0; i < count; i++)
        assert_int_equal(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(0),
                                           RD_KAFKA_V_VALUE((void *)(uintptr_t) "tx", 2), RD_KAFKA_V_TIMESTAMP(now), RD_KAFKA_V_END),
                         RD_KAFKA_RESP_ERR_NO_ERROR);
    assert_int_equal(rd_kafka_flush(rk, 10000), RD_KAFKA_RESP_ERR_NO_ERROR);
}

static void transactions(void **state)
{
    struct lab *lab = *state;
    char topic[40];
    int64_t now = dv_clock_now().wall_ms, from[1] = {0};
    lab_topic(topic, 1, NULL);
    rd_kafka_t *rk = records_transactional();
    struct fact_record plain = lab_record(0, now, "k", "v");
    (void)lab_produce(lab, ADMIN, topic, &plain, 1); /* 0 */
    port_id id = records_reader(lab, ADMIN, topic, from, 1);
    assert_int_equal(records_position(lab, id, 0)->offsets->high[0], 1);

    /* Open: the watermark moves, the stable offset stays, and the reader with it. */
    size_t at = lab->count;
    records_in_transaction(rk, topic, 2, now);       /* 1, 2 */
    (void)lab_produce(lab, ADMIN, topic, &plain, 1); /* 3 */
    const struct port_kafka_event *event = records_position(lab, id, at);
    while (event->offsets->low[0] < 4)
        event = records_position(lab, id, lab->count);
    assert_int_equal(event->offsets->low[0], 4);
    assert_int_equal(event->offsets->stable[0], 1);
    assert_int_equal(event->offsets->high[0], 1);
    event = lab_ask(lab, ADMIN, &(struct port_question){.ask = PORT_ASK_LOG, .topic = topic});
    lab_good(event);
    assert_int_equal(event->offsets->high[0], 4);
    assert_int_equal(event->offsets->stable[0], 1);

    /* A range that an open transaction covers cannot be counted. */
    struct port_question distance = {.ask = PORT_ASK_DISTANCE, .topic = topic, .partition = 0, .from = 0, .to = 4, .before_ms = now + 1};
    lab_bad(lab_ask(lab, ADMIN, &distance), DV_ERR_TIMEOUT, topic);

    /* Aborted: marker at 4, its records are never seen. */
    at = lab->count;
    assert_null(rd_kafka_abort_transaction(rk, 10000));
    event = records_position(lab, id, at);
    assert_int_equal(event->offsets->high[0], 5);
    assert_int_equal(event->offsets->stable[0], 5);
    assert_int_equal(records_count(lab, PORT_KAFKA_RECORD, id), 2);
    assert_int_equal(records_nth(lab, id, 1)->offset, 3);

    /* Committed: 5, 6, marker 7. */
    at = lab->count;
    records_in_transaction(rk, topic, 2, now);
    assert_null(rd_kafka_commit_transaction(rk, 10000));
    event = records_position(lab, id, at);
    while (event->offsets->high[0] < 8)
        event = records_position(lab, id, lab->count);
    assert_int_equal(records_count(lab, PORT_KAFKA_RECORD, id), 4);

    /* Control records and aborted ones count nothing, also at the end of the range and of the log. */
    distance.to = 8;
    event = lab_ask(lab, ADMIN, &distance);
    lab_good(event);
    assert_int_equal(event->number, 4);
    distance.from = 1;
    distance.to = 3;
    event = lab_ask(lab, ADMIN, &distance);
    lab_good(event);
    assert_int_equal(event->number, 0);
    rd_kafka_destroy(rk);
}

/* ---------------------------------------------------------------- topics that are not there, offsets that are gone */

static void topic_not_there(void **state)
{
    struct lab *lab = *state;
    int64_t from[1] = {0}, offsets[1] = {1};
    struct fact_record record = lab_record(0, dv_clock_now().wall_ms, "k", "v");
    const struct port_kafka_event *event = lab_ask(lab, ADMIN, &(struct port_question){.ask = PORT_ASK_TOPIC, .topic = "no-such-topic"});
    lab_good(event);
    assert_false(event->topic->found);
    lab_bad(lab_ask(lab, ADMIN, &(struct port_question){.ask = PORT_ASK_LOG, .topic = "no-such-topic"}), DV_ERR_NOT_FOUND, "no-such-topic");
    lab_bad(lab_ask(lab, ADMIN, &(struct port_question){.ask = PORT_ASK_READ_RIGHT, .topic = "no-such-topic"}), DV_ERR_NOT_FOUND, "topic");
    lab_bad(lab_ask(lab, ADMIN, &(struct port_question){.ask = PORT_ASK_COMMITS, .topic = "no-such-topic", .group = "g"}), DV_ERR_NOT_FOUND,
            "no-such-topic");
    lab->port.produce(lab->port.impl, ADMIN, 60, "no-such-topic", &record, 1);
    event = lab_wait(lab, PORT_KAFKA_PRODUCED, 60, 0, 18000);
    assert_non_null(event);
    lab_bad(event, DV_ERR_NOT_FOUND, "no-such-topic");
    lab->port.commit(lab->port.impl, ADMIN, 61, "some-group", "no-such-topic", offsets, 1);
    event = lab_wait(lab, PORT_KAFKA_COMMITTED, 61, 0, 16000);
    assert_non_null(event);
    lab_bad(event, DV_ERR_NOT_FOUND, "no-such-topic");
    port_id id = records_reader(lab, ADMIN, "no-such-topic", from, 1);
    event = lab_wait(lab, PORT_KAFKA_TROUBLE, id, 0, 10000);
    assert_non_null(event);
    lab_bad(event, DV_ERR_NOT_FOUND, "no-such-topic");
    event = lab_ask(lab, ADMIN, &(struct port_question){.ask = PORT_ASK_TOPIC, .topic = "no-such-topic"});
    lab_good(event);
    assert_false(event->topic->found); /* none of all that has made it */
    lab_bad(lab_ask(lab, ADMIN, &(struct port_question){.ask = PORT_ASK_TOPIC, .topic = "not a name"}), DV_ERR_INVALID, "not a name");
}

static void settings_of_a_topic(void **state)
{
    struct lab *lab = *state;
    char topic[40];
    const char *configs[] = {"cleanup.policy", "compact,delete", "message.timestamp.type", "LogAppendTime", "retention.ms", "-1", NULL};
    lab_topic(topic, 2, configs);
    const struct port_kafka_event *event = lab_ask(lab, ADMIN, &(struct port_question){.ask = PORT_ASK_TOPIC, .topic = topic});
    lab_good(event);
    assert_true(event->topic->found && event->topic->configs_known && event->topic->compacted && event->topic->deleted);
    assert_false(event->topic->create_time);
    assert_int_equal(event->topic->retention_ms, -1);
}

static void offset_past_the_log_end(void **state)
{
    struct lab *lab = *state;
    char topic[40];
    int64_t from[1] = {5}, now = dv_clock_now().wall_ms;
    lab_topic(topic, 1, NULL);
    port_id id = records_reader(lab, ADMIN, topic, from, 1);
    const struct port_kafka_event *event = lab_wait(lab, PORT_KAFKA_TROUBLE, id, 0, 10000);
    assert_non_null(event);
    lab_bad(event, DV_ERR_GONE, topic);
    struct fact_record records[7];
    for (int i = 0; i < 7; i++)
        records[i] = lab_record(0, now, "k", "v");
    (void)lab_produce(lab, ADMIN, topic, records, 7);
    assert_non_null(lab_wait(lab, PORT_KAFKA_RECORD, id, 0, 10000)); /* it goes on trying */
    assert_int_equal(records_nth(lab, id, 0)->offset, 5);
    struct port_question distance = {.ask = PORT_ASK_DISTANCE, .topic = topic, .partition = 3, .from = 0, .to = 4, .before_ms = now};
    lab_bad(lab_ask(lab, ADMIN, &distance), DV_ERR_NOT_FOUND, topic);
    distance.partition = 0;
    distance.from = 100;
    distance.to = 200;
    lab_bad(lab_ask(lab, ADMIN, &distance), DV_ERR_GONE, topic);
    distance.to = 100;
    event = lab_ask(lab, ADMIN, &distance);
    lab_good(event);
    assert_int_equal(event->number, 0);
}

static void record_too_large(void **state)
{
    struct lab *lab = *state;
    char topic[40];
    const char *configs[] = {"max.message.bytes", "2000", NULL};
    lab_topic(topic, 1, configs);
    char *value = dv_alloc(5001);
    memset(value, 'x', 5000);
    struct fact_record records[2] = {lab_record(0, dv_clock_now().wall_ms, "k", value), lab_record(7, 1, "k", "no such partition")};
    lab->port.produce(lab->port.impl, ADMIN, 70, topic, records, 2);
    const struct port_kafka_event *event = lab_wait(lab, PORT_KAFKA_PRODUCED, 70, 0, 18000);
    assert_non_null(event);
    event = lab_wait(lab, PORT_KAFKA_PRODUCED, 70, 1 + (size_t)((const struct lab_event *)(const void *)event - lab->events), 18000);
    assert_non_null(event);
    for (size_t i = 0; i < lab->count; i++) {
        if (lab->events[i].event.kind == PORT_KAFKA_PRODUCED)
            lab_bad(&lab->events[i].event, lab->events[i].event.index == 0 ? DV_ERR_INVALID : DV_ERR_NOT_FOUND, topic);
    }
    free(value);
}

/* ---------------------------------------------------------------- rights: the program's principal on topics it has none for */

static void rights_that_lack(void **state)
{
    struct lab *lab = *state;
    char topic[40], forbidden[40];
    int64_t from[1] = {0}, offsets[1] = {0};
    struct fact_record record = lab_record(0, dv_clock_now().wall_ms, "k", "v");
    rd_kafka_AclOperation_t describe = RD_KAFKA_ACL_OPERATION_DESCRIBE;
    lab_topic(topic, 1, NULL);
    lab_topic(forbidden, 1, NULL);
    lab_allow(RD_KAFKA_RESOURCE_TOPIC, topic, &describe, 1, RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW);
    const struct port_kafka_event *event = lab_ask(lab, LAB_CLIENT, &(struct port_question){.ask = PORT_ASK_TOPIC, .topic = topic});
    lab_good(event);
    assert_true(event->topic->found);
    assert_false(event->topic->configs_known);
    lab_good(lab_ask(lab, LAB_CLIENT, &(struct port_question){.ask = PORT_ASK_LOG, .topic = topic}));
    char text[200];
    lab_bad(lab_ask(lab, LAB_CLIENT, &(struct port_question){.ask = PORT_ASK_READ_RIGHT, .topic = topic}), DV_ERR_DENIED,
            dv_format(text, sizeof text, "does not allow us Read on topic %s", topic));
    lab_bad(lab_ask(lab, LAB_CLIENT, &(struct port_question){.ask = PORT_ASK_TOPIC, .topic = forbidden}), DV_ERR_DENIED,
            dv_format(text, sizeof text, "does not allow us Describe on topic %s, or the topic's name is wrong", forbidden));
    lab_bad(lab_ask(lab, LAB_CLIENT, &(struct port_question){.ask = PORT_ASK_TOPIC, .topic = "no-such-topic"}), DV_ERR_DENIED,
            "does not allow us Describe on topic no-such-topic, or the topic's name is wrong");
    port_id id = records_reader(lab, LAB_CLIENT, topic, from, 1);
    event = lab_wait(lab, PORT_KAFKA_TROUBLE, id, 0, 10000);
    assert_non_null(event);
    lab_bad(event, DV_ERR_DENIED, dv_format(text, sizeof text, "Read on topic %s", topic));
    lab->port.produce(lab->port.impl, LAB_CLIENT, 80, topic, &record, 1);
    event = lab_wait(lab, PORT_KAFKA_PRODUCED, 80, 0, 18000);
    assert_non_null(event);
    lab_bad(event, DV_ERR_DENIED, dv_format(text, sizeof text, "Write on topic %s", topic));
    lab->port.commit(lab->port.impl, LAB_CLIENT, 81, "not-our-group", topic, offsets, 1);
    event = lab_wait(lab, PORT_KAFKA_COMMITTED, 81, 0, 16000);
    assert_non_null(event);
    lab_bad(event, DV_ERR_DENIED, "Read on group not-our-group");
    /* Given later, without anybody's restart: the reader finds out by itself. */
    rd_kafka_AclOperation_t read = RD_KAFKA_ACL_OPERATION_READ;
    lab_allow(RD_KAFKA_RESOURCE_TOPIC, topic, &read, 1, RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW);
    assert_non_null(lab_wait(lab, PORT_KAFKA_POSITION, id, 0, 15000));
}

static void a_stranger(void **state)
{
    struct lab *lab = *state;
    struct model_trusted trusted;
    struct model_kafka spec = lab_spec("BOOTSTRAP_A_TLS", MODEL_AUTH_PLAIN, true, &trusted);
    static char stranger[] = "stranger";
    spec.username = stranger;
    spec.password_secret = stranger;
    lab_secret_set(&lab->secrets, "stranger", "password", "stranger-secret");
    lab->port.open(lab->port.impl, 3, &spec, "kafka", "dc1");
    lab_good(lab_ask(lab, 3, &(struct port_question){.ask = PORT_ASK_CLUSTER}));
    lab_bad(lab_ask(lab, 3, &(struct port_question){.ask = PORT_ASK_ACLS}), DV_ERR_DENIED, "Describe on the cluster");
    const char *group = lab_env("TEST_GROUP");
    const struct port_kafka_event *event =
        lab_ask(lab, 3, &(struct port_question){.ask = PORT_ASK_GROUPS, .groups = &group, .group_count = 1});
    lab_good(event);
    assert_int_equal(event->groups[0].err.kind, DV_ERR_DENIED);
    assert_false(event->groups[0].listed);
}

/* ---------------------------------------------------------------- groups with members */

struct member {
    rd_kafka_t *rk;
    pthread_t thread;
    atomic_bool stop;
};

static void *member_main(void *arg)
{
    struct member *member = arg;
    while (!atomic_load(&member->stop)) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(member->rk, 50);
        if (message != NULL)
            rd_kafka_message_destroy(message);
    }
    return NULL;
}

static void member_start(struct member *member, const char *group, const char *topic)
{
    const char *options[] = {"group.id", group, "session.timeout.ms", "6000", NULL};
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    member->rk = lab_admin(RD_KAFKA_CONSUMER, options);
    atomic_store(&member->stop, false);
    (void)rd_kafka_poll_set_consumer(member->rk);
    (void)rd_kafka_topic_partition_list_add(list, topic, RD_KAFKA_PARTITION_UA);
    assert_int_equal(rd_kafka_subscribe(member->rk, list), RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_topic_partition_list_destroy(list);
    assert_int_equal(pthread_create(&member->thread, NULL, member_main, member), 0);
}

static void member_stop(struct member *member)
{
    atomic_store(&member->stop, true);
    (void)pthread_join(member->thread, NULL);
    (void)rd_kafka_consumer_close(member->rk);
    rd_kafka_destroy(member->rk);
}

static void a_group_with_members(void **state)
{
    struct lab *lab = *state;
    char topic[40], group[40];
    const char *name = group;
    int64_t offsets[2] = {0, 0};
    struct member member;
    lab_topic(topic, 2, NULL);
    (void)dv_format(group, sizeof group, "group-%s", topic);
    member_start(&member, group, topic);
    const struct port_kafka_event *event;
    do {
        event = lab_ask(lab, ADMIN, &(struct port_question){.ask = PORT_ASK_GROUPS, .groups = &name, .group_count = 1});
        lab_good(event);
    } while (event->groups[0].state != FACT_GROUP_STABLE || event->groups[0].assignment_count < 2);
    assert_true(event->groups[0].listed);
    assert_int_equal(event->groups[0].members, 1);
    assert_string_equal(event->groups[0].assignments[0].topic, topic);
    lab->port.commit(lab->port.impl, ADMIN, 90, group, topic, offsets, 2);
    event = lab_wait(lab, PORT_KAFKA_COMMITTED, 90, 0, 16000);
    assert_non_null(event);
    lab_bad(event, DV_ERR_CONFLICT, "has 1 members");
    member_stop(&member);
    do {
        event = lab_ask(lab, ADMIN, &(struct port_question){.ask = PORT_ASK_GROUPS, .groups = &name, .group_count = 1});
        lab_good(event);
    } while (event->groups[0].members > 0);
    offsets[1] = -1;
    lab->port.commit(lab->port.impl, ADMIN, 91, group, topic, offsets, 2);
    event = lab_wait(lab, PORT_KAFKA_COMMITTED, 91, 0, 16000);
    assert_non_null(event);
    lab_good(event);
    event = lab_ask(lab, ADMIN, &(struct port_question){.ask = PORT_ASK_COMMITS, .topic = topic, .group = group});
    lab_good(event);
    assert_int_equal(event->offsets->high[0], 0);
    assert_int_equal(event->offsets->high[1], -1);
}

/* A group of the new protocol (KIP-848): librdkafka 2.0.2 can neither be its member nor describe it, so Kafka's own tool is the member.
 * Newer brokers and clients may say more than Dead; what counts is that it never looks empty and that its offsets are left alone. */
static pid_t new_protocol_member(const char *group, const char *topic)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    (void)dup2(open("/dev/null", O_RDWR), 1);
    (void)dup2(1, 2);
    (void)execlp("java", "java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", lab_env("KAFKA_CLASSPATH"),
                 "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", lab_env("BOOTSTRAP_A"), "--topic", topic,
                 "--group", group, "--command-config", lab_env("KAFKA_ADMIN_A"), "--command-property", "group.protocol=consumer",
                 (char *)NULL);
    _exit(127);
}

static void a_group_of_the_new_protocol(void **state)
{
    struct lab *lab = *state;
    char topic[40], group[40];
    const char *name = group;
    int64_t offsets[1] = {0};
    lab_topic(topic, 1, NULL);
    (void)dv_format(group, sizeof group, "new-%s", topic);
    pid_t pid = new_protocol_member(group, topic);
    const struct port_kafka_event *event = NULL;
    bool listed = false;
    for (int i = 0; i < 300 && !listed; i++) {
        lab_run(lab, 100);
        event = lab_ask(lab, ADMIN, &(struct port_question){.ask = PORT_ASK_GROUPS, .groups = &name, .group_count = 1});
        lab_good(event);
        listed = event->groups[0].listed;
    }
    lab_run(lab, 1000);
    lab->port.commit(lab->port.impl, ADMIN, 95, group, topic, offsets, 1);
    const struct port_kafka_event *committed = lab_wait(lab, PORT_KAFKA_COMMITTED, 95, 0, 16000);
    event = lab_ask(lab, ADMIN, &(struct port_question){.ask = PORT_ASK_GROUPS, .groups = &name, .group_count = 1});
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    assert_true(listed);
    assert_non_null(committed);
    lab_bad(committed, DV_ERR_CONFLICT, group);
    lab_good(event);
    assert_true(event->groups[0].listed);
    assert_true(event->groups[0].state == FACT_GROUP_DEAD || event->groups[0].members > 0);
}

static int begin(void **state)
{
    struct lab *lab = lab_new();
    lab_open(lab);
    lab_open_admin(lab, ADMIN);
    *state = lab;
    return 0;
}

static int end(void **state)
{
    lab_free(*state);
    return 0;
}

#define RECORDS_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RECORDS_TEST(a_record_comes_back_whole),
        RECORDS_TEST(filters),
        RECORDS_TEST(many_records),
        RECORDS_TEST(a_reader_among_other_writers),
        RECORDS_TEST(transactions),
        RECORDS_TEST(topic_not_there),
        RECORDS_TEST(settings_of_a_topic),
        RECORDS_TEST(offset_past_the_log_end),
        RECORDS_TEST(record_too_large),
        RECORDS_TEST(rights_that_lack),
        RECORDS_TEST(a_stranger),
        RECORDS_TEST(a_group_with_members),
        RECORDS_TEST(a_group_of_the_new_protocol),
    };
    cmocka_set_test_filter(getenv("TEST")); /* a pattern; all without it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

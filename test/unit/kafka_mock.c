#include "../support/support.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/timefmt.h"
#include "kafka/internal.h"

#include <librdkafka/rdkafka_mock.h>

/* Faults that no real broker shows on demand, with librdkafka's mock cluster: it serves metadata, produce, fetch and offsets. */

enum { MOCK_PRODUCE = 0, MOCK_FETCH = 1, MOCK_LIST_OFFSETS = 2, MOCK_METADATA = 3 };

struct mock {
    rd_kafka_t *rk;
    rd_kafka_mock_cluster_t *cluster;
    struct loop *loop;
    struct kafka *kafka;
    struct port_kafka port;
    uv_timer_t guard;
    bool late;
    struct port_kafka_event last[6]; /* by kind */
    size_t count[6];
    int64_t offset, number;
    int32_t partitions;
    int64_t high[4], stable[4];
};

static void mock_sink(void *arg, const struct port_kafka_event *event)
{
    struct mock *mock = arg;
    mock->last[event->kind] = *event;
    mock->count[event->kind]++;
    if (event->record != NULL)
        mock->offset = event->record->offset;
    mock->number = event->number;
    if (event->offsets != NULL) {
        mock->partitions = event->offsets->partitions;
        for (int32_t p = 0; p < mock->partitions && p < 4; p++) {
            mock->high[p] = event->offsets->high[p];
            mock->stable[p] = event->offsets->stable != NULL ? event->offsets->stable[p] : -2;
        }
    }
}

static void mock_no_secrets(void *impl, const char *ns, const struct port_secret_item *items, size_t count, port_secret_done *done,
                            void *arg)
{
    (void)impl, (void)ns, (void)items, (void)count, (void)done, (void)arg;
    fail_msg("no Secret is needed");
}

static void mock_quiet(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    (void)rk, (void)level, (void)facility, (void)text;
}

static int mock_begin(void **state)
{
    struct mock *mock = dv_alloc(sizeof *mock);
    char text[200];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set_log_cb(conf, mock_quiet);
    mock->rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
    mock->cluster = rd_kafka_mock_cluster_new(mock->rk, 3);
    (void)rd_kafka_mock_topic_create(mock->cluster, "t", 2, 1);
    mock->loop = loop_new();
    mock->kafka = kafka_new(mock->loop, (struct port_secrets){NULL, mock_no_secrets}, mock_sink, mock);
    mock->port = kafka_port(mock->kafka);
    (void)uv_timer_init(loop_uv(mock->loop), &mock->guard);
    mock->guard.data = mock;
    struct model_kafka spec = {.bootstrap = (char *)(uintptr_t)rd_kafka_mock_cluster_bootstraps(mock->cluster)};
    mock->port.open(mock->port.impl, 1, &spec, "ns", "mock");
    *state = mock;
    return 0;
}

static int mock_end(void **state)
{
    struct mock *mock = *state;
    kafka_free(mock->kafka);
    uv_close((uv_handle_t *)&mock->guard, NULL);
    loop_free(mock->loop);
    rd_kafka_mock_cluster_destroy(mock->cluster);
    rd_kafka_destroy(mock->rk);
    free(mock);
    return 0;
}

static void mock_guard_fired(uv_timer_t *timer)
{
    ((struct mock *)timer->data)->late = true;
}

/* Runs the loop until there are that many events of the kind. */
static bool mock_wait(struct mock *mock, enum port_kafka_event_kind kind, size_t count, uint64_t ms)
{
    mock->late = false;
    uv_update_time(loop_uv(mock->loop));
    (void)uv_timer_start(&mock->guard, mock_guard_fired, ms, 0);
    while (mock->count[kind] < count && !mock->late)
        (void)uv_run(loop_uv(mock->loop), UV_RUN_ONCE);
    return mock->count[kind] >= count;
}

static void mock_produce(struct mock *mock, port_id id, int32_t partition)
{
    struct fact_record record = {
        .partition = partition, .timestamp_ms = dv_clock_now().wall_ms, .value = (unsigned char[]){"v"}, .value_len = 1};
    mock->port.produce(mock->port.impl, 1, id, "t", &record, 1);
}

static const struct dv_err *mock_ask(struct mock *mock, const struct port_question *question)
{
    size_t count = mock->count[PORT_KAFKA_ANSWER];
    mock->port.ask(mock->port.impl, 1, 77, question);
    assert_true(mock_wait(mock, PORT_KAFKA_ANSWER, count + 1, 16000));
    return &mock->last[PORT_KAFKA_ANSWER].err;
}

static void passing_faults_of_a_produce_are_ridden_out(void **state)
{
    struct mock *mock = *state;
    rd_kafka_mock_push_request_errors(mock->cluster, MOCK_PRODUCE, 3, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
                                      RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS);
    mock_produce(mock, 5, 1);
    assert_true(mock_wait(mock, PORT_KAFKA_PRODUCED, 1, 20000));
    assert_int_equal(mock->last[PORT_KAFKA_PRODUCED].err.kind, DV_ERR_NONE);
    assert_int_equal(mock->offset, 0);
}

/* Where a listener without TLS hangs up librdkafka says why at first, later only that it was disconnected. */
static void tls_to_a_listener_without(void **state)
{
    struct mock *mock = *state;
    struct model_kafka spec = {.bootstrap = (char *)(uintptr_t)rd_kafka_mock_cluster_bootstraps(mock->cluster), .tls = true};
    mock->port.open(mock->port.impl, 2, &spec, "ns", "mock");
    mock->port.ask(mock->port.impl, 2, 77, &(struct port_question){.ask = PORT_ASK_CLUSTER});
    assert_true(mock_wait(mock, PORT_KAFKA_ANSWER, 1, 16000));
    const struct dv_err *err = &mock->last[PORT_KAFKA_ANSWER].err;
    assert_int_equal(err->kind, DV_ERR_UNREACHABLE);
    assert_non_null(strstr(err->text, "): the listener seems not to speak TLS; correct the port or remove spec.clusters.a.kafka.tls"));
}

static void a_fatal_error_ends_the_producer_and_the_next_is_new(void **state)
{
    struct mock *mock = *state;
    mock_produce(mock, 5, 0);
    assert_true(mock_wait(mock, PORT_KAFKA_PRODUCED, 1, 20000));
    assert_int_equal(mock->last[PORT_KAFKA_PRODUCED].err.kind, DV_ERR_NONE);
    rd_kafka_mock_push_request_errors(mock->cluster, MOCK_PRODUCE, 1, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
    mock_produce(mock, 6, 0);
    assert_true(mock_wait(mock, PORT_KAFKA_PRODUCED, 2, 20000));
    assert_true(mock->last[PORT_KAFKA_PRODUCED].err.kind != DV_ERR_NONE);
    mock_produce(mock, 7, 0);
    assert_true(mock_wait(mock, PORT_KAFKA_PRODUCED, 3, 20000));
    assert_int_equal(mock->last[PORT_KAFKA_PRODUCED].err.kind, DV_ERR_NONE);
}

static void a_topic_that_is_being_created(void **state)
{
    struct mock *mock = *state;
    const struct port_question question = {.ask = PORT_ASK_LOG, .topic = "t"};
    rd_kafka_mock_push_request_errors(mock->cluster, MOCK_LIST_OFFSETS, 1, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE);
    const struct dv_err *err = mock_ask(mock, &question);
    assert_true(err->kind == DV_ERR_NONE || (err->kind == DV_ERR_UNREACHABLE && err->retry));
    err = mock_ask(mock, &question);
    assert_int_equal(err->kind, DV_ERR_NONE);
    assert_int_equal(mock->partitions, 2);
    assert_int_equal(mock->high[0], 0);
    rd_kafka_mock_topic_set_error(mock->cluster, "t", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    err = mock_ask(mock, &question);
    assert_int_equal(err->kind, DV_ERR_DENIED);
    assert_non_null(strstr(err->text, "Kafka cluster mock"));
    assert_non_null(strstr(err->text, "Describe on topic t"));
}

static void a_reader_over_broken_fetches_and_brokers(void **state)
{
    struct mock *mock = *state;
    int64_t from[2] = {0, 0};
    for (port_id id = 10; id < 20; id++)
        mock_produce(mock, id, (int32_t)(id % 2));
    assert_true(mock_wait(mock, PORT_KAFKA_PRODUCED, 10, 20000));
    rd_kafka_mock_push_request_errors(mock->cluster, MOCK_FETCH, 4, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
                                      RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__TRANSPORT,
                                      RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR);
    mock->port.read(mock->port.impl, 1, 50, &(struct port_reader){.topic = "t", .from = from, .partitions = 2});
    assert_true(mock_wait(mock, PORT_KAFKA_RECORD, 10, 30000));
    (void)rd_kafka_mock_broker_set_down(mock->cluster, -1);
    assert_true(mock_wait(mock, PORT_KAFKA_TROUBLE, mock->count[PORT_KAFKA_TROUBLE] + 1, 20000));
    assert_int_equal(mock->last[PORT_KAFKA_TROUBLE].err.kind, DV_ERR_UNREACHABLE);
    size_t positions = mock->count[PORT_KAFKA_POSITION];
    (void)rd_kafka_mock_broker_set_up(mock->cluster, -1);
    mock_produce(mock, 60, 0);
    assert_true(mock_wait(mock, PORT_KAFKA_RECORD, 11, 40000));
    assert_true(mock_wait(mock, PORT_KAFKA_POSITION, positions + 1, 20000));
    assert_int_equal(mock->count[PORT_KAFKA_RECORD], 11); /* none twice */
    mock->port.read_stop(mock->port.impl, 50);
    mock_produce(mock, 61, 0);
    assert_true(mock_wait(mock, PORT_KAFKA_PRODUCED, 12, 20000));
    (void)mock_wait(mock, PORT_KAFKA_RECORD, 12, 500);
    assert_int_equal(mock->count[PORT_KAFKA_RECORD], 11); /* nothing after the stop */
}

static void a_cluster_that_does_not_answer(void **state)
{
    struct mock *mock = *state;
    assert_int_equal(mock_ask(mock, &(struct port_question){.ask = PORT_ASK_CLUSTER})->kind, DV_ERR_NONE);
    assert_true(strlen(mock->last[PORT_KAFKA_ANSWER].text != NULL ? "x" : "") == 1);
    (void)rd_kafka_mock_broker_set_rtt(mock->cluster, -1, 20000);
    int64_t began = dv_clock_now().mono_ms;
    const struct dv_err *err = mock_ask(mock, &(struct port_question){.ask = PORT_ASK_LOG, .topic = "t"});
    assert_true(err->kind == DV_ERR_TIMEOUT || err->kind == DV_ERR_UNREACHABLE);
    assert_true(dv_clock_now().mono_ms - began < 15000);
}

static void questions_without_their_subject(void **state)
{
    struct mock *mock = *state;
    assert_int_equal(mock_ask(mock, &(struct port_question){.ask = PORT_ASK_LOG})->kind, DV_ERR_INTERNAL);
    assert_int_equal(mock_ask(mock, &(struct port_question){.ask = PORT_ASK_COMMITS, .topic = "t"})->kind, DV_ERR_INTERNAL);
    assert_int_equal(mock_ask(mock, &(struct port_question){.ask = PORT_ASK_GROUPS})->kind, DV_ERR_INTERNAL);
    assert_int_equal(mock_ask(mock, &(struct port_question){.ask = PORT_ASK_GROUP_LAG})->kind, DV_ERR_INTERNAL);
}

/* ---------------------------------------------------------------- lag of a group: the mock cluster cannot list commits, so the job alone
 */

static struct fact_group_lag mock_lag_found;
static rd_kafka_resp_err_t mock_lag_err;
static bool mock_lag_there;

static void mock_lag_done(struct kafka_job *base, struct kafka *kafka)
{
    struct kafka_ask_job *job = (struct kafka_ask_job *)base;
    (void)kafka;
    mock_lag_found = job->lag;
    mock_lag_err = job->err;
    mock_lag_there = true;
    kafka_ask_job_free(job);
}

/* Commits at 0 on partitions 0 to 7 of topic many and 0 to 2 of t, which has two; five more are unseen from the start. */
static int64_t mock_lag(struct mock *mock)
{
    struct dv_err err = DV_ERR_INIT;
    struct kafka_handle *handle = kafka_client_handle(kafka_client_find(mock->kafka, 1), KAFKA_HANDLE_ADMIN, &err);
    assert_non_null(handle);
    rd_kafka_topic_partition_list_t *commits = rd_kafka_topic_partition_list_new(11);
    for (int32_t p = 0; p < 8; p++)
        rd_kafka_topic_partition_list_add(commits, "many", p)->offset = 0;
    for (int32_t p = 0; p < 3; p++)
        rd_kafka_topic_partition_list_add(commits, "t", p)->offset = 0;
    int64_t began = dv_clock_now().mono_ms;
    mock_lag_there = false;
    kafka_lag_job_push(handle, 1, commits, 5, mock_lag_done);
    for (int i = 0; i < 16000 && !mock_lag_there; i++)
        (void)mock_wait(mock, PORT_KAFKA_TROUBLE, 1, 1);
    assert_true(mock_lag_there);
    assert_int_equal(mock_lag_err, RD_KAFKA_RESP_ERR_NO_ERROR);
    return dv_clock_now().mono_ms - began;
}

static void partitions_that_cannot_be_counted_are_left_out(void **state)
{
    struct mock *mock = *state;
    (void)rd_kafka_mock_topic_create(mock->cluster, "many", 8, 1);
    for (port_id id = 10; id < 16; id++)
        mock_produce(mock, id, (int32_t)(id % 2));
    assert_true(mock_wait(mock, PORT_KAFKA_PRODUCED, 6, 20000));
    (void)mock_lag(mock);
    assert_int_equal(mock_lag_found.records, 6);
    assert_int_equal(mock_lag_found.partitions, 10);
    assert_int_equal(mock_lag_found.unseen, 5 + 1);

    /* One answer that fails is asked for again in parts. */
    rd_kafka_mock_push_request_errors(mock->cluster, MOCK_LIST_OFFSETS, 1, RD_KAFKA_RESP_ERR_INVALID_REQUEST);
    (void)mock_lag(mock);
    assert_int_equal(mock_lag_found.records, 6);
    assert_int_equal(mock_lag_found.partitions, 10);

    /* A partition without a leader takes no other with it. */
    (void)rd_kafka_mock_partition_set_leader(mock->cluster, "t", 1, -1);
    rd_kafka_mock_push_request_errors(mock->cluster, MOCK_LIST_OFFSETS, 1, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION);
    (void)mock_lag(mock);
    assert_true(mock_lag(mock) < 8000);
    assert_int_equal(mock_lag_found.records, 3);
    assert_int_equal(mock_lag_found.partitions, 9);
    assert_int_equal(mock_lag_found.unseen, 5 + 2);
}

/* What lies behind the limit may not be there to be read, and there may be millions of it. */
static void a_distance_is_counted_as_far_as_it_is_asked_for(void **state)
{
    static const struct {
        int64_t to, before_ms, limit, number;
    } cases[] = {{100, INT64_MAX, 3, 3}, {100, INT64_MAX, 1, 1}, {4, INT64_MAX, 0, 4}, {4, INT64_MAX, 9, 4}, {4, 1, 2, 0}};
    struct mock *mock = *state;
    for (port_id id = 10; id < 15; id++)
        mock_produce(mock, id, 1);
    assert_true(mock_wait(mock, PORT_KAFKA_PRODUCED, 5, 20000));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct port_question question = {.ask = PORT_ASK_DISTANCE, .topic = "t", .partition = 1, .to = cases[i].to};
        question.before_ms = cases[i].before_ms;
        question.limit = cases[i].limit;
        assert_int_equal(mock_ask(mock, &question)->kind, DV_ERR_NONE);
        assert_int_equal(mock->number, cases[i].number);
    }
}

/* ---------------------------------------------------------------- credentials that are refused in the middle of a look into a topic */

/* As if the broker refused the connection of the only question for three seconds already. */
static void mock_refuse(struct mock *mock, struct kafka_client *client, bool changed)
{
    struct kafka_op *op = client->ops;
    assert_non_null(op);
    assert_non_null(op->handle);
    assert_int_equal(op->handle->kind, KAFKA_HANDLE_FETCH);
    op->step_ms = op->handle->trouble_ms = client->fetched_ms = kafka_now_ms(mock->kafka) - 3000;
    (void)dv_err_set(&op->handle->trouble, DV_ERR_AUTH, "refused");
    client->digest += changed;
}

static void new_credentials_end_a_look_into_a_topic(void **state)
{
    struct mock *mock = *state;
    struct kafka_client *client = kafka_client_find(mock->kafka, 1);
    const struct port_question question = {.ask = PORT_ASK_DISTANCE, .topic = "t", .partition = 1, .to = 100, .before_ms = INT64_MAX};
    for (size_t changed = 0; changed < 2; changed++) {
        mock->port.ask(mock->port.impl, 1, 77, &question);
        assert_false(mock_wait(mock, PORT_KAFKA_ANSWER, changed + 1, 1000)); /* at the end of the topic, below 100 */
        mock_refuse(mock, client, changed > 0);
        assert_true(mock_wait(mock, PORT_KAFKA_ANSWER, changed + 1, 1000));
        const struct dv_err *err = &mock->last[PORT_KAFKA_ANSWER].err;
        assert_int_equal(err->kind, changed > 0 ? DV_ERR_UNREACHABLE : DV_ERR_AUTH);
        assert_int_equal(err->retry, changed > 0);
    }
    assert_int_equal(mock_ask(mock, &(struct port_question){.ask = PORT_ASK_LOG, .topic = "t"})->kind, DV_ERR_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(passing_faults_of_a_produce_are_ridden_out, mock_begin, mock_end),
        cmocka_unit_test_setup_teardown(tls_to_a_listener_without, mock_begin, mock_end),
        cmocka_unit_test_setup_teardown(a_fatal_error_ends_the_producer_and_the_next_is_new, mock_begin, mock_end),
        cmocka_unit_test_setup_teardown(a_topic_that_is_being_created, mock_begin, mock_end),
        cmocka_unit_test_setup_teardown(a_reader_over_broken_fetches_and_brokers, mock_begin, mock_end),
        cmocka_unit_test_setup_teardown(a_cluster_that_does_not_answer, mock_begin, mock_end),
        cmocka_unit_test_setup_teardown(questions_without_their_subject, mock_begin, mock_end),
        cmocka_unit_test_setup_teardown(partitions_that_cannot_be_counted_are_left_out, mock_begin, mock_end),
        cmocka_unit_test_setup_teardown(a_distance_is_counted_as_far_as_it_is_asked_for, mock_begin, mock_end),
        cmocka_unit_test_setup_teardown(new_credentials_end_a_look_into_a_topic, mock_begin, mock_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

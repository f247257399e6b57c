#include "../support/support.h"

#include <string.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>

#include "base/err.h"
#include "kafka/internal.h"

static const struct kafka_where errors_where = {"dc1", "broker:9093"};

/* What is said, and what kind it is. */
static void errors_of_librdkafka(void **state)
{
    (void)state;
    static const struct {
        rd_kafka_resp_err_t code;
        const char *detail;
        enum dv_err_kind kind;
        bool retry;
        const char *text;
    } cases[] = {
        {RD_KAFKA_RESP_ERR__AUTHENTICATION, "sasl_ssl://b:1/bootstrap: SASL authentication error: no (after 301ms in state AUTH_REQ)",
         DV_ERR_AUTH, false, "Kafka cluster dc1 (broker:9093) refuses the credentials: SASL authentication error: no"},
        {RD_KAFKA_RESP_ERR__SSL, "ssl://b:1/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate verify failed",
         DV_ERR_CERT, false, "certificate or TLS not accepted"},
        {RD_KAFKA_RESP_ERR__SSL, "SSL handshake failed: error:0A000126:SSL routines::unexpected eof while reading", DV_ERR_UNREACHABLE,
         true, "unexpected eof"},
        {RD_KAFKA_RESP_ERR__TRANSPORT, "Receive failed: error:0A000412:SSL routines::sslv3 alert bad certificate: SSL alert number 42",
         DV_ERR_CERT, false, "alert bad certificate"},
        {RD_KAFKA_RESP_ERR__TRANSPORT, "Connect to ipv4#127.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT)",
         DV_ERR_UNREACHABLE, true, "cannot be reached or is not ready: Connect to ipv4#127.0.0.1:1 failed: Connection refused"},
        {RD_KAFKA_RESP_ERR__TRANSPORT, "ApiVersionRequest failed: Local: Timed out: probably due to broker version < 0.10",
         DV_ERR_UNREACHABLE, true, "ApiVersionRequest failed: Local: Timed out"},
        {RD_KAFKA_RESP_ERR__RESOLVE, NULL, DV_ERR_UNREACHABLE, true, "cannot be reached"},
        {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, NULL, DV_ERR_DENIED, false,
         "Kafka cluster dc1 (broker:9093) does not allow us Read on topic t"},
        {RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, NULL, DV_ERR_DENIED, false, "does not allow us Read on group g"},
        {RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, NULL, DV_ERR_DENIED, false, "does not allow us Read on the cluster"},
        {RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, NULL, DV_ERR_NOT_FOUND, false, "Read on topic t: not found"},
        {RD_KAFKA_RESP_ERR__TIMED_OUT, NULL, DV_ERR_TIMEOUT, true, "gave no answer in time to Read on topic t"},
        {RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, NULL, DV_ERR_CONFLICT, false, "group g has members"},
        {RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, NULL, DV_ERR_UNREACHABLE, true, "not ready"},
        {RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, "gone", DV_ERR_GONE, false, "gone"},
        {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, NULL, DV_ERR_INVALID, false, "too large"},
        {RD_KAFKA_RESP_ERR__BAD_MSG, NULL, DV_ERR_INTERNAL, false, "Read on topic t"},
        {(rd_kafka_resp_err_t)9999, NULL, DV_ERR_INVALID, false, "Read on topic t"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct dv_err err = DV_ERR_INIT;
        assert_int_equal(kafka_err(&err, errors_where, (struct kafka_what){"Read", "t", "g"}, cases[i].code, cases[i].detail), -1);
        if (err.kind != cases[i].kind || err.retry != cases[i].retry || strstr(err.text, cases[i].text) == NULL)
            fail_msg("case %d: %s retry %d: %s", (int)i, dv_err_kind_name(err.kind), err.retry, err.text);
        assert_int_equal(err.code, cases[i].code);
        assert_null(strstr(err.text, "(after"));
        assert_null(strstr(err.text, "probably"));
    }
}

static void group_alone_and_nothing(void **state)
{
    (void)state;
    struct dv_err err = DV_ERR_INIT;
    (void)kafka_err(&err, errors_where, (struct kafka_what){"Describe", NULL, "g"}, RD_KAFKA_RESP_ERR__TIMED_OUT, NULL);
    assert_non_null(strstr(err.text, "Describe on group g"));
    (void)kafka_err(&err, errors_where, (struct kafka_what){"Describe", NULL, NULL}, RD_KAFKA_RESP_ERR__FAIL, NULL);
    assert_int_equal(err.kind, DV_ERR_TIMEOUT); /* the first error wins */
    assert_int_equal(kafka_err(NULL, errors_where, (struct kafka_what){"Describe", NULL, NULL}, RD_KAFKA_RESP_ERR__FAIL, NULL), -1);
}

/* ---------------------------------------------------------------- threads that do not come back */

struct slow {
    struct kafka_job job;
    uv_sem_t *go;
};

static void slow_run(struct kafka_job *job)
{
    uv_sem_wait(((struct slow *)job)->go);
}

static int slow_finished;

static void slow_done(struct kafka_job *job, struct kafka *kafka)
{
    (void)kafka;
    free(job);
    slow_finished++;
}

static void hang(struct kafka_hub *hub, uv_sem_t *go, int count)
{
    for (int i = 0; i < count; i++) {
        struct slow *slow = dv_alloc(sizeof *slow);
        slow->job = (struct kafka_job){.run = slow_run, .done = slow_done, .last = true};
        slow->go = go;
        kafka_worker_push(kafka_worker_new(hub), &slow->job);
    }
}

static int64_t later(void)
{
    return (int64_t)(uv_hrtime() / 1000000) + KAFKA_WORKER_STUCK_MS + 1000;
}

static void threads_that_hang_are_counted_and_forgiven(void **state)
{
    (void)state;
    uv_sem_t go;
    struct kafka_hub *hub = kafka_hub_new(NULL);
    assert_int_equal(uv_sem_init(&go, 0), 0);
    slow_finished = 0;
    hang(hub, &go, KAFKA_WORKERS_STUCK_MAX);
    assert_int_equal(kafka_hub_check(hub, 0), 0);
    size_t stuck = 0;
    while (stuck < KAFKA_WORKERS_STUCK_MAX) /* a thread may not have taken its job yet */
        stuck = kafka_hub_check(hub, later());
    for (int i = 0; i < KAFKA_WORKERS_STUCK_MAX; i++)
        uv_sem_post(&go);
    while (kafka_hub_threads(hub) > 0)
        (void)poll(NULL, 0, 1);
    assert_int_equal(kafka_hub_check(hub, later()), 0);
    kafka_hub_close(hub, NULL, 1000);
    assert_int_equal(slow_finished, KAFKA_WORKERS_STUCK_MAX);
    uv_sem_destroy(&go);
}

static void too_many_end_the_process(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        uv_sem_t go;
        (void)close(2);
        (void)uv_sem_init(&go, 0);
        struct kafka_hub *hub = kafka_hub_new(NULL);
        hang(hub, &go, KAFKA_WORKERS_STUCK_MAX + 1);
        for (;;)
            (void)kafka_hub_check(hub, later());
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_of_librdkafka),
        cmocka_unit_test(group_alone_and_nothing),
        cmocka_unit_test(threads_that_hang_are_counted_and_forgiven),
        cmocka_unit_test(too_many_end_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "../support/support.h"

#include <string.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>

#include "base/err.h"
#include "kafka/internal.h"

static const struct kafka_where errors_where = {"dc1", "broker:9093", MODEL_B};

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
         DV_ERR_AUTH, false,
         "Kafka cluster dc1 (broker:9093) refuses the credentials: no; check them in spec.clusters.b.kafka.authentication"},
        {RD_KAFKA_RESP_ERR__SSL, "ssl://b:1/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate verify failed",
         DV_ERR_CERT, false,
         "Kafka cluster dc1 (broker:9093): certificate verify failed; check spec.clusters.b.kafka.tls.trustedCertificates"},
        {RD_KAFKA_RESP_ERR__SSL, "SSL handshake failed: error:0A000126:SSL routines::unexpected eof while reading", DV_ERR_UNREACHABLE,
         true, "the listener seems not to speak TLS; correct the port or remove spec.clusters.b.kafka.tls"},
        {RD_KAFKA_RESP_ERR__TRANSPORT, "Receive failed: error:0A000412:SSL routines::sslv3 alert bad certificate: SSL alert number 42",
         DV_ERR_CERT, false, "(broker:9093): the broker refuses our certificate, or wants one; check spec.clusters.b.kafka.authentication"},
        {RD_KAFKA_RESP_ERR__TRANSPORT, "Connect to ipv4#127.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT)",
         DV_ERR_UNREACHABLE, true, "Kafka cluster dc1 (broker:9093) cannot be reached: 127.0.0.1:1 refuses the connection"},
        {RD_KAFKA_RESP_ERR__TRANSPORT, "ApiVersionRequest failed: Local: Timed out: probably due to broker version < 0.10",
         DV_ERR_UNREACHABLE, true, "ApiVersionRequest failed: Local: Timed out"},
        {RD_KAFKA_RESP_ERR__RESOLVE, NULL, DV_ERR_UNREACHABLE, true, "cannot be reached"},
        {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, NULL, DV_ERR_DENIED, false,
         "Kafka cluster dc1 (broker:9093) does not allow us Read on topic t"},
        {RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, NULL, DV_ERR_DENIED, false,
         "does not allow us Read on group g, or the group's name is wrong"},
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

/* Whole messages: texts of librdkafka 2.0.2 and of later ones. */
static void what_librdkafka_says_becomes_one_sentence(void **state)
{
    (void)state;
    static const struct {
        rd_kafka_resp_err_t code;
        const char *detail;
        enum dv_err_kind kind;
        const char *text;
    } cases[] = {
        {RD_KAFKA_RESP_ERR__AUTHENTICATION,
         "sasl_ssl://b:1/bootstrap: SASL authentication error: Authentication failed: Invalid username or password (after 3ms in state "
         "AUTH_REQ, 2 identical error(s) suppressed)",
         DV_ERR_AUTH, " refuses the credentials: Invalid username or password; check them in spec.clusters.b.kafka.authentication"},
        {RD_KAFKA_RESP_ERR__AUTHENTICATION,
         "sasl_plaintext://b:1/bootstrap: SASL authentication error: Authentication failed during authentication due to invalid "
         "credentials with SASL mechanism SCRAM-SHA-512 (after 3ms in state AUTH_REQ)",
         DV_ERR_AUTH,
         " refuses the credentials: invalid credentials with SASL mechanism SCRAM-SHA-512; check them in "
         "spec.clusters.b.kafka.authentication"},
        {RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, NULL, DV_ERR_AUTH,
         " refuses the credentials; check them in spec.clusters.b.kafka.authentication"},
        {RD_KAFKA_RESP_ERR__AUTHENTICATION,
         "sasl_ssl://b:1/bootstrap: SASL SCRAM-SHA-512 mechanism handshake failed: Broker: Unsupported SASL mechanism: broker's supported "
         "mechanisms: PLAIN (after 3ms in state AUTH_HANDSHAKE)",
         DV_ERR_AUTH,
         " refuses the credentials: Unsupported SASL mechanism: broker's supported mechanisms: PLAIN; check them in "
         "spec.clusters.b.kafka.authentication"},
        {RD_KAFKA_RESP_ERR__AUTHENTICATION,
         "sasl_plaintext://b:1/bootstrap: SASL PLAIN mechanism handshake failed: Broker: Request not valid in current SASL state: broker's "
         "supported mechanisms:  (after 0ms in state AUTH_HANDSHAKE)",
         DV_ERR_AUTH, ": the listener takes no user name and password; correct the port or remove spec.clusters.b.kafka.authentication"},
        {RD_KAFKA_RESP_ERR__TRANSPORT,
         "b:1/bootstrap: Disconnected while requesting ApiVersion: might be caused by incorrect security.protocol configuration "
         "(connecting to a SSL listener?) or broker version is < 0.10 (see api.version.request) (after 0ms in state APIVERSION_QUERY)",
         DV_ERR_UNREACHABLE, ": the listener seems to want TLS; set spec.clusters.b.kafka.tls or correct the port"},
        {RD_KAFKA_RESP_ERR__TRANSPORT,
         "b:1/bootstrap: Disconnected: verify that security.protocol is correctly configured, broker might require SASL authentication "
         "(after 52ms in state UP)",
         DV_ERR_UNREACHABLE,
         ": the listener seems to want a user name and password; set spec.clusters.b.kafka.authentication or correct the port"},
        {RD_KAFKA_RESP_ERR__TRANSPORT,
         "ssl://b:1/bootstrap: SSL handshake failed: Disconnected: connecting to a PLAINTEXT broker listener? (after 2ms in state "
         "SSL_HANDSHAKE)",
         DV_ERR_UNREACHABLE, ": the listener seems not to speak TLS; correct the port or remove spec.clusters.b.kafka.tls"},
        {RD_KAFKA_RESP_ERR__SSL, "ssl://b:1/bootstrap: SSL handshake failed: error:0A00010B:SSL routines::wrong version number (after 1ms",
         DV_ERR_CERT, ": the listener does not speak TLS; correct the port or remove spec.clusters.b.kafka.tls"},
        {RD_KAFKA_RESP_ERR__SSL, "ssl://b:1/0: SSL handshake failed: error:0A0000C6:SSL routines::packet length too long (after 1ms",
         DV_ERR_CERT, ": the listener does not speak TLS; correct the port or remove spec.clusters.b.kafka.tls"},
        {RD_KAFKA_RESP_ERR__TRANSPORT, "ssl://b:1/bootstrap: error:0A000086:SSL routines::certificate verify failed (after 1ms in state",
         DV_ERR_CERT, ": certificate verify failed; check spec.clusters.b.kafka.tls.trustedCertificates"},
        {RD_KAFKA_RESP_ERR__TRANSPORT,
         "ssl://b:1/bootstrap: Receive failed: error:0A00045C:SSL routines::tlsv13 alert certificate required: SSL alert number 116 (after",
         DV_ERR_CERT, ": the broker wants a client certificate; check spec.clusters.b.kafka.authentication"},
        {RD_KAFKA_RESP_ERR__SSL, "SSL handshake failed: error:0A00042E:SSL routines::tlsv1 alert protocol version: SSL alert number 70",
         DV_ERR_CERT, ": TLS does not work: the broker ends the TLS handshake: protocol version"},
        {RD_KAFKA_RESP_ERR__RESOLVE, "ssl://c:1/3: Failed to resolve 'c:1': Name or service not known (after 8ms in state CONNECT)",
         DV_ERR_UNREACHABLE, " cannot be reached: Failed to resolve 'c:1': Name or service not known"},
        {RD_KAFKA_RESP_ERR__TRANSPORT, "GroupCoordinator: c:1: Connect to ipv6#[::1]:1 failed: Connection refused (after 0ms",
         DV_ERR_UNREACHABLE, " cannot be reached: [::1]:1 refuses the connection"},
        {RD_KAFKA_RESP_ERR__TRANSPORT, NULL, DV_ERR_UNREACHABLE, " cannot be reached: Broker transport failure"},
        {RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, NULL, DV_ERR_UNREACHABLE, " is not ready: Leader not available"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct dv_err err = DV_ERR_INIT;
        char want[400];
        (void)kafka_err(&err, errors_where, (struct kafka_what){.operation = "a connection"}, cases[i].code, cases[i].detail);
        assert_string_equal(err.text, dv_format(want, sizeof want, "Kafka cluster dc1 (broker:9093)%s", cases[i].text));
        assert_int_equal(err.kind, cases[i].kind);
        assert_int_equal(err.retry, cases[i].kind == DV_ERR_UNREACHABLE);
        assert_true(strlen(err.text) < 180);
    }
}

static void what_may_not_be_described_may_not_be_there(void **state)
{
    (void)state;
    struct dv_err err = DV_ERR_INIT;
    (void)kafka_err(&err, errors_where, (struct kafka_what){"Describe", "t", NULL}, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, NULL);
    assert_string_equal(err.text, "Kafka cluster dc1 (broker:9093) does not allow us Describe on topic t, or the topic's name is wrong");
    err = DV_ERR_INIT;
    (void)kafka_err(&err, errors_where, (struct kafka_what){"Describe", NULL, "g"}, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, NULL);
    assert_string_equal(err.text, "Kafka cluster dc1 (broker:9093) does not allow us Describe on group g, or the group's name is wrong");
    err = DV_ERR_INIT;
    (void)kafka_err(&err, errors_where, (struct kafka_what){.operation = "Describe"}, RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, NULL);
    assert_string_equal(err.text, "Kafka cluster dc1 (broker:9093) does not allow us Describe on the cluster");
    err = DV_ERR_INIT;
    (void)kafka_err(&err, errors_where, (struct kafka_what){.operation = "Write", .topic = "t"},
                    RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, NULL);
    assert_string_equal(err.text, "Kafka cluster dc1 (broker:9093) does not allow us Write on topic t");
}

static void long_texts_end_with_a_word(void **state)
{
    (void)state;
    char detail[800] = "", text[100], place[200];
    for (int i = 0; i < 150; i++)
        (void)dv_strlcpy(detail + strlen(detail), "word ", sizeof detail - strlen(detail));
    (void)kafka_detail(text, sizeof text, detail);
    assert_true(strlen(text) < sizeof text && dv_ends_with(text, " word..."));
    struct kafka_where many = {"dc1", "broker-0.kafka.example.com:9093,broker-1.kafka.example.com:9093,broker-2.kafka.example.com:9093",
                               MODEL_A};
    assert_string_equal(kafka_place(place, sizeof place, many), "Kafka cluster dc1 (broker-0.kafka.example.com:9093 and 2 more)");
    many.bootstrap = "b0:9093,b1:9093";
    assert_string_equal(kafka_place(place, sizeof place, many), "Kafka cluster dc1 (b0:9093,b1:9093)");
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
        cmocka_unit_test(what_librdkafka_says_becomes_one_sentence),
        cmocka_unit_test(what_may_not_be_described_may_not_be_there),
        cmocka_unit_test(long_texts_end_with_a_word),
        cmocka_unit_test(group_alone_and_nothing),
        cmocka_unit_test(threads_that_hang_are_counted_and_forgiven),
        cmocka_unit_test(too_many_end_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

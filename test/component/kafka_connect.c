#include "kafka_lab.h"

#include <fcntl.h>
#include <sys/socket.h>

/* Listeners, mechanisms, and everything that can be wrong with credentials, certificates and addresses. */

static const struct port_question connect_id = {.ask = PORT_ASK_CLUSTER};

static const struct port_kafka_event *connect_ask(struct lab *lab, const struct model_kafka *spec)
{
    lab->port.open(lab->port.impl, LAB_CLIENT, spec, "kafka", "dc1");
    return lab_ask(lab, LAB_CLIENT, &connect_id);
}

/* Where the test topic begins. */
static void connect_log_start(struct lab *lab, int64_t *from)
{
    lab_open_admin(lab, 9);
    const struct port_kafka_event *event = lab_ask(lab, 9, &(struct port_question){.ask = PORT_ASK_LOG, .topic = lab_env("TEST_TOPIC")});
    lab_good(event);
    for (int p = 0; p < 3; p++)
        from[p] = event->offsets->low[p];
    lab->port.close(lab->port.impl, 9);
}

static void connect_works(struct lab *lab, const char *bootstrap, enum model_auth_type auth, bool tls)
{
    struct model_trusted trusted;
    struct model_kafka spec = lab_spec(bootstrap, auth, tls, &trusted);
    lab_good(connect_ask(lab, &spec));
    const struct port_kafka_event *event =
        lab_ask(lab, LAB_CLIENT, &(struct port_question){.ask = PORT_ASK_TOPIC, .topic = lab_env("TEST_TOPIC")});
    lab_good(event);
    assert_int_equal(event->topic->partitions, 3);
    lab->port.close(lab->port.impl, LAB_CLIENT);
}

static void plain_without_tls(void **state)
{
    connect_works(*state, "BOOTSTRAP_A", MODEL_AUTH_PLAIN, false);
}

static void plain_over_tls(void **state)
{
    connect_works(*state, "BOOTSTRAP_A_TLS", MODEL_AUTH_PLAIN, true);
}

static void client_certificate(void **state)
{
    connect_works(*state, "BOOTSTRAP_A_MTLS", MODEL_AUTH_TLS, true);
}

static void connect_scram(struct lab *lab, enum model_auth_type auth, bool tls)
{
    if (lab_scram_works()) {
        connect_works(lab, tls ? "BOOTSTRAP_A_TLS" : "BOOTSTRAP_A", auth, tls);
        return;
    }
    struct model_trusted trusted;
    struct model_kafka spec = lab_spec(tls ? "BOOTSTRAP_A_TLS" : "BOOTSTRAP_A", auth, tls, &trusted);
    lab_bad(connect_ask(lab, &spec), DV_ERR_AUTH, "cannot do SCRAM with Kafka 4");
}

static void scram_256(void **state)
{
    connect_scram(*state, MODEL_AUTH_SCRAM_SHA_256, true);
}

static void scram_512(void **state)
{
    connect_scram(*state, MODEL_AUTH_SCRAM_SHA_512, true);
}

static void scram_512_without_tls(void **state)
{
    connect_scram(*state, MODEL_AUTH_SCRAM_SHA_512, false);
}

static void several_trusted_certificates(void **state)
{
    struct lab *lab = *state;
    struct model_trusted trusted[2] = {{(char[]){"other"}, (char[]){"ca.crt"}}, {(char[]){"ca"}, (char[]){"ca.crt"}}};
    struct model_trusted unused;
    struct model_kafka spec = lab_spec("BOOTSTRAP_A_TLS", MODEL_AUTH_PLAIN, true, &unused);
    lab_secret_file(&lab->secrets, "other", "ca.crt", lab_env("KAFKA_CA_B"));
    spec.trusted = trusted;
    spec.trusted_count = 2;
    lab_good(connect_ask(lab, &spec));
}

static void wrong_password(void **state)
{
    struct lab *lab = *state;
    struct model_trusted trusted;
    struct model_kafka spec = lab_spec("BOOTSTRAP_A_TLS", MODEL_AUTH_PLAIN, true, &trusted);
    lab_secret_set(&lab->secrets, "user", "password", "not-the-password");
    const struct port_kafka_event *event = connect_ask(lab, &spec);
    lab_bad(event, DV_ERR_AUTH, "Kafka cluster dc1 (127.0.0.1:");
    assert_null(strstr(event->err.text, "not-the-password"));
    assert_false(event->err.retry);
    /* The Secret is put right: the next question uses it. */
    lab_secret_set(&lab->secrets, "user", "password", lab_env("KAFKA_PASSWORD"));
    lab_good(lab_ask(lab, LAB_CLIENT, &connect_id));
}

static void wrong_password_for_produce_and_read(void **state)
{
    struct lab *lab = *state;
    struct model_trusted trusted;
    struct model_kafka spec = lab_spec("BOOTSTRAP_A_TLS", MODEL_AUTH_PLAIN, true, &trusted);
    int64_t from[3];
    struct fact_record record = lab_record(0, dv_clock_now().wall_ms, "k", "v");
    connect_log_start(lab, from);
    lab_secret_set(&lab->secrets, "user", "password", "not-the-password");
    lab->port.open(lab->port.impl, LAB_CLIENT, &spec, "kafka", "dc1");
    lab->port.produce(lab->port.impl, LAB_CLIENT, 5, lab_env("TEST_TOPIC"), &record, 1);
    lab->port.read(lab->port.impl, LAB_CLIENT, 6, &(struct port_reader){.topic = lab_env("TEST_TOPIC"), .from = from, .partitions = 3});
    const struct port_kafka_event *event = lab_wait(lab, PORT_KAFKA_PRODUCED, 5, 0, 16000);
    assert_non_null(event);
    lab_bad(event, DV_ERR_AUTH, "refuses the credentials");
    event = lab_wait(lab, PORT_KAFKA_TROUBLE, 6, 0, 16000);
    assert_non_null(event);
    lab_bad(event, DV_ERR_AUTH, "refuses the credentials");
    /* The reader goes on trying, with the Secret as it is then. */
    lab_secret_set(&lab->secrets, "user", "password", lab_env("KAFKA_PASSWORD"));
    assert_non_null(lab_wait(lab, PORT_KAFKA_POSITION, 6, 0, 20000));
}

/* ---------------------------------------------------------------- a Secret that was changed since it was read */

/* The client holds a password that the broker refuses; the Secret has the right one by now. */
static void connect_outdated(struct lab *lab, port_id client)
{
    struct model_trusted trusted;
    struct model_kafka spec = lab_spec("BOOTSTRAP_A_TLS", MODEL_AUTH_PLAIN, true, &trusted);
    lab_secret_set(&lab->secrets, "user", "password", "the-password-before");
    lab->port.open(lab->port.impl, client, &spec, "kafka", "dc1");
    lab_secret_set(&lab->secrets, "user", "password", lab_env("KAFKA_PASSWORD"));
}

static void connect_lost(const struct port_kafka_event *event)
{
    assert_non_null(event);
    lab_bad(event, DV_ERR_UNREACHABLE, "the connection was given up for a new one");
    assert_true(event->err.retry);
}

/* A broker that was just started loads what it knows of a group when it is first asked. */
static void connect_group_loaded(struct lab *lab)
{
    const struct port_kafka_event *event;
    lab_open_admin(lab, 9);
    do {
        event = lab_ask(lab, 9,
                        &(struct port_question){.ask = PORT_ASK_COMMITS, .topic = lab_env("TEST_TOPIC"), .group = lab_env("TEST_GROUP")});
    } while (event->err.kind != DV_ERR_NONE && event->err.retry);
    lab_good(event);
    lab->port.close(lab->port.impl, 9);
}

/* A question is asked again by whoever asked it; a commit and records are not, and need not be. */
static void a_password_that_was_changed(void **state)
{
    struct lab *lab = *state;
    int64_t offsets[3] = {0};
    connect_group_loaded(lab);
    connect_outdated(lab, LAB_CLIENT);
    connect_lost(lab_ask(lab, LAB_CLIENT, &connect_id));
    lab_good(lab_ask(lab, LAB_CLIENT, &connect_id));
    connect_outdated(lab, 2);
    lab->port.commit(lab->port.impl, 2, 6, lab_env("TEST_GROUP"), lab_env("TEST_TOPIC"), offsets, 3);
    const struct port_kafka_event *event = lab_wait(lab, PORT_KAFKA_COMMITTED, 6, 0, 16000);
    assert_non_null(event);
    lab_good(event);
}

static void a_password_that_was_changed_for_produce_and_read(void **state)
{
    struct lab *lab = *state;
    int64_t from[3];
    struct fact_record record = lab_record(0, dv_clock_now().wall_ms, "k", "v");
    connect_log_start(lab, from);
    connect_outdated(lab, LAB_CLIENT);
    lab->port.read(lab->port.impl, LAB_CLIENT, 6, &(struct port_reader){.topic = lab_env("TEST_TOPIC"), .from = from, .partitions = 3});
    assert_non_null(lab_wait(lab, PORT_KAFKA_POSITION, 6, 0, 16000));
    assert_null(lab_wait(lab, PORT_KAFKA_TROUBLE, 6, 0, 100));
    connect_outdated(lab, 2);
    int64_t offset = lab_produce(lab, 2, lab_env("TEST_TOPIC"), &record, 1);
    assert_int_equal(lab_produce(lab, 2, lab_env("TEST_TOPIC"), &record, 1), offset + 1); /* it was written once */
}

/* Refused, and nobody knows yet whether there is a better password by now. */
static void a_secret_that_takes_its_time(void **state)
{
    struct lab *lab = *state;
    connect_outdated(lab, LAB_CLIENT);
    lab->secrets.silent = true;
    lab->port.ask(lab->port.impl, LAB_CLIENT, 5, &connect_id);
    assert_null(lab_wait(lab, PORT_KAFKA_ANSWER, 5, 0, 6000));
    lab_secrets_answer(&lab->secrets);
    connect_lost(lab_wait(lab, PORT_KAFKA_ANSWER, 5, 0, 1000));
    lab_good(lab_ask(lab, LAB_CLIENT, &connect_id));
}

static void a_secret_that_is_not_read_again_in_time(void **state)
{
    struct lab *lab = *state;
    connect_outdated(lab, LAB_CLIENT);
    lab->secrets.silent = true;
    const struct port_kafka_event *event = lab_ask(lab, LAB_CLIENT, &connect_id);
    lab_bad(event, DV_ERR_TIMEOUT, "the Secrets with the credentials were not read in time");
    assert_true(event->err.retry);
}

/* ---------------------------------------------------------------- certificates, addresses, mechanisms */

static void wrong_ca(void **state)
{
    struct lab *lab = *state;
    struct model_trusted trusted;
    struct model_kafka spec = lab_spec("BOOTSTRAP_A_TLS", MODEL_AUTH_PLAIN, true, &trusted);
    lab_secret_file(&lab->secrets, "ca", "ca.crt", lab_env("KAFKA_CA_B"));
    lab_bad(connect_ask(lab, &spec), DV_ERR_CERT, "not signed by a trusted certificate; check spec.clusters.a.kafka.tls");
}

static void system_cas_do_not_know_the_lab(void **state)
{
    struct lab *lab = *state;
    struct model_trusted trusted;
    struct model_kafka spec = lab_spec("BOOTSTRAP_A_TLS", MODEL_AUTH_PLAIN, true, &trusted);
    spec.trusted_count = 0;
    lab_bad(connect_ask(lab, &spec), DV_ERR_CERT, "not signed by a trusted certificate");
}

static void ca_is_not_pem(void **state)
{
    struct lab *lab = *state;
    struct model_trusted trusted;
    struct model_kafka spec = lab_spec("BOOTSTRAP_A_TLS", MODEL_AUTH_PLAIN, true, &trusted);
    lab_secret_set(&lab->secrets, "ca", "ca.crt", "hello");
    lab_bad(connect_ask(lab, &spec), DV_ERR_CERT, "key ca.crt of Secret ca is not in PEM format");
    lab_secret_set(&lab->secrets, "ca", "ca.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    lab_bad(lab_ask(lab, LAB_CLIENT, &connect_id), DV_ERR_CERT, "dc1");
}

static void key_of_another_certificate(void **state)
{
    struct lab *lab = *state;
    struct model_trusted trusted;
    char *path = dv_asprintf("%s/stranger.key", lab_env("KAFKA_CERTS_A"));
    struct model_kafka spec = lab_spec("BOOTSTRAP_A_MTLS", MODEL_AUTH_TLS, true, &trusted);
    lab_secret_file(&lab->secrets, "user", "user.key", path);
    const struct port_kafka_event *event = connect_ask(lab, &spec);
    lab_bad(event, DV_ERR_CERT, "dc1");
    assert_null(strstr(event->err.text, "BEGIN"));
    free(path);
}

static void client_certificate_missing(void **state)
{
    struct lab *lab = *state;
    struct model_trusted trusted;
    struct model_kafka spec = lab_spec("BOOTSTRAP_A_MTLS", MODEL_AUTH_NONE, true, &trusted);
    lab_bad(connect_ask(lab, &spec), DV_ERR_CERT, "certificate");
}

static void client_certificate_of_another_ca(void **state)
{
    struct lab *lab = *state;
    struct model_trusted trusted;
    struct model_kafka spec = lab_spec("BOOTSTRAP_A_MTLS", MODEL_AUTH_TLS, true, &trusted);
    lab_secret_file(&lab->secrets, "user", "user.crt", lab_env("KAFKA_USER_CERT_B"));
    lab_secret_file(&lab->secrets, "user", "user.key", lab_env("KAFKA_USER_KEY_B"));
    lab_bad(connect_ask(lab, &spec), DV_ERR_CERT, "certificate");
}

static void secret_missing(void **state)
{
    struct lab *lab = *state;
    struct model_trusted trusted;
    struct model_kafka spec = lab_spec("BOOTSTRAP_A_TLS", MODEL_AUTH_PLAIN, true, &trusted);
    static char missing[] = "missing";
    spec.password_secret = missing;
    int64_t from[3], offsets[3] = {1, 1, 1};
    struct fact_record record = lab_record(0, dv_clock_now().wall_ms, "k", "v");
    connect_log_start(lab, from);
    lab_bad(connect_ask(lab, &spec), DV_ERR_SECRET, "Kafka cluster dc1");
    lab_bad(lab_ask(lab, LAB_CLIENT, &connect_id), DV_ERR_SECRET, "Secret missing has no key password");
    lab->port.produce(lab->port.impl, LAB_CLIENT, 5, "t", &record, 1);
    lab->port.commit(lab->port.impl, LAB_CLIENT, 6, "g", "t", offsets, 3);
    lab->port.read(lab->port.impl, LAB_CLIENT, 7, &(struct port_reader){.topic = lab_env("TEST_TOPIC"), .from = from, .partitions = 3});
    const struct port_kafka_event *event = lab_wait(lab, PORT_KAFKA_PRODUCED, 5, 0, 2000);
    assert_non_null(event);
    lab_bad(event, DV_ERR_SECRET, "missing");
    event = lab_wait(lab, PORT_KAFKA_COMMITTED, 6, 0, 2000);
    assert_non_null(event);
    lab_bad(event, DV_ERR_SECRET, "missing");
    event = lab_wait(lab, PORT_KAFKA_TROUBLE, 7, 0, 2000);
    assert_non_null(event);
    lab_bad(event, DV_ERR_SECRET, "missing");
    lab_secret_set(&lab->secrets, "missing", "password", lab_env("KAFKA_PASSWORD"));
    assert_non_null(lab_wait(lab, PORT_KAFKA_POSITION, 7, 0, 10000));
    lab_good(lab_ask(lab, LAB_CLIENT, &connect_id));
}

static void plaintext_credentials_are_refused(void **state)
{
    struct lab *lab = *state;
    struct model_trusted trusted;
    struct model_kafka spec = lab_spec("BOOTSTRAP_A", MODEL_AUTH_PLAIN, false, &trusted);
    spec.allow_plaintext_credentials = false;
    lab_bad(connect_ask(lab, &spec), DV_ERR_INVALID, "allowPlaintextCredentials");
}

static void nobody_listens(void **state)
{
    struct lab *lab = *state;
    struct model_trusted trusted;
    struct model_kafka spec = lab_spec("BOOTSTRAP_A_TLS", MODEL_AUTH_PLAIN, true, &trusted);
    static char nobody[] = "127.0.0.1:1";
    spec.bootstrap = nobody;
    const struct port_kafka_event *event = connect_ask(lab, &spec);
    lab_bad(event, DV_ERR_UNREACHABLE, "127.0.0.1:1 refuses the connection");
    assert_true(event->err.retry);
    lab_bad(lab_ask(lab, LAB_CLIENT, &(struct port_question){.ask = PORT_ASK_ACLS}), DV_ERR_UNREACHABLE,
            "127.0.0.1:1 refuses the connection");
    lab_bad(lab_ask(lab, LAB_CLIENT, &(struct port_question){.ask = PORT_ASK_TOPIC, .topic = "t"}), DV_ERR_UNREACHABLE,
            "127.0.0.1:1 refuses the connection");
}

static void name_that_does_not_resolve(void **state)
{
    struct lab *lab = *state;
    struct model_trusted trusted;
    struct model_kafka spec = lab_spec("BOOTSTRAP_A_TLS", MODEL_AUTH_PLAIN, true, &trusted);
    static char nobody[] = "no-such-host.invalid:9092";
    spec.bootstrap = nobody;
    lab_bad(connect_ask(lab, &spec), DV_ERR_UNREACHABLE, "no-such-host.invalid");
}

static void tls_to_a_listener_without(void **state)
{
    struct lab *lab = *state;
    struct model_trusted trusted;
    struct model_kafka spec = lab_spec("BOOTSTRAP_A", MODEL_AUTH_PLAIN, true, &trusted);
    const struct port_kafka_event *event = connect_ask(lab, &spec);
    lab_bad(event, DV_ERR_UNREACHABLE, "the listener seems not to speak TLS; correct the port or remove spec.clusters.a.kafka.tls");
}

static void connect_other_listener(struct lab *lab, const char *bootstrap, enum model_auth_type auth, bool tls, enum dv_err_kind kind,
                                   const char *text)
{
    struct model_trusted trusted;
    struct model_kafka spec = lab_spec(bootstrap, auth, tls, &trusted);
    spec.side = MODEL_B;
    lab_bad(connect_ask(lab, &spec), kind, text);
}

static void no_tls_to_a_listener_with(void **state)
{
    connect_other_listener(*state, "BOOTSTRAP_A_TLS", MODEL_AUTH_NONE, false, DV_ERR_UNREACHABLE,
                           "the listener seems to want TLS; set spec.clusters.b.kafka.tls or correct the port");
}

static void a_password_without_tls_to_a_listener_with(void **state)
{
    connect_other_listener(*state, "BOOTSTRAP_A_TLS", MODEL_AUTH_PLAIN, false, DV_ERR_UNREACHABLE,
                           "the listener seems to want TLS; set spec.clusters.b.kafka.tls or correct the port");
}

static void no_password_to_a_listener_that_wants_one(void **state)
{
    connect_other_listener(*state, "BOOTSTRAP_A_TLS", MODEL_AUTH_NONE, true, DV_ERR_UNREACHABLE,
                           "want a user name and password; set spec.clusters.b.kafka.authentication");
}

/* ---------------------------------------------------------------- a relay at an address that is not in the certificate */

struct relay {
    int listener;
    char target[64];
    pthread_t thread;
    int stop[2];
};

static int relay_connect(const char *target)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    char *port = strchr(target, ':');
    int64_t number = 0;
    assert_int_equal(dv_parse_i64(port + 1, 1, 65535, &number), 0);
    to.sin_port = htons((uint16_t)number);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static bool relay_copy(int from, int to)
{
    char bytes[8192];
    ssize_t n = read(from, bytes, sizeof bytes);
    return n > 0 && write(to, bytes, (size_t)n) == n;
}

/* One connection at a time is enough: librdkafka's clients here try one after the other. */
static void *relay_main(void *arg)
{
    struct relay *relay = arg;
    for (;;) {
        struct pollfd wait[2] = {{.fd = relay->listener, .events = POLLIN}, {.fd = relay->stop[0], .events = POLLIN}};
        if (poll(wait, 2, -1) < 0 || wait[1].revents != 0)
            return NULL;
        int near = accept(relay->listener, NULL, NULL), far = relay_connect(relay->target);
        for (bool open = true; open;) {
            struct pollfd both[3] = {
                {.fd = near, .events = POLLIN}, {.fd = far, .events = POLLIN}, {.fd = relay->stop[0], .events = POLLIN}};
            open = poll(both, 3, -1) > 0 && both[2].revents == 0;
            if (open && both[0].revents != 0)
                open = relay_copy(near, far);
            if (open && both[1].revents != 0)
                open = relay_copy(far, near);
        }
        (void)close(near);
        (void)close(far);
    }
}

static void host_name_is_not_in_the_certificate(void **state)
{
    struct lab *lab = *state;
    struct relay relay = {.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof at;
    assert_int_equal(inet_pton(AF_INET, "127.0.0.2", &at.sin_addr), 1);
    assert_int_equal(bind(relay.listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(relay.listener, 16), 0);
    assert_int_equal(getsockname(relay.listener, (struct sockaddr *)&at, &size), 0);
    assert_int_equal(pipe(relay.stop), 0);
    (void)dv_strlcpy(relay.target, lab_env("BOOTSTRAP_A_TLS"), sizeof relay.target);
    assert_int_equal(pthread_create(&relay.thread, NULL, relay_main, &relay), 0);

    struct model_trusted trusted;
    char address[32];
    struct model_kafka spec = lab_spec("BOOTSTRAP_A_TLS", MODEL_AUTH_PLAIN, true, &trusted);
    spec.bootstrap = dv_format(address, sizeof address, "127.0.0.2:%d", ntohs(at.sin_port));
    const struct port_kafka_event *event = connect_ask(lab, &spec);
    assert_int_equal(write(relay.stop[1], "x", 1), 1);
    (void)pthread_join(relay.thread, NULL);
    (void)close(relay.listener);
    (void)close(relay.stop[0]);
    (void)close(relay.stop[1]);
    lab_bad(event, DV_ERR_CERT, "does not carry the IP address");
}

/* ---------------------------------------------------------------- closing */

static void close_from_within_an_event(struct lab *lab, const struct port_kafka_event *event)
{
    (void)event;
    lab->port.close(lab->port.impl, LAB_CLIENT);
}

static void closing_ends_everything(void **state)
{
    struct lab *lab = *state;
    int64_t from[3];
    connect_log_start(lab, from);
    lab_forget(lab);
    lab_open(lab);
    lab->hook = close_from_within_an_event;
    for (port_id id = 20; id < 30; id++)
        lab->port.ask(lab->port.impl, LAB_CLIENT, id, &connect_id);
    lab->port.read(lab->port.impl, LAB_CLIENT, 40, &(struct port_reader){.topic = lab_env("TEST_TOPIC"), .from = from, .partitions = 3});
    for (int i = 0; i < 150 && lab->count == 0; i++)
        lab_run(lab, 100);
    lab_run(lab, 500);
    assert_int_equal(lab->count, 1);
    lab->hook = NULL;
    lab->port.close(lab->port.impl, LAB_CLIENT); /* once more, and one that never was */
    lab->port.close(lab->port.impl, 4711);
    lab->port.ask(lab->port.impl, 4711, 1, &connect_id);
    lab->port.read_stop(lab->port.impl, 4711);
    lab_run(lab, 100);
    assert_int_equal(lab->count, 1);
}

static void freeing_with_everything_under_way(void **state)
{
    struct lab *lab = *state;
    int64_t from[3] = {0, 0, 0};
    struct fact_record record = lab_record(0, dv_clock_now().wall_ms, "k", "v");
    lab_open(lab);
    lab_good(lab_ask(lab, LAB_CLIENT, &connect_id));
    lab->port.read(lab->port.impl, LAB_CLIENT, 40, &(struct port_reader){.topic = lab_env("TEST_TOPIC"), .from = from, .partitions = 3});
    lab_run(lab, 50);
    lab->port.ask(lab->port.impl, LAB_CLIENT, 41, &(struct port_question){.ask = PORT_ASK_READ_RIGHT, .topic = lab_env("TEST_TOPIC")});
    lab->port.ask(lab->port.impl, LAB_CLIENT, 42, &(struct port_question){.ask = PORT_ASK_LOG, .topic = lab_env("TEST_TOPIC")});
    lab->port.produce(lab->port.impl, LAB_CLIENT, 43, lab_env("TEST_TOPIC"), &record, 1);
    (void)uv_run(loop_uv(lab->loop), UV_RUN_NOWAIT);
}

static int begin(void **state)
{
    struct lab *lab = lab_new();
    lab_default_secrets(lab);
    *state = lab;
    return 0;
}

static int end(void **state)
{
    lab_free(*state);
    return 0;
}

#define CONNECT_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONNECT_TEST(plain_without_tls),
        CONNECT_TEST(plain_over_tls),
        CONNECT_TEST(client_certificate),
        CONNECT_TEST(scram_256),
        CONNECT_TEST(scram_512),
        CONNECT_TEST(scram_512_without_tls),
        CONNECT_TEST(several_trusted_certificates),
        CONNECT_TEST(wrong_password),
        CONNECT_TEST(wrong_password_for_produce_and_read),
        CONNECT_TEST(a_password_that_was_changed),
        CONNECT_TEST(a_password_that_was_changed_for_produce_and_read),
        CONNECT_TEST(a_secret_that_takes_its_time),
        CONNECT_TEST(a_secret_that_is_not_read_again_in_time),
        CONNECT_TEST(wrong_ca),
        CONNECT_TEST(system_cas_do_not_know_the_lab),
        CONNECT_TEST(ca_is_not_pem),
        CONNECT_TEST(key_of_another_certificate),
        CONNECT_TEST(client_certificate_missing),
        CONNECT_TEST(client_certificate_of_another_ca),
        CONNECT_TEST(secret_missing),
        CONNECT_TEST(plaintext_credentials_are_refused),
        CONNECT_TEST(nobody_listens),
        CONNECT_TEST(name_that_does_not_resolve),
        CONNECT_TEST(tls_to_a_listener_without),
        CONNECT_TEST(no_tls_to_a_listener_with),
        CONNECT_TEST(a_password_without_tls_to_a_listener_with),
        CONNECT_TEST(no_password_to_a_listener_that_wants_one),
        CONNECT_TEST(host_name_is_not_in_the_certificate),
        CONNECT_TEST(closing_ends_everything),
        CONNECT_TEST(freeing_with_everything_under_way),
    };
    cmocka_set_test_filter(getenv("TEST")); /* a pattern; all without it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

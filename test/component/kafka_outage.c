#include "kafka_lab.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

/* A broker that hangs, and one that goes away and comes back, under a reader, questions, produced records and a commit. */

#define ADMIN 2

/* The lab's directory is where its first cluster's admin file is. */
static char *outage_lab(void)
{
    char *path = dv_strdup(lab_env("KAFKA_ADMIN_A"));
    for (int i = 0; i < 2; i++)
        *strrchr(path, '/') = '\0';
    return path;
}

static void outage_signal(int number)
{
    char *lab = outage_lab();
    char *path = dv_asprintf("%s/run/kafka-a.pid", lab);
    char *text = test_read_file(path, NULL);
    int64_t pid = 0;
    text[strcspn(text, " \n")] = '\0';
    assert_int_equal(dv_parse_i64(text, 2, INT32_MAX, &pid), 0);
    assert_int_equal(kill((pid_t)pid, number), 0);
    free(text);
    free(path);
    free(lab);
}

static void outage_broker(const char *verb)
{
    char *lab = outage_lab();
    pid_t pid = fork();
    if (pid == 0) {
        (void)setenv("LAB", lab, 1);
        (void)execl("test/lab/kafka-only", "kafka-only", verb, "a", (char *)NULL);
        _exit(127);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    free(lab);
}

static struct fact_record outage_record(void)
{
    return lab_record(0, dv_clock_now().wall_ms, "k", "v");
}

static void outage_reader(struct lab *lab, port_id id, const char *topic)
{
    int64_t from[1] = {0};
    lab->port.read(lab->port.impl, ADMIN, id, &(struct port_reader){.topic = topic, .from = from, .partitions = 1});
    assert_non_null(lab_wait(lab, PORT_KAFKA_POSITION, id, 0, 10000));
}

static size_t outage_records(const struct lab *lab, port_id id)
{
    size_t count = 0;
    for (size_t i = 0; i < lab->count; i++)
        count += lab->events[i].event.kind == PORT_KAFKA_RECORD && lab->events[i].event.id == id;
    return count;
}

/* Soon after a broker is back a partition may have no leader for a moment: such an answer says that it is worth asking again. */
static int64_t outage_high(struct lab *lab, const char *topic)
{
    const struct port_kafka_event *event;
    do {
        event = lab_ask(lab, ADMIN, &(struct port_question){.ask = PORT_ASK_LOG, .topic = topic});
    } while (event->err.kind != DV_ERR_NONE && event->err.retry);
    lab_good(event);
    return event->offsets->high[0];
}

static void a_broker_that_hangs(void **state)
{
    struct lab *lab = *state;
    char topic[40];
    int64_t offsets[1] = {1};
    struct fact_record record = outage_record();
    lab_topic(topic, 1, NULL);
    (void)lab_produce(lab, ADMIN, topic, &record, 1);
    outage_reader(lab, 50, topic);
    outage_signal(SIGSTOP);
    lab_run(lab, 100); /* until every thread of it has stopped */
    size_t at = lab->count;
    lab->port.produce(lab->port.impl, ADMIN, 60, topic, &record, 1);
    lab->port.ask(lab->port.impl, ADMIN, 61, &(struct port_question){.ask = PORT_ASK_LOG, .topic = topic});
    lab->port.ask(lab->port.impl, ADMIN, 62, &(struct port_question){.ask = PORT_ASK_COMMITS, .topic = topic, .group = "g"});
    lab->port.commit(lab->port.impl, ADMIN, 63, "outage-group", topic, offsets, 1);
    const struct port_kafka_event *log = lab_wait(lab, PORT_KAFKA_ANSWER, 61, at, 15500);
    const struct port_kafka_event *commits = lab_wait(lab, PORT_KAFKA_ANSWER, 62, at, 5000);
    const struct port_kafka_event *committed = lab_wait(lab, PORT_KAFKA_COMMITTED, 63, at, 5000);
    const struct port_kafka_event *produced = lab_wait(lab, PORT_KAFKA_PRODUCED, 60, at, 60000);
    outage_signal(SIGCONT);
    assert_non_null(produced);
    assert_int_equal(produced->err.kind, DV_ERR_TIMEOUT); /* it was on its way: it may be there */
    assert_non_null(log);
    assert_true(log->err.kind == DV_ERR_TIMEOUT || log->err.kind == DV_ERR_UNREACHABLE);
    assert_non_null(commits);
    assert_true(commits->err.kind == DV_ERR_TIMEOUT || commits->err.kind == DV_ERR_UNREACHABLE);
    assert_non_null(committed);
    assert_true(committed->err.kind == DV_ERR_TIMEOUT || committed->err.kind == DV_ERR_UNREACHABLE);
    /* Everything works again on the same client. */
    const struct port_kafka_event *event;
    (void)outage_high(lab, topic);
    (void)lab_produce(lab, ADMIN, topic, &record, 1);
    int64_t high = 0;
    do {
        high = outage_high(lab, topic);
        event = lab_wait(lab, PORT_KAFKA_POSITION, 50, at, 15000);
        assert_non_null(event);
        lab_run(lab, 200);
    } while (outage_records(lab, 50) < (size_t)high);
    assert_int_equal(outage_records(lab, 50), high); /* none twice */
}

/* What waits for a broker that hangs is dropped by closing, and nothing of it is done when the broker is back. */
static void closing_while_a_broker_hangs(void **state)
{
    struct lab *lab = *state;
    char topic[40];
    const char *group = "outage-group-2";
    int64_t offsets[1] = {1};
    struct fact_record record = outage_record();
    lab_topic(topic, 1, NULL);
    (void)lab_produce(lab, ADMIN, topic, &record, 1);
    lab_good(lab_ask(lab, ADMIN, &(struct port_question){.ask = PORT_ASK_COMMITS, .topic = topic, .group = group}));
    outage_reader(lab, 50, topic);
    outage_signal(SIGSTOP);
    lab_run(lab, 100); /* until every thread of it has stopped */
    lab->port.ask(lab->port.impl, ADMIN, 61, &(struct port_question){.ask = PORT_ASK_GROUPS, .groups = &group, .group_count = 1});
    lab->port.ask(lab->port.impl, ADMIN, 62, &(struct port_question){.ask = PORT_ASK_COMMITS, .topic = topic, .group = group});
    lab->port.ask(lab->port.impl, ADMIN, 63, &(struct port_question){.ask = PORT_ASK_READ_RIGHT, .topic = topic});
    lab->port.commit(lab->port.impl, ADMIN, 64, group, topic, offsets, 1);
    lab_run(lab, 1000);
    size_t at = lab->count;
    lab->port.close(lab->port.impl, ADMIN);
    lab_run(lab, 6000);
    outage_signal(SIGCONT);
    assert_int_equal(lab->count, at);
    lab_run(lab, 1000);
    lab_open_admin(lab, 3);
    const struct port_kafka_event *event;
    do {
        event = lab_ask(lab, 3, &(struct port_question){.ask = PORT_ASK_COMMITS, .topic = topic, .group = group});
    } while (event->err.kind != DV_ERR_NONE && event->err.retry);
    lab_good(event);
    assert_int_equal(event->offsets->high[0], -1);
}

static void a_broker_that_restarts(void **state)
{
    struct lab *lab = *state;
    char topic[40];
    struct fact_record record = outage_record();
    lab_topic(topic, 1, NULL);
    (void)lab_produce(lab, ADMIN, topic, &record, 1);
    outage_reader(lab, 50, topic);
    outage_broker("stop");
    const struct port_kafka_event *event = lab_ask(lab, ADMIN, &(struct port_question){.ask = PORT_ASK_LOG, .topic = topic});
    struct dv_err down = event->err;
    const struct port_kafka_event *trouble = lab_wait(lab, PORT_KAFKA_TROUBLE, 50, 0, 15000);
    size_t at = lab->count;
    lab->port.produce(lab->port.impl, ADMIN, 60, topic, &record, 1); /* sent when the broker is back */
    lab_run(lab, 100);
    outage_broker("start");
    assert_int_equal(down.kind, DV_ERR_UNREACHABLE);
    assert_true(down.retry);
    assert_non_null(strstr(down.text, "refuses the connection"));
    assert_non_null(trouble);
    lab_bad(trouble, DV_ERR_UNREACHABLE, "cannot be reached");
    event = lab_wait(lab, PORT_KAFKA_PRODUCED, 60, at, 60000);
    assert_non_null(event);
    lab_good(event);
    do {
        event = lab_wait(lab, PORT_KAFKA_POSITION, 50, at, 20000);
        assert_non_null(event);
        at = lab->count;
    } while (event->offsets->high[0] < 2);
    assert_int_equal(outage_records(lab, 50), 2);
    assert_int_equal(outage_high(lab, topic), 2);
}

/* ---------------------------------------------------------------- a password that is another one after a restart */

static const char outage_other_password[] = "another-secret";

/* The broker knows the password from its configuration: it counts from the next start. */
static void outage_password(const char *from, const char *to)
{
    char *lab = outage_lab();
    char *path = dv_asprintf("%s/kafka-a/server.properties", lab);
    char *text = test_read_file(path, NULL);
    char *mark = dv_asprintf("user_%s=\"%s\"", lab_env("KAFKA_USER"), from);
    FILE *file = fopen(path, "w");
    const char *at = text;
    assert_non_null(file);
    for (const char *next; (next = strstr(at, mark)) != NULL; at = next + strlen(mark))
        (void)fprintf(file, "%.*suser_%s=\"%s\"", (int)(next - at), at, lab_env("KAFKA_USER"), to);
    (void)fputs(at, file);
    assert_int_equal(fclose(file), 0);
    free(mark);
    free(text);
    free(path);
    free(lab);
}

static bool outage_refused(const struct lab *lab)
{
    for (size_t i = 0; i < lab->count; i++)
        if (lab->events[i].event.err.kind == DV_ERR_AUTH)
            return true;
    return false;
}

static void a_password_that_changes_with_a_restart(void **state)
{
    struct lab *lab = *state;
    const char *topic = lab_env("TEST_TOPIC");
    struct model_trusted trusted;
    struct model_kafka spec = lab_spec("BOOTSTRAP_A_TLS", MODEL_AUTH_PLAIN, true, &trusted);
    const struct port_question question = {.ask = PORT_ASK_LOG, .topic = topic};
    struct fact_record record = outage_record();
    lab_default_secrets(lab);
    lab->port.open(lab->port.impl, LAB_CLIENT, &spec, "kafka", "dc1");
    const struct port_kafka_event *event = lab_ask(lab, LAB_CLIENT, &question);
    lab_good(event);
    lab->port.read(lab->port.impl, LAB_CLIENT, 50, &(struct port_reader){.topic = topic, .from = event->offsets->high, .partitions = 3});
    assert_non_null(lab_wait(lab, PORT_KAFKA_POSITION, 50, 0, 10000));
    outage_broker("stop");
    outage_password(lab_env("KAFKA_PASSWORD"), outage_other_password);
    lab_secret_set(&lab->secrets, "user", "password", outage_other_password);
    outage_broker("start");
    size_t at = lab->count;
    do {
        event = lab_ask(lab, LAB_CLIENT, &question);
    } while (event->err.kind != DV_ERR_NONE && event->err.retry);
    lab_good(event);
    (void)lab_produce(lab, LAB_CLIENT, topic, &record, 1);
    assert_non_null(lab_wait(lab, PORT_KAFKA_RECORD, 50, at, 20000));
    assert_false(outage_refused(lab));
}

static int put_password_back(void **state)
{
    lab_free(*state);
    outage_broker("stop");
    outage_password(outage_other_password, lab_env("KAFKA_PASSWORD"));
    outage_broker("start");
    return 0;
}

static int begin(void **state)
{
    struct lab *lab = lab_new();
    lab_open_admin(lab, ADMIN);
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
        cmocka_unit_test_setup_teardown(a_broker_that_hangs, begin, end),
        cmocka_unit_test_setup_teardown(closing_while_a_broker_hangs, begin, end),
        cmocka_unit_test_setup_teardown(a_broker_that_restarts, begin, end),
        cmocka_unit_test_setup_teardown(a_password_that_changes_with_a_restart, begin, put_password_back),
    };
    cmocka_set_test_filter(getenv("TEST")); /* a pattern; all without it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

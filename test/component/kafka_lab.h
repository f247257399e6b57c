/* A kafka port on a loop of its own against the lab's brokers, Secrets from a table, and a super user for what tests set up.
 * Addresses come from the environment (test/lab/kafka-only up writes them to $LAB/env). */
#ifndef DV_TEST_KAFKA_LAB_H
#define DV_TEST_KAFKA_LAB_H

#include "../support/support.h"

#include <arpa/inet.h>
#include <stdatomic.h>
#include <pthread.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <librdkafka/rdkafka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/timefmt.h"
#include "kafka/kafka.h"

#define LAB_CLIENT 1

static inline const char *lab_env(const char *name)
{
    const char *value = getenv(name);
    if (value == NULL || value[0] == '\0')
        fail_msg("%s is not set: source the env file of a lab", name);
    return value;
}

/* ---------------------------------------------------------------- Secrets */

struct lab_secret {
    char name[64], key[64];
    char *value;
};

struct lab_secrets {
    struct lab_secret list[16];
    size_t count, asked;
    bool silent; /* the next request is kept: until lab_secrets_answer(), or until the port is gone */
    struct port_secret_item held_items[16];
    size_t held_count;
    port_secret_done *held;
    void *held_arg;
};

static inline void lab_secret_set(struct lab_secrets *secrets, const char *name, const char *key, const char *value)
{
    size_t i = 0;
    while (i < secrets->count && (strcmp(secrets->list[i].name, name) != 0 || strcmp(secrets->list[i].key, key) != 0))
        i++;
    assert_true(i < 16);
    if (i == secrets->count)
        secrets->count++;
    else
        free(secrets->list[i].value);
    (void)dv_strlcpy(secrets->list[i].name, name, 64);
    (void)dv_strlcpy(secrets->list[i].key, key, 64);
    secrets->list[i].value = dv_strdup(value);
}

static inline void lab_secret_file(struct lab_secrets *secrets, const char *name, const char *key, const char *path)
{
    char *text = test_read_file(path, NULL);
    lab_secret_set(secrets, name, key, text);
    free(text);
}

static inline void lab_secrets_get(void *impl, const char *ns, const struct port_secret_item *items, size_t count, port_secret_done *done,
                                   void *arg)
{
    struct lab_secrets *secrets = impl;
    const char *values[16];
    size_t lens[16];
    (void)ns;
    secrets->asked++;
    if (secrets->silent) {
        assert_null(secrets->held);
        assert_true(count <= 16);
        memcpy(secrets->held_items, items, count * sizeof *items);
        secrets->held_count = count;
        secrets->held = done;
        secrets->held_arg = arg;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        values[i] = NULL;
        for (size_t j = 0; j < secrets->count; j++)
            if (strcmp(secrets->list[j].name, items[i].secret) == 0 && strcmp(secrets->list[j].key, items[i].key) == 0)
                values[i] = secrets->list[j].value;
        if (values[i] == NULL) {
            struct dv_err err = DV_ERR_INIT;
            (void)dv_err_set(&err, DV_ERR_SECRET, "Secret %s has no key %s", items[i].secret, items[i].key);
            done(arg, &err, NULL, NULL, 0);
            return;
        }
        lens[i] = strlen(values[i]);
    }
    done(arg, NULL, values, lens, count);
}

/* Answers what was kept. */
static inline void lab_secrets_answer(struct lab_secrets *secrets)
{
    port_secret_done *done = secrets->held;
    assert_non_null(done);
    secrets->silent = false;
    secrets->held = NULL;
    lab_secrets_get(secrets, NULL, secrets->held_items, secrets->held_count, done, secrets->held_arg);
}

/* ---------------------------------------------------------------- events, copied */

struct lab_event {
    struct port_kafka_event event;
    struct fact_topic topic;
    struct fact_offsets offsets;
    struct fact_group_lag lag;
    struct fact_record record;
};

struct lab {
    struct loop *loop;
    struct kafka *kafka;
    struct port_kafka port;
    struct lab_secrets secrets;
    struct lab_event events[4096];
    size_t count;
    uv_timer_t guard;
    bool late;
    void (*hook)(struct lab *lab, const struct port_kafka_event *event);
    port_id next_id;
};

static inline int64_t *lab_copy_offsets(const int64_t *from, int32_t count)
{
    int64_t *to = from != NULL ? dv_calloc((size_t)count + 1, sizeof *to) : NULL;
    for (int32_t p = 0; from != NULL && p < count; p++)
        to[p] = from[p];
    return to;
}

static inline void lab_copy_record(struct fact_record *to, const struct fact_record *from)
{
    *to = *from;
    to->key = from->key != NULL ? memcpy(dv_alloc(from->key_len + 1), from->key, from->key_len) : NULL;
    to->value = from->value != NULL ? memcpy(dv_alloc(from->value_len + 1), from->value, from->value_len) : NULL;
    to->headers = dv_calloc(from->header_count + 1, sizeof *to->headers);
    for (size_t i = 0; i < from->header_count; i++) {
        to->headers[i] = (struct fact_header){dv_strdup(from->headers[i].name), NULL, from->headers[i].len};
        if (from->headers[i].value != NULL)
            to->headers[i].value = memcpy(dv_alloc(from->headers[i].len + 1), from->headers[i].value, from->headers[i].len);
    }
}

static inline struct fact_acl *lab_copy_acls(const struct fact_acl *from, size_t count)
{
    struct fact_acl *to = dv_calloc(count + 1, sizeof *to);
    for (size_t i = 0; i < count; i++) {
        to[i] = from[i];
        to[i].principal = dv_strdup(from[i].principal);
        to[i].host = dv_strdup(from[i].host);
        to[i].name = dv_strdup(from[i].name);
    }
    return to;
}

static inline struct fact_group *lab_copy_groups(const struct fact_group *from, size_t count)
{
    struct fact_group *to = dv_calloc(count + 1, sizeof *to);
    for (size_t i = 0; i < count; i++) {
        to[i] = from[i];
        to[i].name = dv_strdup(from[i].name);
        to[i].assignments = dv_calloc(from[i].assignment_count + 1, sizeof *to[i].assignments);
        for (size_t j = 0; j < from[i].assignment_count; j++)
            to[i].assignments[j] = (struct fact_assignment){dv_strdup(from[i].assignments[j].topic), from[i].assignments[j].partition};
    }
    return to;
}

static inline void lab_sink(void *arg, const struct port_kafka_event *event)
{
    struct lab *lab = arg;
    assert_true(lab->count < 4096);
    struct lab_event *copy = &lab->events[lab->count++];
    copy->event = *event;
    copy->event.text = dv_strdup(event->text);
    if (event->topic != NULL) {
        copy->topic = *event->topic;
        copy->event.topic = &copy->topic;
    }
    if (event->offsets != NULL) {
        int32_t count = event->offsets->partitions;
        copy->offsets =
            (struct fact_offsets){count, lab_copy_offsets(event->offsets->low, count), lab_copy_offsets(event->offsets->high, count),
                                  lab_copy_offsets(event->offsets->stable, count)};
        copy->event.offsets = &copy->offsets;
    }
    if (event->lag != NULL) {
        copy->lag = *event->lag;
        copy->event.lag = &copy->lag;
    }
    if (event->record != NULL) {
        lab_copy_record(&copy->record, event->record);
        copy->event.record = &copy->record;
    }
    if (event->acls != NULL)
        copy->event.acls = lab_copy_acls(event->acls, event->acl_count);
    if (event->groups != NULL)
        copy->event.groups = lab_copy_groups(event->groups, event->group_count);
    if (getenv("LAB_TRACE") != NULL)
        print_message("event kind %d id %llu ask %d: %s %s\n", (int)event->kind, (unsigned long long)event->id, (int)event->ask,
                      dv_err_kind_name(event->err.kind), event->err.text);
    if (lab->hook != NULL)
        lab->hook(lab, event);
}

static inline void lab_forget(struct lab *lab)
{
    for (size_t i = 0; i < lab->count; i++) {
        struct lab_event *copy = &lab->events[i];
        free((char *)(uintptr_t)copy->event.text);
        free(copy->offsets.low);
        free(copy->offsets.high);
        free(copy->offsets.stable);
        fact_record_clear(&copy->record);
        fact_acls_free((struct fact_acl *)(uintptr_t)copy->event.acls, copy->event.acl_count);
        fact_groups_free((struct fact_group *)(uintptr_t)copy->event.groups, copy->event.group_count);
        *copy = (struct lab_event){.event = {.kind = PORT_KAFKA_ANSWER}};
    }
    lab->count = 0;
}

/* ---------------------------------------------------------------- life and waiting */

static inline struct lab *lab_new(void)
{
    struct lab *lab = dv_alloc(sizeof *lab);
    lab->loop = loop_new();
    lab->kafka = kafka_new(lab->loop, (struct port_secrets){&lab->secrets, lab_secrets_get}, lab_sink, lab);
    lab->port = kafka_port(lab->kafka);
    lab->next_id = 100;
    (void)uv_timer_init(loop_uv(lab->loop), &lab->guard);
    lab->guard.data = lab;
    return lab;
}

static inline void lab_free(struct lab *lab)
{
    kafka_free(lab->kafka);
    if (lab->secrets.held != NULL)
        lab->secrets.held(lab->secrets.held_arg, NULL, NULL, NULL, 0);
    uv_close((uv_handle_t *)&lab->guard, NULL);
    loop_free(lab->loop);
    lab_forget(lab);
    for (size_t i = 0; i < lab->secrets.count; i++)
        free(lab->secrets.list[i].value);
    free(lab);
}

static inline void lab_guard_fired(uv_timer_t *timer)
{
    ((struct lab *)timer->data)->late = true;
}

/* Runs the loop until there is an event of that kind for that id at or after position from; NULL when it does not come in time. */
static inline const struct port_kafka_event *lab_wait(struct lab *lab, enum port_kafka_event_kind kind, port_id id, size_t from,
                                                      uint64_t timeout_ms)
{
    lab->late = false;
    uv_update_time(loop_uv(lab->loop));
    (void)uv_timer_start(&lab->guard, lab_guard_fired, timeout_ms, 0);
    for (size_t i = from;;) {
        for (; i < lab->count; i++) {
            if (lab->events[i].event.kind == kind && lab->events[i].event.id == id) {
                (void)uv_timer_stop(&lab->guard);
                return &lab->events[i].event;
            }
        }
        if (lab->late)
            return NULL;
        (void)uv_run(loop_uv(lab->loop), UV_RUN_ONCE);
    }
}

static inline void lab_run(struct lab *lab, uint64_t ms)
{
    (void)lab_wait(lab, PORT_KAFKA_ANSWER, UINT64_MAX, 0, ms);
}

static inline const struct port_kafka_event *lab_ask(struct lab *lab, port_id client, const struct port_question *question)
{
    port_id id = lab->next_id++;
    size_t from = lab->count;
    lab->port.ask(lab->port.impl, client, id, question);
    assert_int_equal(lab->count, from); /* never from within the call */
    const struct port_kafka_event *event = lab_wait(lab, PORT_KAFKA_ANSWER, id, from, 16000);
    if (event == NULL)
        fail_msg("no answer to question %d", (int)question->ask);
    assert_int_equal(event->ask, question->ask);
    return event;
}

static inline void lab_good_err(const struct dv_err *err)
{
    if (err->kind != DV_ERR_NONE)
        fail_msg("%s: %s", dv_err_kind_name(err->kind), err->text);
}

static inline void lab_good(const struct port_kafka_event *event)
{
    lab_good_err(&event->err);
}

static inline void lab_bad(const struct port_kafka_event *event, enum dv_err_kind kind, const char *part)
{
    if (event->err.kind != kind || strstr(event->err.text, part) == NULL)
        fail_msg("expected %s with \"%s\", got %s: %s", dv_err_kind_name(kind), part, dv_err_kind_name(event->err.kind), event->err.text);
}

/* ---------------------------------------------------------------- specs. Strings are constants or the environment's */

static inline struct model_kafka lab_spec(const char *bootstrap_variable, enum model_auth_type auth, bool tls,
                                          struct model_trusted *trusted)
{
    struct model_kafka spec = {.bootstrap = (char *)(uintptr_t)lab_env(bootstrap_variable), .tls = tls, .auth = auth};
    static char ca[] = "ca", ca_key[] = "ca.crt", user[] = "user", password[] = "password", cert[] = "user.crt", key[] = "user.key";
    *trusted = (struct model_trusted){ca, ca_key};
    if (tls) {
        spec.trusted = trusted;
        spec.trusted_count = 1;
    }
    if (auth == MODEL_AUTH_TLS) {
        spec.cert_secret = user;
        spec.cert_certificate = cert;
        spec.cert_key = key;
    } else if (auth != MODEL_AUTH_NONE) {
        spec.username = (char *)(uintptr_t)lab_env("KAFKA_USER");
        spec.password_secret = user;
        spec.password_key = password;
        spec.allow_plaintext_credentials = !tls;
    }
    return spec;
}

static inline void lab_default_secrets(struct lab *lab)
{
    lab_secret_file(&lab->secrets, "ca", "ca.crt", lab_env("KAFKA_CA_A"));
    lab_secret_file(&lab->secrets, "user", "user.crt", lab_env("KAFKA_USER_CERT_A"));
    lab_secret_file(&lab->secrets, "user", "user.key", lab_env("KAFKA_USER_KEY_A"));
    lab_secret_set(&lab->secrets, "user", "password", lab_env("KAFKA_PASSWORD"));
}

/* Kafka 4 refuses the SCRAM exchange of librdkafka before 2.6.1, which repeats the client's nonce. */
static inline bool lab_scram_works(void)
{
    return rd_kafka_version() >= 0x020601ff;
}

/* The usual client: the program's principal with exactly the documented ACLs, over SASL_SSL. */
static inline void lab_open(struct lab *lab)
{
    struct model_trusted trusted;
    struct model_kafka spec = lab_spec("BOOTSTRAP_A_TLS", lab_scram_works() ? MODEL_AUTH_SCRAM_SHA_512 : MODEL_AUTH_PLAIN, true, &trusted);
    lab_default_secrets(lab);
    lab->port.open(lab->port.impl, LAB_CLIENT, &spec, "kafka", "dc1");
}

/* A client that may do everything. */
static inline void lab_open_admin(struct lab *lab, port_id client)
{
    struct model_trusted trusted;
    struct model_kafka spec = lab_spec("BOOTSTRAP_A", MODEL_AUTH_PLAIN, false, &trusted);
    static char admin[] = "admin";
    spec.username = admin;
    lab_secret_set(&lab->secrets, "admin", "password", lab_env("KAFKA_ADMIN_PASSWORD"));
    spec.password_secret = admin;
    lab->port.open(lab->port.impl, client, &spec, "kafka", "dc1");
}

/* ---------------------------------------------------------------- the super user's own librdkafka */

static inline rd_kafka_t *lab_admin(rd_kafka_type_t type, const char *const *options)
{
    char text[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    const char *common[] = {"bootstrap.servers",
                            lab_env("BOOTSTRAP_A"),
                            "security.protocol",
                            "sasl_plaintext",
                            "sasl.mechanisms",
                            "PLAIN",
                            "sasl.username",
                            "admin",
                            "sasl.password",
                            lab_env("KAFKA_ADMIN_PASSWORD"),
                            NULL};
    for (int i = 0; common[i] != NULL; i += 2)
        assert_int_equal(rd_kafka_conf_set(conf, common[i], common[i + 1], text, sizeof text), RD_KAFKA_CONF_OK);
    for (int i = 0; options != NULL && options[i] != NULL; i += 2)
        assert_int_equal(rd_kafka_conf_set(conf, options[i], options[i + 1], text, sizeof text), RD_KAFKA_CONF_OK);
    rd_kafka_t *rk = rd_kafka_new(type, conf, text, sizeof text);
    assert_non_null(rk);
    return rk;
}

static inline void lab_admin_wait(rd_kafka_queue_t *queue)
{
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 20000);
    assert_non_null(event);
    if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
        fail_msg("%s", rd_kafka_event_error_string(event));
    rd_kafka_event_destroy(event);
}

/* configs: pairs, ended by NULL; may be NULL. The topic's name is made up and written to name (40 bytes). */
static inline void lab_topic(char *name, int partitions, const char *const *configs)
{
    char id[16], text[256];
    dv_random_id(id, sizeof id);
    (void)dv_format(name, 40, "component-%s", id);
    rd_kafka_t *rk = lab_admin(RD_KAFKA_PRODUCER, NULL);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_NewTopic_t *topic = rd_kafka_NewTopic_new(name, partitions, 1, text, sizeof text);
    for (int i = 0; configs != NULL && configs[i] != NULL; i += 2)
        (void)rd_kafka_NewTopic_set_config(topic, configs[i], configs[i + 1]);
    rd_kafka_CreateTopics(rk, &topic, 1, NULL, queue);
    lab_admin_wait(queue);
    rd_kafka_NewTopic_destroy(topic);
    rd_kafka_queue_destroy(queue);
    rd_kafka_destroy(rk);
}

/* The topic has so many partitions afterwards. */
static inline void lab_topic_grow(const char *name, size_t partitions)
{
    char text[256];
    rd_kafka_t *rk = lab_admin(RD_KAFKA_PRODUCER, NULL);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_NewPartitions_t *more = rd_kafka_NewPartitions_new(name, partitions, text, sizeof text);
    assert_non_null(more);
    rd_kafka_CreatePartitions(rk, &more, 1, NULL, queue);
    lab_admin_wait(queue);
    rd_kafka_NewPartitions_destroy(more);
    rd_kafka_queue_destroy(queue);
    rd_kafka_destroy(rk);
}

static inline void lab_topic_delete(const char *name)
{
    rd_kafka_t *rk = lab_admin(RD_KAFKA_PRODUCER, NULL);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_DeleteTopic_t *topic = rd_kafka_DeleteTopic_new(name);
    rd_kafka_DeleteTopics(rk, &topic, 1, NULL, queue);
    lab_admin_wait(queue);
    rd_kafka_DeleteTopic_destroy(topic);
    rd_kafka_queue_destroy(queue);
    rd_kafka_destroy(rk);
}

/* Allows the program's principal these operations on a resource. */
static inline void lab_allow(rd_kafka_ResourceType_t type, const char *name, const rd_kafka_AclOperation_t *operations, size_t count,
                             rd_kafka_AclPermissionType_t permission)
{
    rd_kafka_t *rk = lab_admin(RD_KAFKA_PRODUCER, NULL);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    char principal[80];
    (void)dv_format(principal, sizeof principal, "User:%s", lab_env("KAFKA_USER"));
    for (size_t i = 0; i < count; i++) {
        rd_kafka_AclBinding_t *acl =
            rd_kafka_AclBinding_new(type, name, RD_KAFKA_RESOURCE_PATTERN_LITERAL, principal, "*", operations[i], permission, NULL, 0);
        rd_kafka_CreateAcls(rk, &acl, 1, NULL, queue);
        lab_admin_wait(queue);
        rd_kafka_AclBinding_destroy(acl);
    }
    rd_kafka_queue_destroy(queue);
    rd_kafka_destroy(rk);
}

/* ---------------------------------------------------------------- records */

static inline struct fact_record lab_record(int32_t partition, int64_t timestamp_ms, const char *key, const char *value)
{
    return (struct fact_record){.partition = partition,
                                .offset = -1,
                                .timestamp_ms = timestamp_ms,
                                .key = (unsigned char *)(uintptr_t)key,
                                .key_len = key != NULL ? strlen(key) : 0,
                                .value = (unsigned char *)(uintptr_t)value,
                                .value_len = value != NULL ? strlen(value) : 0};
}

/* Produces and waits for all reports; returns the first record's offset. */
static inline int64_t lab_produce(struct lab *lab, port_id client, const char *topic, const struct fact_record *records, size_t count)
{
    port_id id = lab->next_id++;
    size_t from = lab->count;
    int64_t first = -1;
    lab->port.produce(lab->port.impl, client, id, topic, records, count);
    for (size_t i = 0; i < count; i++) {
        const struct port_kafka_event *event = lab_wait(lab, PORT_KAFKA_PRODUCED, id, from, 20000);
        assert_non_null(event);
        lab_good(event);
        from = (size_t)((const struct lab_event *)(const void *)event - lab->events) + 1;
        if (event->index == 0)
            first = event->record->offset;
    }
    return first;
}

#endif

#include "kafka/internal.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/err.h"

#define HANDLE_API_DESCRIBE_ACLS 29 /* of Kafka's protocol */
#define HANDLE_TURN_MAX 500         /* events handed out before the loop gets its turn */

/* What the kinds have beside the common configuration. */
static const struct handle_option {
    enum kafka_handle_kind kind;
    const char *name, *value;
} handle_options[] = {
    {KAFKA_HANDLE_ADMIN, "isolation.level", "read_uncommitted"},
    {KAFKA_HANDLE_STABLE, "isolation.level", "read_committed"},
    {KAFKA_HANDLE_PRODUCER, "enable.idempotence", "true"},
    {KAFKA_HANDLE_PRODUCER, "acks", "all"},
    {KAFKA_HANDLE_PRODUCER, "linger.ms", "0"},
    /* Longer than a broker's restart and the outage of 30 s that a run survives. */
    {KAFKA_HANDLE_PRODUCER, "message.timeout.ms", "40000"},
    {KAFKA_HANDLE_FETCH, "isolation.level", "read_committed"},
    {KAFKA_HANDLE_FETCH, "auto.offset.reset", "error"},
    {KAFKA_HANDLE_FETCH, "enable.partition.eof", "true"},
    {KAFKA_HANDLE_FETCH, "enable.auto.commit", "false"},
    {KAFKA_HANDLE_FETCH, "enable.auto.offset.store", "false"},
    {KAFKA_HANDLE_FETCH, "check.crcs", "true"},
    /* The broker holds an empty fetch for this long: it is how late the end of a partition is noticed. */
    {KAFKA_HANDLE_FETCH, "fetch.wait.max.ms", "100"},
    {KAFKA_HANDLE_FETCH, "queued.min.messages", "20000"},
    {KAFKA_HANDLE_FETCH, "queued.max.messages.kbytes", "8192"},
    {KAFKA_HANDLE_FETCH, "fetch.max.bytes", "8388608"},
};

static void handle_no_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    (void)rk, (void)level, (void)facility, (void)text;
}

/* OpenSSL's verdict stands: this only remembers it, for librdkafka's text does not tell a wrong name from a wrong CA. */
static int handle_verify(rd_kafka_t *rk, const char *name, int32_t id, int *x509_error, int depth, const char *der, size_t size, char *text,
                         size_t text_size, void *opaque)
{
    (void)rk, (void)name, (void)id, (void)depth, (void)der, (void)size, (void)text, (void)text_size;
    struct kafka_handle *handle = opaque;
    if (*x509_error == 0)
        return 1;
    atomic_store(&handle->x509, *x509_error);
    return 0;
}

static void handle_woken(rd_kafka_t *rk, void *hub)
{
    (void)rk;
    kafka_hub_wake(hub);
}

static rd_kafka_resp_err_t handle_response(rd_kafka_t *rk, int fd, const char *broker, int32_t id, int16_t api, int16_t version,
                                           int32_t number, size_t size, int64_t rtt, rd_kafka_resp_err_t err, void *opaque)
{
    (void)rk, (void)fd, (void)broker, (void)id, (void)version, (void)number, (void)rtt, (void)err;
    struct kafka_handle *handle = opaque;
    if (api == HANDLE_API_DESCRIBE_ACLS)
        atomic_store(&handle->acls_size, size);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t handle_born(rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *opaque, char *text, size_t size)
{
    (void)conf, (void)text, (void)size;
    return rd_kafka_interceptor_add_on_response_received(rk, "distverify", handle_response, opaque);
}

static rd_kafka_conf_t *handle_conf(struct kafka_handle *handle)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_dup(handle->client->conf);
    for (size_t i = 0; i < sizeof handle_options / sizeof handle_options[0]; i++) {
        const struct handle_option *option = &handle_options[i];
        if (option->kind == handle->kind && rd_kafka_conf_set(conf, option->name, option->value, NULL, 0) != RD_KAFKA_CONF_OK)
            abort(); /* constants of ours that this librdkafka does not know: nothing could work */
    }
    rd_kafka_conf_set_opaque(conf, handle);
    rd_kafka_conf_set_log_cb(conf, handle_no_log);
    rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_DR);
    if (handle->kind == KAFKA_HANDLE_ACLS)
        (void)rd_kafka_conf_interceptor_add_on_new(conf, "distverify", handle_born, handle);
    if (handle->client->spec.tls)
        (void)rd_kafka_conf_set_ssl_cert_verify_cb(conf, handle_verify);
    return conf;
}

static void handle_attach(struct kafka_handle *handle)
{
    rd_kafka_queue_t *main = rd_kafka_queue_get_main(handle->rk);
    handle->events = rd_kafka_queue_new(handle->rk);
    rd_kafka_queue_forward(main, handle->events);
    rd_kafka_queue_destroy(main);
    rd_kafka_queue_cb_event_enable(handle->events, handle_woken, handle->kafka->hub);
    if (handle->kind != KAFKA_HANDLE_FETCH)
        return;
    handle->messages = rd_kafka_queue_new(handle->rk);
    rd_kafka_queue_cb_event_enable(handle->messages, handle_woken, handle->kafka->hub);
}

struct kafka_handle *kafka_handle_new(struct kafka_client *client, enum kafka_handle_kind kind, struct dv_err *err)
{
    struct kafka_handle *handle = dv_alloc(sizeof *handle);
    char text[512] = "";
    handle->kafka = client->kafka;
    handle->client = client;
    handle->kind = kind;
    rd_kafka_conf_t *conf = handle_conf(handle);
    handle->rk = rd_kafka_new(kind == KAFKA_HANDLE_PRODUCER ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER, conf, text, sizeof text);
    if (handle->rk == NULL) {
        char place[400], detail[200];
        if (kind != KAFKA_HANDLE_ACLS) /* with interceptors, librdkafka 2.0.2 has freed half of it already */
            rd_kafka_conf_destroy(conf);
        free(handle);
        /* Bootstrap addresses and certificates are the only input that is not checked before. */
        (void)dv_err_set(err, client->spec.tls ? DV_ERR_CERT : DV_ERR_INVALID, "%s: no client can be made: %s",
                         kafka_place(place, sizeof place, kafka_client_where(client)), kafka_detail(detail, sizeof detail, text));
        return NULL;
    }
    handle->worker = kafka_worker_new(client->kafka->hub);
    handle_attach(handle);
    DL_APPEND(client->kafka->handles, handle);
    return handle;
}

void kafka_handle_worked(struct kafka_handle *handle)
{
    handle->trouble = DV_ERR_INIT;
}

/* librdkafka before 2.6.1 puts the client's nonce twice into the last SCRAM message. Kafka up to 3.9 lets that pass, Kafka 4 refuses it as
 * wrong credentials, and nothing on the wire tells the two apart. */
static const char *handle_scram_hint(const struct kafka_handle *handle, rd_kafka_resp_err_t code, char *out, size_t size)
{
    enum model_auth_type auth = handle->client->spec.auth;
    bool refused = code == RD_KAFKA_RESP_ERR__AUTHENTICATION || code == RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED;
    if (!refused || rd_kafka_version() >= 0x020601ff || (auth != MODEL_AUTH_SCRAM_SHA_256 && auth != MODEL_AUTH_SCRAM_SHA_512))
        return NULL;
    return dv_format(out, size, "if they are right, librdkafka %s cannot do SCRAM with Kafka 4; use PLAIN over TLS or a certificate",
                     rd_kafka_version_str());
}

/* "all brokers down" and "Disconnected" tell nothing beyond the reason that came before them. */
static bool handle_vague(rd_kafka_resp_err_t code, const char *text)
{
    char detail[100];
    return code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN ||
           (kafka_known(text) == NULL && dv_starts_with(kafka_detail(detail, sizeof detail, text), "Disconnected"));
}

/* Keeps the text that says most; librdkafka repeats equal errors only every 30 s, so a reason stays until something works. */
static void handle_trouble(struct kafka_handle *handle, rd_kafka_resp_err_t code, const char *text)
{
    struct dv_err err = DV_ERR_INIT;
    char scram[200];
    const char *hint = handle_scram_hint(handle, code, scram, sizeof scram);
    const char *x509 = strstr(text, "certificate verify failed") != NULL ? kafka_err_x509(atomic_load(&handle->x509)) : NULL;
    if (handle->trouble.kind != DV_ERR_NONE && handle_vague(code, text))
        return;
    if (x509 != NULL || hint != NULL)
        text = x509 != NULL ? x509 : hint;
    (void)kafka_err(&err, kafka_client_where(handle->client), (struct kafka_what){.operation = "a connection"},
                    x509 != NULL ? RD_KAFKA_RESP_ERR__SSL : code, text);
    if (err.kind != DV_ERR_UNREACHABLE && !kafka_err_credentials(&err))
        return;
    if (handle->trouble.kind != err.kind)
        handle->trouble_ms = kafka_now_ms(handle->kafka);
    handle->trouble = err;
}

static void handle_error(struct kafka_handle *handle, rd_kafka_event_t *event)
{
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    if (!rd_kafka_event_error_is_fatal(event) && code != RD_KAFKA_RESP_ERR__FATAL) {
        handle_trouble(handle, code, rd_kafka_event_error_string(event));
        return;
    }
    /* Only an idempotent producer knows fatal errors. What it still holds comes back as delivery reports. */
    handle->fatal = true;
    if (handle->kind == KAFKA_HANDLE_PRODUCER)
        (void)rd_kafka_purge(handle->rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
}

static void handle_event(struct kafka_handle *handle, rd_kafka_event_t *event)
{
    rd_kafka_event_type_t type = rd_kafka_event_type(event);
    if (type == RD_KAFKA_EVENT_ERROR) {
        handle_error(handle, event);
    } else if (type == RD_KAFKA_EVENT_DR) {
        kafka_produce_report(handle, event);
    } else {
        struct kafka_op *op = kafka_op_find(handle->kafka, (uint64_t)(uintptr_t)rd_kafka_event_opaque(event));
        if (op != NULL && op->on_event != NULL)
            op->on_event(op, event);
    }
}

bool kafka_handle_drain(struct kafka_handle *handle)
{
    rd_kafka_event_t *event;
    int left = HANDLE_TURN_MAX;
    while (!handle->retired && left > 0 && (event = rd_kafka_queue_poll(handle->events, 0)) != NULL) {
        handle_event(handle, event);
        rd_kafka_event_destroy(event);
        left--;
    }
    rd_kafka_message_t *message;
    while (!handle->retired && handle->messages != NULL && left > 0 && (message = rd_kafka_consume_queue(handle->messages, 0)) != NULL) {
        kafka_fetch_take(handle->fetch, message);
        rd_kafka_message_destroy(message);
        left--;
    }
    return left == 0 && !handle->retired;
}

void kafka_handle_retire(struct kafka_handle *handle)
{
    struct kafka_op *op;
    if (handle == NULL || handle->retired)
        return;
    handle->retired = true;
    atomic_store(&handle->ending, true);
    DL_FOREACH(handle->client->ops, op)
    {
        if (op->handle == handle) {
            op->handle = NULL;
            op->lost = true;
        }
    }
    handle->fetch = NULL;
    rd_kafka_queue_cb_event_enable(handle->events, NULL, NULL);
    if (handle->messages != NULL)
        rd_kafka_queue_cb_event_enable(handle->messages, NULL, NULL);
    DL_DELETE(handle->kafka->handles, handle);
    DL_APPEND(handle->kafka->retired, handle);
    kafka_wake(handle->kafka);
}

struct handle_end {
    struct kafka_job job;
    struct kafka_handle *handle;
};

static void handle_end_run(struct kafka_job *job)
{
    struct kafka_handle *handle = ((struct handle_end *)job)->handle;
    for (int32_t p = 0; p < handle->started; p++)
        (void)rd_kafka_consume_stop(handle->topic, p);
    if (handle->topic != NULL)
        rd_kafka_topic_destroy(handle->topic);
    rd_kafka_queue_t *main = rd_kafka_queue_get_main(handle->rk);
    rd_kafka_queue_forward(main, NULL);
    rd_kafka_queue_destroy(main);
    rd_kafka_queue_destroy(handle->events);
    if (handle->messages != NULL)
        rd_kafka_queue_destroy(handle->messages);
    rd_kafka_destroy_flags(handle->rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

static void handle_end_done(struct kafka_job *job, struct kafka *kafka)
{
    (void)kafka;
    free(((struct handle_end *)job)->handle);
    free(job);
}

void kafka_handle_destroy(struct kafka_handle *handle)
{
    struct handle_end *end = dv_alloc(sizeof *end);
    end->job = (struct kafka_job){.run = handle_end_run, .done = handle_end_done, .last = true};
    end->handle = handle;
    kafka_worker_push(handle->worker, &end->job);
}

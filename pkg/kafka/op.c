#include "kafka/internal.h"

#include <stdlib.h>

#include <utlist.h>

#include "base/err.h"

/* How long a cluster may be out of reach before a question is answered so: time for a reconnection. */
#define OP_GRACE_CREDENTIALS_MS 2000
#define OP_GRACE_UNREACHABLE_MS 5000
#define OP_REQUEST_MS 3600000

struct kafka_op *kafka_op_new(struct kafka_client *client, port_id id)
{
    struct kafka_op *op = dv_alloc(sizeof *op);
    op->client = client;
    op->id = id;
    op->serial = kafka_serial(client->kafka);
    op->began_ms = op->step_ms = kafka_now_ms(client->kafka);
    DL_APPEND(client->ops, op);
    /* Credentials that were missing or refused may have been put right since. */
    if (client->state == KAFKA_CLIENT_FAILED || client->suspect)
        kafka_client_refetch(client);
    return op;
}

static void op_free_question(struct port_question *question)
{
    char **groups = (char **)(uintptr_t)question->groups;
    for (size_t i = 0; groups != NULL && i < question->group_count; i++)
        free(groups[i]);
    free(groups);
    free((char *)(uintptr_t)question->topic);
    free((char *)(uintptr_t)question->group);
}

void kafka_op_free(struct kafka_op *op)
{
    kafka_fetch_free(op->fetch);
    if (op->groups != NULL)
        fact_groups_free(op->groups, op->question.group_count);
    op_free_question(&op->question);
    free(op->log.low);
    free(op->log.high);
    free(op->log.stable);
    free(op->offsets);
    free(op->done);
    free(op);
}

struct kafka_op *kafka_op_find(struct kafka *kafka, uint64_t serial)
{
    struct kafka_client *client;
    struct kafka_op *op;
    DL_FOREACH(kafka->clients, client)
    {
        DL_SEARCH_SCALAR(client->ops, op, serial, serial);
        if (op != NULL)
            return op;
    }
    return NULL;
}

void kafka_op_answer(struct kafka_op *op, struct port_kafka_event *event)
{
    struct kafka_client *client = op->client;
    event->kind = op->commit ? PORT_KAFKA_COMMITTED : PORT_KAFKA_ANSWER;
    event->id = op->id;
    event->ask = op->question.ask;
    DL_DELETE(client->ops, op);
    kafka_emit(client->kafka, event);
    kafka_op_free(op);
}

/* A write that waits in librdkafka for a broker to come back would be done then, whenever that is: it must not outlive its answer. */
static void op_drop_handle(struct kafka_op *op)
{
    struct kafka_handle *handle = op->handle;
    if (handle == NULL)
        return;
    op->handle = NULL;
    if (op->client->handle[handle->kind] == handle)
        op->client->handle[handle->kind] = NULL;
    kafka_handle_retire(handle);
}

/* True while the trouble of the op's connection says nothing yet. May make the op lose its handle. */
static bool op_in_doubt(struct kafka_op *op)
{
    struct kafka_handle *handle = op->handle;
    return handle != NULL && kafka_err_credentials(&handle->trouble) && kafka_client_rereads(op->client, handle->trouble_ms);
}

static void op_err_secrets(const struct kafka_op *op, struct dv_err *err)
{
    char place[400];
    *err = DV_ERR_INIT;
    (void)dv_err_retry(err, DV_ERR_TIMEOUT, "%s: the Secrets with the credentials were not read in time",
                       kafka_place(place, sizeof place, kafka_client_where(op->client)));
}

void kafka_op_fail(struct kafka_op *op, const struct dv_err *err)
{
    struct port_kafka_event event = {.err = *err};
    bool vague = err->kind == DV_ERR_TIMEOUT || err->kind == DV_ERR_UNREACHABLE;
    bool doubt = vague && op_in_doubt(op);
    if (doubt && err->kind == DV_ERR_TIMEOUT)
        op_err_secrets(op, &event.err);
    else if (!doubt && vague && op->handle != NULL && op->handle->trouble.kind != DV_ERR_NONE)
        event.err = op->handle->trouble;
    if (kafka_err_credentials(&event.err))
        op->client->suspect = true;
    if (op->effect && kafka_err_unknown_effect(&event.err)) {
        event.err.kind = DV_ERR_TIMEOUT;
        op_drop_handle(op);
    }
    kafka_op_answer(op, &event);
}

void kafka_op_fail_code(struct kafka_op *op, rd_kafka_resp_err_t code, const char *detail)
{
    struct dv_err err = DV_ERR_INIT;
    (void)kafka_err(&err, kafka_client_where(op->client), op->what, code, detail);
    kafka_op_fail(op, &err);
}

bool kafka_op_event_good(struct kafka_op *op, rd_kafka_event_t *event)
{
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    if (code >= 0)
        kafka_handle_worked(op->handle);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        return true;
    kafka_op_fail_code(op, code, rd_kafka_event_error_string(event));
    return false;
}

/* Our own clock ends a question, never librdkafka's: a request for a group that librdkafka 2.0.2 gives up while it looks for the
 * coordinator crashes the process when the coordinator answers after all (assertion on the refcount in rd_kafka_enq_once_*). So requests
 * get the longest time there is; they end with their answer, with socket.timeout.ms, or with the handle. */
rd_kafka_AdminOptions_t *kafka_op_options(struct kafka_op *op, rd_kafka_admin_op_t api)
{
    rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(op->handle->rk, api);
    char text[128];
    (void)rd_kafka_AdminOptions_set_request_timeout(options, OP_REQUEST_MS, text, sizeof text);
    rd_kafka_AdminOptions_set_opaque(options, (void *)(uintptr_t)op->serial);
    return options;
}

bool kafka_op_use(struct kafka_op *op, enum kafka_handle_kind kind, struct kafka_what what)
{
    struct dv_err err = DV_ERR_INIT;
    op->what = what;
    op->step_ms = kafka_now_ms(op->client->kafka);
    op->handle = kafka_client_handle(op->client, kind, &err);
    if (op->handle != NULL)
        return true;
    kafka_op_fail(op, &err);
    return false;
}

void kafka_op_start(struct kafka_op *op)
{
    op->started = true;
    if (op->commit)
        kafka_commit_start(op);
    else
        kafka_ask_start(op);
}

static void op_too_late(struct kafka_op *op)
{
    struct dv_err err = DV_ERR_INIT;
    if (op->started)
        (void)kafka_err(&err, kafka_client_where(op->client), op->what, RD_KAFKA_RESP_ERR__TIMED_OUT, NULL);
    else
        op_err_secrets(op, &err);
    kafka_op_fail(op, &err);
}

/* True when the op's connection has been in trouble for long enough to be told so. */
static bool op_in_trouble(struct kafka_op *op, int64_t now_ms)
{
    struct kafka_handle *handle = op->handle;
    if (handle == NULL || handle->trouble.kind == DV_ERR_NONE)
        return false;
    int64_t since = handle->trouble_ms > op->step_ms ? handle->trouble_ms : op->step_ms;
    int64_t grace = kafka_err_credentials(&handle->trouble) ? OP_GRACE_CREDENTIALS_MS : OP_GRACE_UNREACHABLE_MS;
    return now_ms - since >= grace && !op_in_doubt(op);
}

/* A commit of which nothing was sent yet begins anew on the new connection: whoever wants it does not ask twice. */
static bool op_again(struct kafka_op *op)
{
    if (!op->lost || !op->commit || op->effect)
        return false;
    op->lost = op->started = false;
    return true;
}

void kafka_op_step(struct kafka_op *op, int64_t now_ms)
{
    struct dv_err err = DV_ERR_INIT;
    bool trouble = op_in_trouble(op, now_ms); /* first: it may make the op lose its handle */
    if (op_again(op))
        return;
    if (op->lost)
        kafka_err_lost(&err, kafka_client_where(op->client));
    else if (trouble)
        err = op->handle->trouble;
    if (err.kind != DV_ERR_NONE)
        kafka_op_fail(op, &err);
    else if (now_ms - op->began_ms >= KAFKA_ASK_MS)
        op_too_late(op);
}

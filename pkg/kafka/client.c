#include "kafka/internal.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/err.h"

#define CLIENT_REFETCH_MS 5000 /* between looks at Secrets on behalf of readers and waiting records */

/* A request for Secrets under way. The client may be closed, and the port be gone, when the answer comes. */
struct kafka_ticket {
    struct kafka_ticket *prev, *next;
    struct kafka *kafka;
    port_id client;
    uint64_t serial;
};

struct kafka_where kafka_client_where(const struct kafka_client *client)
{
    return (struct kafka_where){client->cluster, client->spec.bootstrap, client->spec.side};
}

struct kafka_client *kafka_client_find(struct kafka *kafka, port_id id)
{
    struct kafka_client *client;
    DL_SEARCH_SCALAR(kafka->clients, client, id, id);
    return client;
}

static void client_copy_spec(struct model_kafka *to, const struct model_kafka *from)
{
    *to = *from;
    to->bootstrap = dv_strdup(from->bootstrap);
    to->username = dv_strdup(from->username);
    to->password_secret = dv_strdup(from->password_secret);
    to->password_key = dv_strdup(from->password_key);
    to->cert_secret = dv_strdup(from->cert_secret);
    to->cert_certificate = dv_strdup(from->cert_certificate);
    to->cert_key = dv_strdup(from->cert_key);
    to->trusted = dv_calloc(from->trusted_count + 1, sizeof *to->trusted);
    for (size_t i = 0; i < from->trusted_count; i++)
        to->trusted[i] = (struct model_trusted){dv_strdup(from->trusted[i].secret), dv_strdup(from->trusted[i].certificate)};
}

static void client_free_spec(struct model_kafka *spec)
{
    for (size_t i = 0; i < spec->trusted_count; i++) {
        free(spec->trusted[i].secret);
        free(spec->trusted[i].certificate);
    }
    free(spec->trusted);
    free(spec->bootstrap);
    free(spec->username);
    free(spec->password_secret);
    free(spec->password_key);
    free(spec->cert_secret);
    free(spec->cert_certificate);
    free(spec->cert_key);
}

/* ---------------------------------------------------------------- Secrets */

static void client_fail(struct kafka_client *client, const struct dv_err *err)
{
    client->state = KAFKA_CLIENT_FAILED;
    client->err = *err;
}

/* New bytes: what was made with the old ones ends. Records under way keep their producer until they are reported. */
static void client_renew(struct kafka_client *client)
{
    struct kafka_op *op;
    client->renewed = true;
    DL_FOREACH(client->ops, op)
    {
        if (op->fetch != NULL)
            kafka_fetch_pause(op->fetch);
    }
    for (int kind = 0; kind < KAFKA_HANDLES; kind++) {
        struct kafka_handle *handle = client->handle[kind];
        client->handle[kind] = NULL;
        if (handle != NULL && handle->outstanding > 0)
            handle->fatal = handle->outdated = true;
        else
            kafka_handle_retire(handle);
    }
}

static void client_use(struct kafka_client *client, const char *const *values, const size_t *lens, size_t count)
{
    uint64_t digest = DV_HASH_INIT;
    for (size_t i = 0; i < count; i++) {
        digest = dv_hash64(digest, &lens[i], sizeof lens[i]);
        digest = dv_hash64(digest, values[i], lens[i]);
    }
    client->suspect = false;
    if (client->conf != NULL && client->digest == digest) {
        client->state = KAFKA_CLIENT_READY;
        return;
    }
    struct dv_err err = DV_ERR_INIT;
    rd_kafka_conf_t *conf = kafka_security_conf(&client->spec, values, lens, kafka_client_where(client), &err);
    if (conf == NULL) {
        client_fail(client, &err);
        return;
    }
    if (client->conf != NULL) {
        rd_kafka_conf_destroy(client->conf);
        client_renew(client);
    }
    client->conf = conf;
    client->digest = digest;
    client->state = KAFKA_CLIENT_READY;
}

static void client_secrets_done(void *arg, const struct dv_err *err, const char *const *values, const size_t *lens, size_t count)
{
    struct kafka_ticket *ticket = arg;
    struct kafka *kafka = ticket->kafka;
    struct kafka_client *client = NULL;
    if (kafka != NULL) {
        DL_DELETE(kafka->tickets, ticket);
        client = kafka_client_find(kafka, ticket->client);
    }
    if (client != NULL && client->fetch_serial == ticket->serial) {
        if (err != NULL && err->kind != DV_ERR_NONE) {
            struct dv_err own = *err;
            char place[400];
            (void)dv_err_wrap(&own, "%s", kafka_place(place, sizeof place, kafka_client_where(client)));
            client_fail(client, &own);
        } else {
            client_use(client, values, lens, count);
        }
        kafka_wake(kafka);
    }
    free(ticket);
}

void kafka_tickets_drop(struct kafka *kafka)
{
    struct kafka_ticket *ticket, *next;
    DL_FOREACH_SAFE(kafka->tickets, ticket, next)
    {
        DL_DELETE(kafka->tickets, ticket);
        ticket->kafka = NULL;
    }
}

void kafka_client_refetch(struct kafka_client *client)
{
    struct kafka *kafka = client->kafka;
    if (client->state == KAFKA_CLIENT_FETCHING && client->fetch_serial != 0)
        return;
    client->state = KAFKA_CLIENT_FETCHING;
    client->err = DV_ERR_INIT;
    client->fetched_ms = kafka_now_ms(kafka);
    client->fetch_serial = kafka_serial(kafka);
    DV_CLEANUP_FREE struct port_secret_item *items = NULL;
    size_t count = kafka_security_items(&client->spec, &items);
    if (count == 0) {
        client_use(client, NULL, NULL, 0);
        return;
    }
    struct kafka_ticket *ticket = dv_alloc(sizeof *ticket);
    *ticket = (struct kafka_ticket){.kafka = kafka, .client = client->id, .serial = client->fetch_serial};
    DL_APPEND(kafka->tickets, ticket);
    kafka->secrets.get(kafka->secrets.impl, client->ns, items, count, client_secrets_done, ticket);
}

bool kafka_client_rereads(struct kafka_client *client, int64_t trouble_ms)
{
    if (client->state != KAFKA_CLIENT_FETCHING && client->fetched_ms <= trouble_ms)
        kafka_client_refetch(client);
    return client->state == KAFKA_CLIENT_FETCHING || (client->state == KAFKA_CLIENT_FAILED && client->err.retry);
}

/* ---------------------------------------------------------------- life */

void kafka_client_open(struct kafka *kafka, port_id id, const struct model_kafka *spec, const char *ns, const char *cluster)
{
    struct kafka_client *client = dv_alloc(sizeof *client);
    client->kafka = kafka;
    client->id = id;
    client->ns = dv_strdup(ns);
    client->cluster = dv_strdup(cluster);
    client_copy_spec(&client->spec, spec);
    DL_APPEND(kafka->clients, client);
    kafka_client_refetch(client);
}

void kafka_client_close(struct kafka_client *client)
{
    struct kafka *kafka = client->kafka;
    struct kafka_handle *handle, *next;
    client->closed = true;
    DL_DELETE(kafka->clients, client);
    DL_APPEND(kafka->closed_clients, client);
    DL_FOREACH_SAFE(kafka->handles, handle, next)
    {
        if (handle->client == client)
            kafka_handle_retire(handle);
    }
    kafka_wake(kafka);
}

void kafka_client_free(struct kafka_client *client)
{
    struct kafka_op *op, *next;
    DL_FOREACH_SAFE(client->ops, op, next)
    {
        DL_DELETE(client->ops, op);
        kafka_op_free(op);
    }
    kafka_batches_free(client);
    kafka_readers_free(client);
    if (client->conf != NULL)
        rd_kafka_conf_destroy(client->conf);
    client_free_spec(&client->spec);
    free(client->ns);
    free(client->cluster);
    free(client);
}

struct kafka_handle *kafka_client_handle(struct kafka_client *client, enum kafka_handle_kind kind, struct dv_err *err)
{
    struct kafka_handle *handle = client->handle[kind];
    if (handle != NULL && (handle->fatal || kafka_worker_stuck(handle->worker))) {
        client->handle[kind] = NULL;
        if (handle->outstanding == 0) /* else kafka_produce_step() ends it later */
            kafka_handle_retire(handle);
        handle = NULL;
    }
    if (handle == NULL)
        handle = client->handle[kind] = kafka_handle_new(client, kind, err);
    return handle;
}

static void client_step_ops(struct kafka_client *client, int64_t now_ms)
{
    struct kafka_op *op = client->ops;
    /* An op ends by leaving the list; what the sink adds comes at its end. A new start is cheap: there are few. */
    while (op != NULL && !client->closed) {
        uint64_t serial = op->serial;
        if (client->state == KAFKA_CLIENT_FAILED && !op->started)
            kafka_op_fail(op, &client->err);
        else if (client->state == KAFKA_CLIENT_READY && !op->started)
            kafka_op_start(op);
        else
            kafka_op_step(op, now_ms);
        for (op = client->ops; op != NULL && op->serial <= serial; op = op->next)
            continue;
    }
}

void kafka_client_step(struct kafka_client *client, int64_t now_ms)
{
    client_step_ops(client, now_ms);
    if (client->closed)
        return;
    bool waiting = client->readers != NULL || client->batches != NULL;
    if (client->renewed) {
        client->renewed = false;
        kafka_readers_restart(client);
    }
    if (client->state == KAFKA_CLIENT_FAILED && client->batches != NULL)
        kafka_produce_failed(client, &client->err);
    if (!client->closed && client->state == KAFKA_CLIENT_FAILED)
        kafka_readers_failed(client, &client->err);
    if (!client->closed)
        kafka_produce_step(client, now_ms);
    if (!client->closed)
        kafka_readers_step(client, now_ms);
    if (!client->closed && waiting && now_ms - client->fetched_ms > CLIENT_REFETCH_MS &&
        (client->suspect || client->state == KAFKA_CLIENT_FAILED))
        kafka_client_refetch(client);
}

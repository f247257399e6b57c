#include "kafka/internal.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/err.h"

#define PRODUCE_GRACE_CREDENTIALS_MS 2000

/* What a delivery report finds its record by. */
struct produce_sent {
    struct kafka_batch *batch;
    size_t index;
};

struct kafka_batch {
    struct kafka_batch *prev, *next;
    struct kafka_client *client;
    port_id id;
    char *topic;
    struct fact_record *records;
    struct produce_sent *sent; /* by record */
    size_t count, reported;
    size_t given; /* that many were handed to librdkafka or have failed */
    uint64_t serial;
    bool looked;        /* at the topic, for a partition that librdkafka does not know */
    int64_t looking_ms; /* since when the answer is awaited; 0: it is not */
};

static unsigned char *produce_copy_bytes(const unsigned char *bytes, size_t len)
{
    if (bytes == NULL)
        return NULL;
    unsigned char *copy = dv_alloc(len + 1);
    if (len > 0)
        memcpy(copy, bytes, len);
    return copy;
}

void kafka_record_copy(struct fact_record *to, const struct fact_record *from)
{
    *to = *from;
    to->key = produce_copy_bytes(from->key, from->key_len);
    to->value = produce_copy_bytes(from->value, from->value_len);
    to->headers = dv_calloc(from->header_count + 1, sizeof *to->headers);
    for (size_t i = 0; i < from->header_count; i++) {
        const struct fact_header *header = &from->headers[i];
        to->headers[i] = (struct fact_header){dv_strdup(header->name), produce_copy_bytes(header->value, header->len), header->len};
    }
}

void kafka_record_borrow(struct fact_record *record, const rd_kafka_message_t *message)
{
    rd_kafka_headers_t *list = NULL;
    *record = (struct fact_record){
        .partition = message->partition,
        .offset = message->offset,
        .timestamp_ms = rd_kafka_message_timestamp(message, NULL),
        .key = message->key,
        .key_len = message->key_len,
        .value = message->payload,
        .value_len = message->len,
    };
    if (rd_kafka_message_headers(message, &list) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return;
    record->header_count = rd_kafka_header_cnt(list);
    record->headers = dv_calloc(record->header_count + 1, sizeof *record->headers);
    for (size_t i = 0; i < record->header_count; i++) {
        const char *name = NULL;
        const void *value = NULL;
        size_t len = 0;
        (void)rd_kafka_header_get_all(list, i, &name, &value, &len);
        record->headers[i] = (struct fact_header){(char *)(uintptr_t)name, (unsigned char *)(uintptr_t)value, len};
    }
}

static void produce_free(struct kafka_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        fact_record_clear(&batch->records[i]);
    free(batch->records);
    free(batch->sent);
    free(batch->topic);
    free(batch);
}

void kafka_batches_free(struct kafka_client *client)
{
    struct kafka_batch *batch, *next;
    DL_FOREACH_SAFE(client->batches, batch, next)
    {
        DL_DELETE(client->batches, batch);
        produce_free(batch);
    }
}

/* The batch is freed with its last report, unless the client was closed from within the event and will free it. */
static void produce_tell(struct kafka_batch *batch, size_t index, const struct dv_err *err)
{
    struct kafka_client *client = batch->client;
    struct port_kafka_event event = {.kind = PORT_KAFKA_PRODUCED, .id = batch->id, .index = index, .record = &batch->records[index]};
    if (err != NULL)
        event.err = *err;
    bool last = ++batch->reported == batch->count;
    kafka_emit(client->kafka, &event);
    if (!last || client->closed)
        return;
    DL_DELETE(client->batches, batch);
    produce_free(batch);
}

/* ---------------------------------------------------------------- reports */

static void produce_err(struct kafka_handle *handle, const struct kafka_batch *batch, const rd_kafka_message_t *message, struct dv_err *err)
{
    rd_kafka_resp_err_t code = message->err;
    const char *detail = NULL; /* never rd_kafka_message_errstr(): for a record of ours it gives the record's value */
    char fatal[256];
    bool maybe = rd_kafka_message_status(message) != RD_KAFKA_MSG_STATUS_NOT_PERSISTED;
    bool local = code == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT || code == RD_KAFKA_RESP_ERR__PURGE_QUEUE ||
                 code == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT || code == RD_KAFKA_RESP_ERR__FATAL;
    if (local && handle->fatal) {
        rd_kafka_resp_err_t reason = rd_kafka_fatal_error(handle->rk, fatal, sizeof fatal);
        if (reason != RD_KAFKA_RESP_ERR_NO_ERROR) {
            code = reason;
            detail = fatal;
        }
    }
    if (local && kafka_err_credentials(&handle->trouble) && handle->outdated)
        kafka_err_lost(err, kafka_client_where(batch->client));
    else if (local && handle->trouble.kind != DV_ERR_NONE)
        *err = handle->trouble;
    else
        (void)kafka_err(err, kafka_client_where(batch->client), (struct kafka_what){.operation = "Write", .topic = batch->topic}, code,
                        detail);
    if (maybe)
        err->kind = DV_ERR_TIMEOUT;
    else if (err->kind == DV_ERR_TIMEOUT) /* surely not written */
        err->kind = DV_ERR_UNREACHABLE;
}

/* ---------------------------------------------------------------- sending */

static rd_kafka_headers_t *produce_headers(const struct fact_record *record)
{
    rd_kafka_headers_t *list = rd_kafka_headers_new(record->header_count);
    for (size_t i = 0; i < record->header_count; i++)
        (void)rd_kafka_header_add(list, record->headers[i].name, -1, record->headers[i].value, (ssize_t)record->headers[i].len);
    return list;
}

static int produce_send(struct kafka_handle *handle, struct kafka_batch *batch, size_t index, struct dv_err *err)
{
    const struct fact_record *record = &batch->records[index];
    rd_kafka_headers_t *headers = produce_headers(record);
    rd_kafka_vu_t vus[] = {
        {.vtype = RD_KAFKA_VTYPE_TOPIC, .u.cstr = batch->topic},
        {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = record->partition},
        {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY},
        {.vtype = RD_KAFKA_VTYPE_TIMESTAMP, .u.i64 = record->timestamp_ms},
        {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {.ptr = record->key, .size = record->key_len}},
        {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {.ptr = record->value, .size = record->value_len}},
        {.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers},
        {.vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = &batch->sent[index]},
    };
    rd_kafka_error_t *error = rd_kafka_produceva(handle->rk, vus, sizeof vus / sizeof vus[0]);
    if (error == NULL) { /* the headers are librdkafka's now */
        handle->outstanding++;
        return 0;
    }
    rd_kafka_headers_destroy(headers);
    (void)kafka_err(err, kafka_client_where(batch->client), (struct kafka_what){.operation = "Write", .topic = batch->topic},
                    rd_kafka_error_code(error), rd_kafka_error_string(error));
    rd_kafka_error_destroy(error);
    return -1;
}

/* A record that surely was not written with credentials that are no longer ours goes to the new producer. */
static bool produce_anew(struct kafka_handle *handle, const struct produce_sent *sent, const rd_kafka_message_t *message)
{
    struct kafka_client *client = handle->client;
    struct dv_err err = DV_ERR_INIT;
    bool unwritten =
        message->err == RD_KAFKA_RESP_ERR__PURGE_QUEUE && rd_kafka_message_status(message) == RD_KAFKA_MSG_STATUS_NOT_PERSISTED;
    if (!handle->outdated || !unwritten || client->state != KAFKA_CLIENT_READY)
        return false;
    struct kafka_handle *next = kafka_client_handle(client, KAFKA_HANDLE_PRODUCER, &err);
    return next != NULL && produce_send(next, sent->batch, sent->index, &err) == 0;
}

void kafka_produce_report(struct kafka_handle *handle, rd_kafka_event_t *event)
{
    const rd_kafka_message_t *message;
    while (!handle->retired && (message = rd_kafka_event_message_next(event)) != NULL) {
        struct produce_sent *sent = message->_private;
        struct dv_err err = DV_ERR_INIT;
        handle->outstanding--;
        if (produce_anew(handle, sent, message))
            continue;
        if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
            kafka_handle_worked(handle);
            sent->batch->records[sent->index].offset = message->offset;
        } else {
            produce_err(handle, sent->batch, message, &err);
        }
        produce_tell(sent->batch, sent->index, err.kind != DV_ERR_NONE ? &err : NULL);
    }
}

static void produce_looked(struct kafka_job *base, struct kafka *kafka)
{
    struct kafka_ask_job *job = (struct kafka_ask_job *)base;
    struct kafka_batch *batch;
    for (struct kafka_client *client = kafka != NULL ? kafka->clients : NULL; client != NULL; client = client->next) {
        DL_SEARCH_SCALAR(client->batches, batch, serial, job->serial);
        if (batch != NULL)
            batch->looking_ms = 0;
    }
    kafka_ask_job_free(job);
}

/* A partition may have been added since librdkafka looked at the topic, up to three minutes ago: once a batch it is made to look again.
 * True: the batch goes on when that is answered. */
static bool produce_look_again(struct kafka_handle *handle, struct kafka_batch *batch, const struct dv_err *err)
{
    if (err->code != RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION || batch->looked)
        return false;
    batch->looked = true;
    batch->looking_ms = kafka_now_ms(handle->kafka);
    kafka_ask_job_push(handle, KAFKA_JOB_PARTITIONS, batch->serial, batch->topic, 0, false, produce_looked);
    return true;
}

/* The batch is freed when all have failed, which is then the last round. */
static void produce_go_on(struct kafka_batch *batch)
{
    struct kafka_client *client = batch->client;
    struct dv_err err = DV_ERR_INIT;
    struct kafka_handle *handle = kafka_client_handle(client, KAFKA_HANDLE_PRODUCER, &err);
    size_t count = batch->count;
    for (size_t i = batch->given; i < count && !client->closed; i++) {
        struct dv_err own = err;
        bool usable = handle != NULL && !handle->retired;
        bool sent = usable && produce_send(handle, batch, i, &own) == 0;
        if (!sent && usable && produce_look_again(handle, batch, &own))
            return;
        batch->given = i + 1;
        if (!sent)
            produce_tell(batch, i, &own);
    }
}

static void produce_fail(struct kafka_batch *batch, const struct dv_err *err)
{
    struct kafka_client *client = batch->client;
    size_t first = batch->given, count = batch->count;
    batch->given = count;
    for (size_t i = first; i < count && !client->closed; i++)
        produce_tell(batch, i, err);
}

/* The first one that holds records which were not handed over. */
static struct kafka_batch *produce_waiting(struct kafka_client *client)
{
    struct kafka_batch *batch;
    DL_FOREACH(client->batches, batch)
    {
        if (batch->given < batch->count)
            return batch;
    }
    return NULL;
}

static bool produce_looks(const struct kafka_batch *batch, int64_t now_ms)
{
    return batch->looking_ms != 0 && now_ms - batch->looking_ms < KAFKA_ASK_MS;
}

void kafka_produce_failed(struct kafka_client *client, const struct dv_err *err)
{
    struct kafka_batch *batch;
    struct dv_err own = *err;
    while (!client->closed && (batch = produce_waiting(client)) != NULL)
        produce_fail(batch, &own);
}

static void produce_watch(struct kafka_handle *handle, int64_t now_ms)
{
    struct kafka_client *client = handle->client;
    if (handle->fatal && handle->outstanding == 0) {
        if (client->handle[KAFKA_HANDLE_PRODUCER] == handle)
            client->handle[KAFKA_HANDLE_PRODUCER] = NULL;
        kafka_handle_retire(handle);
    } else if (handle->outstanding > 0 && kafka_err_credentials(&handle->trouble) &&
               now_ms - handle->trouble_ms >= PRODUCE_GRACE_CREDENTIALS_MS && !kafka_client_rereads(client, handle->trouble_ms)) {
        if (!handle->outdated)
            client->suspect = true;
        (void)rd_kafka_purge(handle->rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
    }
}

void kafka_produce_step(struct kafka_client *client, int64_t now_ms)
{
    struct kafka_batch *batch;
    while (!client->closed && client->state == KAFKA_CLIENT_READY && (batch = produce_waiting(client)) != NULL &&
           !produce_looks(batch, now_ms))
        produce_go_on(batch);
    struct kafka_handle *handle, *next;
    DL_FOREACH_SAFE(client->kafka->handles, handle, next)
    {
        if (handle->client == client && handle->kind == KAFKA_HANDLE_PRODUCER)
            produce_watch(handle, now_ms);
        if (client->renewed) /* the next one may be gone too */
            break;
    }
}

void kafka_produce(struct kafka_client *client, port_id id, const char *topic, const struct fact_record *records, size_t count)
{
    if (count == 0)
        return;
    struct kafka_batch *batch = dv_alloc(sizeof *batch);
    batch->client = client;
    batch->id = id;
    batch->serial = kafka_serial(client->kafka);
    batch->topic = dv_strdup(topic);
    batch->count = count;
    batch->records = dv_calloc(count, sizeof *batch->records);
    batch->sent = dv_calloc(count, sizeof *batch->sent);
    for (size_t i = 0; i < count; i++) {
        kafka_record_copy(&batch->records[i], &records[i]);
        batch->sent[i] = (struct produce_sent){batch, i};
    }
    DL_APPEND(client->batches, batch);
    if (client->state == KAFKA_CLIENT_FAILED || client->suspect)
        kafka_client_refetch(client);
}

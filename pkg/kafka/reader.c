#include "kafka/internal.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/err.h"

#define READER_AGAIN_MS 3000
#define READER_SILENCE_MS 2000
#define READER_ASK_GAP_MS 1000        /* between questions for the last stable offset that failed */
#define READER_FLOW_GAP_MS 500        /* between such questions while records keep coming */
#define READER_TROUBLE_AGAIN_MS 10000 /* the same trouble is told again */
#define READER_GRACE_CREDENTIALS_MS 2000
#define READER_GRACE_UNREACHABLE_MS 5000

struct kafka_reader {
    struct kafka_reader *prev, *next;
    struct kafka_client *client;
    port_id id;
    uint64_t serial;
    struct kafka_fetch *fetch;
    struct kafka_filter filter;
    int64_t *high; /* high watermarks as last told */
    int64_t *goal; /* last stable offsets as last answered: the position is told once they are reached, whatever came since */
    bool open_goal;
    bool stopped;
    bool news;        /* a record or an end was read, or a watermark moved, since last stable offsets were last asked for */
    bool asking;      /* for last stable offsets */
    int64_t asked_ms; /* when the last such question failed; 0: it did not */
    int64_t begun_ms; /* when the last one was put */
    enum dv_err_kind told;
    int64_t told_ms;
};

struct kafka_reader *kafka_reader_find(struct kafka *kafka, port_id id)
{
    struct kafka_client *client;
    struct kafka_reader *reader;
    DL_FOREACH(kafka->clients, client)
    {
        DL_FOREACH(client->readers, reader)
        {
            if (reader->id == id && !reader->stopped)
                return reader;
        }
    }
    return NULL;
}

static struct kafka_reader *reader_by_serial(struct kafka *kafka, uint64_t serial)
{
    struct kafka_client *client;
    struct kafka_reader *reader;
    DL_FOREACH(kafka->clients, client)
    {
        DL_SEARCH_SCALAR(client->readers, reader, serial, serial);
        if (reader != NULL)
            return reader->stopped ? NULL : reader;
    }
    return NULL;
}

static bool reader_alive(const struct kafka_reader *reader)
{
    return !reader->stopped && !reader->client->closed;
}

/* ---------------------------------------------------------------- what the partitions give */

static void reader_reached(struct kafka_reader *reader, int32_t partition);

static void reader_message(void *owner, const rd_kafka_message_t *message)
{
    struct kafka_reader *reader = owner;
    struct fact_record record;
    kafka_record_borrow(&record, message);
    reader->news = true;
    if (kafka_filter_passes(&reader->filter, &record))
        kafka_emit(reader->client->kafka, &(struct port_kafka_event){.kind = PORT_KAFKA_RECORD, .id = reader->id, .record = &record});
    free(record.headers);
    reader_reached(reader, message->partition);
}

static void reader_end(void *owner, int32_t partition)
{
    struct kafka_reader *reader = owner;
    reader->news = true;
    if (kafka_fetch_all_at_end(reader->fetch)) /* one partition that works does not end another's trouble */
        reader->told = DV_ERR_NONE;
    reader_reached(reader, partition);
}

static void reader_tell_trouble(struct kafka_reader *reader, const struct dv_err *err)
{
    int64_t now_ms = kafka_now_ms(reader->client->kafka);
    if (kafka_err_credentials(err))
        reader->client->suspect = true;
    if (reader->told == err->kind && now_ms - reader->told_ms < READER_TROUBLE_AGAIN_MS)
        return;
    reader->told = err->kind;
    reader->told_ms = now_ms;
    kafka_emit(reader->client->kafka, &(struct port_kafka_event){.kind = PORT_KAFKA_TROUBLE, .id = reader->id, .err = *err});
}

static void reader_error(void *owner, int32_t partition, rd_kafka_resp_err_t code, const char *detail)
{
    struct kafka_reader *reader = owner;
    struct dv_err err = DV_ERR_INIT;
    (void)partition;
    (void)kafka_err(&err, kafka_client_where(reader->client), (struct kafka_what){.operation = "Read", .topic = reader->fetch->topic}, code,
                    detail);
    reader_tell_trouble(reader, &err);
}

static const struct kafka_fetch_sink reader_sink = {reader_message, reader_end, reader_error};

/* ---------------------------------------------------------------- position */

static int64_t reader_cached_high(const struct kafka_reader *reader, int32_t partition)
{
    int64_t low = -1, high = -1;
    (void)rd_kafka_get_watermark_offsets(reader->fetch->handle->rk, reader->fetch->topic, partition, &low, &high);
    return high;
}

static void reader_tell_position(struct kafka_reader *reader)
{
    int64_t *stable = reader->goal;
    struct kafka_fetch *fetch = reader->fetch;
    size_t size = (size_t)fetch->partitions + 1;
    DV_CLEANUP_FREE int64_t *high = dv_calloc(size, sizeof *high);
    DV_CLEANUP_FREE int64_t *next = dv_calloc(size, sizeof *next);
    for (int32_t p = 0; p < fetch->partitions; p++) {
        next[p] = fetch->parts[p].next;
        reader->high[p] = high[p] = reader_cached_high(reader, p);
        if (high[p] < next[p])
            high[p] = next[p];
        if (high[p] < stable[p])
            high[p] = stable[p];
    }
    struct fact_offsets offsets = {.partitions = fetch->partitions, .low = high, .high = next, .stable = stable};
    kafka_emit(reader->client->kafka, &(struct port_kafka_event){.kind = PORT_KAFKA_POSITION, .id = reader->id, .offsets = &offsets});
}

/* What was the end when it was asked for is reached: on a topic that others keep writing to there is no moment without a newer record.
 * Called once this partition has come further. */
static void reader_reached(struct kafka_reader *reader, int32_t partition)
{
    const struct kafka_fetch *fetch = reader->fetch;
    if (!reader->open_goal || !reader_alive(reader) || fetch->parts[partition].next < reader->goal[partition])
        return;
    for (int32_t p = 0; p < fetch->partitions; p++)
        if (fetch->parts[p].next < reader->goal[p])
            return;
    reader->open_goal = false;
    reader->told = DV_ERR_NONE;
    reader_tell_position(reader);
}

static void reader_asked(struct kafka_job *base, struct kafka *kafka)
{
    struct kafka_ask_job *job = (struct kafka_ask_job *)base;
    struct kafka_reader *reader = kafka != NULL ? reader_by_serial(kafka, job->serial) : NULL;
    if (reader != NULL && reader->fetch->handle == job->handle) {
        reader->asking = false;
        reader->asked_ms = job->err != RD_KAFKA_RESP_ERR_NO_ERROR ? kafka_now_ms(kafka) : 0;
        if (job->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
            reader->news = true;
        } else {
            kafka_handle_worked(job->handle);
            memcpy(reader->goal, job->high, (size_t)job->partitions * sizeof *reader->goal);
            reader->open_goal = true;
            reader_reached(reader, 0);
        }
    }
    kafka_ask_job_free(job);
}

static void reader_ask(struct kafka_reader *reader, int64_t now_ms)
{
    if (reader->asking || (reader->asked_ms != 0 && now_ms - reader->asked_ms < READER_ASK_GAP_MS))
        return;
    reader->asking = true;
    reader->news = false;
    reader->begun_ms = now_ms;
    kafka_ask_job_push(reader->fetch->handle, KAFKA_JOB_ENDS, reader->serial, reader->fetch->topic, reader->fetch->partitions, false,
                       reader_asked);
}

/* A simple consumer of librdkafka says nothing about a topic that is not there, and looks again only after a minute: ask for it. */
static void reader_checked(struct kafka_job *base, struct kafka *kafka)
{
    struct kafka_ask_job *job = (struct kafka_ask_job *)base;
    struct kafka_reader *reader = kafka != NULL ? reader_by_serial(kafka, job->serial) : NULL;
    if (reader != NULL && reader->fetch->handle == job->handle) {
        reader->asking = false;
        reader->asked_ms = kafka_now_ms(kafka);
        if (job->err >= 0)
            kafka_handle_worked(job->handle);
        if (job->err > 0) {
            reader->fetch->again_ms = kafka_now_ms(kafka) + READER_AGAIN_MS;
            reader_error(reader, -1, job->err, NULL);
        }
    }
    kafka_ask_job_free(job);
}

static void reader_check(struct kafka_reader *reader, int64_t now_ms)
{
    if (reader->asking || now_ms - reader->fetch->begun_ms < READER_SILENCE_MS ||
        (reader->asked_ms != 0 && now_ms - reader->asked_ms < READER_SILENCE_MS))
        return;
    reader->asking = true;
    kafka_ask_job_push(reader->fetch->handle, KAFKA_JOB_PARTITIONS, reader->serial, reader->fetch->topic, 0, false, reader_checked);
}

/* ---------------------------------------------------------------- step */

static void reader_begin(struct kafka_reader *reader, int64_t now_ms)
{
    struct dv_err err = DV_ERR_INIT;
    kafka_fetch_pause(reader->fetch);
    reader->asking = false;
    reader->open_goal = false;
    reader->asked_ms = 0;
    if (kafka_fetch_begin(reader->fetch, &err) == 0)
        return;
    reader->fetch->again_ms = now_ms + READER_AGAIN_MS;
    reader_tell_trouble(reader, &err);
}

static void reader_watch_trouble(struct kafka_reader *reader, int64_t now_ms)
{
    const struct kafka_handle *handle = reader->fetch->handle;
    struct kafka_client *client = reader->client;
    struct dv_err err = handle->trouble;
    bool credentials = kafka_err_credentials(&err);
    if (err.kind == DV_ERR_NONE || now_ms - handle->trouble_ms < (credentials ? READER_GRACE_CREDENTIALS_MS : READER_GRACE_UNREACHABLE_MS))
        return;
    if (credentials && (kafka_client_rereads(client, handle->trouble_ms) || client->renewed))
        return;
    reader_tell_trouble(reader, &err);
}

static void reader_watch(struct kafka_reader *reader, int64_t now_ms)
{
    struct kafka_handle *handle = reader->fetch->handle;
    bool all = kafka_fetch_all_at_end(reader->fetch);
    for (int32_t p = 0; all && !reader->news && p < reader->fetch->partitions; p++)
        reader->news = reader_cached_high(reader, p) != reader->high[p];
    if (!reader->fetch->heard && handle->trouble.kind == DV_ERR_NONE)
        reader_check(reader, now_ms);
    /* At the end of everything no fetch would tell that the cluster is back: the question does. */
    bool due = all || (!reader->open_goal && now_ms - reader->begun_ms >= READER_FLOW_GAP_MS);
    if (handle->trouble.kind != DV_ERR_NONE || (due && reader->news))
        reader_ask(reader, now_ms);
    reader_watch_trouble(reader, now_ms);
}

static void reader_step(struct kafka_reader *reader, int64_t now_ms)
{
    struct kafka_fetch *fetch = reader->fetch;
    bool hangs = fetch->handle != NULL && kafka_worker_stuck(fetch->handle->worker);
    bool due = fetch->again_ms != 0 ? now_ms >= fetch->again_ms : fetch->handle == NULL || hangs;
    if (due && reader->client->conf != NULL && reader->client->state != KAFKA_CLIENT_FAILED)
        reader_begin(reader, now_ms);
    else if (fetch->handle != NULL)
        reader_watch(reader, now_ms);
}

void kafka_readers_step(struct kafka_client *client, int64_t now_ms)
{
    struct kafka_reader *reader, *next;
    DL_FOREACH_SAFE(client->readers, reader, next)
    {
        if (reader->stopped) {
            DL_DELETE(client->readers, reader);
            kafka_reader_free(reader);
        }
    }
    for (reader = client->readers; reader != NULL && !client->closed; reader = reader->next)
        if (reader_alive(reader))
            reader_step(reader, now_ms);
}

void kafka_readers_restart(struct kafka_client *client)
{
    struct kafka_reader *reader;
    DL_FOREACH(client->readers, reader)
    {
        kafka_fetch_pause(reader->fetch);
        reader->fetch->again_ms = 0;
    }
}

void kafka_readers_failed(struct kafka_client *client, const struct dv_err *err)
{
    struct kafka_reader *reader;
    struct dv_err own = *err;
    for (reader = client->readers; reader != NULL && !client->closed; reader = reader->next)
        if (reader_alive(reader))
            reader_tell_trouble(reader, &own);
}

/* ---------------------------------------------------------------- life */

void kafka_reader_open(struct kafka_client *client, port_id id, const struct port_reader *request)
{
    struct kafka_reader *reader = dv_alloc(sizeof *reader);
    reader->client = client;
    reader->id = id;
    reader->serial = kafka_serial(client->kafka);
    reader->filter.header = dv_strdup(request->header);
    reader->filter.header_value = dv_strdup(request->header_value);
    reader->filter.key_prefix = dv_strdup(request->key_prefix);
    reader->filter.needle[0] = dv_strdup(request->needle[0]);
    reader->filter.needle[1] = dv_strdup(request->needle[1]);
    reader->high = dv_calloc((size_t)request->partitions + 1, sizeof *reader->high);
    reader->goal = dv_calloc((size_t)request->partitions + 1, sizeof *reader->goal);
    reader->fetch = kafka_fetch_new(client, request->topic, request->from, request->partitions, &reader_sink, reader);
    DL_APPEND(client->readers, reader);
    if (client->state == KAFKA_CLIENT_FAILED || client->suspect)
        kafka_client_refetch(client);
}

void kafka_reader_stop(struct kafka_reader *reader)
{
    reader->stopped = true;
    kafka_fetch_pause(reader->fetch);
    kafka_wake(reader->client->kafka);
}

void kafka_reader_free(struct kafka_reader *reader)
{
    kafka_fetch_free(reader->fetch);
    kafka_filter_free(&reader->filter);
    free(reader->high);
    free(reader->goal);
    free(reader);
}

void kafka_readers_free(struct kafka_client *client)
{
    struct kafka_reader *reader, *next;
    DL_FOREACH_SAFE(client->readers, reader, next)
    {
        DL_DELETE(client->readers, reader);
        kafka_reader_free(reader);
    }
}

#include "kafka/kafka.h"

#include <stdlib.h>

#include <utlist.h>

#include "base/err.h"
#include "kafka/internal.h"

#define KAFKA_TICK_MS 100
#define KAFKA_CLOSE_WAIT_MS 5000

uint64_t kafka_serial(struct kafka *kafka)
{
    return ++kafka->serial;
}

int64_t kafka_now_ms(struct kafka *kafka)
{
    (void)kafka;
    return (int64_t)(uv_hrtime() / 1000000);
}

void kafka_wake(struct kafka *kafka)
{
    (void)uv_async_send(kafka->async);
}

void kafka_emit(struct kafka *kafka, const struct port_kafka_event *event)
{
    kafka->sink(kafka->arg, event);
}

/* Handles may come and go while events are handed out; the memory of those that go stays until kafka_bury(). */
static void kafka_drain(struct kafka *kafka)
{
    struct kafka_handle *handle;
    size_t count = 0, i = 0;
    DL_COUNT(kafka->handles, handle, count);
    DV_CLEANUP_FREE struct kafka_handle **list = dv_calloc(count + 1, sizeof(struct kafka_handle *));
    DL_FOREACH(kafka->handles, handle)
    {
        list[i++] = handle;
    }
    bool more = false;
    for (i = 0; i < count; i++)
        more = kafka_handle_drain(list[i]) || more;
    if (more) /* librdkafka wakes us only when an empty queue gets something */
        kafka_wake(kafka);
}

static void kafka_bury(struct kafka *kafka)
{
    struct kafka_client *client, *next_client;
    struct kafka_handle *handle, *next_handle;
    DL_FOREACH_SAFE(kafka->closed_clients, client, next_client)
    {
        DL_DELETE(kafka->closed_clients, client);
        kafka_client_free(client);
    }
    DL_FOREACH_SAFE(kafka->retired, handle, next_handle)
    {
        DL_DELETE(kafka->retired, handle);
        kafka_handle_destroy(handle);
    }
}

static void kafka_turn(struct kafka *kafka)
{
    if (kafka->turning)
        return;
    kafka->turning = true;
    kafka_hub_finish(kafka->hub, kafka);
    kafka_drain(kafka);
    struct kafka_client *client = kafka->clients;
    while (client != NULL) {
        struct kafka_client *next = client->next;
        kafka_client_step(client, kafka_now_ms(kafka));
        if (next != NULL && next->closed) { /* the step closed others: begin again at the next tick */
            kafka_wake(kafka);
            break;
        }
        client = next;
    }
    kafka_bury(kafka);
    kafka->turning = false;
}

static void kafka_async_fired(uv_async_t *async)
{
    kafka_turn(async->data);
}

static void kafka_tick_fired(uv_timer_t *timer)
{
    struct kafka *kafka = timer->data;
    kafka_turn(kafka);
    (void)kafka_hub_check(kafka->hub, kafka_now_ms(kafka));
    if (kafka->clients == NULL && kafka_hub_threads(kafka->hub) == 0)
        (void)uv_timer_stop(timer);
}

static void kafka_port_open(void *impl, port_id id, const struct model_kafka *spec, const char *ns, const char *cluster)
{
    struct kafka *kafka = impl;
    kafka_client_open(kafka, id, spec, ns, cluster);
    (void)uv_timer_start(kafka->tick, kafka_tick_fired, KAFKA_TICK_MS, KAFKA_TICK_MS);
    kafka_wake(kafka);
}

static void kafka_port_close(void *impl, port_id id)
{
    struct kafka_client *client = kafka_client_find(impl, id);
    if (client != NULL)
        kafka_client_close(client);
}

static char **kafka_copy_names(const char *const *names, size_t count)
{
    char **copy = dv_calloc(count + 1, sizeof *copy);
    for (size_t i = 0; i < count; i++)
        copy[i] = dv_strdup(names[i]);
    return copy;
}

static void kafka_port_ask(void *impl, port_id id, port_id request, const struct port_question *question)
{
    struct kafka_client *client = kafka_client_find(impl, id);
    if (client == NULL)
        return;
    struct kafka_op *op = kafka_op_new(client, request);
    op->question = *question;
    op->question.topic = dv_strdup(question->topic);
    op->question.group = dv_strdup(question->group);
    op->question.groups = (const char *const *)kafka_copy_names(question->groups, question->group_count);
    kafka_wake(impl);
}

static void kafka_port_commit(void *impl, port_id id, port_id request, const char *group, const char *topic, const int64_t *offsets,
                              int32_t partitions)
{
    struct kafka_client *client = kafka_client_find(impl, id);
    if (client == NULL)
        return;
    struct kafka_op *op = kafka_op_new(client, request);
    op->commit = true;
    op->question.topic = dv_strdup(topic);
    op->question.group = dv_strdup(group);
    op->partitions = partitions;
    op->offsets = dv_calloc((size_t)partitions + 1, sizeof *op->offsets);
    for (int32_t p = 0; p < partitions; p++)
        op->offsets[p] = offsets[p];
    kafka_wake(impl);
}

static void kafka_port_produce(void *impl, port_id id, port_id request, const char *topic, const struct fact_record *records, size_t count)
{
    struct kafka_client *client = kafka_client_find(impl, id);
    if (client == NULL)
        return;
    kafka_produce(client, request, topic, records, count);
    kafka_wake(impl);
}

static void kafka_port_read(void *impl, port_id id, port_id request, const struct port_reader *reader)
{
    struct kafka_client *client = kafka_client_find(impl, id);
    if (client == NULL)
        return;
    kafka_reader_open(client, request, reader);
    kafka_wake(impl);
}

static void kafka_port_read_stop(void *impl, port_id id)
{
    struct kafka_reader *reader = kafka_reader_find(impl, id);
    if (reader != NULL)
        kafka_reader_stop(reader);
}

struct kafka *kafka_new(struct loop *loop, struct port_secrets secrets, port_kafka_sink *sink, void *arg)
{
    struct kafka *kafka = dv_alloc(sizeof *kafka);
    kafka->uv = loop_uv(loop);
    kafka->secrets = secrets;
    kafka->sink = sink;
    kafka->arg = arg;
    kafka->async = dv_alloc(sizeof *kafka->async);
    kafka->tick = dv_alloc(sizeof *kafka->tick);
    if (uv_async_init(kafka->uv, kafka->async, kafka_async_fired) != 0 || uv_timer_init(kafka->uv, kafka->tick) != 0)
        abort(); /* no descriptor left at the start of the program */
    kafka->async->data = kafka;
    kafka->tick->data = kafka;
    kafka->hub = kafka_hub_new(kafka->async);
    return kafka;
}

struct port_kafka kafka_port(struct kafka *kafka)
{
    return (struct port_kafka){
        .impl = kafka,
        .open = kafka_port_open,
        .close = kafka_port_close,
        .ask = kafka_port_ask,
        .produce = kafka_port_produce,
        .commit = kafka_port_commit,
        .read = kafka_port_read,
        .read_stop = kafka_port_read_stop,
    };
}

static void kafka_uv_closed(uv_handle_t *handle)
{
    free(handle);
}

void kafka_free(struct kafka *kafka)
{
    if (kafka == NULL)
        return;
    while (kafka->clients != NULL)
        kafka_client_close(kafka->clients);
    kafka_bury(kafka);
    kafka_tickets_drop(kafka);
    kafka_hub_close(kafka->hub, kafka, KAFKA_CLOSE_WAIT_MS);
    uv_close((uv_handle_t *)kafka->async, kafka_uv_closed);
    uv_close((uv_handle_t *)kafka->tick, kafka_uv_closed);
    free(kafka);
}

/* LOOK (get the pod: which life of the container) --> STREAM (follow) --ended--> LOOK ... until that life is over.
 *
 * A followed log ends cleanly when its container ended, and also when something in between closed it; the pod's status says which. After
 * a cut the log is asked for again from the second of the last line, and lines up to that one are dropped: by the kubelet's timestamps,
 * of equal ones as many as were handed out before. Within a stream no line comes twice, and a node's clock may step back: there every
 * line is handed out. After a refusal it is read once without following, which tells that it can be read. */
#include "kube/podlog.h"

#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/mem.h"
#include "base/timefmt.h"
#include "kube/frame.h"
#include "kube/server.h"

#define LINE_MAX_BYTES (64u * 1024)
#define BATCH_MAX (32u * 1024 * 1024) /* more than one piece of a stream ever holds */
#define TARGET_MAX 4096
#define LOOK_AGAIN_MS 2000

struct kube_logs {
    UT_hash_handle hh;
    port_id id;
    struct kube *kube;
    struct kube_server *server;
    char *ns, *pod, *container;
    int64_t since_ms;
    bool previous;
    struct kube_request *request;
    struct loop_timer *timer;
    struct kube_backoff backoff;
    struct kube_frame frame;
    struct dv_buf batch; /* lines on their way to the sink */
    char *container_id;  /* of the life that is followed */
    bool ended, clean;   /* its status says terminated; the last stream ended cleanly */
    bool opened;
    bool probe;        /* to the end of what is there, without following: an idle log that is followed answers nothing at all */
    bool replay;       /* the stream may still bring lines that were handed out */
    int64_t last_ns;   /* timestamp of the last line handed out; 0: none */
    int64_t high_ns;   /* highest one handed out */
    size_t last_count; /* lines handed out with last_ns, one after the other */
    size_t to_skip;    /* of those, still to come in this stream */
    struct dv_err told;
};

static void log_look(struct kube_logs *log);
static void log_stream(struct kube_logs *log);

static void log_free(struct kube_logs *log)
{
    HASH_DEL(log->kube->logs, log);
    kube_request_cancel(log->request);
    loop_timer_free(log->timer);
    kube_frame_free(&log->frame);
    dv_buf_free(&log->batch);
    free(log->container_id);
    free(log->ns);
    free(log->pod);
    free(log->container);
    free(log);
}

static void log_tell(struct kube_logs *log, struct port_kube_event event)
{
    event.id = log->id;
    log->kube->sink(log->kube->arg, &event);
}

/* Before the sink hears of it, so that it may do anything. */
static void log_end(struct kube_logs *log)
{
    struct kube *kube = log->kube;
    struct port_kube_event event = {.kind = PORT_KUBE_LOG_END, .id = log->id};
    log_free(log);
    kube->sink(kube->arg, &event);
}

static bool log_is_there(struct kube *kube, port_id id)
{
    struct kube_logs *log = NULL;
    HASH_FIND(hh, kube->logs, &id, sizeof id, log);
    return log != NULL;
}

static void log_trouble(struct kube_logs *log, const struct dv_err *err, int64_t retry_after_ms)
{
    loop_timer_set(log->timer, kube_backoff_next(log->kube, &log->backoff, retry_after_ms));
    if (log->told.kind == err->kind && strcmp(log->told.text, err->text) == 0)
        return;
    log->told = *err;
    log_tell(log, (struct port_kube_event){.kind = PORT_KUBE_TROUBLE, .err = *err});
}

/* ---------------------------------------------------------------- lines */

/* RFC 3339 with up to nine digits of fraction, as nanoseconds; -1: the line does not begin with a timestamp. */
static int64_t log_timestamp(const char *text, size_t len)
{
    char copy[48];
    int64_t ms = 0;
    if (len < 20 || len >= sizeof copy)
        return -1;
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (dv_time_parse(copy, &ms) != 0)
        return -1;
    int64_t ns = 0;
    int64_t scale = 100000000;
    const char *dot = strchr(copy, '.');
    for (const char *p = dot != NULL ? dot + 1 : ""; *p >= '0' && *p <= '9' && scale > 0; p++, scale /= 10)
        ns += (*p - '0') * scale;
    return (ms - ns / 1000000) * 1000000 + ns;
}

static void log_flush(struct kube_logs *log)
{
    if (log->batch.len == 0)
        return;
    struct dv_buf batch = log->batch;
    log->batch = DV_BUF_INIT(BATCH_MAX);
    log_tell(log, (struct port_kube_event){.kind = PORT_KUBE_LINES, .text = batch.data, .len = batch.len});
    dv_buf_free(&batch);
}

/* A replay comes in the order in which it was handed out and ends with the last line of then. A later timestamp than any before ends it
 * too: the last line may have been rotated away. */
static bool log_was_told(struct kube_logs *log, int64_t ns)
{
    bool told = log->replay && ns <= log->high_ns && (ns != log->last_ns || log->to_skip > 0);
    if (told && ns == log->last_ns)
        log->replay = --log->to_skip > 0;
    if (told)
        return true;
    log->replay = false;
    log->last_count = ns == log->last_ns ? log->last_count + 1 : 1;
    log->last_ns = ns;
    if (ns > log->high_ns)
        log->high_ns = ns;
    return false;
}

static bool log_line(void *arg, char *line, size_t len)
{
    struct kube_logs *log = arg;
    char *blank = memchr(line, ' ', len);
    int64_t ns = blank != NULL ? log_timestamp(line, (size_t)(blank - line)) : log_timestamp(line, len);
    if (ns >= 0) {
        size_t head = blank != NULL ? (size_t)(blank - line) + 1 : len;
        line += head;
        len -= head;
        if (log_was_told(log, ns) || ns / 1000000 < log->since_ms)
            return true;
    }
    if (log->batch.len > 0)
        (void)dv_buf_adds(&log->batch, "\n");
    (void)dv_buf_add(&log->batch, line, len);
    return true;
}

static void log_data(void *arg, const char *bytes, size_t len)
{
    struct kube_logs *log = arg;
    log->backoff.tries = 0;
    kube_frame_feed_cut(&log->frame, bytes, len, log_line, log);
    log_flush(log);
}

static void log_head(void *arg, int status, const char *content_type)
{
    (void)status;
    (void)content_type;
    struct kube_logs *log = arg;
    bool troubled = log->told.kind != DV_ERR_NONE;
    log->opened = true;
    log->told = DV_ERR_INIT;
    if (troubled)
        log_tell(log, (struct port_kube_event){.kind = PORT_KUBE_SYNCED});
}

/* ---------------------------------------------------------------- the stream */

static struct port_resource log_resource(const struct kube_logs *log, const char *subresource)
{
    return (struct port_resource){
        .group = "", .version = "v1", .plural = "pods", .ns = log->ns, .name = log->pod, .subresource = subresource};
}

/* The rest without a line break is handed out only at a clean end: after a cut the whole line comes again. */
static bool log_finish_lines(struct kube_logs *log, bool clean)
{
    struct kube *kube = log->kube;
    port_id id = log->id;
    if (clean)
        kube_frame_end(&log->frame, log_line, log);
    kube_frame_free(&log->frame);
    log_flush(log);
    return log_is_there(kube, id);
}

static void log_stream_refused(struct kube_logs *log, const struct http_answer *answer)
{
    struct port_resource resource = log_resource(log, "log");
    struct dv_err err = DV_ERR_INIT;
    struct kube *kube = log->kube;
    port_id id = log->id;
    (void)kube_answer_check(answer, kube_server_name(log->server), "get", &resource, &err);
    bool final = err.kind == DV_ERR_NOT_FOUND || (log->previous && err.kind == DV_ERR_INVALID);
    if (!final || log->previous)
        log_trouble(log, &err, answer->retry_after_ms);
    if (final && log_is_there(kube, id))
        log_end(log);
}

static void log_stream_done(void *arg, const struct http_answer *answer)
{
    struct kube_logs *log = arg;
    log->request = NULL;
    log->clean = log->opened && answer->err.kind == DV_ERR_NONE && !log->probe;
    if (!log->opened) {
        log_stream_refused(log, answer);
        return;
    }
    if (!log_finish_lines(log, log->clean))
        return;
    if (log->clean && log->previous)
        log_end(log);
    else
        loop_timer_set(log->timer, kube_backoff_next(log->kube, &log->backoff, 0));
}

static void log_stream(struct kube_logs *log)
{
    struct dv_buf target = DV_BUF_INIT(TARGET_MAX);
    struct port_resource resource = log_resource(log, "log");
    char since[DV_TIME_TEXT];
    const char *follow = log->previous || log->told.kind != DV_ERR_NONE ? NULL : "true";
    int64_t from_ms = log->last_ns > 0 ? log->last_ns / 1000000 : log->since_ms;
    kube_path_add(&target, &resource, "v1");
    kube_query_add(&target, "container", log->container);
    kube_query_add(&target, "timestamps", "true");
    kube_query_add(&target, "follow", follow);
    kube_query_add(&target, "previous", log->previous ? "true" : NULL);
    if (from_ms > 0) {
        dv_time_format(from_ms, since);
        kube_query_add(&target, "sinceTime", since);
    }
    log->opened = false;
    log->clean = false;
    log->probe = follow == NULL && !log->previous;
    log->replay = log->last_ns > 0;
    log->to_skip = log->last_count;
    struct kube_request_spec spec = {.method = "GET",
                                     .target = dv_buf_text(&target),
                                     .accept = "*/*",
                                     .on_data = log_data,
                                     .on_head = log_head,
                                     .on_done = log_stream_done,
                                     .arg = log};
    log->request = kube_request_start(log->server, &spec);
    dv_buf_free(&target);
}

/* ---------------------------------------------------------------- the look */

static const json_t *log_container(const json_t *pod, const char *name)
{
    static const char *const lists[] = {"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"};
    for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++) {
        size_t i;
        json_t *status;
        json_array_foreach(json_object_get(json_object_get(pod, "status"), lists[k]), i, status)
        {
            if (dv_streq(json_string_value(json_object_get(status, "name")), name))
                return status;
        }
    }
    return NULL;
}

/* What tells one life of a container from the next; NULL before the first. Some runtimes give no id. */
static const char *log_life(const json_t *status, char *out, size_t size)
{
    const char *id = json_string_value(json_object_get(status, "containerID"));
    const json_t *state = json_object_get(status, "state");
    if (id != NULL && id[0] != '\0')
        return id;
    if (json_object_get(state, "running") == NULL && json_object_get(state, "terminated") == NULL)
        return NULL;
    return dv_format(out, size, "restart %lld", (long long)json_integer_value(json_object_get(status, "restartCount")));
}

static void log_decide(struct kube_logs *log, const json_t *pod)
{
    const json_t *status = log_container(pod, log->container);
    const json_t *state = json_object_get(status, "state");
    char restart[32];
    const char *id = log_life(status, restart, sizeof restart);
    const char *phase = json_string_value(json_object_get(json_object_get(pod, "status"), "phase"));
    bool pod_over = dv_streq(phase, "Succeeded") || dv_streq(phase, "Failed");
    bool terminated = json_object_get(state, "terminated") != NULL || pod_over;
    if (id == NULL) { /* not started yet */
        if (pod_over)
            log_end(log);
        else
            loop_timer_set(log->timer, kube_period(log->kube, LOOK_AGAIN_MS));
        return;
    }
    bool another = log->container_id != NULL && !dv_streq(id, log->container_id);
    if (another || (log->clean && (terminated || json_object_get(state, "waiting") != NULL))) {
        log_end(log);
        return;
    }
    if (log->container_id == NULL)
        log->container_id = dv_strdup(id);
    log_stream(log);
}

static void log_looked(void *arg, const struct http_answer *answer)
{
    struct kube_logs *log = arg;
    struct dv_err err = DV_ERR_INIT;
    struct port_resource resource = log_resource(log, NULL);
    json_t *pod = NULL;
    log->request = NULL;
    if (kube_answer_check(answer, kube_server_name(log->server), "get", &resource, &err) == 0)
        pod = kube_json(answer->body, answer->body_len, &err);
    if (pod != NULL)
        log_decide(log, pod);
    else if (err.kind == DV_ERR_NOT_FOUND || (err.kind == DV_ERR_DENIED && log->clean))
        log_end(log);
    else if (err.kind == DV_ERR_DENIED)
        log_stream(log); /* logs may be allowed where pods are not: then a clean end counts as the end */
    else
        log_trouble(log, &err, answer->retry_after_ms);
    json_decref(pod);
}

static void log_look(struct kube_logs *log)
{
    struct dv_buf target = DV_BUF_INIT(TARGET_MAX);
    struct port_resource resource = log_resource(log, NULL);
    kube_path_add(&target, &resource, "v1");
    struct kube_request_spec spec = {
        .method = "GET", .target = dv_buf_text(&target), .timeout_ms = KUBE_CALL_MS, .on_done = log_looked, .arg = log};
    log->request = kube_request_start(log->server, &spec);
    dv_buf_free(&target);
}

static void log_timer(void *arg)
{
    struct kube_logs *log = arg;
    if (log->previous)
        log_stream(log);
    else
        log_look(log);
}

/* ---------------------------------------------------------------- outside */

void kube_log_start(struct kube *kube, port_id id, const struct port_log *wanted)
{
    struct kube_logs *log = dv_alloc(sizeof *log);
    log->id = id;
    log->kube = kube;
    log->server = kube_server_get(kube, &wanted->server);
    log->ns = dv_strdup(wanted->ns);
    log->pod = dv_strdup(wanted->pod);
    log->container = dv_strdup(wanted->container);
    log->since_ms = wanted->since_ms;
    log->previous = wanted->previous;
    log->timer = loop_timer_new(kube->loop, log_timer, log);
    log->batch = DV_BUF_INIT(BATCH_MAX);
    kube_frame_init(&log->frame, LINE_MAX_BYTES);
    HASH_ADD(hh, kube->logs, id, sizeof log->id, log);
    loop_timer_set(log->timer, 0);
}

void kube_log_stop(struct kube *kube, port_id id)
{
    struct kube_logs *log = NULL;
    HASH_FIND(hh, kube->logs, &id, sizeof id, log);
    if (log != NULL)
        log_free(log);
}

void kube_logs_free(struct kube *kube)
{
    while (kube->logs != NULL)
        log_free(kube->logs);
}

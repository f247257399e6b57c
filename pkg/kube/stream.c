/* The watch itself: events out of a stream, and what its end means. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kube/watcher.h"

#define TARGET_MAX 16384
#define STALL_MS 150000 /* idle watches get a bookmark every one or two minutes */
#define WATCH_MIN_S 240
#define WATCH_SPREAD_S 60
#define FRUITFUL_MS 10000
#define FRUITLESS_MAX 5

static void stream_end(struct kube_watcher *watcher, const struct dv_err *err, int status, int64_t retry_after_ms);

/* ---------------------------------------------------------------- events */

static void stream_moved(struct kube_watcher *watcher, struct scan_span object)
{
    struct scan_span rv = scan_plain_string(scan_member(scan_member(object, "metadata"), "resourceVersion"));
    if (rv.len == 0)
        return;
    if (watcher->rv == NULL || strlen(watcher->rv) != rv.len || memcmp(watcher->rv, rv.text, rv.len) != 0)
        watcher->moved = true;
    kube_watcher_set(&watcher->rv, rv);
}

static const char *stream_meta(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(json_object_get(object, "metadata"), key));
    return text != NULL ? text : "";
}

static int stream_object(struct kube_watcher *watcher, struct scan_span span, bool deleted, struct dv_err *err)
{
    json_t *object = kube_json(span.text, span.len, err);
    if (object == NULL)
        return -1;
    stream_moved(watcher, span);
    if (deleted)
        kube_watcher_gone(watcher, stream_meta(object, "namespace"), stream_meta(object, "name"), object);
    else
        kube_watcher_item(watcher, object);
    json_decref(object);
    return 0;
}

static bool stream_is(struct scan_span type, const char *word)
{
    return type.len == strlen(word) && memcmp(type.text, word, type.len) == 0;
}

static int stream_event(struct kube_watcher *watcher, struct scan_span event, struct dv_err *err)
{
    struct scan_span type = scan_plain_string(scan_member(event, "type"));
    struct scan_span object = scan_member(event, "object");
    if (type.text == NULL || !scan_is(object, '{') || !scan_is_whole_object(event))
        return dv_err_retry(err, DV_ERR_UNREACHABLE, "%s: the watch sent something that is no event", kube_server_name(watcher->server));
    if (stream_is(type, "ADDED") || stream_is(type, "MODIFIED"))
        return stream_object(watcher, object, false, err);
    if (stream_is(type, "DELETED"))
        return stream_object(watcher, object, true, err);
    if (stream_is(type, "BOOKMARK")) {
        stream_moved(watcher, object);
        return 0;
    }
    if (stream_is(type, "ERROR")) {
        kube_status_error(object.text, object.len, kube_server_name(watcher->server), "watch", &watcher->resource, err);
        return -1;
    }
    return 0; /* an event type of the future */
}

struct stream_feed {
    struct kube_watcher *watcher;
    unsigned int turn;
    struct dv_err err;
};

static bool stream_line(void *arg, char *line, size_t len)
{
    struct stream_feed *feed = arg;
    return stream_event(feed->watcher, (struct scan_span){line, len}, &feed->err) == 0 && kube_watcher_goes_on(feed->watcher, feed->turn);
}

/* Our own end of a watch, after which its request is gone. The status of an ERROR event counts as that of an answer. A break of form
 * makes a new list: what was missed is in it. */
static void stream_break(struct kube_watcher *watcher, const struct dv_err *err)
{
    kube_request_cancel(watcher->request);
    watcher->request = NULL;
    if (err->code == 0) {
        watcher->moved = false;
        kube_watcher_failed(watcher, err, KUBE_WATCHER_LIST, 0);
        return;
    }
    stream_end(watcher, err, err->code, 0);
}

static void stream_data(void *arg, const char *bytes, size_t len)
{
    struct kube_watcher *watcher = arg;
    struct stream_feed feed = {.watcher = watcher, .turn = watcher->turn, .err = DV_ERR_INIT};
    kube_watcher_enter(watcher);
    if (kube_frame_feed(&watcher->frame, bytes, len, stream_line, &feed) != 0)
        (void)dv_err_retry(&feed.err, DV_ERR_LIMIT, "%s: an event of the watch is larger than %zu bytes; listing anew",
                           kube_server_name(watcher->server), watcher->frame.rest.max);
    if (feed.err.kind != DV_ERR_NONE && kube_watcher_goes_on(watcher, feed.turn))
        stream_break(watcher, &feed.err);
    kube_watcher_leave(watcher);
}

static void stream_head(void *arg, int status, const char *content_type)
{
    struct kube_watcher *watcher = arg;
    kube_watcher_enter(watcher);
    if (!kube_is_json(content_type)) {
        struct http_answer answer = {.status = status, .content_type = content_type, .body = ""};
        struct dv_err err = DV_ERR_INIT;
        (void)kube_answer_check(&answer, kube_server_name(watcher->server), "watch", &watcher->resource, &err);
        err.code = 0; /* whoever stands in between may have hidden changes */
        stream_break(watcher, &err);
    } else {
        watcher->open = true;
        watcher->opened_ms = dv_clock_now().mono_ms;
        if (watcher->versionless)
            kube_lister_confirm(watcher);
        kube_watcher_recovered(watcher);
    }
    kube_watcher_leave(watcher);
}

/* ---------------------------------------------------------------- the end of a watch */

static bool stream_was_fruitful(const struct kube_watcher *watcher)
{
    return watcher->open && (watcher->moved || dv_clock_now().mono_ms - watcher->opened_ms >= kube_period(watcher->kube, FRUITFUL_MS));
}

static void stream_again(struct kube_watcher *watcher, const struct dv_err *err, int64_t retry_after_ms)
{
    /* One object is got again each time: cheap, and right even where watching is not allowed. */
    bool list = ++watcher->fruitless >= FRUITLESS_MAX || watcher->resource.name != NULL;
    enum kube_watcher_state next = list ? KUBE_WATCHER_LIST : KUBE_WATCHER_WATCH;
    if (err->kind != DV_ERR_NONE)
        kube_watcher_failed(watcher, err, next, retry_after_ms);
    else
        kube_watcher_go(watcher, next, kube_backoff_next(watcher->kube, &watcher->backoff, retry_after_ms));
}

static void stream_gone(struct kube_watcher *watcher)
{
    bool first = watcher->backoff.tries == 0;
    int64_t wait = kube_backoff_next(watcher->kube, &watcher->backoff, 0);
    watcher->versionless = watcher->resource.name != NULL;
    kube_watcher_go(watcher, KUBE_WATCHER_LIST, first ? 0 : wait);
}

/* status 0: none came. A watch that did its work ends as it may; only the next one that does not come about is a trouble. */
static void stream_end(struct kube_watcher *watcher, const struct dv_err *err, int status, int64_t retry_after_ms)
{
    bool fruitful = stream_was_fruitful(watcher);
    if (fruitful) {
        watcher->backoff.tries = 0;
        watcher->fruitless = 0;
    }
    if (status == 410 || err->kind == DV_ERR_GONE)
        stream_gone(watcher);
    else if (fruitful && (err->kind == DV_ERR_NONE || status == 0 || (status >= 200 && status < 300)))
        kube_watcher_go(watcher, watcher->rv != NULL ? KUBE_WATCHER_WATCH : KUBE_WATCHER_LIST, 0);
    else
        stream_again(watcher, err, retry_after_ms);
}

static void stream_done(void *arg, const struct http_answer *answer)
{
    struct kube_watcher *watcher = arg;
    struct dv_err err = answer->err;
    watcher->request = NULL;
    kube_watcher_enter(watcher);
    if (err.kind == DV_ERR_NONE && !(watcher->open && answer->status >= 200 && answer->status < 300))
        (void)kube_answer_check(answer, kube_server_name(watcher->server), "watch", &watcher->resource, &err);
    stream_end(watcher, &err, answer->status, answer->retry_after_ms);
    kube_watcher_leave(watcher);
}

static int64_t stream_seconds(const struct kube_watcher *watcher)
{
    int64_t ms = (WATCH_MIN_S + (int64_t)(dv_random_u64() % (WATCH_SPREAD_S + 1))) * 1000;
    int64_t seconds = kube_period(watcher->kube, ms) / 1000;
    return seconds > 0 ? seconds : 1;
}

static void stream_target(struct kube_watcher *watcher, struct dv_buf *target)
{
    char seconds[24];
    struct port_resource collection = watcher->resource;
    collection.name = NULL;
    kube_path_add(target, &collection, watcher->version);
    kube_query_add(target, "watch", "1");
    kube_query_add(target, "allowWatchBookmarks", "true");
    kube_query_add(target, "resourceVersion", watcher->rv);
    kube_query_add(target, "timeoutSeconds", dv_format(seconds, sizeof seconds, "%lld", (long long)stream_seconds(watcher)));
    kube_query_add(target, "labelSelector", watcher->selector);
    if (watcher->resource.name != NULL) {
        DV_CLEANUP_FREE char *field = dv_asprintf("metadata.name=%s", watcher->resource.name);
        kube_query_add(target, "fieldSelector", field);
    }
}

void kube_stream_begin(struct kube_watcher *watcher)
{
    if (watcher->epoch != kube_server_epoch(watcher->server)) {
        watcher->state = KUBE_WATCHER_LIST;
        kube_lister_begin(watcher);
        return;
    }
    struct dv_buf target = DV_BUF_INIT(TARGET_MAX);
    watcher->open = false;
    watcher->moved = false;
    watcher->versionless = watcher->rv == NULL;
    kube_frame_free(&watcher->frame);
    stream_target(watcher, &target);
    struct kube_request_spec spec = {.method = "GET",
                                     .target = dv_buf_text(&target),
                                     .stall_ms = STALL_MS,
                                     .on_data = stream_data,
                                     .on_head = stream_head,
                                     .on_done = stream_done,
                                     .arg = watcher};
    watcher->request = kube_request_start(watcher->server, &spec);
    dv_buf_free(&target);
}

/* Lists in pages, taken apart item by item; one object by GET. */
#include <string.h>

#include "base/mem.h"
#include "kube/watcher.h"

#define TARGET_MAX 16384

/* ---------------------------------------------------------------- pages */

static void lister_page(struct kube_watcher *watcher);

struct lister_items {
    struct kube_watcher *watcher;
    unsigned int turn;
    char *api_version, *kind; /* items of built-in kinds do not say them */
    struct dv_err err;
};

static int lister_item(void *arg, struct scan_span key, struct scan_span value)
{
    (void)key;
    struct lister_items *items = arg;
    json_t *object = kube_json(value.text, value.len, &items->err);
    if (object == NULL)
        return 0; /* the others count all the same; the error is told at the end */
    if (items->api_version != NULL)
        (void)json_object_set_new(object, "apiVersion", json_string(items->api_version));
    if (items->kind != NULL)
        (void)json_object_set_new(object, "kind", json_string(items->kind));
    kube_watcher_item(items->watcher, object);
    json_decref(object);
    return kube_watcher_goes_on(items->watcher, items->turn) ? 0 : 1;
}

static void lister_kind(struct lister_items *items, struct scan_span list)
{
    struct scan_span kind = scan_plain_string(scan_member(list, "kind"));
    kube_watcher_set(&items->api_version, scan_plain_string(scan_member(list, "apiVersion")));
    if (kind.len > 4)
        kube_watcher_set(&items->kind, (struct scan_span){kind.text, kind.len - 4});
}

static bool lister_is_list(struct scan_span list)
{
    struct scan_span kind = scan_plain_string(scan_member(list, "kind"));
    return kind.len > 4 && memcmp(kind.text + kind.len - 4, "List", 4) == 0;
}

static void lister_complete(struct kube_watcher *watcher)
{
    unsigned int turn = watcher->turn;
    kube_watcher_sweep(watcher);
    if (!kube_watcher_goes_on(watcher, turn))
        return;
    kube_watcher_go(watcher, KUBE_WATCHER_WATCH, 0);
    kube_watcher_synced(watcher);
}

static void lister_take(struct kube_watcher *watcher, struct scan_span list)
{
    struct lister_items items = {.watcher = watcher, .turn = watcher->turn, .err = DV_ERR_INIT};
    struct scan_span elements = scan_member(list, "items");
    struct scan_span meta = scan_member(list, "metadata");
    struct scan_span rv = scan_plain_string(scan_member(meta, "resourceVersion"));
    int rc = 0;
    if (!scan_is_whole_object(list))
        rc = -1;
    else if (!lister_is_list(list) || rv.len == 0)
        (void)dv_err_retry(&items.err, DV_ERR_UNREACHABLE, "%s: the answer is no list", kube_server_name(watcher->server));
    lister_kind(&items, list);
    if (rc == 0 && items.err.kind == DV_ERR_NONE && scan_is(elements, '['))
        rc = scan_array(elements, lister_item, &items);
    kube_watcher_set(&items.api_version, (struct scan_span){0});
    kube_watcher_set(&items.kind, (struct scan_span){0});
    if (rc > 0)
        return;
    if (rc < 0)
        (void)dv_err_retry(&items.err, DV_ERR_UNREACHABLE, "%s: the answer is no whole list", kube_server_name(watcher->server));
    if (items.err.kind != DV_ERR_NONE) {
        kube_watcher_failed(watcher, &items.err, KUBE_WATCHER_LIST, 0);
        return;
    }
    kube_watcher_set(&watcher->rv, rv);
    kube_watcher_set(&watcher->continue_, scan_plain_string(scan_member(meta, "continue")));
    if (watcher->continue_ != NULL)
        lister_page(watcher);
    else
        lister_complete(watcher);
}

static void lister_refused(struct kube_watcher *watcher, const struct dv_err *err, int64_t retry_after_ms)
{
    bool first_page = watcher->continue_ == NULL;
    if (err->kind == DV_ERR_LIMIT && watcher->limit > 1) {
        watcher->limit = watcher->limit > 10 ? watcher->limit / 10 : 1;
        kube_watcher_go(watcher, KUBE_WATCHER_LIST, 0);
    } else if (err->kind == DV_ERR_GONE && !first_page) { /* the token's snapshot is compacted; not a trouble unless it goes on */
        int64_t wait = kube_backoff_next(watcher->kube, &watcher->backoff, retry_after_ms);
        kube_watcher_go(watcher, KUBE_WATCHER_LIST, watcher->backoff.tries > 1 ? wait : 0);
    } else {
        kube_watcher_failed(watcher, err, KUBE_WATCHER_LIST, retry_after_ms);
    }
}

static void lister_page_done(void *arg, const struct http_answer *answer)
{
    struct kube_watcher *watcher = arg;
    struct dv_err err = DV_ERR_INIT;
    watcher->request = NULL;
    kube_watcher_enter(watcher);
    if (kube_answer_check(answer, kube_server_name(watcher->server), "list", &watcher->resource, &err) != 0)
        lister_refused(watcher, &err, answer->retry_after_ms);
    else
        lister_take(watcher, (struct scan_span){answer->body, answer->body_len});
    kube_watcher_leave(watcher);
}

static void lister_page(struct kube_watcher *watcher)
{
    struct dv_buf target = DV_BUF_INIT(TARGET_MAX);
    char limit[16];
    kube_path_add(&target, &watcher->resource, watcher->version);
    kube_query_add(&target, "labelSelector", watcher->selector);
    kube_query_add(&target, "limit", dv_format(limit, sizeof limit, "%d", watcher->limit));
    kube_query_add(&target, "continue", watcher->continue_);
    struct kube_request_spec spec = {
        .method = "GET", .target = dv_buf_text(&target), .timeout_ms = KUBE_CALL_MS, .on_done = lister_page_done, .arg = watcher};
    watcher->request = kube_request_start(watcher->server, &spec);
    dv_buf_free(&target);
}

/* ---------------------------------------------------------------- one object */

static void lister_get(struct kube_watcher *watcher, struct kube_request **slot, void (*done)(void *, const struct http_answer *))
{
    struct dv_buf target = DV_BUF_INIT(TARGET_MAX);
    kube_path_add(&target, &watcher->resource, watcher->version);
    struct kube_request_spec spec = {
        .method = "GET", .target = dv_buf_text(&target), .timeout_ms = KUBE_CALL_MS, .on_done = done, .arg = watcher};
    *slot = kube_request_start(watcher->server, &spec);
    dv_buf_free(&target);
}

/* 0 when the store is right now: the object is there or, by 404, it is not. */
static int lister_take_object(struct kube_watcher *watcher, const struct http_answer *answer, struct dv_err *err)
{
    unsigned int turn = watcher->turn;
    if (kube_answer_check(answer, kube_server_name(watcher->server), "get", &watcher->resource, err) != 0) {
        if (err->kind != DV_ERR_NOT_FOUND)
            return -1;
        dv_err_clear(err);
        watcher->store.generation++;
        kube_watcher_sweep(watcher);
        return 0;
    }
    json_t *object = kube_json(answer->body, answer->body_len, err);
    if (object == NULL)
        return -1;
    watcher->store.generation++;
    kube_watcher_item(watcher, object);
    if (kube_watcher_goes_on(watcher, turn))
        kube_watcher_sweep(watcher);
    json_decref(object);
    return 0;
}

static void lister_got(void *arg, const struct http_answer *answer)
{
    struct kube_watcher *watcher = arg;
    struct dv_err err = DV_ERR_INIT;
    unsigned int turn = watcher->turn;
    watcher->request = NULL;
    kube_watcher_enter(watcher);
    if (lister_take_object(watcher, answer, &err) != 0) {
        kube_watcher_failed(watcher, &err, KUBE_WATCHER_LIST, answer->retry_after_ms);
    } else if (kube_watcher_goes_on(watcher, turn)) {
        const struct kube_store_entry *entry = watcher->store.entries;
        const char *rv = entry != NULL && !watcher->versionless ? entry->version : "";
        kube_watcher_set(&watcher->rv, (struct scan_span){rv, strlen(rv)});
        kube_watcher_go(watcher, KUBE_WATCHER_WATCH, 0);
        kube_watcher_synced(watcher);
    }
    kube_watcher_leave(watcher);
}

static void lister_confirmed(void *arg, const struct http_answer *answer)
{
    struct kube_watcher *watcher = arg;
    struct dv_err err = DV_ERR_INIT;
    watcher->confirm = NULL;
    kube_watcher_enter(watcher);
    if (lister_take_object(watcher, answer, &err) != 0)
        kube_watcher_failed(watcher, &err, KUBE_WATCHER_LIST, answer->retry_after_ms);
    kube_watcher_leave(watcher);
}

void kube_lister_confirm(struct kube_watcher *watcher)
{
    if (watcher->confirm == NULL)
        lister_get(watcher, &watcher->confirm, lister_confirmed);
}

void kube_lister_begin(struct kube_watcher *watcher)
{
    for (struct kube_subscriptions *sub = watcher->subscribers; sub != NULL; sub = sub->next)
        if (sub->state == KUBE_SUBSCRIPTION_NEW)
            sub->state = KUBE_SUBSCRIPTION_LISTENING;
    watcher->epoch = kube_server_epoch(watcher->server);
    watcher->store.generation++;
    watcher->fruitless = 0;
    kube_watcher_set(&watcher->continue_, (struct scan_span){0});
    kube_watcher_set(&watcher->rv, (struct scan_span){0});
    if (watcher->resource.name != NULL)
        lister_get(watcher, &watcher->request, lister_got);
    else
        lister_page(watcher);
}

#include "kube/watcher.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/mem.h"

#define EVENT_MAX (8u * 1024 * 1024)
#define PAGE_ITEMS 50

/* ---------------------------------------------------------------- life */

static void watcher_drop_dead(struct kube_watcher *watcher)
{
    struct kube_subscriptions *sub = NULL;
    struct kube_subscriptions *next = NULL;
    DL_FOREACH_SAFE(watcher->subscribers, sub, next)
    {
        if (!sub->dead)
            continue;
        DL_DELETE(watcher->subscribers, sub);
        free(sub);
    }
}

static void watcher_quiet(struct kube_watcher *watcher)
{
    kube_discovery_cancel(watcher->discovery);
    kube_request_cancel(watcher->request);
    kube_request_cancel(watcher->confirm);
    watcher->discovery = NULL;
    watcher->request = NULL;
    watcher->confirm = NULL;
    loop_timer_clear(watcher->pause);
}

static void watcher_free(struct kube_watcher *watcher)
{
    DL_DELETE(watcher->kube->watchers, watcher);
    watcher_quiet(watcher);
    watcher_drop_dead(watcher);
    loop_timer_free(watcher->pause);
    loop_timer_free(watcher->greet);
    kube_store_free(&watcher->store);
    kube_frame_free(&watcher->frame);
    kube_resource_free(&watcher->resource);
    free(watcher->selector);
    free(watcher->version);
    free(watcher->rv);
    free(watcher->continue_);
    free(watcher);
}

void kube_watcher_enter(struct kube_watcher *watcher)
{
    watcher->busy++;
}

void kube_watcher_leave(struct kube_watcher *watcher)
{
    if (--watcher->busy > 0)
        return;
    if (watcher->live == 0)
        watcher_free(watcher);
    else
        watcher_drop_dead(watcher);
}

void kube_watcher_set(char **text, struct scan_span span)
{
    char *copy = span.text != NULL && span.len > 0 ? dv_strndup(span.text, span.len) : NULL;
    free(*text);
    *text = copy;
}

/* ---------------------------------------------------------------- telling */

static void watcher_tell_one(struct kube_subscriptions *sub, struct port_kube_event *event)
{
    struct kube *kube = sub->watcher->kube;
    event->id = sub->id;
    kube->sink(kube->arg, event);
}

/* Subscribers that join meanwhile stand at the end of the list and are NEW; those that leave are dead, and stay until we are done. */
static void watcher_tell(struct kube_watcher *watcher, struct port_kube_event *event, bool to_synced)
{
    struct kube_subscriptions *sub = NULL;
    kube_watcher_enter(watcher);
    DL_FOREACH(watcher->subscribers, sub)
    {
        bool wants = sub->state == KUBE_SUBSCRIPTION_LISTENING || (to_synced && sub->state == KUBE_SUBSCRIPTION_SYNCED);
        if (wants && !sub->dead)
            watcher_tell_one(sub, event);
    }
    kube_watcher_leave(watcher);
}

static const char *watcher_meta(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(json_object_get(object, "metadata"), key));
    return text != NULL ? text : "";
}

void kube_watcher_item(struct kube_watcher *watcher, const json_t *object)
{
    const char *ns = watcher_meta(object, "namespace");
    const char *name = watcher_meta(object, "name");
    if (name[0] == '\0')
        return;
    bool differs = kube_store_put(&watcher->store, ns, name, watcher_meta(object, "resourceVersion"), object);
    struct port_kube_event event = {.kind = PORT_KUBE_ITEM, .json = object, .ns = ns, .name = name};
    watcher_tell(watcher, &event, differs);
}

void kube_watcher_gone(struct kube_watcher *watcher, const char *ns, const char *name, const json_t *last)
{
    struct kube_store_entry *entry = kube_store_find(&watcher->store, ns, name);
    if (entry == NULL)
        return;
    kube_store_remove(&watcher->store, entry);
    struct port_kube_event event = {.kind = PORT_KUBE_GONE, .json = last, .ns = ns, .name = name};
    watcher_tell(watcher, &event, true);
}

void kube_watcher_sweep(struct kube_watcher *watcher)
{
    struct kube_store_entry *entry;
    while (watcher->live > 0 && (entry = kube_store_old(&watcher->store)) != NULL) {
        char ns[64];
        DV_CLEANUP_FREE char *name = dv_strdup(entry->key + entry->name_at);
        json_t *last = entry->text != NULL ? json_loads(entry->text, JSON_ALLOW_NUL, NULL) : NULL;
        kube_watcher_gone(watcher, kube_store_ns(entry, ns), name, last);
        json_decref(last);
    }
}

void kube_watcher_synced(struct kube_watcher *watcher)
{
    struct port_kube_event event = {.kind = PORT_KUBE_SYNCED};
    struct kube_subscriptions *sub = NULL;
    DL_FOREACH(watcher->subscribers, sub)
    {
        if (sub->state == KUBE_SUBSCRIPTION_LISTENING)
            sub->state = KUBE_SUBSCRIPTION_SYNCED;
        else if (sub->state == KUBE_SUBSCRIPTION_NEW)
            loop_timer_set(watcher->greet, 0); /* came during the list */
    }
    watcher->complete = true;
    watcher->troubled = false;
    watcher_tell(watcher, &event, true);
}

/* Each kind of trouble once: it is told again when it changes, or after it had ended. */
void kube_watcher_trouble(struct kube_watcher *watcher, const struct dv_err *err)
{
    if (watcher->troubled && watcher->trouble.kind == err->kind && strcmp(watcher->trouble.text, err->text) == 0)
        return;
    watcher->troubled = true;
    watcher->trouble = *err;
    struct port_kube_event event = {.kind = PORT_KUBE_TROUBLE, .err = *err};
    struct kube_subscriptions *sub = NULL;
    kube_watcher_enter(watcher);
    DL_FOREACH(watcher->subscribers, sub)
    {
        if (!sub->dead)
            watcher_tell_one(sub, &event);
    }
    kube_watcher_leave(watcher);
}

/* The watch is open again, so the store is in step again: whoever heard of trouble hears SYNCED. */
void kube_watcher_recovered(struct kube_watcher *watcher)
{
    if (watcher->troubled && watcher->complete)
        kube_watcher_synced(watcher);
    watcher->troubled = false;
}

/* ---------------------------------------------------------------- the machine */

bool kube_watcher_goes_on(const struct kube_watcher *watcher, unsigned int turn)
{
    return watcher->live > 0 && watcher->turn == turn;
}

static void watcher_discovered(void *arg, const struct dv_err *err, const char *version)
{
    struct kube_watcher *watcher = arg;
    watcher->discovery = NULL;
    kube_watcher_enter(watcher);
    if (err->kind != DV_ERR_NONE) {
        kube_watcher_failed(watcher, err, KUBE_WATCHER_RESOLVE, 0);
    } else {
        kube_watcher_set(&watcher->version, (struct scan_span){version, strlen(version)});
        kube_watcher_go(watcher, KUBE_WATCHER_LIST, 0);
    }
    kube_watcher_leave(watcher);
}

static void watcher_resolve(struct kube_watcher *watcher)
{
    const char *version = kube_discovery_known(watcher->server, &watcher->resource);
    if (version == NULL) {
        watcher->discovery = kube_discovery_start(watcher->server, &watcher->resource, watcher_discovered, watcher);
        return;
    }
    kube_watcher_set(&watcher->version, (struct scan_span){version, strlen(version)});
    watcher->state = KUBE_WATCHER_LIST;
    kube_lister_begin(watcher);
}

static void watcher_run(struct kube_watcher *watcher)
{
    switch (watcher->state) {
    case KUBE_WATCHER_RESOLVE: watcher_resolve(watcher); break;
    case KUBE_WATCHER_LIST: kube_lister_begin(watcher); break;
    case KUBE_WATCHER_WATCH: kube_stream_begin(watcher); break;
    case KUBE_WATCHER_PAUSE: break;
    }
}

static void watcher_pause_over(void *arg)
{
    struct kube_watcher *watcher = arg;
    kube_watcher_enter(watcher);
    watcher->state = watcher->after_pause;
    watcher_run(watcher);
    kube_watcher_leave(watcher);
}

void kube_watcher_go(struct kube_watcher *watcher, enum kube_watcher_state state, int64_t after_ms)
{
    watcher_quiet(watcher);
    watcher->turn++;
    watcher->state = KUBE_WATCHER_PAUSE;
    watcher->after_pause = state;
    loop_timer_set(watcher->pause, after_ms);
}

void kube_watcher_failed(struct kube_watcher *watcher, const struct dv_err *err, enum kube_watcher_state next, int64_t retry_after_ms)
{
    if (err->kind == DV_ERR_UNSUPPORTED) {
        kube_discovery_forget(watcher->server, &watcher->resource);
        next = KUBE_WATCHER_RESOLVE;
    }
    kube_watcher_go(watcher, next, kube_backoff_next(watcher->kube, &watcher->backoff, retry_after_ms));
    kube_watcher_trouble(watcher, err);
}

/* ---------------------------------------------------------------- subscribers */

static void watcher_greet_one(struct kube_watcher *watcher, struct kube_subscriptions *sub)
{
    /* Entries may go while the sink is called, but only when the watch does something, and it does nothing meanwhile. */
    for (const struct kube_store_entry *entry = watcher->store.entries; entry != NULL && !sub->dead; entry = entry->hh.next) {
        char ns[64];
        json_t *object = entry->text != NULL ? json_loads(entry->text, JSON_ALLOW_NUL, NULL) : NULL;
        struct port_kube_event event = {
            .kind = PORT_KUBE_ITEM, .json = object, .ns = kube_store_ns(entry, ns), .name = entry->key + entry->name_at};
        if (object != NULL)
            watcher_tell_one(sub, &event);
        json_decref(object);
    }
    struct port_kube_event event = {.kind = PORT_KUBE_SYNCED};
    sub->state = KUBE_SUBSCRIPTION_SYNCED;
    if (!sub->dead)
        watcher_tell_one(sub, &event);
    if (!sub->dead && watcher->troubled) {
        event = (struct port_kube_event){.kind = PORT_KUBE_TROUBLE, .err = watcher->trouble};
        watcher_tell_one(sub, &event);
    }
}

static void watcher_greet(void *arg)
{
    struct kube_watcher *watcher = arg;
    struct kube_subscriptions *sub = NULL;
    kube_watcher_enter(watcher);
    DL_FOREACH(watcher->subscribers, sub)
    {
        if (sub->state != KUBE_SUBSCRIPTION_NEW || sub->dead)
            continue;
        if (watcher->complete)
            watcher_greet_one(watcher, sub);
        else if (watcher->troubled)
            watcher_tell_one(sub, &(struct port_kube_event){.kind = PORT_KUBE_TROUBLE, .err = watcher->trouble});
    }
    kube_watcher_leave(watcher);
}

static struct kube_watcher *watcher_find(struct kube *kube, const struct kube_server *server, const struct port_watch *watch)
{
    const struct port_resource *wanted = &watch->resource;
    const char *group = wanted->group != NULL ? wanted->group : "";
    struct kube_watcher *watcher = NULL;
    DL_FOREACH(kube->watchers, watcher)
    {
        const struct port_resource *have = &watcher->resource;
        if (watcher->server == server && dv_streq(have->plural, wanted->plural) && dv_streq(have->ns, wanted->ns) &&
            dv_streq(have->name, wanted->name) && dv_streq(have->group, group) && dv_streq(have->version, wanted->version) &&
            dv_streq(watcher->selector, watch->label_selector))
            return watcher;
    }
    return NULL;
}

static struct kube_watcher *watcher_new(struct kube *kube, struct kube_server *server, const struct port_watch *watch)
{
    struct kube_watcher *watcher = dv_alloc(sizeof *watcher);
    watcher->kube = kube;
    watcher->server = server;
    watcher->resource = kube_resource_copy(&watch->resource);
    watcher->selector = dv_strdup(watch->label_selector);
    watcher->limit = PAGE_ITEMS;
    watcher->store.keep_text = watch->resource.name != NULL;
    watcher->pause = loop_timer_new(kube->loop, watcher_pause_over, watcher);
    watcher->greet = loop_timer_new(kube->loop, watcher_greet, watcher);
    kube_frame_init(&watcher->frame, EVENT_MAX);
    DL_APPEND(kube->watchers, watcher);
    kube_watcher_go(watcher, KUBE_WATCHER_RESOLVE, 0);
    return watcher;
}

/* The second subscriber needs texts that were not kept for the first: from now on they are, and the list is made anew once. */
static void watcher_join(struct kube_watcher *watcher)
{
    bool kept = watcher->store.keep_text;
    watcher->store.keep_text = true;
    loop_timer_set(watcher->greet, 0);
    if (kept)
        return;
    watcher->complete = false;
    if (watcher->state == KUBE_WATCHER_LIST || watcher->state == KUBE_WATCHER_WATCH)
        kube_watcher_go(watcher, KUBE_WATCHER_LIST, 0);
    else if (watcher->after_pause == KUBE_WATCHER_WATCH)
        watcher->after_pause = KUBE_WATCHER_LIST;
}

void kube_watch_start(struct kube *kube, port_id id, const struct port_watch *watch)
{
    struct kube_server *server = kube_server_get(kube, &watch->server);
    struct kube_watcher *watcher = watcher_find(kube, server, watch);
    bool fresh = watcher == NULL;
    if (fresh)
        watcher = watcher_new(kube, server, watch);
    struct kube_subscriptions *sub = dv_alloc(sizeof *sub);
    sub->id = id;
    sub->watcher = watcher;
    DL_APPEND(watcher->subscribers, sub);
    HASH_ADD(hh, kube->subscriptions, id, sizeof sub->id, sub);
    watcher->live++;
    if (!fresh)
        watcher_join(watcher);
}

void kube_watch_stop(struct kube *kube, port_id id)
{
    struct kube_subscriptions *sub = NULL;
    HASH_FIND(hh, kube->subscriptions, &id, sizeof id, sub);
    if (sub == NULL)
        return;
    HASH_DEL(kube->subscriptions, sub);
    struct kube_watcher *watcher = sub->watcher;
    sub->dead = true;
    kube_watcher_enter(watcher);
    watcher->live--;
    kube_watcher_leave(watcher);
}

void kube_watchers_free(struct kube *kube)
{
    while (kube->subscriptions != NULL)
        kube_watch_stop(kube, kube->subscriptions->id);
}

/* Watches and logs of the API server. */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/timefmt.h"

/* ---------------------------------------------------------------- telling */

struct watch_news {
    port_id id;
    uint64_t epoch;
    enum port_kube_event_kind kind;
    json_t *json;
    char *ns, *name;
    struct dv_err err;
};

static void watch_news_free(void *arg)
{
    struct watch_news *news = arg;
    json_decref(news->json);
    free(news->ns);
    free(news->name);
    free(news);
}

static bool watch_open(struct world *world, port_id id, uint64_t epoch)
{
    struct world_watch *watch = NULL;
    LL_FOREACH2(world->watches, watch, link)
    if (watch->id == id && watch->epoch == epoch)
        return true;
    return false;
}

static void watch_tell(struct world *world, void *arg)
{
    struct watch_news *news = arg;
    struct port_kube_event event = {
        .kind = news->kind, .id = news->id, .err = news->err, .json = news->json, .ns = news->ns, .name = news->name};
    if (news->epoch == world->epoch && world->controller != NULL && !world->dead && watch_open(world, news->id, news->epoch))
        controller_on_kube(world->controller, &event);
    watch_news_free(news);
}

/* News of one watch keep their order. */
static void watch_send(struct world *world, struct world_watch *watch, struct watch_news *news)
{
    int64_t at = world->now + world_between(world, 1, 15);
    if (at < watch->last_at)
        at = watch->last_at;
    watch->last_at = at;
    news->id = watch->id;
    news->epoch = watch->epoch;
    world_after(world, at - world->now, watch_tell, watch_news_free, news);
}

static void watch_send_object(struct world *world, struct world_watch *watch, const struct world_object *object, bool gone)
{
    struct watch_news *news = dv_alloc(sizeof *news);
    news->kind = gone ? PORT_KUBE_GONE : PORT_KUBE_ITEM;
    news->json = json_deep_copy(object->json);
    news->ns = dv_strdup(object->ns);
    news->name = dv_strdup(object->name);
    if (gone)
        json_object_del(watch->known, object->name);
    else
        json_object_set_new(watch->known, object->name, json_string(object->ns));
    watch_send(world, watch, news);
}

static void watch_send_sign(struct world *world, struct world_watch *watch, enum port_kube_event_kind kind)
{
    struct watch_news *news = dv_alloc(sizeof *news);
    news->kind = kind;
    if (kind == PORT_KUBE_TROUBLE)
        (void)dv_err_retry(&news->err, DV_ERR_UNREACHABLE, "watch of %s: connection refused", watch->plural);
    watch_send(world, watch, news);
}

/* ---------------------------------------------------------------- what a watch is about */

static bool watch_labels_match(const char *selector, const json_t *object)
{
    const json_t *labels = json_object_get(json_object_get(object, "metadata"), "labels");
    char rest[256];
    (void)dv_strlcpy(rest, selector, sizeof rest);
    for (char *at = rest; at != NULL;) {
        char *comma = strchr(at, ',');
        if (comma != NULL)
            *comma++ = '\0';
        char *equals = strchr(at, '=');
        if (equals == NULL)
            return false;
        *equals++ = '\0';
        if (!dv_streq(json_string_value(json_object_get(labels, at)), equals))
            return false;
        at = comma;
    }
    return true;
}

static bool watch_wants(const struct world_watch *watch, const struct world_object *object)
{
    return watch->server == object->server && dv_streq(watch->plural, object->plural) &&
           (watch->ns == NULL || dv_streq(watch->ns, object->ns)) && (watch->name == NULL || dv_streq(watch->name, object->name)) &&
           (watch->selector == NULL || watch_labels_match(watch->selector, object->json));
}

void world_changed(struct world *world, const struct world_object *object, bool gone)
{
    struct world_watch *watch = NULL;
    if (world->api_down[object->server])
        return;
    LL_FOREACH2(world->watches, watch, link)
    if (watch_wants(watch, object))
        watch_send_object(world, watch, object, gone);
}

static void watch_list(struct world *world, struct world_watch *watch)
{
    const char *name = NULL;
    json_t *ns = NULL;
    void *next = NULL;
    for (size_t i = 0; i < world->object_count; i++)
        if (watch_wants(watch, &world->objects[i]))
            watch_send_object(world, watch, &world->objects[i], false);
    json_object_foreach_safe(watch->known, next, name, ns)
    {
        if (world_get(world, watch->server, watch->plural, name) != NULL)
            continue;
        struct world_object gone = {.plural = watch->plural, .ns = dv_strdup(json_string_value(ns)), .name = dv_strdup(name)};
        watch_send_object(world, watch, &gone, true);
        free(gone.ns);
        free(gone.name);
    }
    watch_send_sign(world, watch, PORT_KUBE_SYNCED);
}

void world_relist(struct world *world, int server)
{
    struct world_watch *watch = NULL;
    LL_FOREACH2(world->watches, watch, link)
    if (watch->server == server)
        watch_list(world, watch);
}

void world_api_down(struct world *world, int server, bool down)
{
    struct world_watch *watch = NULL;
    world->api_down[server] = down;
    if (!down) {
        world_relist(world, server);
        return;
    }
    LL_FOREACH2(world->watches, watch, link)
    if (watch->server == server)
        watch_send_sign(world, watch, PORT_KUBE_TROUBLE);
}

void world_watch_start(struct world *world, port_id id, const struct port_watch *request)
{
    struct world_watch *watch = dv_alloc(sizeof *watch);
    watch->id = id;
    watch->epoch = world->epoch;
    watch->server = request->server.secret != NULL;
    watch->plural = dv_strdup(request->resource.plural);
    watch->ns = dv_strdup(request->resource.ns);
    watch->name = dv_strdup(request->resource.name);
    watch->selector = dv_strdup(request->label_selector);
    watch->known = json_object();
    LL_PREPEND2(world->watches, watch, link);
    if (world->api_down[watch->server])
        watch_send_sign(world, watch, PORT_KUBE_TROUBLE);
    else
        watch_list(world, watch);
}

static void watch_free(struct world *world, struct world_watch *watch)
{
    LL_DELETE2(world->watches, watch, link);
    free(watch->plural);
    free(watch->ns);
    free(watch->name);
    free(watch->selector);
    json_decref(watch->known);
    free(watch);
}

void world_watch_stop(struct world *world, port_id id)
{
    struct world_watch *watch = NULL;
    struct world_watch *next = NULL;
    LL_FOREACH_SAFE2(world->watches, watch, next, link)
    if (watch->id == id && watch->epoch == world->epoch)
        watch_free(world, watch);
}

/* ---------------------------------------------------------------- logs */

struct follow_end {
    port_id id;
    uint64_t epoch;
};

static struct world_follow *follow_find(struct world *world, port_id id, uint64_t epoch)
{
    struct world_follow *follow = NULL;
    LL_FOREACH2(world->follows, follow, link)
    if (follow->id == id && follow->epoch == epoch)
        return follow;
    return NULL;
}

static void follow_pump(struct world *world, void *arg)
{
    struct follow_end *end = arg;
    struct world_follow *follow = follow_find(world, end->id, end->epoch);
    free(end);
    if (follow == NULL || follow->epoch != world->epoch || world->controller == NULL || world->dead)
        return;
    struct world_dist *dist = &world->dist[follow->side];
    struct dv_buf lines = DV_BUF_INIT(1 << 20);
    follow->due = false;
    for (; follow->next < dist->line_count; follow->next++)
        (void)dv_buf_addf(&lines, "%s%s", lines.len > 0 ? "\n" : "", dist->lines[follow->next].text);
    struct port_kube_event event = {.kind = PORT_KUBE_LINES, .id = follow->id, .text = dv_buf_text(&lines), .len = lines.len};
    if (lines.len > 0)
        controller_on_kube(world->controller, &event);
    dv_buf_free(&lines);
}

static void follow_soon(struct world *world, struct world_follow *follow)
{
    if (follow->due)
        return;
    struct follow_end *end = dv_alloc(sizeof *end);
    *end = (struct follow_end){follow->id, follow->epoch};
    follow->due = true;
    world_after(world, world_between(world, 5, 80), follow_pump, free, end);
}

static void watch_add_line(struct world_dist *dist, const char *text)
{
    struct world *world = dist->world;
    struct world_follow *follow = NULL;
    dist->lines = dv_reallocarray(dist->lines, dist->line_count + 1, sizeof *dist->lines);
    dist->lines[dist->line_count++] = (struct world_line){world_wall(world), dv_strdup(text)};
    LL_FOREACH2(world->follows, follow, link)
    if (follow->side == dist->side)
        follow_soon(world, follow);
}

void world_log(struct world_dist *dist, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    watch_add_line(dist, text);
}

/* "2026-03-02 10:00:00,123 " and the text, as log4j writes. */
void world_log_dated(struct world_dist *dist, const char *fmt, ...)
{
    char text[1024];
    char when[DV_TIME_TEXT];
    int64_t wall = world_wall(dist->world);
    dv_time_format(wall, when);
    int n = snprintf(text, sizeof text, "%.10s %.8s,%03d ", when, when + 11, (int)(wall % 1000));
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text + n, sizeof text - (size_t)n, fmt, ap);
    va_end(ap);
    watch_add_line(dist, text);
}

void world_log_start(struct world *world, port_id id, const struct port_log *log)
{
    struct world_follow *follow = dv_alloc(sizeof *follow);
    follow->id = id;
    follow->epoch = world->epoch;
    follow->side = dv_starts_with(log->pod, "dc2") ? 1 : 0;
    struct world_dist *dist = &world->dist[follow->side];
    while (follow->next < dist->line_count && dist->lines[follow->next].wall_ms < log->since_ms)
        follow->next++;
    LL_PREPEND2(world->follows, follow, link);
    follow_soon(world, follow);
}

static void follow_free(struct world *world, struct world_follow *follow)
{
    LL_DELETE2(world->follows, follow, link);
    free(follow);
}

void world_log_stop(struct world *world, port_id id)
{
    struct world_follow *follow = follow_find(world, id, world->epoch);
    if (follow != NULL)
        follow_free(world, follow);
}

static void follow_end(struct world *world, void *arg)
{
    struct follow_end *end = arg;
    struct port_kube_event event = {.kind = PORT_KUBE_LOG_END, .id = end->id};
    if (end->epoch == world->epoch && world->controller != NULL && !world->dead && follow_find(world, end->id, end->epoch) != NULL)
        controller_on_kube(world->controller, &event);
    free(end);
}

/* The container ended: whoever followed it hears so. */
void world_logs_end(struct world_dist *dist)
{
    struct world *world = dist->world;
    struct world_follow *follow = NULL;
    LL_FOREACH2(world->follows, follow, link)
    {
        if (follow->side != dist->side)
            continue;
        struct follow_end *end = dv_alloc(sizeof *end);
        *end = (struct follow_end){follow->id, follow->epoch};
        world_after(world, world_between(world, 5, 80), follow_end, free, end);
    }
}

void world_drop_epoch(struct world *world)
{
    while (world->watches != NULL)
        watch_free(world, world->watches);
    while (world->follows != NULL)
        follow_free(world, world->follows);
}

/* The API server: a store of JSON objects, requests with answers, conflicts, finalizers. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/timefmt.h"

/* ---------------------------------------------------------------- the store */

static struct world_object *kube_find(struct world *world, int server, const char *plural, const char *name)
{
    for (size_t i = 0; i < world->object_count; i++) {
        struct world_object *object = &world->objects[i];
        if (object->server == server && dv_streq(object->plural, plural) && dv_streq(object->name, name))
            return object;
    }
    return NULL;
}

json_t *world_get(struct world *world, int server, const char *plural, const char *name)
{
    struct world_object *object = kube_find(world, server, plural, name);
    return object != NULL ? object->json : NULL;
}

static json_t *kube_meta(json_t *object)
{
    return json_object_get(object, "metadata");
}

static void kube_stamp_time(struct world *world, json_t *json, const char *key)
{
    char text[DV_TIME_TEXT];
    dv_time_format(world_wall(world), text);
    json_object_set_new(json, key, json_string(text));
}

static void kube_bump(struct world *world, json_t *object)
{
    char text[24];
    json_object_set_new(kube_meta(object), "resourceVersion",
                        json_string(dv_format(text, sizeof text, "%lld", (long long)++world->version)));
}

static void kube_manage(struct world *world, json_t *object, const char *manager)
{
    json_t *list = json_object_get(kube_meta(object), "managedFields");
    if (list == NULL)
        json_object_set_new(kube_meta(object), "managedFields", list = json_array());
    for (size_t i = json_array_size(list); i > 0; i--)
        if (dv_streq(json_string_value(json_object_get(json_array_get(list, i - 1), "manager")), manager))
            json_array_remove(list, i - 1);
    json_t *item = json_pack("{s:s, s:s}", "manager", manager, "operation", "Update");
    kube_stamp_time(world, item, "time");
    json_array_append_new(list, item);
}

static void kube_release(struct world_object *object)
{
    free(object->plural);
    free(object->ns);
    free(object->name);
    json_decref(object->json);
}

static void kube_take_out(struct world *world, struct world_object *object)
{
    struct world_object gone = *object;
    *object = world->objects[--world->object_count];
    world->version++;
    world_changed(world, &gone, true);
    kube_release(&gone);
}

static void kube_insert(struct world *world, int server, const char *plural, json_t *json)
{
    char uid[48];
    json_t *meta = kube_meta(json);
    if (json_object_get(meta, "namespace") == NULL)
        json_object_set_new(meta, "namespace", json_string(WORLD_NS));
    json_object_set_new(meta, "uid", json_string(dv_format(uid, sizeof uid, "uid-%016llx", (unsigned long long)world_draw(world))));
    json_object_set_new(meta, "generation", json_integer(1));
    kube_stamp_time(world, meta, "creationTimestamp");
    world->objects = dv_reallocarray(world->objects, world->object_count + 1, sizeof *world->objects);
    struct world_object *object = &world->objects[world->object_count++];
    *object = (struct world_object){.server = server,
                                    .plural = dv_strdup(plural),
                                    .ns = dv_strdup(json_string_value(json_object_get(meta, "namespace"))),
                                    .name = dv_strdup(json_string_value(json_object_get(meta, "name"))),
                                    .json = json};
    kube_bump(world, json);
    world_changed(world, object, false);
}

static bool kube_differs(const json_t *a, const json_t *b, const char *key)
{
    json_t *x = json_object_get(a, key);
    json_t *y = json_object_get(b, key);
    return x != y && (x == NULL || y == NULL || !json_equal(x, y));
}

void world_put(struct world *world, int server, const char *plural, json_t *json, const char *manager)
{
    struct world_object *object = kube_find(world, server, plural, json_string_value(json_object_get(kube_meta(json), "name")));
    if (object == NULL) {
        if (manager != NULL)
            kube_manage(world, json, manager);
        kube_insert(world, server, plural, json);
        return;
    }
    json_t *old = object->json;
    json_t *meta = json_deep_copy(kube_meta(old));
    json_object_update(meta, kube_meta(json));
    int64_t generation = json_integer_value(json_object_get(meta, "generation"));
    if (kube_differs(old, json, "spec"))
        json_object_set_new(meta, "generation", json_integer(generation + 1));
    json_object_set_new(json, "metadata", meta);
    if (json_object_get(json, "status") == NULL && json_object_get(old, "status") != NULL)
        json_object_set(json, "status", json_object_get(old, "status"));
    if (manager != NULL)
        kube_manage(world, json, manager);
    bool same = json_equal(old, json);
    object->json = json;
    if (!same) {
        kube_bump(world, json);
        world_changed(world, object, false);
    }
    json_decref(old);
}

void world_remove(struct world *world, int server, const char *plural, const char *name)
{
    struct world_object *object = kube_find(world, server, plural, name);
    if (object == NULL)
        return;
    json_t *meta = kube_meta(object->json);
    if (json_array_size(json_object_get(meta, "finalizers")) == 0) {
        kube_take_out(world, object);
        return;
    }
    if (json_object_get(meta, "deletionTimestamp") != NULL)
        return;
    json_t *changed = json_deep_copy(object->json);
    kube_stamp_time(world, kube_meta(changed), "deletionTimestamp");
    json_object_set_new(kube_meta(changed), "generation", json_integer(json_integer_value(json_object_get(meta, "generation")) + 1));
    json_decref(object->json);
    object->json = changed;
    kube_bump(world, changed);
    world_changed(world, object, false);
}

/* ---------------------------------------------------------------- requests */

struct kube_request {
    port_id id;
    uint64_t epoch;
    int server;
    enum port_verb verb;
    char *plural, *name, *subresource;
    json_t *body;
    struct dv_err err;
    json_t *answer;
};

static void kube_request_free(void *arg)
{
    struct kube_request *request = arg;
    free(request->plural);
    free(request->name);
    free(request->subresource);
    json_decref(request->body);
    json_decref(request->answer);
    free(request);
}

static void kube_refuse(struct kube_request *request, enum dv_err_kind kind, int code, const char *text)
{
    (void)dv_err_set(&request->err, kind, "%s %s: %s", request->plural, request->name != NULL ? request->name : "", text);
    request->err.code = code;
    request->err.retry = kind == DV_ERR_UNREACHABLE || kind == DV_ERR_TIMEOUT;
}

static bool kube_precondition(struct kube_request *request, const json_t *object)
{
    static const char *const keys[] = {"uid", "resourceVersion"};
    const json_t *want = json_object_get(request->body, "metadata");
    for (size_t i = 0; i < 2; i++) {
        const char *have = json_string_value(json_object_get(json_object_get(object, "metadata"), keys[i]));
        const char *text = json_string_value(json_object_get(want, keys[i]));
        if (text == NULL || dv_streq(text, have))
            continue;
        kube_refuse(request, DV_ERR_CONFLICT, 409, "the object has been modified");
        return false;
    }
    return true;
}

static void kube_merge(json_t *target, const json_t *patch)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach ((json_t *)(uintptr_t)patch, key, value) {
        json_t *old = json_object_get(target, key);
        if (json_is_null(value))
            json_object_del(target, key);
        else if (json_is_object(value) && json_is_object(old))
            kube_merge(old, value);
        else
            json_object_set_new(target, key, json_deep_copy(value));
    }
}

static void kube_store(struct world *world, struct kube_request *request, struct world_object *object, json_t *changed)
{
    bool same = json_equal(changed, object->json);
    json_t *meta = kube_meta(changed);
    if (!same) {
        if (kube_differs(object->json, changed, "spec"))
            json_object_set_new(meta, "generation", json_integer(json_integer_value(json_object_get(meta, "generation")) + 1));
        if (request->verb == PORT_MERGE_PATCH)
            kube_manage(world, changed, "distverify");
        json_decref(object->json);
        object->json = changed;
        kube_bump(world, changed);
        world_changed(world, object, false);
    } else {
        json_decref(changed);
    }
    request->answer = json_deep_copy(object->json);
    if (json_object_get(kube_meta(object->json), "deletionTimestamp") != NULL &&
        json_array_size(json_object_get(kube_meta(object->json), "finalizers")) == 0)
        kube_take_out(world, object);
}

/* Fields an older CRD does not know, as an API server names them. */
static bool kube_unknown(struct world *world, struct kube_request *request)
{
    struct dv_buf text = DV_BUF_INIT(4096);
    const json_t *status = json_object_get(request->body, "status");
    size_t i = 0;
    const json_t *stage = NULL;
    if (world->crd_old && json_object_get(json_object_get(status, "run"), "lastProgressAt") != NULL)
        (void)dv_buf_addf(&text, "unknown field \"status.run.lastProgressAt\"");
    json_array_foreach(json_object_get(status, "stages"), i,
                       stage) if (world->crd_old && json_object_get(json_object_get(stage, "evidence"), "watchedSeconds") != NULL)(void)
        dv_buf_addf(&text, "%sunknown field \"status.stages[%zu].evidence.watchedSeconds\"", text.len > 0 ? ", " : "", i);
    if (text.len > 0)
        kube_refuse(request, DV_ERR_INVALID, 400, dv_buf_text(&text));
    dv_buf_free(&text);
    return request->err.kind != DV_ERR_NONE;
}

static void kube_replace_status(struct world *world, struct kube_request *request, struct world_object *object)
{
    world->counts.status_writes++;
    if (world->api_conflicts > 0) {
        world->api_conflicts--;
        kube_refuse(request, DV_ERR_CONFLICT, 409, "the object has been modified");
        return;
    }
    if (!kube_precondition(request, object->json)) {
        world->counts.conflicts++;
        return;
    }
    if (kube_unknown(world, request))
        return;
    world_check_status(world, json_object_get(request->body, "status"));
    json_t *changed = json_deep_copy(object->json);
    json_object_set(changed, "status", json_object_get(request->body, "status"));
    kube_store(world, request, object, changed);
}

static void kube_patch(struct world *world, struct kube_request *request, struct world_object *object)
{
    if (!kube_precondition(request, object->json))
        return;
    json_t *changed = json_deep_copy(object->json);
    kube_merge(changed, request->body);
    kube_store(world, request, object, changed);
    for (int side = 0; side < MODEL_SIDES; side++) {
        char name[64];
        (void)dv_format(name, sizeof name, "dc%d-distributor-values", side + 1);
        if (!dv_streq(request->name, name))
            continue;
        world->counts.values_writes++;
        world_values_changed(world, side);
    }
}

static void kube_review(struct world *world, struct kube_request *request)
{
    char text[128];
    const json_t *want = json_object_get(json_object_get(request->body, "spec"), "resourceAttributes");
    (void)dv_format(text, sizeof text, "%s %s", json_string_value(json_object_get(want, "verb")),
                    json_string_value(json_object_get(want, "resource")));
    request->answer = json_deep_copy(request->body);
    json_object_set_new(request->answer, "status", json_pack("{s:b}", "allowed", strstr(world->api_deny, text) == NULL));
}

static void kube_create(struct world *world, struct kube_request *request)
{
    if (dv_streq(request->plural, "selfsubjectaccessreviews")) {
        kube_review(world, request);
        return;
    }
    request->answer = json_deep_copy(request->body);
    if (!dv_streq(request->plural, "events")) {
        kube_insert(world, request->server, request->plural, json_deep_copy(request->body));
        return;
    }
    world->counts.events++;
    if (!dv_starts_with(json_string_value(json_object_get(request->body, "note")), "run "))
        world_break(world, "the event %s names no run", json_string_value(json_object_get(request->body, "reason")));
    json_array_append(world->happened, json_object_get(request->body, "reason"));
}

static void kube_serve(struct world *world, struct kube_request *request)
{
    struct world_object *object = kube_find(world, request->server, request->plural, request->name);
    if (request->verb == PORT_CREATE) {
        kube_create(world, request);
        return;
    }
    if (object == NULL) {
        kube_refuse(request, DV_ERR_NOT_FOUND, 404, "not found");
        return;
    }
    switch (request->verb) {
    case PORT_GET: request->answer = json_deep_copy(object->json); break;
    case PORT_REPLACE: kube_replace_status(world, request, object); break;
    case PORT_MERGE_PATCH: kube_patch(world, request, object); break;
    case PORT_DELETE: world_remove(world, request->server, request->plural, request->name); break;
    case PORT_CREATE: break;
    }
}

static void kube_answer(struct world *world, void *arg)
{
    struct kube_request *request = arg;
    struct port_kube_event event = {.kind = PORT_KUBE_ANSWER, .id = request->id, .err = request->err, .json = request->answer};
    if (request->epoch == world->epoch && world->controller != NULL && !world->dead)
        controller_on_kube(world->controller, &event);
    kube_request_free(request);
}

static void kube_arrive(struct world *world, void *arg)
{
    struct kube_request *request = arg;
    int64_t back = world_between(world, 1, 8);
    if (world->api_down[request->server]) {
        kube_refuse(request, DV_ERR_UNREACHABLE, 0, "connection refused");
        back = world_between(world, 100, 900);
    } else {
        kube_serve(world, request);
    }
    if (world->api_lose > 0 && request->verb != PORT_GET && request->verb != PORT_CREATE && !world->api_down[request->server]) {
        world->api_lose--;
        dv_err_clear(&request->err);
        kube_refuse(request, DV_ERR_TIMEOUT, 0, "no answer in time");
        json_decref(request->answer);
        request->answer = NULL;
        back = world_between(world, 1000, 30000) / world->slow; /* the port gives up after 30 s */
    }
    world_after(world, back, kube_answer, kube_request_free, request);
}

static void kube_call(void *impl, port_id id, const struct port_call *call)
{
    struct world *world = impl;
    if (world->dead)
        return;
    struct kube_request *request = dv_alloc(sizeof *request);
    request->id = id;
    request->epoch = world->epoch;
    request->server = call->server.secret != NULL;
    request->verb = call->verb;
    request->plural = dv_strdup(call->resource.plural);
    request->name = dv_strdup(call->resource.name);
    request->subresource = dv_strdup(call->resource.subresource);
    request->body = call->body != NULL ? json_deep_copy(call->body) : NULL;
    world_after(world, world_between(world, 1, 8), kube_arrive, kube_request_free, request);
}

static void kube_watch(void *impl, port_id id, const struct port_watch *watch)
{
    struct world *world = impl;
    if (!world->dead)
        world_watch_start(world, id, watch);
}

static void kube_watch_stop(void *impl, port_id id)
{
    struct world *world = impl;
    if (!world->dead)
        world_watch_stop(world, id);
}

static void kube_log(void *impl, port_id id, const struct port_log *log)
{
    struct world *world = impl;
    if (!world->dead)
        world_log_start(world, id, log);
}

static void kube_log_stop(void *impl, port_id id)
{
    struct world *world = impl;
    if (!world->dead)
        world_log_stop(world, id);
}

static int64_t kube_lease_left(void *impl)
{
    const struct world *world = impl;
    return world->lease_ms;
}

struct port_kube world_kube_port(struct world *world)
{
    return (struct port_kube){.impl = world,
                              .call = kube_call,
                              .watch = kube_watch,
                              .watch_stop = kube_watch_stop,
                              .log = kube_log,
                              .log_stop = kube_log_stop,
                              .lease_left_ms = kube_lease_left};
}

void world_kube_free(struct world *world)
{
    for (size_t i = 0; i < world->object_count; i++)
        kube_release(&world->objects[i]);
    free(world->objects);
}

#include "kube/call.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/mem.h"
#include "base/b64.h"
#include "kube/server.h"

#define FIELD_MANAGER "distverify"
#define RETRIES_MAX 5
#define TARGET_MAX 8192
/* Beyond the time of the request itself, so that its own, more exact error wins. */
#define DEADLINE_MS (KUBE_CALL_MS + 1000)

struct kube_calls {
    struct kube *kube;
    struct kube_calls *prev, *next;
    port_id id;
    struct kube_server *server;
    enum port_verb verb;
    struct port_resource resource;
    char *body;
    size_t body_len;
    struct kube_discovery *discovery;
    struct kube_request *request;
    struct loop_timer *deadline, *again;
    int64_t deadline_ms;
    int retries;
};

struct verb_row {
    const char *method, *name, *content_type;
};

static const struct verb_row *verb_row(enum port_verb verb)
{
    static const struct verb_row get = {"GET", "get", NULL};
    static const struct verb_row create = {"POST", "create", "application/json"};
    static const struct verb_row replace = {"PUT", "update", "application/json"};
    static const struct verb_row patch = {"PATCH", "patch", "application/merge-patch+json"};
    static const struct verb_row delete = {"DELETE", "delete", NULL};
    switch (verb) {
    case PORT_GET: return &get;
    case PORT_CREATE: return &create;
    case PORT_REPLACE: return &replace;
    case PORT_MERGE_PATCH: return &patch;
    case PORT_DELETE: return &delete;
    }
    return &get;
}

static void call_free(struct kube_calls *call)
{
    DL_DELETE(call->kube->calls, call);
    kube_discovery_cancel(call->discovery);
    kube_request_cancel(call->request);
    loop_timer_free(call->deadline);
    loop_timer_free(call->again);
    kube_resource_free(&call->resource);
    dv_wipe(call->body, call->body_len);
    free(call);
}

static void call_answer(struct kube_calls *call, const struct dv_err *err, int status, const json_t *json)
{
    struct kube *kube = call->kube;
    struct port_kube_event event = {.kind = PORT_KUBE_ANSWER, .id = call->id, .err = *err, .json = json};
    if (err->kind == DV_ERR_NONE)
        event.err.code = status;
    call_free(call); /* before, so that the sink may do anything */
    kube->sink(kube->arg, &event);
}

static void call_fail(struct kube_calls *call, const struct dv_err *err)
{
    call_answer(call, err, 0, NULL);
}

static void call_late(void *arg)
{
    struct kube_calls *call = arg;
    struct dv_err err = DV_ERR_INIT;
    char what[KUBE_RESOURCE_TEXT];
    (void)dv_err_retry(&err, DV_ERR_TIMEOUT, "%s: %s %s: no answer within %d s", kube_server_name(call->server), verb_row(call->verb)->name,
                       kube_resource_text(&call->resource, what), KUBE_CALL_MS / 1000);
    call_fail(call, &err);
}

static void call_send(struct kube_calls *call, const char *version);
static void call_resolve(struct kube_calls *call);

static void call_again(void *arg)
{
    call_resolve(arg);
}

/* The server said that it did nothing and when to come again: worth it within the time of the call. */
static bool call_retry(struct kube_calls *call, const struct http_answer *answer)
{
    bool asked = answer->status == 429 || (answer->status == 503 && answer->retry_after_ms > 0);
    int64_t wait = answer->retry_after_ms > 0 ? answer->retry_after_ms : 1000;
    if (!asked || call->retries >= RETRIES_MAX || dv_clock_now().mono_ms + wait >= call->deadline_ms)
        return false;
    call->retries++;
    loop_timer_set(call->again, wait);
    return true;
}

static void call_done(void *arg, const struct http_answer *answer)
{
    struct kube_calls *call = arg;
    struct dv_err err = DV_ERR_INIT;
    json_t *json = NULL;
    call->request = NULL;
    if (call_retry(call, answer))
        return;
    if (kube_answer_check(answer, kube_server_name(call->server), verb_row(call->verb)->name, &call->resource, &err) == 0)
        json = kube_json(answer->body, answer->body_len, &err);
    if (err.kind == DV_ERR_UNSUPPORTED)
        kube_discovery_forget(call->server, &call->resource);
    call_answer(call, &err, answer->status, json);
    json_decref(json);
}

static void call_send(struct kube_calls *call, const char *version)
{
    const struct verb_row *verb = verb_row(call->verb);
    struct dv_buf target = DV_BUF_INIT(TARGET_MAX);
    struct port_resource resource = call->resource;
    if (call->verb == PORT_CREATE && resource.subresource == NULL)
        resource.name = NULL;
    kube_path_add(&target, &resource, version);
    if (call->body != NULL) {
        kube_query_add(&target, "fieldManager", FIELD_MANAGER);
        kube_query_add(&target, "fieldValidation", "Strict");
    }
    struct kube_request_spec spec = {.method = verb->method,
                                     .target = dv_buf_text(&target),
                                     .content_type = verb->content_type,
                                     .body = call->body,
                                     .body_len = call->body_len,
                                     .timeout_ms = KUBE_CALL_MS,
                                     .on_done = call_done,
                                     .arg = call};
    call->request = kube_request_start(call->server, &spec);
    dv_buf_free(&target);
}

static void call_discovered(void *arg, const struct dv_err *err, const char *version)
{
    struct kube_calls *call = arg;
    call->discovery = NULL;
    if (err->kind != DV_ERR_NONE)
        call_fail(call, err);
    else
        call_send(call, version);
}

static void call_resolve(struct kube_calls *call)
{
    const char *version = kube_discovery_known(call->server, &call->resource);
    if (version != NULL)
        call_send(call, version);
    else
        call->discovery = kube_discovery_start(call->server, &call->resource, call_discovered, call);
}

void kube_call_start(struct kube *kube, port_id id, const struct port_call *call)
{
    struct kube_calls *made = dv_alloc(sizeof *made);
    made->kube = kube;
    made->id = id;
    made->server = kube_server_get(kube, &call->server);
    made->verb = call->verb;
    made->resource = kube_resource_copy(&call->resource);
    made->body = call->body != NULL ? json_dumps(call->body, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    made->body_len = made->body != NULL ? strlen(made->body) : 0;
    made->deadline = loop_timer_new(kube->loop, call_late, made);
    made->again = loop_timer_new(kube->loop, call_again, made);
    made->deadline_ms = dv_clock_now().mono_ms + DEADLINE_MS;
    loop_timer_set(made->deadline, DEADLINE_MS);
    DL_APPEND(kube->calls, made);
    call_resolve(made);
}

void kube_calls_free(struct kube *kube)
{
    while (kube->calls != NULL)
        call_free(kube->calls);
}

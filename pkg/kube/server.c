#include "kube/server.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/mem.h"
#include "base/b64.h"
#include "kube/secrets.h"

#define SECRET_AGE_MS (5 * 60 * 1000)
#define SECRET_AGAIN_MS 10000  /* no sooner after a 401 */
#define FAILURE_STANDS_MS 2000 /* requests right after a failure get the same answer */

struct kube_request {
    struct kube_server *server;
    struct kube_link *link;
    struct http_call *call;
    struct kube_request *prev, *next; /* in the server's waiting or running */
    bool running, retried;
    struct kube_request_spec spec;
    char *target, *body;
};

struct kube_server {
    struct kube *kube;
    struct kube_server *next;
    struct port_server ref; /* ns NULL: own */
    char *name;
    struct kube_link *link;
    struct kube_request *waiting, *running;
    struct kube_secret_get *loading;
    struct dv_err err; /* of the last load */
    int64_t loaded_ms, failed_ms;
    struct loop_timer *timer;
    struct kube_discovery_cache *discovery;
    unsigned int epoch;
    char *address; /* URL of the link before */
};

static void server_kick(struct kube_server *server);
static void server_load(struct kube_server *server);

/* ---------------------------------------------------------------- requests */

static void request_free(struct kube_request *request)
{
    if (request->running)
        DL_DELETE(request->server->running, request);
    else
        DL_DELETE(request->server->waiting, request);
    kube_link_unref(request->link);
    dv_wipe(request->body, request->spec.body_len);
    free(request->target);
    free(request);
}

static void request_end(struct kube_request *request, const struct http_answer *answer)
{
    request->call = NULL;
    request->spec.on_done(request->spec.arg, answer);
    request_free(request);
}

static void request_fail(struct kube_request *request, const struct dv_err *err)
{
    struct http_answer answer = {.err = *err, .content_type = "", .body = ""};
    request_end(request, &answer);
}

static void request_to_waiting(struct kube_request *request)
{
    DL_DELETE(request->server->running, request);
    request->running = false;
    request->call = NULL;
    kube_link_unref(request->link);
    request->link = NULL;
    DL_APPEND(request->server->waiting, request);
}

static bool server_is_own(const struct kube_server *server)
{
    return server->ref.ns == NULL;
}

static void server_rename(struct kube_server *server)
{
    free(server->name);
    server->name = dv_strdup(http_peer_name(server->link->peer));
    if (dv_streq(server->address, server->link->identity.server))
        return;
    free(server->address);
    server->address = dv_strdup(server->link->identity.server);
    server->epoch++;
}

/* Watches and logs that run with credentials that are no longer valid for us begin anew. */
static void server_end_old_streams(struct kube_server *server)
{
    struct dv_err err = DV_ERR_INIT;
    (void)dv_err_retry(&err, DV_ERR_UNREACHABLE, "%s: the kubeconfig changed, connecting anew", server->name);
    for (struct kube_request *request = server->running; request != NULL;) {
        if (request->spec.on_data == NULL || request->link == server->link) {
            request = request->next;
            continue;
        }
        http_cancel(request->call);
        request_fail(request, &err);
        request = server->running;
    }
}

static void server_swap_link(struct kube_server *server, struct kube_link *link)
{
    kube_link_unref(server->link);
    server->link = link;
    server_rename(server);
}

/* The file may hold other credentials by now. One that is refused changes nothing: what we have goes on being used. */
static bool server_reload_file(struct kube_server *server)
{
    struct kube_identity identity = {0};
    if (server->kube->kubeconfig == NULL || kubeconfig_load(server->kube->kubeconfig, &identity, NULL) != 0)
        return false;
    struct kube_link *link = kube_link_get(server->kube, &identity, NULL);
    if (link == NULL || link == server->link) {
        kube_link_unref(link);
        return false;
    }
    server_swap_link(server, link);
    return true;
}

/* After a 401: true when new credentials are on their way, so that the request is worth a second try. */
static bool server_renew(struct kube_server *server, struct kube_link *link)
{
    if (server_is_own(server))
        return kube_link_renew_token(link) || link != server->link || server_reload_file(server);
    if (link != server->link)
        return true;
    if (dv_clock_now().mono_ms - server->loaded_ms < kube_period(server->kube, SECRET_AGAIN_MS))
        return false;
    kube_link_unref(server->link);
    server->link = NULL;
    return true;
}

/* An API server that moved or changed its CA: the Secret may say more by now. */
static void server_doubt(struct kube_server *server, const struct kube_link *link, const struct dv_err *err)
{
    bool doubt = err->kind == DV_ERR_CERT || err->kind == DV_ERR_UNREACHABLE;
    if (doubt && !server_is_own(server) && link == server->link &&
        dv_clock_now().mono_ms - server->loaded_ms >= kube_period(server->kube, SECRET_AGAIN_MS))
        server_load(server);
}

static void request_data(void *arg, const char *bytes, size_t len)
{
    struct kube_request *request = arg;
    request->spec.on_data(request->spec.arg, bytes, len);
}

static void request_head(void *arg, int status, const char *content_type)
{
    struct kube_request *request = arg;
    request->spec.on_head(request->spec.arg, status, content_type);
}

static void request_done(void *arg, const struct http_answer *answer)
{
    struct kube_request *request = arg;
    struct kube_server *server = request->server;
    if (answer->status == 401 && !request->retried && server_renew(server, request->link)) {
        request->retried = true;
        request_to_waiting(request);
        /* Whoever hears that a stream ended may cancel this request too: it waits, and is not touched any more. */
        if (server->link != NULL)
            server_end_old_streams(server);
        server_kick(server);
        return;
    }
    server_doubt(server, request->link, &answer->err);
    request_end(request, answer);
}

static void request_send(struct kube_request *request)
{
    struct kube_server *server = request->server;
    struct kube_request_spec spec = request->spec;
    DL_DELETE(server->waiting, request);
    DL_APPEND(server->running, request);
    request->running = true;
    request->link = server->link;
    request->link->refs++;
    spec.on_data = spec.on_data != NULL ? request_data : NULL;
    spec.on_head = spec.on_head != NULL ? request_head : NULL;
    spec.on_done = request_done;
    spec.arg = request;
    request->call = kube_link_start(request->link, &spec);
}

struct kube_request *kube_request_start(struct kube_server *server, const struct kube_request_spec *spec)
{
    struct kube_request *request = dv_alloc(sizeof *request);
    request->server = server;
    request->spec = *spec;
    request->target = dv_strdup(spec->target);
    request->spec.target = request->target;
    if (spec->body != NULL) {
        request->body = dv_alloc(spec->body_len + 1);
        memcpy(request->body, spec->body, spec->body_len);
    }
    request->spec.body = request->body;
    DL_APPEND(server->waiting, request);
    server_kick(server);
    return request;
}

void kube_request_cancel(struct kube_request *request)
{
    if (request == NULL)
        return;
    http_cancel(request->call);
    request_free(request);
}

/* ---------------------------------------------------------------- credentials from a Secret */

/* Only those that wait now: whoever asks again from within its callback is answered in the next round. */
static void server_fail_waiting(struct kube_server *server)
{
    size_t count = 0;
    struct kube_request *request = NULL;
    DL_COUNT(server->waiting, request, count);
    for (; count > 0 && server->waiting != NULL; count--)
        request_fail(server->waiting, &server->err);
}

static void server_send_waiting(struct kube_server *server)
{
    while (server->waiting != NULL && server->link != NULL)
        request_send(server->waiting);
}

static int server_take_secret(struct kube_server *server, const char *text, size_t len, struct dv_err *err)
{
    struct kube_identity identity = {0};
    if (kubeconfig_parse(text, len, NULL, &identity, err) != 0)
        return -1;
    struct kube_link *link = kube_link_get(server->kube, &identity, err);
    if (link == NULL)
        return -1;
    server_swap_link(server, link);
    server_end_old_streams(server);
    return 0;
}

/* A Secret that vanished or went bad counts at once: what it gave before is not used any longer. */
static void server_load_failed(struct kube_server *server)
{
    kube_link_unref(server->link);
    server->link = NULL;
    server->failed_ms = dv_clock_now().mono_ms;
    server_fail_waiting(server);
}

static void server_loaded(void *arg, const struct dv_err *err, const char *const *values, const size_t *lens, size_t count)
{
    struct kube_server *server = arg;
    server->loading = NULL;
    server->loaded_ms = dv_clock_now().mono_ms;
    server->err = err != NULL ? *err : DV_ERR_INIT;
    if (server->err.kind == DV_ERR_NONE && count == 1 && server_take_secret(server, values[0], lens[0], &server->err) != 0)
        (void)dv_err_wrap(&server->err, "kubeconfig in Secret %s/%s key %s", server->ref.ns, server->ref.secret, server->ref.key);
    /* The own API server being away says nothing about the Secret: what was read before goes on being used. */
    if (server->err.kind != DV_ERR_NONE && !(server->err.retry && server->link != NULL)) {
        server_load_failed(server);
        return;
    }
    server->failed_ms = 0;
    server_send_waiting(server);
}

static void server_load(struct kube_server *server)
{
    struct port_secret_item item = {server->ref.secret, server->ref.key};
    if (server->loading == NULL)
        server->loading = kube_secret_get_start(server->kube, server->ref.ns, &item, 1, server_loaded, server);
}

static void server_timer(void *arg)
{
    struct kube_server *server = arg;
    server_fail_waiting(server);
    if (server->waiting != NULL)
        server_kick(server);
}

static void server_kick(struct kube_server *server)
{
    int64_t now = dv_clock_now().mono_ms;
    if (server->link != NULL) {
        if (!server_is_own(server) && now - server->loaded_ms >= kube_period(server->kube, SECRET_AGE_MS))
            server_load(server); /* what is at hand serves meanwhile */
        server_send_waiting(server);
    } else if (server->loading == NULL && server->failed_ms > 0 && now - server->failed_ms < kube_period(server->kube, FAILURE_STANDS_MS)) {
        loop_timer_set(server->timer, 0);
    } else {
        server_load(server);
    }
}

/* ---------------------------------------------------------------- servers */

static struct kube_server *server_new(struct kube *kube, const struct port_server *ref)
{
    struct kube_server *server = dv_alloc(sizeof *server);
    server->kube = kube;
    server->ref = kube_server_ref_copy(ref);
    server->timer = loop_timer_new(kube->loop, server_timer, server);
    if (ref->ns != NULL)
        server->name = dv_asprintf("API server of Secret %s/%s", ref->ns, ref->secret);
    server->next = kube->servers;
    kube->servers = server;
    return server;
}

struct kube_server *kube_server_get(struct kube *kube, const struct port_server *ref)
{
    if (ref->ns == NULL)
        return kube->own;
    for (struct kube_server *server = kube->servers; server != NULL; server = server->next)
        if (dv_streq(server->ref.ns, ref->ns) && dv_streq(server->ref.secret, ref->secret) && dv_streq(server->ref.key, ref->key))
            return server;
    return server_new(kube, ref);
}

const char *kube_server_name(const struct kube_server *server)
{
    return server->name;
}

unsigned int kube_server_epoch(const struct kube_server *server)
{
    return server->epoch;
}

struct kube_discovery_cache **kube_server_discovery(struct kube_server *server)
{
    return &server->discovery;
}

int kube_server_own_identity(struct kube *kube, struct kube_identity *identity, struct dv_err *err)
{
    static const struct port_server own = {0};
    struct kube_link *link = kube_link_get(kube, identity, err);
    if (link == NULL)
        return -1;
    kube->own = server_new(kube, &own);
    kube->own->link = link;
    server_rename(kube->own);
    return 0;
}

int kube_server_own(struct kube *kube, struct dv_err *err)
{
    struct kube_identity identity = {0};
    int rc = kube->kubeconfig != NULL ? kubeconfig_load(kube->kubeconfig, &identity, err)
                                      : kube_incluster_load(kube->account_dir, &identity, err);
    if (rc != 0)
        return -1;
    kube->ns = dv_strdup(identity.ns);
    return kube_server_own_identity(kube, &identity, err);
}

static void server_free(struct kube_server *server)
{
    kube_discovery_free(server->discovery);
    kube_secret_get_cancel(server->loading);
    while (server->waiting != NULL)
        kube_request_cancel(server->waiting);
    while (server->running != NULL)
        kube_request_cancel(server->running);
    kube_link_unref(server->link);
    loop_timer_free(server->timer);
    kube_server_ref_free(&server->ref);
    free(server->address);
    free(server->name);
    free(server);
}

void kube_servers_free(struct kube *kube)
{
    while (kube->servers != NULL) {
        struct kube_server *next = kube->servers->next;
        server_free(kube->servers);
        kube->servers = next;
    }
    kube->own = NULL;
}

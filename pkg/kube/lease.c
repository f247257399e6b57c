/* Leader election with a Lease, by client-go's rules: 15 s long, given up after 10 s without renewal, tried every 2 s.
 *
 * Nobody's wall clock is trusted: another holder's Lease is over when we saw no change of it for its duration, measured here. Ours lasts
 * 15 s from the moment before the renewal was sent, which is earlier than anybody else can have seen it. The clock runs on while the
 * machine sleeps. */
#include "kube/lease.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/timefmt.h"
#include "kube/kube.h"
#include "kube/server.h"

#define LEASE_MS 15000
#define RENEW_DEADLINE_MS 10000
#define RETRY_MS 2000
#define REQUEST_MS 5000
#define RELEASE_MS 3000
#define TROUBLE_AGAIN_MS 60000 /* the same trouble is told again */
#define TARGET_MAX 2048

struct kube_lease {
    struct kube *kube;
    struct kube_lease_options options;
    char *ns, *name, *identity;
    struct loop_timer *tick, *guard; /* next try; end of what is ours */
    struct kube_request *request;
    bool ours, over;    /* over: lost or stopped, nothing is done any more */
    int64_t renewed_ms; /* just before the last successful write was sent */
    int64_t sent_ms;
    json_t *seen; /* the Lease as last seen; NULL: not there */
    char *seen_rv;
    int64_t changed_ms; /* when seen_rv was first seen */
    char *told_waiting; /* holder or error text told last */
    int64_t told_ms;
    void (*stopped)(void *arg);
    void *stopped_arg;
};

static int64_t lease_clock(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_BOOTTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void lease_look(struct kube_lease *lease);

static struct port_resource lease_resource(const struct kube_lease *lease)
{
    return (struct port_resource){
        .group = "coordination.k8s.io", .version = "v1", .plural = "leases", .ns = lease->ns, .name = lease->name};
}

static const char *lease_holder(const json_t *object)
{
    const char *holder = json_string_value(json_object_get(json_object_get(object, "spec"), "holderIdentity"));
    return holder != NULL ? holder : "";
}

static void lease_tell_waiting(struct kube_lease *lease, const char *holder, const struct dv_err *err)
{
    const char *text = holder != NULL ? holder : err->text;
    int64_t now_ms = lease_clock();
    bool again = holder == NULL && now_ms - lease->told_ms >= kube_period(lease->kube, TROUBLE_AGAIN_MS);
    if (lease->ours || lease->options.on_waiting == NULL || (dv_streq(lease->told_waiting, text) && !again))
        return;
    free(lease->told_waiting);
    lease->told_waiting = dv_strdup(text);
    lease->told_ms = now_ms;
    lease->options.on_waiting(lease->options.arg, holder, err);
}

static void lease_lost(struct kube_lease *lease, const struct dv_err *err)
{
    if (!lease->ours || lease->over)
        return;
    lease->ours = false;
    lease->over = true;
    loop_timer_clear(lease->tick);
    loop_timer_clear(lease->guard);
    kube_request_cancel(lease->request);
    lease->request = NULL;
    lease->options.on_lost(lease->options.arg, err);
}

static void lease_guard(void *arg)
{
    struct kube_lease *lease = arg;
    struct dv_err err = DV_ERR_INIT;
    (void)dv_err_set(&err, DV_ERR_TIMEOUT, "Lease %s/%s was not renewed for %d s", lease->ns, lease->name, RENEW_DEADLINE_MS / 1000);
    lease_lost(lease, &err);
}

/* ---------------------------------------------------------------- the object */

static void lease_now_micro(char *out)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_REALTIME, &ts);
    dv_time_format_micro((int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000, out);
}

/* The Lease as it should be: what others wrote beside the spec stays. */
static json_t *lease_wanted(const struct kube_lease *lease, const char *holder, int seconds)
{
    char now[DV_TIME_TEXT];
    json_t *object = lease->seen != NULL ? json_deep_copy(lease->seen)
                                         : json_pack("{s:s,s:s,s:{s:s,s:s}}", "apiVersion", "coordination.k8s.io/v1", "kind", "Lease",
                                                     "metadata", "name", lease->name, "namespace", lease->ns);
    json_t *spec = json_object_get(object, "spec");
    if (!json_is_object(spec)) {
        (void)json_object_set_new(object, "spec", json_object());
        spec = json_object_get(object, "spec");
    }
    lease_now_micro(now);
    if (!dv_streq(lease_holder(lease->seen), holder) || json_object_get(spec, "acquireTime") == NULL) {
        json_int_t transitions = json_integer_value(json_object_get(spec, "leaseTransitions"));
        (void)json_object_set_new(spec, "acquireTime", json_string(now));
        (void)json_object_set_new(spec, "leaseTransitions",
                                  json_integer(lease->seen != NULL && holder[0] != '\0' ? transitions + 1 : transitions));
    }
    (void)json_object_set_new(spec, "holderIdentity", json_string(holder));
    (void)json_object_set_new(spec, "leaseDurationSeconds", json_integer(seconds));
    (void)json_object_set_new(spec, "renewTime", json_string(now));
    return object;
}

static void lease_see(struct kube_lease *lease, json_t *object)
{
    const char *rv = json_string_value(json_object_get(json_object_get(object, "metadata"), "resourceVersion"));
    json_decref(lease->seen);
    lease->seen = object;
    if (dv_streq(rv, lease->seen_rv))
        return;
    free(lease->seen_rv);
    lease->seen_rv = dv_strdup(rv);
    lease->changed_ms = lease_clock();
}

/* ---------------------------------------------------------------- requests */

static void lease_request(struct kube_lease *lease, const char *method, const json_t *body, int64_t timeout_ms,
                          void (*done)(void *, const struct http_answer *))
{
    struct dv_buf target = DV_BUF_INIT(TARGET_MAX);
    struct port_resource resource = lease_resource(lease);
    if (dv_streq(method, "POST"))
        resource.name = NULL;
    kube_path_add(&target, &resource, "v1");
    kube_query_add(&target, "fieldManager", body != NULL ? "distverify" : NULL);
    kube_query_add(&target, "fieldValidation", body != NULL ? "Strict" : NULL);
    char *text = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
    struct kube_request_spec spec = {.method = method,
                                     .target = dv_buf_text(&target),
                                     .content_type = "application/json",
                                     .body = text,
                                     .body_len = text != NULL ? strlen(text) : 0,
                                     .timeout_ms = timeout_ms,
                                     .urgent = true,
                                     .on_done = done,
                                     .arg = lease};
    lease->request = kube_request_start(lease->kube->own, &spec);
    free(text);
    dv_buf_free(&target);
}

static json_t *lease_answer(struct kube_lease *lease, const struct http_answer *answer, const char *verb, struct dv_err *err)
{
    struct port_resource resource = lease_resource(lease);
    lease->request = NULL;
    if (kube_answer_check(answer, kube_server_name(lease->kube->own), verb, &resource, err) == 0)
        return kube_json(answer->body, answer->body_len, err);
    if (err != NULL && err->kind == DV_ERR_DENIED)
        (void)dv_err_wrap(err, "the controller may not %s Lease %s/%s; give it the right or correct --lease", verb, lease->ns, lease->name);
    return NULL;
}

static void lease_renewed(struct kube_lease *lease)
{
    bool first = !lease->ours;
    lease->ours = true;
    lease->renewed_ms = lease->sent_ms;
    loop_timer_set(lease->guard, lease->renewed_ms + RENEW_DEADLINE_MS - lease_clock());
    loop_timer_set(lease->tick, RETRY_MS);
    if (first)
        lease->options.on_acquired(lease->options.arg);
}

static void lease_written(void *arg, const struct http_answer *answer)
{
    struct kube_lease *lease = arg;
    struct dv_err err = DV_ERR_INIT;
    json_t *object = lease_answer(lease, answer, lease->seen != NULL ? "update" : "create", &err);
    if (object != NULL) {
        lease_see(lease, object);
        lease_renewed(lease);
        return;
    }
    lease_tell_waiting(lease, NULL, &err);
    /* A conflict may be our own write, sent twice, or somebody else's: the next look says which. */
    loop_timer_set(lease->tick, err.kind == DV_ERR_CONFLICT && lease->ours ? 0 : RETRY_MS);
    if (err.kind == DV_ERR_CONFLICT || err.kind == DV_ERR_NOT_FOUND || err.kind == DV_ERR_TIMEOUT || err.kind == DV_ERR_UNREACHABLE) {
        json_decref(lease->seen);
        lease->seen = NULL; /* look before the next write */
    }
}

static void lease_write(struct kube_lease *lease)
{
    json_t *object = lease_wanted(lease, lease->identity, LEASE_MS / 1000);
    lease->sent_ms = lease_clock();
    lease_request(lease, lease->seen != NULL ? "PUT" : "POST", object, REQUEST_MS, lease_written);
    json_decref(object);
}

/* Free, ours, or seen unchanged for the time its holder asked for. */
static bool lease_may_take(const struct kube_lease *lease)
{
    const char *holder = lease_holder(lease->seen);
    json_int_t seconds = json_integer_value(json_object_get(json_object_get(lease->seen, "spec"), "leaseDurationSeconds"));
    if (lease->seen == NULL || holder[0] == '\0' || dv_streq(holder, lease->identity))
        return true;
    return lease_clock() - lease->changed_ms >= (seconds > 0 ? seconds * 1000 : LEASE_MS);
}

static void lease_taken_from_us(struct kube_lease *lease)
{
    struct dv_err err = DV_ERR_INIT;
    (void)dv_err_set(&err, DV_ERR_CONFLICT, "Lease %s/%s is held by %.100s now", lease->ns, lease->name, lease_holder(lease->seen));
    lease_lost(lease, &err);
}

static void lease_looked(void *arg, const struct http_answer *answer)
{
    struct kube_lease *lease = arg;
    struct dv_err err = DV_ERR_INIT;
    json_t *object = lease_answer(lease, answer, "get", &err);
    if (object == NULL && err.kind != DV_ERR_NOT_FOUND) {
        loop_timer_set(lease->tick, RETRY_MS);
        lease_tell_waiting(lease, NULL, &err);
        return;
    }
    lease_see(lease, object);
    bool foreign = object != NULL && !dv_streq(lease_holder(object), lease->identity);
    if (lease->ours && foreign) {
        lease_taken_from_us(lease);
    } else if (lease_may_take(lease)) {
        lease_write(lease);
    } else {
        loop_timer_set(lease->tick, RETRY_MS);
        lease_tell_waiting(lease, lease_holder(object), NULL);
    }
}

static void lease_look(struct kube_lease *lease)
{
    lease_request(lease, "GET", NULL, REQUEST_MS, lease_looked);
}

static void lease_tick(void *arg)
{
    struct kube_lease *lease = arg;
    if (lease->over || lease->request != NULL)
        return;
    if (lease->ours && lease->seen != NULL)
        lease_write(lease);
    else
        lease_look(lease);
}

/* ---------------------------------------------------------------- outside */

void kube_lease_start(struct kube *kube, const struct kube_lease_options *options)
{
    struct kube_lease *lease = dv_alloc(sizeof *lease);
    lease->kube = kube;
    lease->options = *options;
    lease->ns = dv_strdup(options->ns);
    lease->name = dv_strdup(options->name);
    lease->identity = dv_strdup(options->identity);
    lease->tick = loop_timer_new(kube->loop, lease_tick, lease);
    lease->guard = loop_timer_new(kube->loop, lease_guard, lease);
    kube->lease = lease;
    loop_timer_set(lease->tick, 0);
}

static void lease_stopped(void *arg)
{
    struct kube_lease *lease = arg;
    void (*stopped)(void *) = lease->stopped;
    kube_request_cancel(lease->request);
    lease->request = NULL;
    loop_timer_clear(lease->tick);
    lease->stopped = NULL;
    if (stopped != NULL)
        stopped(lease->stopped_arg);
}

static void lease_released(void *arg, const struct http_answer *answer)
{
    (void)answer;
    struct kube_lease *lease = arg;
    lease->request = NULL;
    lease_stopped(lease);
}

/* Looked at first: a renewal that was on its way when we stopped may have made another version of it. */
static void lease_release(void *arg, const struct http_answer *answer)
{
    struct kube_lease *lease = arg;
    json_t *object = lease_answer(lease, answer, "get", NULL);
    if (object == NULL) {
        lease_stopped(lease);
        return;
    }
    lease_see(lease, object);
    if (!dv_streq(lease_holder(object), lease->identity)) {
        lease_stopped(lease);
        return;
    }
    json_t *released = lease_wanted(lease, "", 1);
    lease_request(lease, "PUT", released, RELEASE_MS, lease_released);
    json_decref(released);
}

static void lease_stop_timer(void *arg)
{
    lease_stopped(arg);
}

void kube_lease_stop(struct kube *kube, void (*done)(void *arg), void *arg)
{
    struct kube_lease *lease = kube->lease;
    if (lease == NULL) {
        done(arg);
        return;
    }
    lease->stopped = done;
    lease->stopped_arg = arg;
    bool release = lease->ours;
    kube_request_cancel(lease->request);
    lease->request = NULL;
    lease->ours = false; /* nothing unsafe is begun from here on */
    lease->over = true;
    loop_timer_clear(lease->guard);
    loop_timer_free(lease->tick);
    lease->tick = loop_timer_new(kube->loop, lease_stop_timer, lease);
    loop_timer_set(lease->tick, release ? RELEASE_MS : 0);
    if (release)
        lease_request(lease, "GET", NULL, RELEASE_MS, lease_release);
}

int64_t kube_lease_left_ms(const struct kube *kube)
{
    if (kube->lease == NULL)
        return INT64_MAX;
    return kube->lease->ours ? kube->lease->renewed_ms + LEASE_MS - lease_clock() : 0;
}

void kube_lease_free(struct kube *kube)
{
    struct kube_lease *lease = kube->lease;
    if (lease == NULL)
        return;
    kube_request_cancel(lease->request);
    loop_timer_free(lease->tick);
    loop_timer_free(lease->guard);
    json_decref(lease->seen);
    free(lease->seen_rv);
    free(lease->told_waiting);
    free(lease->ns);
    free(lease->name);
    free(lease->identity);
    free(lease);
    kube->lease = NULL;
}

/* A kube on a loop with a sink that writes down what it hears, for the tests of pkg/kube. */
#ifndef DV_TEST_KUBE_HARNESS_H
#define DV_TEST_KUBE_HARNESS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "base/mem.h"
#include "base/timefmt.h"
#include "kube/kube.h"
#include "loop/loop.h"

struct heard {
    enum port_kube_event_kind kind;
    port_id id;
    struct dv_err err;
    json_t *json;
    char *ns, *name, *text;
    int64_t at_ms;
};

struct harness {
    struct loop *loop;
    struct kube *kube;
    const struct port_kube *port;
    struct heard *heard;
    size_t count, cap;
    struct loop_timer *limit, *poll;
    bool (*done)(struct harness *h, void *arg);
    void *done_arg;
    bool late;
    void (*on_event)(struct harness *h, const struct port_kube_event *event);
    port_id last_id;
};

static inline void harness_sink(void *arg, const struct port_kube_event *event)
{
    struct harness *h = arg;
    if (h->count == h->cap) {
        h->cap = h->cap > 0 ? h->cap * 2 : 64;
        h->heard = dv_reallocarray(h->heard, h->cap, sizeof *h->heard);
    }
    h->heard[h->count++] = (struct heard){.kind = event->kind,
                                          .id = event->id,
                                          .err = event->err,
                                          .json = event->json != NULL ? json_deep_copy(event->json) : NULL,
                                          .ns = dv_strdup(event->ns),
                                          .name = dv_strdup(event->name),
                                          .text = event->text != NULL ? dv_strndup(event->text, event->len) : NULL,
                                          .at_ms = dv_clock_now().mono_ms};
    if (h->on_event != NULL)
        h->on_event(h, event);
    if (h->done != NULL && h->done(h, h->done_arg))
        loop_stop(h->loop);
}

static inline void harness_late(void *arg)
{
    struct harness *h = arg;
    h->late = true;
    loop_stop(h->loop);
}

static inline void harness_poll(void *arg)
{
    struct harness *h = arg;
    if (h->done != NULL && h->done(h, h->done_arg))
        loop_stop(h->loop);
    else
        loop_timer_set(h->poll, 10);
}

/* Runs until done says so; false after limit_ms. done NULL: for limit_ms. */
static inline bool harness_wait(struct harness *h, bool (*done)(struct harness *h, void *arg), void *arg, int64_t limit_ms)
{
    if (done != NULL && done(h, arg))
        return true;
    h->done = done;
    h->done_arg = arg;
    h->late = false;
    loop_timer_set(h->limit, limit_ms);
    if (done != NULL)
        loop_timer_set(h->poll, 10);
    loop_run(h->loop);
    loop_timer_clear(h->limit);
    loop_timer_clear(h->poll);
    h->done = NULL;
    return done == NULL || !h->late;
}

static inline void harness_forget(struct harness *h)
{
    for (size_t i = 0; i < h->count; i++) {
        json_decref(h->heard[i].json);
        free(h->heard[i].ns);
        free(h->heard[i].name);
        free(h->heard[i].text);
    }
    h->count = 0;
}

static inline struct harness *harness_new(void)
{
    struct harness *h = dv_alloc(sizeof *h);
    h->loop = loop_new();
    h->limit = loop_timer_new(h->loop, harness_late, h);
    h->poll = loop_timer_new(h->loop, harness_poll, h);
    return h;
}

static inline void harness_open(struct harness *h, const char *kubeconfig)
{
    struct dv_err err = DV_ERR_INIT;
    struct kube_options options = {.kubeconfig = kubeconfig, .user_agent = "distverify-test/0"};
    h->kube = kube_new(h->loop, &options, harness_sink, h, &err);
    if (h->kube == NULL)
        fail_msg("kube_new: %s", err.text);
    h->port = kube_port(h->kube);
}

static inline void harness_free(struct harness *h)
{
    kube_free(h->kube);
    loop_timer_free(h->limit);
    loop_timer_free(h->poll);
    loop_free(h->loop);
    harness_forget(h);
    free(h->heard);
    free(h);
}

static inline size_t harness_count(const struct harness *h, enum port_kube_event_kind kind, port_id id)
{
    size_t count = 0;
    for (size_t i = 0; i < h->count; i++)
        count += h->heard[i].kind == kind && (id == 0 || h->heard[i].id == id);
    return count;
}

/* The last one of the kind for the id, NULL when none was heard. */
static inline struct heard *harness_last(const struct harness *h, enum port_kube_event_kind kind, port_id id)
{
    for (size_t i = h->count; i > 0; i--)
        if (h->heard[i - 1].kind == kind && (id == 0 || h->heard[i - 1].id == id))
            return &h->heard[i - 1];
    return NULL;
}

struct harness_wanted {
    enum port_kube_event_kind kind;
    port_id id;
    size_t count;
    const char *name;
};

static inline bool harness_has(struct harness *h, void *arg)
{
    const struct harness_wanted *wanted = arg;
    size_t count = 0;
    for (size_t i = 0; i < h->count; i++)
        count += h->heard[i].kind == wanted->kind && h->heard[i].id == wanted->id &&
                 (wanted->name == NULL || dv_streq(wanted->name, h->heard[i].name));
    return count >= wanted->count;
}

/* What was wanted and what was heard instead, for whoever reads that a test failed. */
static inline void harness_print(const struct harness *h, const struct harness_wanted *wanted)
{
    int64_t now_ms = dv_clock_now().mono_ms;
    (void)fprintf(stderr, "wanted: event %d of %llu, %zu times%s%s; heard, ms ago:\n", (int)wanted->kind, (unsigned long long)wanted->id,
                  wanted->count, wanted->name != NULL ? ", " : "", wanted->name != NULL ? wanted->name : "");
    for (size_t i = h->count > 60 ? h->count - 60 : 0; i < h->count; i++)
        (void)fprintf(stderr, "%8lld event %d of %llu %s %s\n", (long long)(now_ms - h->heard[i].at_ms), (int)h->heard[i].kind,
                      (unsigned long long)h->heard[i].id, h->heard[i].name != NULL ? h->heard[i].name : "", h->heard[i].err.text);
}

static inline bool harness_expect(struct harness *h, enum port_kube_event_kind kind, port_id id, size_t count, const char *name, int64_t ms)
{
    struct harness_wanted wanted = {kind, id, count, name};
    bool came = harness_wait(h, harness_has, &wanted, ms);
    if (!came)
        harness_print(h, &wanted);
    return came;
}

/* One call and its answer. */
static inline struct heard *harness_call(struct harness *h, const struct port_call *call)
{
    port_id id = ++h->last_id + 100000;
    h->port->call(h->port->impl, id, call);
    if (!harness_expect(h, PORT_KUBE_ANSWER, id, 1, NULL, 40000))
        fail_msg("no answer to %s %s", call->resource.plural, call->resource.name != NULL ? call->resource.name : "");
    return harness_last(h, PORT_KUBE_ANSWER, id);
}

#endif

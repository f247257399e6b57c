/* A controller between two ports that write down what is asked of them and answer nothing by themselves, with one resource whose spec is
 * cases/spec/minimal.json. Time stands still until it is moved. */
#ifndef DV_TEST_CONTROLLER_RIG_H
#define DV_TEST_CONTROLLER_RIG_H

#include "json_edit.h"

#include "base/log.h"
#include "controller/internal.h"

#define RIG_MAX 256

struct rig_call {
    port_id id;
    enum port_verb verb;
    char plural[40];
    json_t *body;
};

struct rig_log {
    port_id id;
    char pod[64];
    int64_t since_ms;
    bool previous, stopped;
};

struct rig {
    struct controller *ctl;
    struct entry *entry;
    json_t *object; /* the resource as the API server has it */
    int64_t version;
    int64_t now_ms;
    struct rig_call calls[RIG_MAX];
    struct rig_log logs[RIG_MAX];
    port_id asked[RIG_MAX];
    struct port_question question[RIG_MAX];
    size_t call_count, log_count, asked_count;
    size_t commits;
    char commit_group[64];
};

/* ---------------------------------------------------------------- ports */

static inline struct dv_now rig_clock(void *arg)
{
    const struct rig *rig = arg;
    return (struct dv_now){.mono_ms = rig->now_ms, .wall_ms = INT64_C(1772445600000) + rig->now_ms};
}

static inline void rig_wake(void *arg)
{
    (void)arg;
}

static inline void rig_on_call(void *impl, port_id id, const struct port_call *call)
{
    struct rig *rig = impl;
    assert_true(rig->call_count < RIG_MAX);
    struct rig_call *noted = &rig->calls[rig->call_count++];
    *noted = (struct rig_call){.id = id, .verb = call->verb, .body = json_deep_copy(call->body)};
    (void)dv_strlcpy(noted->plural, call->resource.plural, sizeof noted->plural);
}

static inline void rig_on_watch(void *impl, port_id id, const struct port_watch *watch)
{
    (void)impl;
    (void)id;
    (void)watch;
}

static inline void rig_on_log(void *impl, port_id id, const struct port_log *log)
{
    struct rig *rig = impl;
    assert_true(rig->log_count < RIG_MAX);
    struct rig_log *noted = &rig->logs[rig->log_count++];
    *noted = (struct rig_log){.id = id, .since_ms = log->since_ms, .previous = log->previous};
    (void)dv_strlcpy(noted->pod, log->pod, sizeof noted->pod);
}

static inline void rig_on_log_stop(void *impl, port_id id)
{
    struct rig *rig = impl;
    for (size_t i = 0; i < rig->log_count; i++)
        rig->logs[i].stopped = rig->logs[i].stopped || rig->logs[i].id == id;
}

static inline void rig_on_stop(void *impl, port_id id)
{
    (void)impl;
    (void)id;
}

static inline int64_t rig_lease_left(void *impl)
{
    (void)impl;
    return INT64_MAX;
}

static inline void rig_on_open(void *impl, port_id client, const struct model_kafka *kafka, const char *ns, const char *cluster)
{
    (void)impl;
    (void)client;
    (void)kafka;
    (void)ns;
    (void)cluster;
}

static inline void rig_on_ask(void *impl, port_id client, port_id id, const struct port_question *question)
{
    struct rig *rig = impl;
    (void)client;
    assert_true(rig->asked_count < RIG_MAX);
    rig->asked[rig->asked_count] = id;
    rig->question[rig->asked_count++] = *question;
}

static inline void rig_on_commit(void *impl, port_id client, port_id id, const char *group, const char *topic, const int64_t *offsets,
                                 int32_t partitions)
{
    struct rig *rig = impl;
    (void)client;
    (void)id;
    (void)topic;
    (void)offsets;
    (void)partitions;
    rig->commits++;
    (void)dv_strlcpy(rig->commit_group, group, sizeof rig->commit_group);
}

/* ---------------------------------------------------------------- the resource */

static inline void rig_tell(struct rig *rig, struct port_kube_event event)
{
    controller_on_kube(rig->ctl, &event);
}

/* Its next version comes by the watch. */
static inline void rig_send(struct rig *rig)
{
    char version[24];
    json_t *meta = json_object_get(rig->object, "metadata");
    json_object_set_new(meta, "resourceVersion", json_string(dv_format(version, sizeof version, "%lld", (long long)++rig->version)));
    rig_tell(rig, (struct port_kube_event){.kind = PORT_KUBE_ITEM, .id = 1, .json = rig->object});
    rig->entry = rig->ctl->entries;
}

/* Somebody changes one place of the spec; value is JSON, NULL drops the place. */
static inline void rig_edit(struct rig *rig, const char *at, const char *value)
{
    json_t *json = value != NULL ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
    json_edit(json_object_get(rig->object, "spec"), at, json);
    json_decref(json);
    rig_send(rig);
}

static inline int rig_begin(void **state)
{
    struct rig *rig = dv_alloc(sizeof *rig);
    struct controller_options options = {.max_runs = 8, .instance = "rig", .clock = rig_clock, .wake = rig_wake, .arg = rig};
    struct port_kube kube = {.impl = rig,
                             .call = rig_on_call,
                             .watch = rig_on_watch,
                             .watch_stop = rig_on_stop,
                             .log = rig_on_log,
                             .log_stop = rig_on_log_stop,
                             .lease_left_ms = rig_lease_left};
    struct port_kafka kafka = {
        .impl = rig, .open = rig_on_open, .close = rig_on_stop, .ask = rig_on_ask, .commit = rig_on_commit, .read_stop = rig_on_stop};
    dv_log_setup((struct dv_log_config){.level = DV_LOG_ERROR, .fd = 2});
    rig->now_ms = 1000;
    rig->object =
        json_pack("{s:{s:s, s:s, s:s, s:i, s:[s]}, s:o}", "metadata", "namespace", "kafka", "name", "name", "uid", "uid", "generation", 1,
                  "finalizers", CONTROLLER_FINALIZER, "spec", test_read_json("test/unit/cases/spec/minimal.json"));
    rig->ctl = controller_new(&options, kube, kafka);
    controller_start(rig->ctl);
    rig_send(rig);
    rig_tell(rig, (struct port_kube_event){.kind = PORT_KUBE_SYNCED, .id = 1});
    *state = rig;
    return 0;
}

static inline int rig_end(void **state)
{
    struct rig *rig = *state;
    controller_free(rig->ctl);
    for (size_t i = 0; i < rig->call_count; i++)
        json_decref(rig->calls[i].body);
    json_decref(rig->object);
    free(rig);
    return 0;
}

/* ---------------------------------------------------------------- turns */

/* Takes turns, and writes each status that they ask for, until one asks for none. */
static inline void rig_settle(struct rig *rig)
{
    size_t before = 0;
    do {
        before = rig->call_count;
        (void)controller_run(rig->ctl);
        for (size_t i = before; i < rig->call_count; i++) {
            if (rig->calls[i].verb != PORT_REPLACE)
                continue;
            json_object_set(rig->object, "status", json_object_get(rig->calls[i].body, "status"));
            rig_tell(rig, (struct port_kube_event){.kind = PORT_KUBE_ANSWER, .id = rig->calls[i].id, .json = rig->object});
        }
    } while (rig->call_count > before || rig->entry->due_ms <= rig->now_ms);
}

#endif

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "controller/internal.h"

static const char *entry_text(const json_t *json, const char *key)
{
    return json_string_value(json_object_get(json, key));
}

static void entry_set(char **field, const char *text)
{
    if (dv_streq(*field, text))
        return;
    free(*field);
    *field = dv_strdup(text);
}

static bool entry_listed(const json_t *list, const char *text)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (dv_streq(json_string_value(json_array_get(list, i)), text))
            return true;
    return false;
}

/* Without a kubeconfig the controller's own rights would be lent to whoever writes the resource: only its own namespace. */
static void entry_check_namespaces(struct entry *entry)
{
    for (int side = 0; entry->spec != NULL && side < MODEL_SIDES; side++) {
        const struct model_cluster *cluster = &entry->spec->cluster[side];
        if (cluster->kubeconfig_secret != NULL || entry->ctl->options.allow_cross_namespace || dv_streq(cluster->ns, entry->ns))
            continue;
        dv_err_clear(&entry->spec_err);
        (void)dv_err_set(&entry->spec_err, DV_ERR_INVALID,
                         "spec.clusters.%s.namespace: %s is not the resource's own namespace; give a kubeConfig, or run the controller "
                         "with --allow-cross-namespace",
                         side == MODEL_A ? "a" : "b", cluster->ns);
        model_spec_free(entry->spec);
        entry->spec = NULL;
    }
}

static bool entry_same_allow(const struct model_spec *a, const struct model_spec *b)
{
    bool same = a->log_allow_count == b->log_allow_count;
    for (size_t i = 0; same && i < a->log_allow_count; i++)
        same = dv_streq(a->log_allow[i], b->log_allow[i]);
    return same;
}

static void entry_take_spec(struct entry *entry, const json_t *spec)
{
    if (entry->spec_json != NULL && json_equal(entry->spec_json, spec))
        return;
    struct model_spec *fresh = NULL;
    struct dv_err err = DV_ERR_INIT;
    (void)model_spec_decode(spec, entry->ns, &fresh, &err);
    bool new_targets = entry->spec != NULL && (fresh == NULL || !dv_streq(fresh->hash, entry->spec->hash));
    bool other_allow = entry->spec != NULL && !new_targets && !entry_same_allow(fresh, entry->spec);
    if (new_targets)
        observe_stop(entry);
    model_spec_free(entry->spec);
    json_decref(entry->spec_json);
    entry->spec = fresh;
    entry->spec_err = err;
    entry->spec_json = json_deep_copy(spec);
    entry_check_namespaces(entry);
    for (int side = 0; other_allow && side < MODEL_SIDES; side++)
        logs_again(entry, (enum model_side)side);
}

static struct entry *entry_new(struct controller *ctl, const char *ns, const char *name)
{
    struct entry *entry = dv_alloc(sizeof *entry);
    entry->ctl = ctl;
    entry->key = dv_asprintf("%s/%s", ns, name);
    entry->ns = dv_strdup(ns);
    entry->name = dv_strdup(name);
    entry->due_ms = INT64_MAX;
    HASH_ADD_KEYPTR(hh, ctl->entries, entry->key, strlen(entry->key), entry);
    ctl->order = dv_reallocarray(ctl->order, ctl->order_count + 1, sizeof(struct entry *));
    ctl->order[ctl->order_count++] = entry;
    return entry;
}

static void entry_take_meta(struct entry *entry, const json_t *meta)
{
    const json_t *annotations = json_object_get(meta, "annotations");
    entry_set(&entry->version, entry_text(meta, "resourceVersion"));
    int64_t generation = json_integer_value(json_object_get(meta, "generation"));
    if (generation != entry->generation || !dv_streq(entry->reverify, entry_text(annotations, "distverify.io/reverify")))
        schema_forget(entry); /* somebody wants it tried again */
    entry->generation = generation;
    entry->deleting = json_is_string(json_object_get(meta, "deletionTimestamp"));
    json_decref(entry->finalizers);
    entry->finalizers = json_deep_copy(json_object_get(meta, "finalizers"));
    entry->has_finalizer = entry_listed(entry->finalizers, CONTROLLER_FINALIZER);
    entry_set(&entry->reverify, entry_text(annotations, "distverify.io/reverify"));
    entry_set(&entry->abort_id, entry_text(annotations, "distverify.io/abort"));
}

/* The answer to a write and the watch come on two connections: what is older than what is known already is not looked at. But a store that
 * was put back from a backup counts from a lower version on: what is listed anew, asked for after all that is known, is taken as it is. */
static bool entry_is_outdated(const struct entry *entry, int64_t version, bool listed)
{
    if (listed && entry->ctl->lost_ms > entry->taken_ms)
        return false;
    return version >= 0 && (version < entry->version_floor || version < ctl_version(entry->version));
}

struct entry *entry_take(struct controller *ctl, const json_t *object, bool listed)
{
    const json_t *meta = json_object_get(object, "metadata");
    const char *ns = entry_text(meta, "namespace");
    const char *name = entry_text(meta, "name");
    struct entry *entry = NULL;
    if (ns == NULL || name == NULL)
        return NULL;
    char *key = dv_asprintf("%s/%s", ns, name);
    HASH_FIND_STR(ctl->entries, key, entry);
    free(key);
    if (entry != NULL && !dv_streq(entry->uid, entry_text(meta, "uid"))) {
        entry_remove(entry); /* deleted and made again: nothing of the old one holds */
        entry = NULL;
    }
    if (entry == NULL)
        entry = entry_new(ctl, ns, name);
    int64_t version = ctl_version(entry_text(meta, "resourceVersion"));
    if (entry_is_outdated(entry, version, listed))
        return NULL;
    if (version < entry->version_floor)
        entry->version_floor = 0;
    entry->taken_ms = ctl_now(ctl).mono_ms;
    entry_set(&entry->uid, entry_text(meta, "uid"));
    entry_take_meta(entry, meta);
    entry_take_spec(entry, json_object_get(object, "spec"));
    entry->status_same = false;
    model_status_clear(&entry->status);
    json_decref(entry->status_json);
    const json_t *status = json_object_get(object, "status");
    entry->status_json = status != NULL ? json_deep_copy(status) : json_object();
    model_status_decode(status, &entry->status);
    return entry;
}

static void entry_leave_order(struct entry *entry)
{
    struct controller *ctl = entry->ctl;
    for (size_t i = 0; i < ctl->order_count; i++) {
        if (ctl->order[i] != entry)
            continue;
        memmove(&ctl->order[i], &ctl->order[i + 1], (ctl->order_count - i - 1) * sizeof(struct entry *));
        ctl->order_count--;
        return;
    }
}

static void entry_drop_tickets(struct entry *entry)
{
    struct ticket *ticket = NULL;
    struct ticket *next = NULL;
    HASH_ITER (hh, entry->ctl->tickets, ticket, next)
        if (ticket->entry == entry)
            ticket_drop(entry->ctl, ticket);
}

void entry_remove(struct entry *entry)
{
    struct controller *ctl = entry->ctl;
    observe_stop(entry);
    entry_drop_tickets(entry);
    entry_leave_order(entry);
    HASH_DEL(ctl->entries, entry);
    if (entry->plan != NULL)
        verify_plan_clear(entry->plan);
    free(entry->plan);
    if (entry->unsure != NULL)
        verify_plan_clear(entry->unsure);
    free(entry->unsure);
    probes_free(&entry->probes);
    model_status_clear(&entry->status);
    json_decref(entry->status_json);
    json_decref(entry->finalizers);
    schema_forget(entry);
    json_decref(entry->spec_json);
    model_spec_free(entry->spec);
    for (int side = 0; side < MODEL_SIDES; side++)
        side_free_facts(&entry->side[side]);
    free(entry->reverify);
    free(entry->abort_id);
    free(entry->version);
    free(entry->uid);
    free(entry->name);
    free(entry->ns);
    free(entry->key);
    free(entry);
    for (size_t i = 0; i < ctl->order_count; i++)
        entry_due(ctl->order[i], 0); /* one that waited for this one may start */
}

bool entry_runs(const struct entry *entry)
{
    return model_run_active(&entry->status) || (entry->plan != NULL && model_run_active(&entry->plan->status)) ||
           (entry->unsure != NULL && model_run_active(&entry->unsure->status));
}

int entry_places_used(const struct controller *ctl)
{
    int used = 0;
    for (size_t i = 0; i < ctl->order_count; i++)
        used += entry_runs(ctl->order[i]);
    return used;
}

/* The same by what the specs say. */
static bool entry_same_address(const struct entry *a, const struct model_cluster *x, const struct entry *b, const struct model_cluster *y)
{
    bool own = x->kubeconfig_secret == NULL && y->kubeconfig_secret == NULL;
    bool same_server = own || (x->kubeconfig_secret != NULL && dv_streq(x->kubeconfig_secret, y->kubeconfig_secret) &&
                               dv_streq(x->kubeconfig_key, y->kubeconfig_key) && dv_streq(a->ns, b->ns));
    return same_server && dv_streq(x->ns, y->ns) && dv_streq(x->distributor.connect, y->distributor.connect);
}

/* Two kubeconfigs may lead to one API server: that shows once both KafkaConnects have been seen. */
static bool entry_same_object(const struct ctl_side *x, const struct ctl_side *y)
{
    return x->connect != NULL && y->connect != NULL && x->connect->uid[0] != '\0' && dv_streq(x->connect->uid, y->connect->uid);
}

static bool entry_share_distributor(const struct entry *a, const struct entry *b)
{
    for (int x = 0; x < MODEL_SIDES; x++)
        for (int y = 0; y < MODEL_SIDES; y++)
            if (entry_same_address(a, &a->spec->cluster[x], b, &b->spec->cluster[y]) || entry_same_object(&a->side[x], &b->side[y]))
                return true;
    return false;
}

/* Its run as it stands, or as it will once what is being written is there. */
static const struct model_status *entry_newest(const struct entry *entry)
{
    const struct verify_plan *plan = entry->plan != NULL ? entry->plan : entry->unsure;
    return plan != NULL && model_run_active(&plan->status) ? &plan->status : &entry->status;
}

/* Whoever is beyond Preflight drives; before that the run that started first goes first. */
static bool entry_before(const struct entry *a, const struct entry *b)
{
    const struct model_status *x = entry_newest(a);
    const struct model_status *y = entry_newest(b);
    if ((x->stage == STAGE_PREFLIGHT) != (y->stage == STAGE_PREFLIGHT))
        return y->stage == STAGE_PREFLIGHT;
    if (x->run.started_ms != y->run.started_ms)
        return x->run.started_ms < y->run.started_ms;
    return strcmp(a->key, b->key) < 0;
}

static const char *entry_other(const struct entry *entry, bool before)
{
    const struct controller *ctl = entry->ctl;
    for (size_t i = 0; entry->spec != NULL && i < ctl->order_count; i++) {
        const struct entry *other = ctl->order[i];
        if (other != entry && other->spec != NULL && entry_runs(other) && (!before || entry_before(other, entry)) &&
            entry_share_distributor(entry, other))
            return other->key;
    }
    return NULL;
}

const char *entry_conflict(const struct entry *entry)
{
    return entry_other(entry, false);
}

const char *entry_goes_first(const struct entry *entry)
{
    return model_run_active(&entry->status) && entry->status.stage == STAGE_PREFLIGHT ? entry_other(entry, true) : NULL;
}

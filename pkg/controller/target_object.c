#include <stdlib.h>
#include <string.h>

#include "base/b64.h"
#include "base/mem.h"
#include "controller/internal.h"

/* Values in one key of a ConfigMap or Secret. The text of a Secret is kept in memory only and never logged. */

#define ALLOWED_FROM "distverify.io/allowed-from"

static const struct model_distributor *target_distributor(const struct entry *entry, enum model_side side)
{
    return &entry->spec->cluster[side].distributor;
}

struct port_resource target_resource(const struct entry *entry, enum model_side side)
{
    const struct model_values_target *target = &target_distributor(entry, side)->values;
    return (struct port_resource){.group = "",
                                  .version = "v1",
                                  .plural = target->secret ? "secrets" : "configmaps",
                                  .ns = entry->spec->cluster[side].ns,
                                  .name = target->name};
}

static void target_drop_text(struct ctl_side *side)
{
    dv_wipe(side->values_text, side->values_len);
    side->values_text = NULL;
    side->values_len = 0;
}

void target_clear(struct ctl_side *side)
{
    target_drop_text(side);
    values_strings_free(side->values.principals, side->values.principal_count);
    side->values = (struct verify_values){0};
    side->values_known = false;
}

static char *target_text(const struct model_values_target *target, const json_t *object, size_t *len)
{
    const json_t *value = json_object_get(json_object_get(object, "data"), target->key);
    const char *text = json_string_value(value);
    if (text == NULL)
        return NULL;
    if (target->secret)
        return dv_b64_decode(text, json_string_length(value), len);
    *len = json_string_length(value);
    char *copy = dv_alloc(*len + 1);
    memcpy(copy, text, *len);
    return copy;
}

static struct values_path target_path(const struct model_path *path)
{
    return (struct values_path){.keys = (const char *const *)path->keys, .count = path->count};
}

static void target_refuse(struct verify_values *out, const char *path, const char *what, const struct dv_err *err)
{
    if (!out->settable)
        return; /* the first one is told */
    out->settable = false;
    (void)dv_strlcpy(out->why_path, path, sizeof out->why_path);
    (void)dv_err_set(&out->why, DV_ERR_INVALID, "%s: %s", what, err->text);
}

/* Paths of the five switches, then that of the principals. */
#define TARGET_PATHS (MODEL_SWITCHES + 1)

static void target_read_switch(const struct values_doc *doc, const struct values_path *paths, int which, struct verify_values *out)
{
    struct dv_err err = DV_ERR_INIT;
    bool on = false;
    char path[sizeof out->why_path];
    char what[64];
    (void)dv_format(path, sizeof path, "switches.%s.path", model_switch_name((enum model_switch)which));
    (void)dv_format(what, sizeof what, "switch %s", model_switch_name((enum model_switch)which));
    if (values_get_bool(doc, paths[which], &on, &err) == 0)
        out->declared[which] = on ? VERIFY_ON : VERIFY_OFF;
    else
        out->declared[which] = err.kind == DV_ERR_NOT_FOUND ? VERIFY_ABSENT : VERIFY_UNREADABLE;
    if (out->declared[which] == VERIFY_UNREADABLE)
        target_refuse(out, path, what, &err);
    dv_err_clear(&err);
    if (!values_can_set(doc, paths[which], &err))
        target_refuse(out, path, "cannot be changed safely", &err);
    else if (values_mistyped(doc, paths[which], paths, TARGET_PATHS, &err))
        target_refuse(out, path, what, &err);
}

static void target_read(const struct model_distributor *distributor, const char *text, size_t len, struct verify_values *out)
{
    VALUES_CLEANUP_DOC struct values_doc *doc = NULL;
    struct dv_err err = DV_ERR_INIT;
    struct values_path paths[TARGET_PATHS];
    struct values_path *principals = &paths[MODEL_SWITCHES];
    if (values_parse(text, len, &doc, &out->why) != 0)
        return;
    out->readable = true;
    out->settable = true;
    for (int i = 0; i < MODEL_SWITCHES; i++)
        paths[i] = target_path(&distributor->switches[i].path);
    *principals = target_path(&distributor->principals_path);
    for (int i = 0; i < MODEL_SWITCHES; i++)
        target_read_switch(doc, paths, i, out);
    out->principals_readable = values_get_strings(doc, *principals, &out->principals, &out->principal_count, &out->principals_why) == 0;
    out->principals_absent = out->principals_readable && values_type_at(doc, *principals) == VALUES_ABSENT;
    if (values_mistyped(doc, *principals, paths, TARGET_PATHS, &err))
        target_refuse(out, "principalsPath", "principals", &err);
}

/* The manager whose entry in managedFields is newest. */
static void target_manager(const json_t *meta, char *out, size_t size)
{
    const json_t *list = json_object_get(meta, "managedFields");
    const char *newest = "";
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *time = json_string_value(json_object_get(item, "time"));
        const char *manager = json_string_value(json_object_get(item, "manager"));
        if (time == NULL || manager == NULL || strcmp(time, newest) < 0)
            continue;
        newest = time;
        (void)dv_strlcpy(out, manager, size);
    }
}

static bool target_allowed(const struct entry *entry, enum model_side side, const json_t *meta)
{
    if (dv_streq(entry->spec->cluster[side].ns, entry->ns) || entry->spec->cluster[side].kubeconfig_secret != NULL)
        return true;
    const char *allowed = json_string_value(json_object_get(json_object_get(meta, "annotations"), ALLOWED_FROM));
    return dv_streq(allowed, entry->ns);
}

/* The answer to our patch and the watch come on two connections: what is older than what is known is not looked at. Versions tell nothing
 * about another object (the kubeconfig leads to another cluster now, or it was made anew), nor once the watch lists anew after it was lost,
 * asked for after all that is known: a store that was put back from a backup counts from a lower version on. */
static bool target_is_outdated(const struct ctl_side *facts, const char *uid, int64_t number)
{
    const struct verify_stamp *stamp = &facts->stamp[VF_VALUES];
    if (!dv_streq(facts->values_uid, uid) || stamp->failed_ms > stamp->as_of_ms)
        return false;
    return number >= 0 && (number < facts->values_floor || number < ctl_version(facts->values.version));
}

void target_item(struct entry *entry, enum model_side side, const json_t *object)
{
    struct ctl_side *facts = &entry->side[side];
    const struct model_distributor *distributor = target_distributor(entry, side);
    const json_t *meta = json_object_get(object, "metadata");
    const char *version = json_string_value(json_object_get(meta, "resourceVersion"));
    int64_t number = ctl_version(version);
    const char *uid = json_string_value(json_object_get(meta, "uid"));
    if (uid == NULL)
        uid = "";
    if (target_is_outdated(facts, uid, number))
        return;
    if (!dv_streq(facts->values_uid, uid) || number < facts->values_floor)
        facts->values_floor = 0;
    (void)dv_strlcpy(facts->values_uid, uid, sizeof facts->values_uid);
    target_clear(facts);
    facts->values_known = true;
    facts->values.found = true;
    (void)dv_strlcpy(facts->values.version, version != NULL ? version : "", sizeof facts->values.version);
    target_manager(meta, facts->values.manager, sizeof facts->values.manager);
    facts->values_text = target_text(&distributor->values, object, &facts->values_len);
    facts->values.key_found = facts->values_text != NULL;
    facts->values.immutable = json_is_true(json_object_get(object, "immutable"));
    facts->values.key_binary = json_object_get(json_object_get(object, "binaryData"), distributor->values.key) != NULL;
    if (!target_allowed(entry, side, meta))
        (void)dv_err_set(&facts->values.why, DV_ERR_DENIED, "has no annotation " ALLOWED_FROM ": %s", entry->ns);
    else if (facts->values.key_found)
        target_read(distributor, facts->values_text, facts->values_len, &facts->values);
}

void target_gone(struct entry *entry, enum model_side side)
{
    target_clear(&entry->side[side]);
    entry->side[side].values_known = true;
}

json_t *target_patch(struct entry *entry, enum model_side side, const struct model_switches *want, bool *changed, struct dv_err *err)
{
    struct ctl_side *facts = &entry->side[side];
    const struct model_distributor *distributor = target_distributor(entry, side);
    struct values_change changes[MODEL_SWITCHES];
    char *text = NULL;
    size_t len = 0;
    for (int i = 0; i < MODEL_SWITCHES; i++)
        changes[i] = (struct values_change){.path = target_path(&distributor->switches[i].path), .value = want->on[i]};
    if (facts->values_text == NULL) {
        (void)dv_err_set(err, DV_ERR_CONFLICT, "the values are not there now");
        return NULL;
    }
    if (values_set_bools(facts->values_text, facts->values_len, changes, MODEL_SWITCHES, &text, &len, changed, err) != 0)
        return NULL;
    char *coded = distributor->values.secret ? dv_b64_encode(text, len) : NULL;
    json_t *body = json_pack("{s:{s:s}, s:{s:o}}", "metadata", "resourceVersion", facts->values.version, "data", distributor->values.key,
                             coded != NULL ? json_string(coded) : json_stringn(text, len));
    free(coded);
    dv_wipe(text, len);
    return body;
}

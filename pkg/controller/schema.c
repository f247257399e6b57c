/* A CRD that is older than this program: its API server refuses a status that holds fields it does not know. Then the run ends, and the
 * status says so without these fields. They are named in the answer as `unknown field "status.run.x"`. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "controller/internal.h"

#define SCHEMA_FIELDS_MAX 64
static const char schema_mark[] = "unknown field \"";

static bool schema_known(const struct entry *entry, const char *path)
{
    for (size_t i = 0; i < json_array_size(entry->unknown_fields); i++)
        if (dv_streq(json_string_value(json_array_get(entry->unknown_fields, i)), path))
            return true;
    return false;
}

bool schema_refused(struct entry *entry, const char *message)
{
    bool found = false;
    for (const char *at = message; at != NULL && (at = strstr(at, schema_mark)) != NULL;) {
        at += sizeof schema_mark - 1;
        size_t len = strcspn(at, "\"");
        char *path DV_CLEANUP_FREE = dv_strndup(at, len);
        if (!dv_starts_with(path, "status.") || schema_known(entry, path) || json_array_size(entry->unknown_fields) == SCHEMA_FIELDS_MAX)
            continue;
        if (entry->unknown_fields == NULL)
            entry->unknown_fields = json_array();
        json_array_append_new(entry->unknown_fields, json_string(path));
        found = true;
    }
    if (!found)
        return false;
    (void)dv_format(entry->crd_too_old, sizeof entry->crd_too_old, "the installed CRD does not know %.80s%s; apply the CRD of this version",
                    json_string_value(json_array_get(entry->unknown_fields, 0)),
                    json_array_size(entry->unknown_fields) > 1 ? " and others" : "");
    return true;
}

/* One step along "run.stages[3].evidence": returns what follows it. */
static const char *schema_step(const char *path, char *key, size_t size, bool *index)
{
    *index = *path == '[';
    path += *path == '[' || *path == '.';
    size_t len = strcspn(path, *index ? "]" : ".[");
    (void)dv_format(key, size, "%.*s", (int)(len < size ? len : size - 1), path);
    path += len;
    return *path == ']' ? path + 1 : path;
}

static void schema_remove(json_t *json, const char *path)
{
    char key[128];
    bool index = false;
    while (json != NULL) {
        int64_t at = 0;
        path = schema_step(path, key, sizeof key, &index);
        if (index && (dv_parse_i64(key, 0, INT32_MAX, &at) != 0 || !json_is_array(json)))
            return;
        if (*path == '\0' && !index)
            (void)json_object_del(json, key);
        if (*path == '\0')
            return;
        json = index ? json_array_get(json, (size_t)at) : json_object_get(json, key);
    }
}

json_t *schema_status(const struct entry *entry, const struct model_status *status)
{
    json_t *json = model_status_encode(status, entry->spec);
    if (entry->unknown_fields == NULL)
        return json;
    json_t *copy = json_deep_copy(json); /* evidence is shared */
    json_decref(json);
    for (size_t i = 0; i < json_array_size(entry->unknown_fields); i++)
        schema_remove(copy, json_string_value(json_array_get(entry->unknown_fields, i)) + strlen("status."));
    return copy;
}

void schema_forget(struct entry *entry)
{
    json_decref(entry->unknown_fields);
    entry->unknown_fields = NULL;
    entry->crd_too_old[0] = '\0';
}

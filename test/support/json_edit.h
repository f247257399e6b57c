/* Changes one place of a JSON document, for cases that say "this document, but". */
#ifndef DV_TEST_JSON_EDIT_H
#define DV_TEST_JSON_EDIT_H

#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static inline json_t *json_edit_step(json_t *json, const char *key)
{
    if (json_is_array(json))
        return json_array_get(json, strtoul(key, NULL, 10));
    json_t *inner = json_object_get(json, key);
    if (inner == NULL) {
        inner = json_object();
        json_object_set_new(json, key, inner);
    }
    return inner;
}

/* at: keys joined by dots, numbers in arrays; objects on the way are made. value is borrowed; NULL drops the place. */
static inline void json_edit(json_t *json, const char *at, const json_t *value)
{
    const char *dot = strchr(at, '.');
    DV_CLEANUP_FREE char *key = dot != NULL ? dv_strndup(at, (size_t)(dot - at)) : dv_strdup(at);
    if (dot != NULL) {
        json_edit(json_edit_step(json, key), dot + 1, value);
        return;
    }
    if (value == NULL)
        json_object_del(json, key);
    else if (json_is_array(json))
        json_array_set_new(json, strtoul(key, NULL, 10), json_deep_copy(value));
    else
        json_object_set_new(json, key, json_deep_copy(value));
}

#endif

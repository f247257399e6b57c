/* Private to the room: tolerant reading of JSON. NULL and odd types read as absent. */
#ifndef DV_DISTRIBUTOR_JSON_H
#define DV_DISTRIBUTOR_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

/* The value below nested keys, ended by NULL; NULL when one is missing. */
const json_t *distributor_json_at(const json_t *json, ...) __attribute__((sentinel));
const char *distributor_json_text(const json_t *json); /* NULL when it is no string */
char *distributor_json_dup(const json_t *json);        /* "" when it is no string; the caller frees */
/* An integer, or a string or real that is a whole one. */
int64_t distributor_json_int(const json_t *json, int64_t otherwise);
bool distributor_json_is(const json_t *json, const char *text);
/* true, or the string "true" in any case, as Java reads it */
bool distributor_json_true(const json_t *json);
/* The condition of that type with status True; NULL. */
const json_t *distributor_json_condition(const json_t *object, const char *type);

#endif

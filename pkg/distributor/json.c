#include "distributor/json.h"

#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

const json_t *distributor_json_at(const json_t *json, ...)
{
    va_list keys;
    va_start(keys, json);
    for (const char *key = va_arg(keys, const char *); key != NULL && json != NULL; key = va_arg(keys, const char *))
        json = json_object_get(json, key);
    va_end(keys);
    return json;
}

const char *distributor_json_text(const json_t *json)
{
    return json_string_value(json);
}

char *distributor_json_dup(const json_t *json)
{
    const char *text = json_string_value(json);
    return dv_strdup(text != NULL ? text : "");
}

int64_t distributor_json_int(const json_t *json, int64_t otherwise)
{
    if (json_is_integer(json))
        return json_integer_value(json);
    if (json_is_real(json)) {
        double real = json_real_value(json);
        if (real > -9e15 && real < 9e15 && (double)(int64_t)real == real)
            return (int64_t)real;
    }
    int64_t value = otherwise;
    if (json_is_string(json) && dv_parse_i64(json_string_value(json), INT64_MIN, INT64_MAX, &value) != 0)
        return otherwise;
    return value;
}

bool distributor_json_is(const json_t *json, const char *text)
{
    const char *have = json_string_value(json);
    return have != NULL && strcmp(have, text) == 0;
}

bool distributor_json_true(const json_t *json)
{
    const char *text = json_string_value(json);
    return json_is_true(json) || (text != NULL && strcasecmp(text, "true") == 0);
}

const json_t *distributor_json_condition(const json_t *object, const char *type)
{
    const json_t *conditions = distributor_json_at(object, "status", "conditions", NULL);
    size_t i = 0;
    const json_t *condition = NULL;
    json_array_foreach(conditions, i, condition)
    {
        if (distributor_json_is(json_object_get(condition, "type"), type) &&
            distributor_json_is(json_object_get(condition, "status"), "True"))
            return condition;
    }
    return NULL;
}

/* A JSON tree in which one place is dropped, retyped or doubled: what bytes changed at random hardly ever give. */
#ifndef DV_TEST_JSON_DAMAGE_H
#define DV_TEST_JSON_DAMAGE_H

#include "fuzz.h"

static inline json_t *json_damage_odd(uint64_t *state)
{
    static const char *const texts[] = {"",
                                        "true",
                                        "-1",
                                        "9223372036854775808",
                                        "2026-03-02T10:00:00Z",
                                        "9999-12-31T23:59:59-23:59",
                                        "0000-01-01T00:00:00Z",
                                        "\xc3\xbc\xe2\x82\xac",
                                        "Caused by: \n\tat \nException in thread \"",
                                        "a\nb\tc\x7f"};
    static const json_int_t numbers[] = {0, 1, -1, 7, INT32_MAX, (json_int_t)INT32_MAX + 1, INT64_MAX, INT64_MIN};
    static const double reals[] = {0.0, -0.5, 3.0, 1e300, 9223372036854775808.0, -1e19};
    switch (fuzz_pick(state, 8)) {
    case 0: return json_null();
    case 1: return json_boolean(fuzz_pick(state, 2));
    case 2: return json_integer(numbers[fuzz_pick(state, sizeof numbers / sizeof *numbers)]);
    case 3: return json_real(reals[fuzz_pick(state, sizeof reals / sizeof *reals)]);
    case 4: return json_array();
    case 5: return json_object();
    case 6: return json_pack("[[i,n],{s:s}]", 1, "name", "x");
    default: return json_string(texts[fuzz_pick(state, sizeof texts / sizeof *texts)]);
    }
}

/* A text that fits no field, cut within a character by whoever cuts it. */
static inline json_t *json_damage_long(uint64_t *state)
{
    char text[3001];
    size_t at = fuzz_pick(state, 3);
    memset(text, 'x', sizeof text);
    for (; at + 2 < sizeof text; at += 2)
        memcpy(text + at, "\xc3\xbc", 2);
    text[at] = '\0';
    return json_string(text);
}

static inline size_t json_damage_count(const json_t *json)
{
    size_t count = 0, i;
    const char *key;
    json_t *value, *from = (json_t *)(uintptr_t)json;
    json_object_foreach (from, key, value)
        count += 1 + json_damage_count(value);
    json_array_foreach(json, i, value) count += 1 + json_damage_count(value);
    return count;
}

static inline json_t *json_damage_new(uint64_t *state, const json_t *old)
{
    switch (fuzz_pick(state, 6)) {
    case 0: return json_damage_long(state);
    case 1: return json_integer((json_int_t)((uint64_t)json_integer_value(old) ^ UINT64_C(1) << fuzz_pick(state, 64)));
    default: return json_damage_odd(state);
    }
}

/* Changes the place number *left below json; true when it was there. */
static inline bool json_damage_at(json_t *json, size_t *left, uint64_t *state)
{
    size_t i;
    const char *key;
    json_t *value;
    json_object_foreach (json, key, value) {
        if ((*left)-- == 0) {
            char *name = dv_strdup(key);
            if (fuzz_pick(state, 4) == 0)
                (void)json_object_del(json, name);
            else
                (void)json_object_set_new(json, name, json_damage_new(state, value));
            free(name);
            return true;
        }
        if (json_damage_at(value, left, state))
            return true;
    }
    json_array_foreach(json, i, value)
    {
        if ((*left)-- == 0) {
            switch (fuzz_pick(state, 4)) {
            case 0: (void)json_array_remove(json, i); break;
            case 1: (void)json_array_insert_new(json, i, json_deep_copy(value)); break;
            default: (void)json_array_set_new(json, i, json_damage_new(state, value)); break;
            }
            return true;
        }
        if (json_damage_at(value, left, state))
            return true;
    }
    return false;
}

static inline void json_damage(json_t *json, uint64_t *state)
{
    size_t at = fuzz_pick(state, json_damage_count(json));
    (void)json_damage_at(json, &at, state);
}

#endif

/* The schema of the CRD as a tree, and what the API server would say of a status: unknown fields, types, lengths, enums, patterns.
 * Reads the plain YAML that the CRD is written in: mappings by indentation, flow lists of words, anchors and aliases; no more. */
#ifndef DV_TEST_CRD_SCHEMA_H
#define DV_TEST_CRD_SCHEMA_H

#include "support.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define CRD_FILE "crds/distverify.io_distributionverifications.yaml"
#define CRD_DEPTH 64

struct crd_reader {
    json_t *anchors;
    json_t *node[CRD_DEPTH];
    size_t indent[CRD_DEPTH];
    size_t depth;
};

/* value: what stands behind "key:". A scalar is kept under the key "=". */
static inline void crd_take_value(struct crd_reader *reader, json_t *parent, const char *key, const char *value, size_t indent)
{
    if (value[0] == '*') {
        json_object_set(parent, key, json_object_get(reader->anchors, value + 1));
        return;
    }
    json_t *node = json_object();
    json_object_set_new(parent, key, node);
    if (value[0] == '&') {
        size_t len = strcspn(value + 1, " ");
        DV_CLEANUP_FREE char *name = dv_strndup(value + 1, len);
        json_object_set(reader->anchors, name, node);
        value += 1 + len + (value[1 + len] == ' ');
    }
    if (value[0] != '\0')
        json_object_set_new(node, "=", json_string(value));
    assert_true(reader->depth < CRD_DEPTH);
    reader->node[reader->depth] = node;
    reader->indent[reader->depth++] = indent;
}

static inline void crd_take_line(struct crd_reader *reader, char *line)
{
    size_t indent = strspn(line, " ");
    if (line[indent] == '#' || line[indent] == '\0')
        return;
    if (strncmp(line + indent, "- ", 2) == 0)
        indent += 2;
    char *colon = strstr(line + indent, ":");
    if (colon == NULL || (colon[1] != ' ' && colon[1] != '\0'))
        return;
    *colon = '\0';
    while (reader->depth > 1 && reader->indent[reader->depth - 1] >= indent)
        reader->depth--;
    crd_take_value(reader, reader->node[reader->depth - 1], line + indent, colon[1] == ' ' ? colon + 2 : colon + 1, indent);
}

static inline json_t *crd_at(json_t *json, const char *path)
{
    while (json != NULL && *path != '\0') {
        size_t len = strcspn(path, ".");
        DV_CLEANUP_FREE char *key = dv_strndup(path, len);
        json = json_object_get(json, key);
        path += len + (path[len] == '.');
    }
    return json;
}

/* The schema of .spec or .status. Caller decrefs. */
static inline json_t *crd_schema_of(const char *part)
{
    char *text = test_read_file(CRD_FILE, NULL);
    json_t *root = json_object();
    struct crd_reader reader = {.anchors = json_object(), .node = {root}, .depth = 1};
    char *rest = text;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n"))
        crd_take_line(&reader, line);
    json_t *schema = json_incref(json_object_get(crd_at(root, "spec.versions.schema.openAPIV3Schema.properties"), part));
    assert_non_null(schema);
    json_decref(reader.anchors);
    json_decref(root);
    free(text);
    return schema;
}

static inline json_t *crd_status_schema(void)
{
    return crd_schema_of("status");
}

static inline const char *crd_scalar(const json_t *schema, const char *key)
{
    return json_string_value(json_object_get(json_object_get(schema, key), "="));
}

static inline int64_t crd_number(const json_t *schema, const char *key, int64_t otherwise)
{
    const char *text = crd_scalar(schema, key);
    return text != NULL ? strtoll(text, NULL, 10) : otherwise;
}

/* list: "[a, b]". */
static inline bool crd_listed(const char *list, const char *word)
{
    size_t want = strlen(word);
    for (const char *at = list; at != NULL && *at != '\0'; at += strcspn(at, ",]") + 1) {
        at += strspn(at, "[ \"");
        size_t len = strcspn(at, "\",]");
        if (len == want && memcmp(at, word, len) == 0)
            return true;
        if (at[strcspn(at, ",]")] != ',')
            break;
    }
    return false;
}

static inline size_t crd_length(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static inline void crd_check_text(const json_t *schema, const char *text, const char *path)
{
    const char *pattern = crd_scalar(schema, "pattern");
    const char *list = crd_scalar(schema, "enum");
    if ((int64_t)crd_length(text) > crd_number(schema, "maxLength", 1 << 20))
        fail_msg("%s: %zu characters are too many: %s", path, strlen(text), text);
    if ((int64_t)crd_length(text) < crd_number(schema, "minLength", 0))
        fail_msg("%s: is too short", path);
    if (list != NULL && !crd_listed(list, text))
        fail_msg("%s: %s is none of %s", path, text, list);
    regex_t regex;
    if (pattern == NULL)
        return;
    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    int rc = regexec(&regex, text, 0, NULL, 0);
    regfree(&regex);
    if (rc != 0)
        fail_msg("%s: \"%s\" does not match %s", path, text, pattern);
}

static inline void crd_check(const json_t *schema, const json_t *json, const char *path);

static inline void crd_check_object(const json_t *schema, const json_t *json, const char *path)
{
    const json_t *properties = json_object_get(schema, "properties");
    const char *required = crd_scalar(schema, "required");
    const char *key;
    const json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)json, key, value) {
        DV_CLEANUP_FREE char *inner = dv_asprintf("%s.%s", path, key);
        if (json_object_get(properties, key) == NULL)
            fail_msg("%s: is no field of the CRD", inner);
        crd_check(json_object_get(properties, key), value, inner);
    }
    json_object_foreach ((json_t *)(uintptr_t)properties, key, value)
        if (required != NULL && crd_listed(required, key) && json_object_get(json, key) == NULL)
            fail_msg("%s.%s: is missing", path, key);
}

static inline void crd_check_list(const json_t *schema, const json_t *json, const char *path)
{
    if ((int64_t)json_array_size(json) > crd_number(schema, "maxItems", 1 << 20))
        fail_msg("%s: %zu items are too many", path, json_array_size(json));
    for (size_t i = 0; i < json_array_size(json); i++) {
        DV_CLEANUP_FREE char *inner = dv_asprintf("%s[%zu]", path, i);
        crd_check(json_object_get(schema, "items"), json_array_get(json, i), inner);
    }
}

/* Ends the test with the path of what the API server would refuse or drop. */
static inline void crd_check(const json_t *schema, const json_t *json, const char *path)
{
    const char *type = crd_scalar(schema, "type");
    bool fits =
        type != NULL && ((dv_streq(type, "object") && json_is_object(json)) || (dv_streq(type, "array") && json_is_array(json)) ||
                         (dv_streq(type, "string") && json_is_string(json)) || (dv_streq(type, "integer") && json_is_integer(json)) ||
                         (dv_streq(type, "number") && json_is_number(json)) || (dv_streq(type, "boolean") && json_is_boolean(json)));
    if (!fits)
        fail_msg("%s: must be %s", path, type != NULL ? type : "what the schema says");
    if (json_is_integer(json) && json_integer_value(json) < crd_number(schema, "minimum", INT64_MIN))
        fail_msg("%s: %lld is too small", path, (long long)json_integer_value(json));
    if (json_is_object(json))
        crd_check_object(schema, json, path);
    else if (json_is_array(json))
        crd_check_list(schema, json, path);
    else if (json_is_string(json))
        crd_check_text(schema, json_string_value(json), path);
}

#endif

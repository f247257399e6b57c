/* What must hold for every text, however broken: shared by the random tests and the fuzz program of pkg/values. A breach aborts. */
#ifndef DV_TEST_VALUES_PROPERTIES_H
#define DV_TEST_VALUES_PROPERTIES_H

#include <stdlib.h>
#include <string.h>

#include "must.h"
#include "values/internal.h"

/* Whether a can be had from b by taking bytes out. */
static bool values_is_within(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t i = 0;
    for (size_t j = 0; j < b_len && i < a_len; j++)
        i += a[i] == b[j];
    return i == a_len;
}

/* Of a value that was replaced all bytes before and after it are there; where something was added nothing is gone. */
static void values_check_bytes(const struct values_doc *before, const char *text, size_t len, struct values_path path, const char *out,
                               size_t out_len)
{
    struct values_spot spot;
    MUST(values_find(before, path, true, &spot, NULL) == 0);
    const struct values_node *node = spot.node;
    if (node == NULL && spot.parent != NULL && spot.parent->type == VALUES_NULL)
        node = spot.parent;
    if (node == NULL || node->start == node->end) {
        MUST(values_is_within(text, len, out, out_len));
        return;
    }
    size_t tail = len - node->end;
    MUST(out_len >= node->start + tail);
    MUST(memcmp(out, text, node->start) == 0);
    MUST(memcmp(out + out_len - tail, text + node->end, tail) == 0);
}

/* A successful change of one path: the text reads as wanted, once more is nothing, and no byte but the value's own is gone. */
static void values_check_result(const struct values_doc *before, const char *text, size_t len, struct values_change change, const char *out,
                                size_t out_len, bool changed)
{
    VALUES_CLEANUP_DOC struct values_doc *after = NULL;
    bool value = !change.value;
    MUST(values_parse(out, out_len, &after, NULL) == 0);
    MUST(values_get_bool(after, change.path, &value, NULL) == 0 && value == change.value);
    MUST(changed == (out_len != len || memcmp(out, text, len) != 0));
    char *again = NULL;
    size_t again_len;
    bool changed_again = true;
    MUST(values_set_bools(out, out_len, &change, 1, &again, &again_len, &changed_again, NULL) == 0 && !changed_again);
    MUST(again_len == out_len && memcmp(again, out, out_len) == 0);
    free(again);
    enum values_type type = values_type_at(before, change.path);
    MUST(type == VALUES_ABSENT || type == VALUES_NULL || type == VALUES_BOOL);
    values_check_bytes(before, text, len, change.path, out, out_len);
}

static void values_check_reads(const struct values_doc *doc, struct values_path path)
{
    struct dv_err err = DV_ERR_INIT;
    bool value;
    char **list = NULL;
    size_t count = 0;
    if (values_get_bool(doc, path, &value, &err) == 0)
        MUST(values_type_at(doc, path) == VALUES_BOOL);
    else
        MUST(err.kind != DV_ERR_NONE && err.text[0] != '\0');
    if (values_get_strings(doc, path, &list, &count, NULL) == 0)
        values_strings_free(list, count);
    else
        MUST(list == NULL);
}

/* Only what is not there can be mistyped, and then it is said for what. */
static void values_check_near(const struct values_doc *doc, struct values_path path, const struct values_path *known, size_t count)
{
    struct dv_err err = DV_ERR_INIT;
    if (!values_mistyped(doc, path, known, count, &err)) {
        MUST(err.kind == DV_ERR_NONE);
        return;
    }
    MUST(values_type_at(doc, path) == VALUES_ABSENT && strstr(err.text, " is not there, but ") != NULL);
}

/* Returns the number of changes that were made. */
static unsigned values_check_text(const char *text, size_t len, const struct values_path *paths, size_t count)
{
    VALUES_CLEANUP_DOC struct values_doc *doc = NULL;
    struct dv_err err = DV_ERR_INIT;
    unsigned made = 0;
    bool parsed = values_parse(text, len, &doc, &err) == 0;
    MUST(parsed || (doc == NULL && err.text[0] != '\0'));
    for (size_t i = 0; i < count; i++) {
        struct values_change change = {.path = paths[i], .value = i % 2 == 0};
        char *out = NULL;
        size_t out_len = 0;
        bool changed = false;
        struct dv_err why = DV_ERR_INIT;
        if (parsed) {
            values_check_reads(doc, paths[i]);
            values_check_near(doc, paths[i], paths, count);
        }
        if (values_set_bools(text, len, &change, 1, &out, &out_len, &changed, &why) != 0) {
            MUST(out == NULL && why.text[0] != '\0');
            continue;
        }
        MUST(parsed);
        values_check_result(doc, text, len, change, out, out_len, changed);
        free(out);
        made++;
    }
    return made;
}

#endif

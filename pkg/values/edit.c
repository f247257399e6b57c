#include "values/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define VALUES_KEY_MAX 500 /* bytes; YAML wants a key and its colon within 1024 characters */

static bool values_key_usable(const char *key)
{
    if (strlen(key) > VALUES_KEY_MAX)
        return false;
    for (const char *p = key; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return false;
    return true;
}

static bool values_text_usable(const struct values_scalar_change *change)
{
    bool ignored;
    size_t len = strlen(change->text);
    switch (change->type) {
    case VALUES_BOOL: return values_resolve_bool(change->text, len, &ignored);
    case VALUES_NUMBER: return values_is_number(change->text, len);
    case VALUES_STRING: return len <= VALUES_TEXT_MAX;
    case VALUES_ABSENT:
    case VALUES_NULL:
    case VALUES_LIST:
    case VALUES_MAP: return false;
    }
    return false;
}

static int values_check_change(const struct values_scalar_change *change, struct dv_err *err)
{
    char name[VALUES_PATH_TEXT];
    if (change->path.count == 0)
        return dv_err_set(err, DV_ERR_INVALID, "a path without keys cannot be changed");
    values_path_text(change->path, change->path.count, name, sizeof name);
    if (change->path.count > VALUES_DEPTH_MAX)
        return dv_err_set(err, DV_ERR_LIMIT, "%s: a path of more than %d keys", name, VALUES_DEPTH_MAX);
    for (size_t i = 0; i < change->path.count; i++)
        if (!values_key_usable(change->path.keys[i]))
            return dv_err_set(err, DV_ERR_INVALID, "%s: a key is too long or holds control characters", name);
    if (!values_text_usable(change))
        return dv_err_set(err, DV_ERR_INVALID, "%s: the new value is not of the wanted type", name);
    return 0;
}

bool values_path_same(struct values_path a, struct values_path b)
{
    for (size_t i = 0; i < a.count && a.count == b.count; i++)
        if (strcmp(a.keys[i], b.keys[i]) != 0)
            return false;
    return a.count == b.count;
}

static int values_check_changes(const struct values_scalar_change *changes, size_t count, struct dv_err *err)
{
    for (size_t i = 0; i < count; i++) {
        if (values_check_change(&changes[i], err) != 0)
            return -1;
        for (size_t j = 0; j < i; j++) {
            bool differ = changes[i].type != changes[j].type || strcmp(changes[i].text, changes[j].text) != 0;
            if (differ && values_path_same(changes[i].path, changes[j].path)) {
                char name[VALUES_PATH_TEXT];
                values_path_text(changes[i].path, changes[i].path.count, name, sizeof name);
                return dv_err_set(err, DV_ERR_INVALID, "%s is to be set to two values at once", name);
            }
        }
    }
    return 0;
}

static const char *values_type_noun(enum values_type type)
{
    struct values_node node = {.kind = VALUES_NODE_SCALAR, .type = type};
    return values_node_noun(&node);
}

static int values_check_type(const struct values_doc *doc, const struct values_node *node, const struct values_scalar_change *change,
                             struct dv_err *err)
{
    if (node->type == VALUES_NULL || node->type == change->type)
        return 0;
    return dv_err_set(err, DV_ERR_INVALID, "line %zu holds %s, not %s", values_node_line(doc, node), values_node_noun(node),
                      values_type_noun(change->type));
}

static void values_edit_free(struct values_edit *edit)
{
    for (size_t i = 0; i < edit->count; i++)
        dv_buf_free(&edit->part[i].text);
}

static int values_splice_text(const struct values_doc *doc, const struct values_edit *edit, struct dv_buf *out)
{
    size_t at = 0;
    int rc = 0;
    for (size_t i = 0; i < edit->count; i++) {
        const struct values_splice *splice = &edit->part[i];
        rc |= dv_buf_add(out, doc->text + at, splice->at - at);
        rc |= dv_buf_add(out, dv_buf_text(&splice->text), splice->text.len);
        at = splice->at + splice->cut;
    }
    rc |= dv_buf_add(out, doc->text + at, doc->len - at);
    return rc;
}

/* The parsed result of one planned edit, checked against the doc it came from. */
static struct values_doc *values_apply(const struct values_doc *doc, const struct values_edit *edit,
                                       const struct values_scalar_change *change, struct dv_err *err)
{
    DV_CLEANUP_BUF struct dv_buf text = DV_BUF_INIT(VALUES_TEXT_MAX);
    struct dv_err inner = DV_ERR_INIT;
    struct values_doc *after = NULL;
    if (values_splice_text(doc, edit, &text) != 0) {
        (void)dv_err_set(err, DV_ERR_LIMIT, "the values would become longer than %d KiB", VALUES_TEXT_MAX / 1024);
        return NULL;
    }
    if (values_parse(dv_buf_text(&text), text.len, &after, &inner) != 0) {
        (void)dv_err_set(err, inner.kind, "cannot be changed safely here: the changed text is refused (%s)", inner.text);
        return NULL;
    }
    if (!values_compare(doc, after, change, 1)) {
        values_doc_free(after);
        (void)dv_err_set(err, DV_ERR_INVALID, "cannot be changed safely here: near line %zu more than this would change",
                         values_text_line(doc, edit->part[0].at));
        return NULL;
    }
    return after;
}

/* Replaces *doc by the changed one, unless it already reads as wanted. */
static int values_change_one(struct values_doc **doc, const struct values_scalar_change *change, struct dv_err *err)
{
    struct values_spot spot;
    if (values_find(*doc, change->path, true, &spot, err) != 0)
        return -1;
    if (spot.node != NULL && values_check_type(*doc, spot.node, change, err) != 0)
        return -1;
    if (spot.node != NULL && values_scalar_is(spot.node, change))
        return 0;
    struct values_edit edit = {0};
    struct values_doc *after = NULL;
    if (values_place(*doc, change, &spot, &edit, err) == 0)
        after = values_apply(*doc, &edit, change, err);
    values_edit_free(&edit);
    if (after == NULL)
        return -1;
    values_doc_free(*doc);
    *doc = after;
    return 0;
}

static int values_change_all(struct values_doc **doc, const struct values_scalar_change *changes, size_t count, struct dv_err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct dv_err inner = DV_ERR_INIT;
        if (values_change_one(doc, &changes[i], &inner) != 0) {
            char name[VALUES_PATH_TEXT];
            values_path_text(changes[i].path, changes[i].path.count, name, sizeof name);
            return dv_err_set(err, inner.kind, "%s%s%s", dv_starts_with(inner.text, name) ? "" : name,
                              dv_starts_with(inner.text, name) ? "" : ": ", inner.text);
        }
    }
    return 0;
}

int values_set_scalars(const char *text, size_t len, const struct values_scalar_change *changes, size_t count, char **out, size_t *out_len,
                       bool *changed, struct dv_err *err)
{
    VALUES_CLEANUP_DOC struct values_doc *before = NULL;
    VALUES_CLEANUP_DOC struct values_doc *after = NULL;
    if (values_check_changes(changes, count, err) != 0 || values_parse(text, len, &before, err) != 0 ||
        values_parse(text, len, &after, err) != 0 || values_change_all(&after, changes, count, err) != 0)
        return -1;
    bool differs = after->len != len || memcmp(after->text, before->text, len) != 0;
    if (differs && !values_compare(before, after, changes, count))
        return dv_err_set(err, DV_ERR_INVALID, "the changes together cannot be made safely");
    *out = after->text;
    *out_len = after->len;
    *changed = differs;
    after->text = NULL;
    return 0;
}

static struct values_scalar_change values_bool_change(const struct values_change *change)
{
    return (struct values_scalar_change){.path = change->path, .type = VALUES_BOOL, .text = change->value ? "true" : "false"};
}

int values_set_bools(const char *text, size_t len, const struct values_change *changes, size_t count, char **out, size_t *out_len,
                     bool *changed, struct dv_err *err)
{
    DV_CLEANUP_FREE struct values_scalar_change *scalars = dv_calloc(count + 1, sizeof *scalars);
    for (size_t i = 0; i < count; i++)
        scalars[i] = values_bool_change(&changes[i]);
    return values_set_scalars(text, len, scalars, count, out, out_len, changed, err);
}

bool values_can_set(const struct values_doc *doc, struct values_path path, struct dv_err *err)
{
    bool now = false, changed;
    (void)values_get_bool(doc, path, &now, NULL);
    struct values_change change = {.path = path, .value = !now};
    char *text = NULL;
    size_t len;
    int rc = values_set_bools(doc->text, doc->len, &change, 1, &text, &len, &changed, err);
    free(text);
    return rc == 0;
}

/* Walks a path, and reads what stands there. */
#include "values/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

const char *values_node_noun(const struct values_node *node)
{
    if (node->kind == VALUES_NODE_ALIAS)
        return "an alias";
    switch (node->type) {
    case VALUES_ABSENT:
    case VALUES_NULL: return "null";
    case VALUES_BOOL: return "a boolean";
    case VALUES_STRING: return "a string";
    case VALUES_NUMBER: return "a number";
    case VALUES_LIST: return "a list";
    case VALUES_MAP: return "a mapping";
    }
    return "null";
}

struct values_walk {
    const struct values_doc *doc;
    struct values_path path;
    bool writing;
    struct dv_err *err;
};

static int values_stop(const struct values_walk *walk, const struct values_node *node, size_t depth, const char *what)
{
    char name[VALUES_PATH_TEXT];
    values_path_text(walk->path, depth, name, sizeof name);
    return dv_err_set(walk->err, DV_ERR_INVALID, "%s (line %zu) %s", name, values_node_line(walk->doc, node), what);
}

/* A change here must change nothing elsewhere. */
static int values_walk_own(const struct values_walk *walk, const struct values_node *node, size_t depth)
{
    if (!walk->writing)
        return 0;
    if (node->kind == VALUES_NODE_ALIAS)
        return values_stop(walk, node, depth, "is an alias: what it points at would change elsewhere too");
    if (node->uses > 0)
        return values_stop(walk, node, depth, "is an anchor that aliases point at: they would change too");
    return 0;
}

static int values_walk_map(const struct values_walk *walk, const struct values_node *node, size_t depth)
{
    const char *key = walk->path.keys[depth];
    if (node->type != VALUES_MAP) {
        char what[64];
        return values_stop(walk, node, depth, dv_format(what, sizeof what, "is %s, not a mapping", values_node_noun(node)));
    }
    if (node->merge)
        return values_stop(walk, node, depth, "takes keys from elsewhere (\"<<\")");
    if (node->odd_key && values_is_number(key, strlen(key)))
        return values_stop(walk, node, depth, "has numbers as keys that can be spelled in several ways");
    return 0;
}

const struct values_node *values_child(const struct values_node *map, const char *key)
{
    size_t len = strlen(key);
    for (const struct values_node *node = map->first; node != NULL; node = node->next->next)
        if (values_node_is_key(node, key, len))
            return node->next;
    return NULL;
}

int values_find(const struct values_doc *doc, struct values_path path, bool writing, struct values_spot *spot, struct dv_err *err)
{
    struct values_walk walk = {.doc = doc, .path = path, .writing = writing, .err = err};
    const struct values_node *node = doc->root;
    *spot = (struct values_spot){0};
    for (size_t depth = 0; node != NULL; depth++) {
        if (values_walk_own(&walk, node, depth) != 0)
            return -1;
        if (node->kind == VALUES_NODE_ALIAS)
            node = node->target;
        spot->depth = depth;
        if (depth == path.count) {
            spot->node = node;
            return 0;
        }
        spot->parent = node;
        if (node->type == VALUES_NULL)
            return 0;
        if (values_walk_map(&walk, node, depth) != 0)
            return -1;
        node = values_child(node, path.keys[depth]);
    }
    return 0;
}

enum values_type values_type_at(const struct values_doc *doc, struct values_path path)
{
    struct values_spot spot;
    if (values_find(doc, path, false, &spot, NULL) != 0 || spot.node == NULL)
        return VALUES_ABSENT;
    return spot.node->type;
}

/* What stands at the path, or NULL with err; null counts as absent. */
static const struct values_node *values_there(const struct values_doc *doc, struct values_path path, struct dv_err *err)
{
    char name[VALUES_PATH_TEXT];
    struct values_spot spot;
    if (values_find(doc, path, false, &spot, err) != 0)
        return NULL;
    values_path_text(path, path.count, name, sizeof name);
    if (spot.node == NULL)
        (void)dv_err_set(err, DV_ERR_NOT_FOUND, "%s is not in the values", name);
    else if (spot.node->type == VALUES_NULL)
        (void)dv_err_set(err, DV_ERR_NOT_FOUND, "%s (line %zu) is null", name, values_node_line(doc, spot.node));
    else
        return spot.node;
    return NULL;
}

int values_get_bool(const struct values_doc *doc, struct values_path path, bool *value, struct dv_err *err)
{
    const struct values_node *node = values_there(doc, path, err);
    if (node == NULL)
        return -1;
    if (node->type == VALUES_BOOL && values_resolve_bool(node->text, node->text_len, value))
        return 0;
    struct values_walk walk = {.doc = doc, .path = path, .err = err};
    char what[80];
    bool ignored;
    if (node->type == VALUES_STRING && values_resolve_bool(node->text, node->text_len, &ignored))
        (void)dv_format(what, sizeof what, "is the string \"%s\", not a boolean", node->text);
    else
        (void)dv_format(what, sizeof what, "is %s, not a boolean", values_node_noun(node));
    return values_stop(&walk, node, path.count, what);
}

static int values_get_item(const struct values_walk *walk, const struct values_node *item, size_t number, char **out)
{
    const struct values_node *node = values_node_real(item);
    char what[80];
    if (node->type == VALUES_STRING && memchr(node->text, '\0', node->text_len) == NULL) {
        *out = dv_strdup(node->text);
        return 0;
    }
    const char *noun = node->type == VALUES_STRING ? "a string with a NUL" : values_node_noun(node);
    return values_stop(walk, item, walk->path.count, dv_format(what, sizeof what, "has %s as item %zu, not a string", noun, number));
}

int values_get_strings(const struct values_doc *doc, struct values_path path, char ***list, size_t *count, struct dv_err *err)
{
    struct values_walk walk = {.doc = doc, .path = path, .err = err};
    struct values_spot spot;
    if (values_find(doc, path, false, &spot, err) != 0)
        return -1;
    if (spot.node == NULL || spot.node->type == VALUES_NULL) {
        *list = NULL;
        *count = 0;
        return 0;
    }
    if (spot.node->type != VALUES_LIST) {
        char what[64];
        (void)dv_format(what, sizeof what, "is %s, not a list", values_node_noun(spot.node));
        return values_stop(&walk, spot.node, path.count, what);
    }
    char **items = dv_calloc(spot.node->count + 1, sizeof *items);
    size_t used = 0;
    for (const struct values_node *item = spot.node->first; item != NULL; item = item->next, used++)
        if (values_get_item(&walk, item, used + 1, &items[used]) != 0) {
            values_strings_free(items, used);
            return -1;
        }
    *list = items;
    *count = used;
    return 0;
}

void values_strings_free(char **list, size_t count)
{
    for (size_t i = 0; list != NULL && i < count; i++)
        free(list[i]);
    free(list);
}

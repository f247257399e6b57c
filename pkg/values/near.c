/* A path that is not there may be one that was mistyped: looks for what it was meant to be. */
#include "values/internal.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"

#define VALUES_PATH_TEXT 200
#define VALUES_NEAR_KEY 64 /* bytes; longer keys are only compared for equality but for case and separators */

static bool values_separator(char c)
{
    return c == '-' || c == '_' || c == '.' || c == ' ';
}

/* Equal but for case, separators and, when digits is false, digits. */
static bool values_alike(const char *a, const char *b, bool digits)
{
    for (;; a++, b++) {
        while (values_separator(*a) || (!digits && isdigit((unsigned char)*a)))
            a++;
        while (values_separator(*b) || (!digits && isdigit((unsigned char)*b)))
            b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (*a == '\0')
            return true;
    }
}

static size_t values_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters to put in, leave out, change or swap with the next, without regard to case (optimal string alignment). */
static size_t values_typos(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t row[3][VALUES_NEAR_KEY + 1];
    for (size_t j = 0; j <= b_len; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            int from = tolower((unsigned char)a[i - 1]), to = tolower((unsigned char)b[j - 1]);
            now[j] = values_least(last[j - 1] + (from != to), values_least(last[j], now[j - 1]) + 1);
            bool swapped = i > 1 && j > 1 && from == tolower((unsigned char)b[j - 2]) && to == tolower((unsigned char)a[i - 2]);
            if (swapped)
                now[j] = values_least(now[j], before[j - 2] + 1);
        }
    }
    return row[a_len % 3][b_len];
}

/* One of the two was most likely meant to be the other: one slip in a short key, two in a long one. Keys that differ in digits alone name
 * different things ("level1", "level2"). */
static bool values_key_near(const char *a, const char *b)
{
    size_t a_len = strlen(a), b_len = strlen(b);
    size_t shorter = values_least(a_len, b_len);
    if (values_alike(a, b, true))
        return true;
    if (shorter < 4 || a_len > VALUES_NEAR_KEY || b_len > VALUES_NEAR_KEY || values_alike(a, b, false))
        return false;
    return values_typos(a, a_len, b, b_len) <= (shorter < 8 ? 1 : 2);
}

struct values_near {
    const struct values_path *known; /* other paths that are in use */
    size_t known_count;
    struct values_path path;
    size_t depth;                       /* keys of the path that are there */
    const char *keys[VALUES_DEPTH_MAX]; /* of what was found */
    size_t count;
    const struct values_node *node;
};

static const struct values_node *values_real(const struct values_node *node)
{
    return node->kind == VALUES_NODE_ALIAS ? node->target : node;
}

/* What was found serves another path already: then it is not this one's. */
static bool values_near_known(const struct values_near *near)
{
    struct values_path found = {.keys = near->keys, .count = near->count};
    for (size_t i = 0; i < near->known_count; i++)
        if (values_path_same(found, near->known[i]))
            return true;
    return false;
}

/* A switch or list where the path ends, a mapping before. */
static bool values_near_fits(const struct values_node *node, bool last)
{
    enum values_type type = values_real(node)->type;
    return last ? type == VALUES_BOOL || type == VALUES_LIST || type == VALUES_NULL : type == VALUES_MAP;
}

/* Some of the missing keys as one with dots ("init.enabled" for init, enabled), or the other way round. */
static bool values_near_dotted(const struct values_near *near, const struct values_node *key)
{
    const char *missing = near->path.keys[near->depth];
    const char *dot = strchr(missing, '.');
    if (dot != NULL && values_near_fits(key->next, false))
        return values_node_is_key(key, missing, (size_t)(dot - missing));
    const char *rest = key->text;
    for (size_t i = near->depth; i < near->path.count; i++) {
        size_t len = strlen(near->path.keys[i]);
        if (strncmp(rest, near->path.keys[i], len) != 0 || rest[len] != (i + 1 < near->path.count ? '.' : '\0'))
            return false;
        rest += len + 1;
    }
    return near->depth + 1 < near->path.count;
}

static bool values_near_slip(struct values_near *near, const struct values_node *key)
{
    if (!values_near_fits(key->next, near->depth + 1 == near->path.count) || !values_key_near(near->path.keys[near->depth], key->text))
        return false;
    memcpy(near->keys, near->path.keys, near->path.count * sizeof *near->keys);
    near->keys[near->depth] = key->text;
    near->count = near->path.count;
    return !values_near_known(near);
}

static bool values_near_beside(struct values_near *near, const struct values_node *map)
{
    for (const struct values_node *key = map->first; key != NULL; key = key->next->next) {
        if (key->kind != VALUES_NODE_SCALAR || (!values_near_dotted(near, key) && !values_near_slip(near, key)))
            continue;
        memcpy(near->keys, near->path.keys, near->depth * sizeof *near->keys);
        near->keys[near->depth] = key->text;
        near->count = near->depth + 1;
        near->node = key->next;
        return true;
    }
    return false;
}

/* The last keys of the path, at least two, below this mapping. As many keys as the path has name something else beside it (another
 * Distributor). */
static bool values_near_tail(struct values_near *near, const struct values_node *map, size_t depth)
{
    for (size_t from = 0; from + 2 <= near->path.count; from++) {
        const struct values_node *node = map;
        size_t count = near->path.count - from;
        if (depth == from || depth + count > VALUES_DEPTH_MAX)
            continue;
        for (size_t i = 0; i < count && node != NULL; i++) {
            near->keys[depth + i] = near->path.keys[from + i];
            node = values_real(node)->type == VALUES_MAP ? values_child(values_real(node), near->keys[depth + i]) : NULL;
        }
        near->count = depth + count;
        near->node = node;
        if (node != NULL && values_near_fits(node, true) && !values_near_known(near))
            return true;
    }
    return false;
}

/* The same on another level: below a mapping that the path leaves out, or without one that it has too many. */
static bool values_near_elsewhere(struct values_near *near, const struct values_node *map, size_t depth)
{
    if (values_near_tail(near, map, depth))
        return true;
    for (const struct values_node *key = map->first; key != NULL && depth + 1 < VALUES_DEPTH_MAX; key = key->next->next) {
        if (key->kind != VALUES_NODE_SCALAR || key->next->kind != VALUES_NODE_MAP)
            continue;
        near->keys[depth] = key->text;
        if (values_near_elsewhere(near, key->next, depth + 1))
            return true;
    }
    return false;
}

bool values_mistyped(const struct values_doc *doc, struct values_path path, const struct values_path *known, size_t known_count,
                     struct dv_err *err)
{
    struct values_near near = {.known = known, .known_count = known_count, .path = path};
    struct values_spot spot;
    if (path.count > VALUES_DEPTH_MAX || values_find(doc, path, false, &spot, NULL) != 0 || spot.node != NULL || spot.parent == NULL ||
        spot.parent->type != VALUES_MAP)
        return false;
    near.depth = spot.depth;
    bool beside = values_near_beside(&near, spot.parent);
    if (!beside && !values_near_elsewhere(&near, doc->root, 0))
        return false;
    char wanted[VALUES_PATH_TEXT], there[VALUES_PATH_TEXT];
    values_path_text(path, beside ? spot.depth + 1 : path.count, wanted, sizeof wanted);
    values_path_text((struct values_path){.keys = near.keys, .count = near.count}, near.count, there, sizeof there);
    (void)dv_err_set(err, DV_ERR_INVALID, "%s is not there, but %s (line %zu) is", wanted, there, values_node_line(doc, near.node));
    return true;
}

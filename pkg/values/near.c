/* A path that is not there may be one that was mistyped: looks for what it was meant to be. */
#include "values/internal.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"

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

static bool values_word_start(const char *key, size_t at)
{
    return at == 0 || isupper((unsigned char)key[at]) || values_separator(key[at]) || values_separator(key[at - 1]);
}

#define VALUES_WORD 4 /* letters; what tells things of one kind apart is short */

/* "distributor-a" and "distributor-b", "mdEnabled" and "sdEnabled": one short word differs, as a number would. */
static bool values_key_row(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t before = 0, after = 0, shorter = values_least(a_len, b_len);
    while (before < shorter && a[before] == b[before])
        before++;
    while (before > 0 && !(values_word_start(a, before) && values_word_start(b, before)))
        before--;
    while (after < shorter - before && a[a_len - after - 1] == b[b_len - after - 1])
        after++;
    while (after > 0 && !(values_word_start(a, a_len - after) && values_word_start(b, b_len - after)))
        after--;
    size_t a_word = a_len - before - after, b_word = b_len - before - after;
    return before + after > 0 && a_word > 0 && b_word > 0 && a_word <= VALUES_WORD && b_word <= VALUES_WORD;
}

/* One of the two was most likely meant to be the other: one slip in a short key, as many as `most` in a long one. Keys that differ in what
 * counts them ("level1", "level2") name different things. */
static bool values_key_near(const char *a, const char *b, size_t most)
{
    size_t a_len = strlen(a), b_len = strlen(b);
    size_t shorter = values_least(a_len, b_len), longer = a_len + b_len - shorter;
    if (values_alike(a, b, true))
        return true;
    if (shorter < 3 || longer < 4 || longer > VALUES_NEAR_KEY || values_alike(a, b, false) || values_key_row(a, a_len, b, b_len))
        return false;
    return values_typos(a, a_len, b, b_len) <= (shorter < 8 ? 1 : most);
}

struct values_near {
    const struct values_doc *doc;
    const struct values_path *known; /* other paths that are in use */
    size_t known_count;
    struct values_path path;
    size_t depth;                       /* keys of the path that are there */
    const char *keys[VALUES_DEPTH_MAX]; /* of what was found */
    size_t count;
    const struct values_node *node;
};

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
    enum values_type type = values_node_real(node)->type;
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

/* Follows the rest of the path below a key that was meant, through further slips; false where it does not lead to a switch. */
static bool values_near_rest(struct values_near *near, const struct values_node *node, size_t depth)
{
    if (depth == near->path.count)
        return values_near_fits(node, true) && !values_near_known(near);
    if (!values_near_fits(node, false))
        return false;
    for (const struct values_node *key = values_node_real(node)->first; key != NULL; key = key->next->next) {
        const char *wanted = near->path.keys[depth];
        if (key->kind != VALUES_NODE_SCALAR || (strcmp(key->text, wanted) != 0 && !values_key_near(wanted, key->text, 2)))
            continue;
        near->keys[depth] = key->text;
        if (values_near_rest(near, key->next, depth + 1))
            return true;
    }
    return false;
}

/* A key beside the missing one that reads like it and leads on to a switch; or one single slip away, wherever it leads. */
static bool values_near_slip(struct values_near *near, const struct values_node *key, bool rest)
{
    if (!values_near_fits(key->next, near->depth + 1 == near->path.count) ||
        !values_key_near(near->path.keys[near->depth], key->text, rest ? 2 : 1))
        return false;
    memcpy(near->keys, near->path.keys, near->path.count * sizeof *near->keys);
    near->keys[near->depth] = key->text;
    near->count = near->path.count;
    return rest ? values_near_rest(near, key->next, near->depth + 1) : !values_near_known(near);
}

static bool values_near_beside(struct values_near *near, const struct values_node *map, bool rest)
{
    for (const struct values_node *key = map->first; key != NULL; key = key->next->next) {
        if (key->kind != VALUES_NODE_SCALAR || (!values_near_dotted(near, key) && !values_near_slip(near, key, rest)))
            continue;
        memcpy(near->keys, near->path.keys, near->depth * sizeof *near->keys);
        near->keys[near->depth] = key->text;
        near->count = near->depth + 1;
        near->node = key->next;
        return true;
    }
    return false;
}

/* Whether another path of the spec leads below the first keys of what was found, or not one of them is where the spec says. */
static bool values_near_common(const struct values_near *near, size_t depth)
{
    bool there = false;
    for (size_t i = 0; i < near->known_count; i++) {
        struct values_path known = near->known[i];
        struct values_path prefix = {.keys = near->keys, .count = depth};
        if (values_path_same(known, near->path))
            continue;
        there = there || values_type_at(near->doc, known) != VALUES_ABSENT;
        if (known.count > depth && values_path_same((struct values_path){.keys = known.keys, .count = depth}, prefix))
            return true;
    }
    return !there;
}

/* From the path's key `from` on it stands below this mapping, which lies `depth` deep: levels were left out or put in. What stands below
 * another mapping altogether is something else. */
static bool values_near_level(const struct values_near *near, size_t depth, size_t from)
{
    size_t share = values_least(depth, from);
    struct values_path found = {.keys = near->keys, .count = share}, wanted = {.keys = near->path.keys, .count = share};
    return depth != from && values_path_same(found, wanted) && (from > 0 || values_near_common(near, depth));
}

/* The last keys of the path, at least two, below this mapping. */
static bool values_near_tail(struct values_near *near, const struct values_node *map, size_t depth)
{
    for (size_t from = 0; from + 2 <= near->path.count; from++) {
        const struct values_node *node = map;
        size_t count = near->path.count - from;
        if (depth + count > VALUES_DEPTH_MAX || !values_near_level(near, depth, from))
            continue;
        for (size_t i = 0; i < count && node != NULL; i++) {
            near->keys[depth + i] = near->path.keys[from + i];
            node = values_node_real(node)->type == VALUES_MAP ? values_child(values_node_real(node), near->keys[depth + i]) : NULL;
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
    struct values_near near = {.doc = doc, .known = known, .known_count = known_count, .path = path};
    struct values_spot spot;
    if (path.count > VALUES_DEPTH_MAX || values_find(doc, path, false, &spot, NULL) != 0 || spot.node != NULL || spot.parent == NULL ||
        spot.parent->type != VALUES_MAP)
        return false;
    near.depth = spot.depth;
    bool beside = values_near_beside(&near, spot.parent, true);
    bool elsewhere = !beside && values_near_elsewhere(&near, doc->root, 0);
    beside = beside || (!elsewhere && values_near_beside(&near, spot.parent, false));
    if (!beside && !elsewhere)
        return false;
    char wanted[VALUES_PATH_TEXT], there[VALUES_PATH_TEXT];
    values_path_text(path, beside ? spot.depth + 1 : path.count, wanted, sizeof wanted);
    values_path_text((struct values_path){.keys = near.keys, .count = near.count}, near.count, there, sizeof there);
    (void)dv_err_set(err, DV_ERR_INVALID, "%s is not there, but %s (line %zu) is", wanted, there, values_node_line(doc, near.node));
    return true;
}

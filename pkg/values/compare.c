/* The check after every change: the two trees are walked together with the changes that lead there. */
#include "values/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The changes whose path passes through the place being compared. */
struct values_set {
    const struct values_scalar_change **items;
    size_t count;
    size_t depth;
};

static bool values_same_text(const struct values_node *a, const struct values_node *b)
{
    return a->text_len == b->text_len && (a->text == b->text || memcmp(a->text, b->text, a->text_len) == 0);
}

static bool values_same_looks(const struct values_node *a, const struct values_node *b)
{
    return a->kind == b->kind && a->type == b->type && a->style == b->style && a->flow == b->flow && a->uses == b->uses &&
           dv_streq(a->anchor, b->anchor) && dv_streq(a->tag, b->tag);
}

static bool values_equal(const struct values_node *a, const struct values_node *b)
{
    if (!values_same_looks(a, b) || a->count != b->count)
        return false;
    if (a->kind == VALUES_NODE_SCALAR || a->kind == VALUES_NODE_ALIAS)
        return values_same_text(a, b);
    const struct values_node *left = a->first, *right = b->first;
    for (; left != NULL && right != NULL; left = left->next, right = right->next)
        if (!values_equal(left, right))
            return false;
    return left == NULL && right == NULL;
}

bool values_scalar_is(const struct values_node *node, const struct values_scalar_change *change)
{
    if (node->kind != VALUES_NODE_SCALAR || node->type != change->type)
        return false;
    bool is, wanted;
    if (change->type == VALUES_BOOL)
        return values_resolve_bool(node->text, node->text_len, &is) && values_resolve_bool(change->text, strlen(change->text), &wanted) &&
               is == wanted;
    return node->text_len == strlen(change->text) && memcmp(node->text, change->text, node->text_len) == 0;
}

static bool values_ends_here(const struct values_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->items[i]->path.count == set->depth)
            return true;
    return false;
}

static bool values_compare_leaf(const struct values_node *before, const struct values_node *after, const struct values_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->items[i]->path.count != set->depth || !values_scalar_is(after, set->items[i]))
            return false;
    if (before == NULL)
        return after->anchor == NULL && after->tag == NULL;
    bool fits = before->kind == VALUES_NODE_SCALAR && (before->type == VALUES_NULL || before->type == after->type);
    return fits && dv_streq(before->anchor, after->anchor) && dv_streq(before->tag, after->tag);
}

static bool values_compare_at(const struct values_node *before, const struct values_node *after, const struct values_set *set);

/* The changes of set that go on through this key. Items must hold set->count. */
static struct values_set values_through(const struct values_set *set, const struct values_node *key,
                                        const struct values_scalar_change **items)
{
    struct values_set through = {.items = items, .depth = set->depth + 1};
    for (size_t i = 0; i < set->count; i++) {
        const char *name = set->items[i]->path.keys[set->depth];
        if (values_node_is_key(key, name, strlen(name)))
            items[through.count++] = set->items[i];
    }
    return through;
}

static bool values_compare_map(const struct values_node *before, const struct values_node *after, const struct values_set *set)
{
    DV_CLEANUP_FREE const struct values_scalar_change **items = dv_calloc(set->count, sizeof *items);
    const struct values_node *old = before != NULL ? before->first : NULL;
    size_t reached = 0;
    for (const struct values_node *key = after->first; key != NULL; key = key->next->next) {
        struct values_set through = values_through(set, key, items);
        reached += through.count;
        if (old == NULL && through.count == 0)
            return false;
        if (old != NULL && !values_equal(old, key))
            return false;
        if (!values_compare_at(old != NULL ? old->next : NULL, key->next, &through))
            return false;
        old = old != NULL ? old->next->next : NULL;
    }
    return old == NULL && reached == set->count;
}

static bool values_compare_at(const struct values_node *before, const struct values_node *after, const struct values_set *set)
{
    if (set->count == 0)
        return before != NULL && values_equal(before, after);
    if (values_ends_here(set))
        return values_compare_leaf(before, after, set);
    if (after->kind != VALUES_NODE_MAP)
        return false;
    if (before == NULL || (before->kind == VALUES_NODE_SCALAR && before->type == VALUES_NULL))
        return after->anchor == NULL && after->tag == NULL && (before == NULL || (before->anchor == NULL && before->tag == NULL)) &&
               values_compare_map(NULL, after, set);
    return values_same_looks(before, after) && values_compare_map(before, after, set);
}

bool values_compare(const struct values_doc *before, const struct values_doc *after, const struct values_scalar_change *changes,
                    size_t count)
{
    DV_CLEANUP_FREE const struct values_scalar_change **items = dv_calloc(count + 1, sizeof *items);
    for (size_t i = 0; i < count; i++)
        items[i] = &changes[i];
    struct values_set set = {.items = items, .count = count};
    if (after->root == NULL)
        return before->root == NULL && count == 0;
    return values_compare_at(before->root, after->root, &set);
}

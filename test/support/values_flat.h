/* A YAML text as a flat list of its scalars, read by libyaml's own loader and not by pkg/values: a second opinion on what a change did. */
#ifndef DV_TEST_VALUES_FLAT_H
#define DV_TEST_VALUES_FLAT_H

#include <yaml.h>

#include "base/buf.h"
#include "base/mem.h"
#include "must.h"
#include "values/internal.h"

#define FLAT_KEYS_MAX 40
#define FLAT_ENTRIES_MAX 5000

struct flat_entry {
    char *keys[FLAT_KEYS_MAX]; /* an item of a list has "#<number>" */
    size_t count;
    bool named;  /* no item of a list on the way, no NUL in a key */
    bool plain;  /* a scalar without quotes */
    bool hollow; /* an empty mapping */
    bool truth;  /* a boolean: a plain word, or any scalar with the tag !!bool */
    bool value_of_truth;
    char *value;
    size_t len;
};

struct flat {
    struct flat_entry *entries;
    size_t count;
    bool beyond; /* too much, or keys that pkg/values refuses: says nothing then */
};

struct flat_walk {
    yaml_document_t doc;
    struct flat *flat;
    const char *keys[FLAT_KEYS_MAX];
    size_t depth;
    bool named;
};

static inline void flat_free(struct flat *flat)
{
    for (size_t i = 0; i < flat->count; i++) {
        for (size_t k = 0; k < flat->entries[i].count; k++)
            free(flat->entries[i].keys[k]);
        free(flat->entries[i].value);
    }
    free(flat->entries);
    *flat = (struct flat){0};
}

static inline void flat_add(struct flat_walk *walk, const yaml_node_t *node)
{
    struct flat *flat = walk->flat;
    if (flat->count == FLAT_ENTRIES_MAX) {
        flat->beyond = true;
        return;
    }
    if (flat->entries == NULL)
        flat->entries = dv_calloc(FLAT_ENTRIES_MAX, sizeof *flat->entries);
    struct flat_entry *entry = &flat->entries[flat->count++];
    *entry = (struct flat_entry){.count = walk->depth, .named = walk->named};
    for (size_t i = 0; i < walk->depth; i++)
        entry->keys[i] = dv_strdup(walk->keys[i]);
    struct dv_buf value = DV_BUF_INIT(2 * VALUES_TEXT_MAX);
    bool scalar = node->type == YAML_SCALAR_NODE;
    entry->plain = scalar && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && dv_streq((const char *)node->tag, YAML_STR_TAG);
    if (!entry->plain)
        (void)dv_buf_addf(&value, "%d %d %s ", (int)node->type, scalar ? (int)node->data.scalar.style : 0, (const char *)node->tag);
    if (scalar)
        (void)dv_buf_add(&value, node->data.scalar.value, node->data.scalar.length);
    entry->truth = scalar && (entry->plain || dv_streq((const char *)node->tag, YAML_BOOL_TAG)) &&
                   values_resolve_bool((const char *)node->data.scalar.value, node->data.scalar.length, &entry->value_of_truth);
    entry->hollow = node->type == YAML_MAPPING_NODE;
    entry->len = value.len;
    entry->value = dv_buf_take(&value);
}

static inline void flat_node(struct flat_walk *walk, int index);

/* Helm reads the plain words of YAML 1.1 as booleans, as keys too. */
static inline const char *flat_key(const yaml_node_t *key)
{
    bool value;
    const char *text = (const char *)key->data.scalar.value;
    bool plain = key->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (plain && values_resolve_bool(text, key->data.scalar.length, &value))
        return value ? "true" : "false";
    return text;
}

static inline void flat_map(struct flat_walk *walk, const yaml_node_t *node)
{
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
        yaml_node_t *key = yaml_document_get_node(&walk->doc, pair->key);
        bool named = walk->named;
        if (key == NULL || key->type != YAML_SCALAR_NODE) {
            walk->flat->beyond = true;
            return;
        }
        walk->named = named && strlen((char *)key->data.scalar.value) == key->data.scalar.length;
        walk->keys[walk->depth++] = flat_key(key);
        flat_node(walk, pair->value);
        walk->depth--;
        walk->named = named;
    }
}

static inline void flat_list(struct flat_walk *walk, const yaml_node_t *node)
{
    bool named = walk->named;
    size_t number = 0;
    walk->named = false;
    for (yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++) {
        char name[24];
        walk->keys[walk->depth++] = dv_format(name, sizeof name, "#%zu", number++);
        flat_node(walk, *item);
        walk->depth--;
    }
    walk->named = named;
}

static inline void flat_node(struct flat_walk *walk, int index)
{
    yaml_node_t *node = yaml_document_get_node(&walk->doc, index);
    if (node == NULL || walk->depth == FLAT_KEYS_MAX)
        walk->flat->beyond = true;
    if (walk->flat->beyond)
        return;
    if (node->type == YAML_MAPPING_NODE && node->data.mapping.pairs.start < node->data.mapping.pairs.top)
        flat_map(walk, node);
    else if (node->type == YAML_SEQUENCE_NODE && node->data.sequence.items.start < node->data.sequence.items.top)
        flat_list(walk, node);
    else
        flat_add(walk, node);
}

/* Whether libyaml's loader takes the text: it is stricter than its parser (an anchor's name given twice). */
static inline bool flat_read(const char *text, size_t len, struct flat *flat)
{
    yaml_parser_t parser;
    struct flat_walk walk = {.flat = flat, .named = true};
    size_t bom = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    *flat = (struct flat){0};
    MUST(yaml_parser_initialize(&parser));
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text + bom, len - bom);
    bool taken = yaml_parser_load(&parser, &walk.doc) != 0;
    if (taken && yaml_document_get_root_node(&walk.doc) != NULL)
        flat_node(&walk, 1);
    if (taken)
        yaml_document_delete(&walk.doc);
    yaml_parser_delete(&parser);
    return taken;
}

/* ---------------------------------------------------------------- comparison */

/* It stands at the path, or at a place that the path goes through. */
static inline bool flat_on_the_way(const struct flat_entry *entry, struct values_path path)
{
    if (!entry->named || entry->count > path.count)
        return false;
    for (size_t i = 0; i < entry->count; i++)
        if (strcmp(entry->keys[i], path.keys[i]) != 0)
            return false;
    return true;
}

static inline bool flat_on_a_way(const struct flat_entry *entry, const struct values_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (flat_on_the_way(entry, changes[i].path))
            return true;
    return false;
}

static inline void flat_must_give_way(const struct flat_entry *entry)
{
    MUST(entry->hollow || entry->truth || (entry->plain && values_resolve_plain(entry->value, entry->len) == VALUES_NULL));
}

static inline bool flat_same(const struct flat_entry *a, const struct flat_entry *b)
{
    if (a->count != b->count || a->len != b->len || a->plain != b->plain || memcmp(a->value, b->value, a->len) != 0)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->keys[i], b->keys[i]) != 0)
            return false;
    return true;
}

static inline void flat_must_hold(const struct flat *after, const struct values_change *change)
{
    size_t found = 0;
    for (size_t i = 0; i < after->count; i++) {
        const struct flat_entry *entry = &after->entries[i];
        if (entry->count != change->path.count || !flat_on_the_way(entry, change->path))
            continue;
        MUST(entry->truth && entry->value_of_truth == change->value);
        found++;
    }
    MUST(found == 1);
}

/* Every change's path holds its value, and what lies on no change's way stands there as before and in the same order. */
static inline void flat_check(const char *text, size_t len, const char *out, size_t out_len, const struct values_change *changes,
                              size_t count)
{
    struct flat before, after;
    bool says = flat_read(text, len, &before);
    MUST(flat_read(out, out_len, &after) == says);
    says = says && !before.beyond && !after.beyond;
    for (size_t i = 0; says && i < count; i++)
        flat_must_hold(&after, &changes[i]);
    size_t j = 0;
    for (size_t i = 0; says && i < before.count; i++) {
        if (flat_on_a_way(&before.entries[i], changes, count)) {
            flat_must_give_way(&before.entries[i]);
            continue;
        }
        while (j < after.count && flat_on_a_way(&after.entries[j], changes, count))
            j++;
        MUST(j < after.count && flat_same(&before.entries[i], &after.entries[j]));
        j++;
    }
    while (says && j < after.count && flat_on_a_way(&after.entries[j], changes, count))
        j++;
    MUST(!says || j == after.count);
    flat_free(&before);
    flat_free(&after);
}

#endif

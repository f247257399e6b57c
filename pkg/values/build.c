/* Second pass: libyaml's events become a tree of nodes with byte spans. */
#include "values/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define VALUES_ANCHORS_MAX 1000

struct values_builder {
    struct values_doc *doc;
    struct values_node *open[VALUES_DEPTH_MAX];
    size_t depth;
    size_t documents;
    struct values_node *anchored[VALUES_ANCHORS_MAX];
    size_t anchors;
    struct dv_err *err;
};

static int values_refuse(struct values_builder *builder, size_t at, const char *what)
{
    return dv_err_set(builder->err, DV_ERR_INVALID, "line %zu: %s", values_text_line(builder->doc, at), what);
}

static struct values_node *values_node_new(struct values_doc *doc, enum values_kind kind, const yaml_event_t *event)
{
    struct values_node *node = dv_alloc(sizeof *node);
    node->kind = kind;
    node->outer = node->start = values_text_offset(doc, event->start_mark.index);
    node->end = values_text_offset(doc, event->end_mark.index);
    node->column = event->start_mark.column;
    node->made = doc->made;
    doc->made = node;
    return node;
}

static bool values_awaits_key(const struct values_node *parent)
{
    return parent != NULL && parent->kind == VALUES_NODE_MAP && parent->count % 2 == 0;
}

static int values_check_key(struct values_builder *builder, struct values_node *map, struct values_node *key)
{
    if (key->kind == VALUES_NODE_ALIAS)
        return values_refuse(builder, key->outer, "an alias as key is not supported");
    if (key->kind != VALUES_NODE_SCALAR)
        return values_refuse(builder, key->outer, "a list or mapping as key is not supported");
    if (key->type == VALUES_NULL)
        return values_refuse(builder, key->outer, "a key is empty or null");
    if (key->type == VALUES_NUMBER && !values_is_decimal(key->text, key->text_len))
        map->odd_key = true;
    if (key->style == YAML_PLAIN_SCALAR_STYLE && key->tag == NULL && strcmp(key->text, "<<") == 0)
        map->merge = true;
    return 0;
}

static int values_attach(struct values_builder *builder, struct values_node *node)
{
    if (builder->depth == 0) {
        builder->doc->root = node;
        return 0;
    }
    struct values_node *parent = builder->open[builder->depth - 1];
    bool key = values_awaits_key(parent);
    if (key && values_check_key(builder, parent, node) != 0)
        return -1;
    if (parent->kind == VALUES_NODE_MAP && !key)
        node->key = parent->last;
    node->parent = parent;
    if (parent->last != NULL)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    parent->count++;
    return 0;
}

static int values_set_properties(struct values_builder *builder, struct values_node *node, const yaml_char_t *anchor,
                                 const yaml_char_t *tag)
{
    node->tag = dv_strdup((const char *)tag);
    node->anchor = dv_strdup((const char *)anchor);
    if (anchor == NULL)
        return 0;
    if (builder->anchors == VALUES_ANCHORS_MAX)
        return dv_err_set(builder->err, DV_ERR_LIMIT, "more than %d anchors", VALUES_ANCHORS_MAX);
    builder->anchored[builder->anchors++] = node;
    return 0;
}

/* The token behind anchor and tag; NULL when nothing stands there. */
static const struct values_token *values_content_token(const struct values_doc *doc, const struct values_node *node)
{
    for (size_t i = values_token_from(doc, node->outer); i < doc->token_count; i++) {
        yaml_token_type_t type = doc->tokens[i].type;
        if (type == YAML_SCALAR_TOKEN || type == YAML_FLOW_MAPPING_START_TOKEN || type == YAML_FLOW_SEQUENCE_START_TOKEN)
            return &doc->tokens[i];
    }
    return NULL;
}

static int values_build_scalar(struct values_builder *builder, const yaml_event_t *event)
{
    struct values_node *node = values_node_new(builder->doc, VALUES_NODE_SCALAR, event);
    node->style = event->data.scalar.style;
    node->text = dv_alloc(event->data.scalar.length + 1);
    node->text_len = event->data.scalar.length;
    memcpy(node->text, event->data.scalar.value, node->text_len);
    bool plain = node->style == YAML_PLAIN_SCALAR_STYLE;
    const struct values_token *token = plain && node->text_len == 0 ? NULL : values_content_token(builder->doc, node);
    node->start = token != NULL ? token->start : node->end;
    if (values_resolve_scalar(node->text, node->text_len, plain, (const char *)event->data.scalar.tag, &node->type) != 0)
        return values_refuse(builder, node->outer, "this tag is not supported or does not fit its value");
    if (plain && strstr(node->text, "{{") != NULL)
        return values_refuse(builder, node->start, "Go template text ({{ }}) outside quotes: only its rendered form can be read");
    if (values_set_properties(builder, node, event->data.scalar.anchor, event->data.scalar.tag) != 0)
        return -1;
    return values_attach(builder, node);
}

static bool values_is_open(const struct values_builder *builder, const struct values_node *node)
{
    for (size_t i = 0; i < builder->depth; i++)
        if (builder->open[i] == node)
            return true;
    return false;
}

static int values_build_alias(struct values_builder *builder, const yaml_event_t *event)
{
    struct values_node *node = values_node_new(builder->doc, VALUES_NODE_ALIAS, event);
    node->text = dv_strdup((const char *)event->data.alias.anchor);
    node->text_len = strlen(node->text);
    for (size_t i = builder->anchors; i > 0 && node->target == NULL; i--)
        if (strcmp(builder->anchored[i - 1]->anchor, node->text) == 0)
            node->target = builder->anchored[i - 1];
    if (node->target == NULL)
        return values_refuse(builder, node->outer, "this alias has no anchor before it");
    if (values_is_open(builder, node->target))
        return values_refuse(builder, node->outer, "this alias stands inside its own anchor");
    node->target->uses++;
    return values_attach(builder, node);
}

static int values_build_open(struct values_builder *builder, const yaml_event_t *event, enum values_kind kind)
{
    bool map = kind == VALUES_NODE_MAP;
    struct values_node *node = values_node_new(builder->doc, kind, event);
    const yaml_char_t *tag = map ? event->data.mapping_start.tag : event->data.sequence_start.tag;
    const yaml_char_t *anchor = map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
    node->type = map ? VALUES_MAP : VALUES_LIST;
    node->flow =
        map ? event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE : event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
    if (tag != NULL && !dv_streq((const char *)tag, map ? YAML_MAP_TAG : YAML_SEQ_TAG))
        return values_refuse(builder, node->outer, "this tag is not supported or does not fit its value");
    if (node->flow) {
        const struct values_token *token = values_content_token(builder->doc, node);
        node->start = token != NULL ? token->start : node->start;
    }
    if (values_set_properties(builder, node, anchor, tag) != 0 || values_attach(builder, node) != 0)
        return -1;
    if (builder->depth == VALUES_DEPTH_MAX)
        return dv_err_set(builder->err, DV_ERR_LIMIT, "line %zu is nested more than %d deep", values_text_line(builder->doc, node->outer),
                          VALUES_DEPTH_MAX);
    builder->open[builder->depth++] = node;
    return 0;
}

/* The name under which Helm keeps a key; booleans lose their spelling. */
static const char *values_key_name(const struct values_node *key, size_t *len)
{
    bool value;
    *len = key->text_len;
    if (key->type != VALUES_BOOL || !values_resolve_bool(key->text, key->text_len, &value))
        return key->text;
    *len = value ? 4 : 5;
    return value ? "true" : "false";
}

bool values_node_is_key(const struct values_node *node, const char *key, size_t len)
{
    size_t name_len;
    const char *name = values_key_name(node, &name_len);
    return name_len == len && memcmp(name, key, len) == 0;
}

static int values_order_keys(const void *left, const void *right)
{
    const struct values_node *a = *(struct values_node *const *)left, *b = *(struct values_node *const *)right;
    size_t a_len, b_len;
    const char *a_name = values_key_name(a, &a_len), *b_name = values_key_name(b, &b_len);
    int order = memcmp(a_name, b_name, a_len < b_len ? a_len : b_len);
    if (order != 0)
        return order;
    if (a_len != b_len)
        return a_len < b_len ? -1 : 1;
    return a->outer < b->outer ? -1 : a->outer > b->outer;
}

static int values_check_duplicates(struct values_builder *builder, const struct values_node *map)
{
    size_t count = map->count / 2, i = 0;
    DV_CLEANUP_FREE struct values_node **keys = dv_calloc(count + 1, sizeof(struct values_node *));
    for (struct values_node *key = map->first; key != NULL; key = key->next->next)
        keys[i++] = key;
    qsort(keys, count, sizeof(struct values_node *), values_order_keys);
    for (i = 1; i < count; i++) {
        size_t len;
        const char *name = values_key_name(keys[i], &len);
        if (values_node_is_key(keys[i - 1], name, len))
            return dv_err_set(builder->err, DV_ERR_INVALID, "duplicate key \"%.*s\" (lines %zu and %zu)", len > 100 ? 100 : (int)len, name,
                              values_text_line(builder->doc, keys[i - 1]->outer), values_text_line(builder->doc, keys[i]->outer));
    }
    return 0;
}

static int values_build_close(struct values_builder *builder, const yaml_event_t *event)
{
    struct values_node *node = builder->open[--builder->depth];
    if (node->flow)
        node->end = values_text_offset(builder->doc, event->end_mark.index);
    else
        node->end = node->last != NULL ? node->last->end : node->end;
    return node->kind == VALUES_NODE_MAP ? values_check_duplicates(builder, node) : 0;
}

static int values_build_event(struct values_builder *builder, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (++builder->documents > 1) {
            size_t at = values_text_offset(builder->doc, event->start_mark.index);
            return dv_err_set(builder->err, DV_ERR_INVALID, "more than one YAML document (the second starts in line %zu)",
                              values_text_line(builder->doc, at));
        }
        return 0;
    case YAML_ALIAS_EVENT: return values_build_alias(builder, event);
    case YAML_SCALAR_EVENT: return values_build_scalar(builder, event);
    case YAML_SEQUENCE_START_EVENT: return values_build_open(builder, event, VALUES_NODE_LIST);
    case YAML_MAPPING_START_EVENT: return values_build_open(builder, event, VALUES_NODE_MAP);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: return values_build_close(builder, event);
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT: return 0;
    }
    return 0;
}

int values_build(struct values_doc *doc, struct dv_err *err)
{
    DV_CLEANUP_FREE struct values_builder *builder = dv_alloc(sizeof *builder);
    builder->doc = doc;
    builder->err = err;
    yaml_parser_t parser;
    int rc = values_parser_start(doc, &parser, err);
    if (rc != 0)
        return rc;
    for (bool done = false; rc == 0 && !done;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            rc = values_libyaml_error(doc, &parser, err);
            break;
        }
        done = event.type == YAML_STREAM_END_EVENT || event.type == YAML_NO_EVENT;
        rc = values_build_event(builder, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return rc;
}

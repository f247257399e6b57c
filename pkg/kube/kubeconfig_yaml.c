#include "kube/kubeconfig_yaml.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define YAML_DEPTH_MAX 32

static const char *yaml_scalar(const yaml_node_t *node)
{
    return node != NULL && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

static bool yaml_is_null(const yaml_node_t *node)
{
    if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return false;
    const char *text = (const char *)node->data.scalar.value;
    return text[0] == '\0' || dv_streq(text, "null") || dv_streq(text, "~");
}

/* Ends at the first sign of a document that the tree builder should not see: libyaml takes quadratic time for deep nesting. */
static int yaml_event_check(const yaml_event_t *event, int *depth, int *documents, struct dv_err *err)
{
    switch (event->type) {
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
        if (++*depth > YAML_DEPTH_MAX)
            return dv_err_set(err, DV_ERR_INVALID, "it nests too deeply");
        return 0;
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT: (*depth)--; return 0;
    case YAML_DOCUMENT_START_EVENT:
        if (++*documents > 1)
            return dv_err_set(err, DV_ERR_INVALID, "it holds more than one document");
        return 0;
    case YAML_ALIAS_EVENT: return dv_err_set(err, DV_ERR_INVALID, "YAML aliases are not supported");
    default: return 0;
    }
}

static int yaml_first_pass(const char *text, size_t len, struct dv_err *err)
{
    yaml_parser_t parser;
    if (yaml_parser_initialize(&parser) == 0)
        return dv_err_set(err, DV_ERR_INTERNAL, "no memory for the YAML parser");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    int depth = 0;
    int documents = 0;
    int rc = 0;
    for (bool end = false; !end && rc == 0;) {
        yaml_event_t event;
        if (yaml_parser_parse(&parser, &event) == 0) { /* libyaml's words may quote the text: only its place is told */
            rc = dv_err_set(err, DV_ERR_INVALID, "it is no valid YAML (line %zu)", parser.problem_mark.line + 1);
            break;
        }
        rc = yaml_event_check(&event, &depth, &documents, err);
        end = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return rc;
}

static int yaml_check_keys(yaml_document_t *doc, struct dv_err *err)
{
    for (yaml_node_t *node = doc->nodes.start; node < doc->nodes.top; node++) {
        if (node->type != YAML_MAPPING_NODE)
            continue;
        for (yaml_node_pair_t *a = node->data.mapping.pairs.start; a < node->data.mapping.pairs.top; a++) {
            const char *key = yaml_scalar(yaml_document_get_node(doc, a->key));
            if (key == NULL)
                return dv_err_set(err, DV_ERR_INVALID, "a key is no text (line %zu)", node->start_mark.line + 1);
            for (yaml_node_pair_t *b = node->data.mapping.pairs.start; b < a; b++)
                if (dv_streq(key, yaml_scalar(yaml_document_get_node(doc, b->key))))
                    return dv_err_set(err, DV_ERR_INVALID, "the key %.64s stands twice in one mapping", key);
        }
    }
    return 0;
}

static int yaml_root_check(yaml_document_t *doc, struct dv_err *err)
{
    yaml_node_t *root = yaml_document_get_root_node(doc);
    if (root == NULL)
        return dv_err_set(err, DV_ERR_INVALID, "it is empty");
    if (root->type != YAML_MAPPING_NODE)
        return dv_err_set(err, DV_ERR_INVALID, "it is no kubeconfig (no mapping at its top)");
    return yaml_check_keys(doc, err);
}

int kubeconfig_yaml_load(const char *text, size_t len, yaml_document_t *doc, struct dv_err *err)
{
    if (yaml_first_pass(text, len, err) != 0)
        return -1;
    yaml_parser_t parser;
    if (yaml_parser_initialize(&parser) == 0)
        return dv_err_set(err, DV_ERR_INTERNAL, "no memory for the YAML parser");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    int loaded = yaml_parser_load(&parser, doc);
    yaml_parser_delete(&parser);
    if (loaded == 0)
        return dv_err_set(err, DV_ERR_INVALID, "it is no valid YAML");
    if (yaml_root_check(doc, err) == 0)
        return 0;
    yaml_document_delete(doc);
    return -1;
}

yaml_node_t *kubeconfig_yaml_member(yaml_document_t *doc, yaml_node_t *map, const char *key)
{
    if (map == NULL || map->type != YAML_MAPPING_NODE)
        return NULL;
    for (yaml_node_pair_t *pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top; pair++) {
        if (!dv_streq(key, yaml_scalar(yaml_document_get_node(doc, pair->key))))
            continue;
        yaml_node_t *value = yaml_document_get_node(doc, pair->value);
        return value != NULL && !yaml_is_null(value) ? value : NULL;
    }
    return NULL;
}

int kubeconfig_yaml_text(yaml_document_t *doc, yaml_node_t *map, const char *key, const char **out, struct dv_err *err)
{
    yaml_node_t *node = kubeconfig_yaml_member(doc, map, key);
    const char *text = yaml_scalar(node);
    if (node != NULL && (text == NULL || strlen(text) != node->data.scalar.length))
        return dv_err_set(err, DV_ERR_INVALID, "%s is no text", key);
    *out = text != NULL && text[0] != '\0' ? text : NULL;
    return 0;
}

int kubeconfig_yaml_bool(yaml_document_t *doc, yaml_node_t *map, const char *key, bool *out, struct dv_err *err)
{
    const char *text = NULL;
    if (kubeconfig_yaml_text(doc, map, key, &text, err) != 0)
        return -1;
    if (text != NULL && !dv_streq(text, "true") && !dv_streq(text, "false"))
        return dv_err_set(err, DV_ERR_INVALID, "%s must be true or false", key);
    *out = dv_streq(text, "true");
    return 0;
}

int kubeconfig_yaml_entry(yaml_document_t *doc, const char *list, const char *part, const char *name, yaml_node_t **out, struct dv_err *err)
{
    yaml_node_t *entries = kubeconfig_yaml_member(doc, yaml_document_get_root_node(doc), list);
    yaml_node_t *found = NULL;
    if (entries != NULL && entries->type != YAML_SEQUENCE_NODE)
        return dv_err_set(err, DV_ERR_INVALID, "%s is no list", list);
    for (yaml_node_item_t *item = entries != NULL ? entries->data.sequence.items.start : NULL;
         item != NULL && item < entries->data.sequence.items.top; item++) {
        yaml_node_t *entry = yaml_document_get_node(doc, *item);
        if (!dv_streq(name, yaml_scalar(kubeconfig_yaml_member(doc, entry, "name"))))
            continue;
        if (found != NULL)
            return dv_err_set(err, DV_ERR_INVALID, "%s name %s stands twice", part, name);
        found = entry;
    }
    if (found == NULL)
        return dv_err_set(err, DV_ERR_INVALID, "%s %s does not exist", part, name);
    *out = kubeconfig_yaml_member(doc, found, part);
    if (*out == NULL || (*out)->type != YAML_MAPPING_NODE)
        return dv_err_set(err, DV_ERR_INVALID, "%s %s is empty", part, name);
    return 0;
}

/* The status as the API server would check it against the CRD: fields that are not there (fieldValidation=Strict refuses the write for
 * good), types, enums, bounds, required fields. Left out: patterns, formats, CEL, defaults. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "base/mem.h"

#define SCHEMA_FILE "crds/distverify.io_distributionverifications.yaml"

/* ---------------------------------------------------------------- YAML to JSON */

static json_t *schema_node(yaml_document_t *document, int index)
{
    yaml_node_t *node = yaml_document_get_node(document, index);
    if (node->type == YAML_SCALAR_NODE) {
        const char *text = (const char *)node->data.scalar.value;
        int64_t number = 0;
        bool plain = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        if (plain && (dv_streq(text, "true") || dv_streq(text, "false")))
            return json_boolean(dv_streq(text, "true"));
        if (plain && dv_parse_i64(text, INT64_MIN, INT64_MAX, &number) == 0)
            return json_integer(number);
        return json_string(text);
    }
    if (node->type == YAML_SEQUENCE_NODE) {
        json_t *list = json_array();
        for (yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++)
            json_array_append_new(list, schema_node(document, *item));
        return list;
    }
    json_t *object = json_object();
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
        yaml_node_t *key = yaml_document_get_node(document, pair->key);
        json_object_set_new(object, (const char *)key->data.scalar.value, schema_node(document, pair->value));
    }
    return object;
}

static json_t *schema_load(void)
{
    yaml_parser_t parser;
    yaml_document_t document;
    FILE *file = fopen(SCHEMA_FILE, "rb");
    if (file == NULL || yaml_parser_initialize(&parser) == 0)
        abort();
    yaml_parser_set_input_file(&parser, file);
    if (yaml_parser_load(&parser, &document) == 0)
        abort();
    json_t *crd = schema_node(&document, 1);
    yaml_document_delete(&document);
    yaml_parser_delete(&parser);
    (void)fclose(file);
    json_t *version = json_array_get(json_object_get(json_object_get(crd, "spec"), "versions"), 0);
    json_t *schema = json_object_get(json_object_get(version, "schema"), "openAPIV3Schema");
    json_t *status = json_incref(json_object_get(json_object_get(schema, "properties"), "status"));
    json_decref(crd);
    return status;
}

/* ---------------------------------------------------------------- checking */

struct schema_place {
    struct world *world;
    char path[200];
};

static void schema_check(const struct schema_place *place, const json_t *schema, const json_t *json);

static struct schema_place schema_in(const struct schema_place *place, const char *key)
{
    struct schema_place inner = {.world = place->world};
    (void)dv_format(inner.path, sizeof inner.path, "%.120s.%.60s", place->path, key);
    return inner;
}

static void schema_bad(const struct schema_place *place, const char *what)
{
    world_break(place->world, "the CRD refuses %s: %s", place->path, what);
}

static bool schema_type_fits(const char *type, const json_t *json)
{
    if (dv_streq(type, "object"))
        return json_is_object(json);
    if (dv_streq(type, "array"))
        return json_is_array(json);
    if (dv_streq(type, "string"))
        return json_is_string(json);
    if (dv_streq(type, "integer"))
        return json_is_integer(json);
    if (dv_streq(type, "number"))
        return json_is_number(json);
    return !dv_streq(type, "boolean") || json_is_boolean(json);
}

static void schema_check_object(const struct schema_place *place, const json_t *schema, const json_t *json)
{
    const char *key = NULL;
    json_t *value = NULL;
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *others = json_object_get(schema, "additionalProperties");
    const json_t *required = json_object_get(schema, "required");
    for (size_t i = 0; i < json_array_size(required); i++)
        if (json_object_get(json, json_string_value(json_array_get(required, i))) == NULL)
            schema_bad(place, json_string_value(json_array_get(required, i)));
    json_object_foreach ((json_t *)(uintptr_t)json, key, value) {
        struct schema_place inner = schema_in(place, key);
        const json_t *of = json_object_get(properties, key);
        if (of == NULL && json_is_object(others))
            of = others;
        if (of == NULL)
            schema_bad(&inner, "unknown field");
        else
            schema_check(&inner, of, value);
    }
}

static void schema_check_array(const struct schema_place *place, const json_t *schema, const json_t *json)
{
    const json_t *most = json_object_get(schema, "maxItems");
    struct schema_place inner = schema_in(place, "[]");
    if (most != NULL && (json_int_t)json_array_size(json) > json_integer_value(most))
        schema_bad(place, "too many items");
    for (size_t i = 0; i < json_array_size(json); i++)
        schema_check(&inner, json_object_get(schema, "items"), json_array_get(json, i));
}

/* The API server counts characters. */
static json_int_t schema_characters(const char *text)
{
    json_int_t count = 0;
    for (; *text != '\0'; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static void schema_check_string(const struct schema_place *place, const json_t *schema, const json_t *json)
{
    const json_t *most = json_object_get(schema, "maxLength");
    const json_t *least = json_object_get(schema, "minLength");
    const json_t *names = json_object_get(schema, "enum");
    bool named = names == NULL;
    if (most != NULL && schema_characters(json_string_value(json)) > json_integer_value(most))
        schema_bad(place, "too long");
    if (least != NULL && schema_characters(json_string_value(json)) < json_integer_value(least))
        schema_bad(place, "too short");
    for (size_t i = 0; i < json_array_size(names); i++)
        named = named || json_equal(json_array_get(names, i), json);
    if (!named)
        schema_bad(place, json_string_value(json));
}

static void schema_check_number(const struct schema_place *place, const json_t *schema, const json_t *json)
{
    const json_t *least = json_object_get(schema, "minimum");
    const json_t *most = json_object_get(schema, "maximum");
    if ((least != NULL && json_number_value(json) < json_number_value(least)) ||
        (most != NULL && json_number_value(json) > json_number_value(most)))
        schema_bad(place, "out of bounds");
}

static void schema_check(const struct schema_place *place, const json_t *schema, const json_t *json)
{
    if (!schema_type_fits(json_string_value(json_object_get(schema, "type")), json)) {
        schema_bad(place, "of another type");
        return;
    }
    if (json_is_object(json) && !json_is_true(json_object_get(schema, "x-kubernetes-preserve-unknown-fields")))
        schema_check_object(place, schema, json);
    else if (json_is_array(json))
        schema_check_array(place, schema, json);
    else if (json_is_string(json))
        schema_check_string(place, schema, json);
    else if (json_is_number(json))
        schema_check_number(place, schema, json);
}

void world_check_status(struct world *world, const json_t *status)
{
    static json_t *schema;
    struct schema_place place = {.world = world, .path = "status"};
    if (schema == NULL)
        schema = schema_load();
    schema_check(&place, schema, status);
}

/* First pass: libyaml's tokens. They tell where colons, commas and braces stand, which events do not. Everything that is refused for
 * its form is found here. The depth is watched token by token, because libyaml's cost grows with depth times length. */
#include "values/internal.h"

#include <string.h>

#include "base/mem.h"

struct values_scanner {
    struct values_doc *doc;
    size_t depth;
    size_t room; /* of doc->tokens */
};

int values_parser_start(const struct values_doc *doc, yaml_parser_t *parser, struct dv_err *err)
{
    if (!yaml_parser_initialize(parser))
        return dv_err_set(err, DV_ERR_INTERNAL, "out of memory");
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(parser, (const unsigned char *)doc->text + doc->base, doc->len - doc->base);
    return 0;
}

static bool values_line_has(const struct values_doc *doc, size_t at, const char *needle)
{
    size_t from = values_text_line_start(doc, at);
    size_t to = values_text_line_end(doc, at);
    return memmem(doc->text + from, to - from, needle, strlen(needle)) != NULL;
}

static int values_template_error(const struct values_doc *doc, size_t at, struct dv_err *err)
{
    return dv_err_set(err, DV_ERR_INVALID, "line %zu holds Go template text ({{ }}): only its rendered form can be read",
                      values_text_line(doc, at));
}

int values_libyaml_error(const struct values_doc *doc, const yaml_parser_t *parser, struct dv_err *err)
{
    if (parser->error == YAML_MEMORY_ERROR)
        return dv_err_set(err, DV_ERR_INTERNAL, "out of memory");
    const char *problem = parser->problem != NULL ? parser->problem : "not YAML";
    if (parser->error == YAML_READER_ERROR) {
        size_t at = doc->base + parser->problem_offset;
        return dv_err_set(err, DV_ERR_INVALID, "line %zu: %s", values_text_line(doc, at), problem);
    }
    size_t at = values_text_offset(doc, parser->problem_mark.index);
    size_t context = values_text_offset(doc, parser->context_mark.index);
    if (values_line_has(doc, at, "{{"))
        return values_template_error(doc, at, err);
    if (parser->context != NULL && values_line_has(doc, context, "{{"))
        return values_template_error(doc, context, err);
    if (doc->text[at] == '\t' && values_text_blank(doc, values_text_line_start(doc, at), at))
        return dv_err_set(err, DV_ERR_INVALID, "line %zu is indented with a tab", values_text_line(doc, at));
    return dv_err_set(err, DV_ERR_INVALID, "line %zu: %s%s%s", values_text_line(doc, at), problem, parser->context != NULL ? " " : "",
                      parser->context != NULL ? parser->context : "");
}

static int values_scan_depth(struct values_scanner *scanner, const struct values_token *token, struct dv_err *err)
{
    switch ((int)token->type) {
    case YAML_BLOCK_SEQUENCE_START_TOKEN:
    case YAML_BLOCK_MAPPING_START_TOKEN:
    case YAML_FLOW_SEQUENCE_START_TOKEN:
    case YAML_FLOW_MAPPING_START_TOKEN:
        if (++scanner->depth > VALUES_DEPTH_MAX)
            return dv_err_set(err, DV_ERR_LIMIT, "line %zu is nested more than %d deep", values_text_line(scanner->doc, token->start),
                              VALUES_DEPTH_MAX);
        return 0;
    case YAML_BLOCK_END_TOKEN:
    case YAML_FLOW_SEQUENCE_END_TOKEN:
    case YAML_FLOW_MAPPING_END_TOKEN:
        if (scanner->depth > 0) /* a stray "]" is the parser's to refuse */
            scanner->depth--;
        return 0;
    }
    return 0;
}

static int values_scan_form(const struct values_doc *doc, const struct values_token *token, struct dv_err *err)
{
    const struct values_token *before = doc->token_count > 0 ? &doc->tokens[doc->token_count - 1] : NULL;
    switch ((int)token->type) {
    case YAML_VERSION_DIRECTIVE_TOKEN:
    case YAML_TAG_DIRECTIVE_TOKEN:
        return dv_err_set(err, DV_ERR_INVALID, "line %zu is a YAML directive (%%), which is not supported",
                          values_text_line(doc, token->start));
    case YAML_KEY_TOKEN: /* has a length only when written as "?" */
        if (token->end > token->start)
            return dv_err_set(err, DV_ERR_INVALID, "line %zu has an explicit key (\"?\"), which is not supported",
                              values_text_line(doc, token->start));
        return 0;
    case YAML_FLOW_MAPPING_START_TOKEN:
        if (before != NULL && before->type == token->type && before->end == token->start)
            return values_template_error(doc, token->start, err);
        return 0;
    }
    return 0;
}

static int values_scan_take(struct values_scanner *scanner, const yaml_token_t *raw, struct dv_err *err)
{
    struct values_doc *doc = scanner->doc;
    struct values_token token = {
        .type = raw->type, .start = values_text_offset(doc, raw->start_mark.index), .end = values_text_offset(doc, raw->end_mark.index)};
    if (values_scan_depth(scanner, &token, err) != 0 || values_scan_form(doc, &token, err) != 0)
        return -1;
    if (doc->token_count == scanner->room) {
        scanner->room = scanner->room > 0 ? scanner->room * 2 : 64;
        doc->tokens = dv_reallocarray(doc->tokens, scanner->room, sizeof *doc->tokens);
    }
    doc->tokens[doc->token_count++] = token;
    return 0;
}

int values_scan(struct values_doc *doc, struct dv_err *err)
{
    struct values_scanner scanner = {.doc = doc};
    yaml_parser_t parser;
    int rc = values_parser_start(doc, &parser, err);
    if (rc != 0)
        return rc;
    for (bool done = false; rc == 0 && !done;) {
        yaml_token_t token;
        if (!yaml_parser_scan(&parser, &token)) {
            rc = values_libyaml_error(doc, &parser, err);
            break;
        }
        done = token.type == YAML_STREAM_END_TOKEN || token.type == YAML_NO_TOKEN;
        rc = values_scan_take(&scanner, &token, err);
        yaml_token_delete(&token);
    }
    yaml_parser_delete(&parser);
    return rc;
}

size_t values_token_from(const struct values_doc *doc, size_t at)
{
    size_t low = 0, high = doc->token_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (doc->tokens[middle].start < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

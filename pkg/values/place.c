/* Where a change goes, as one or two splices of the text. */
#include "values/internal.h"

#include <string.h>

static struct values_splice *values_splice(struct values_edit *edit, size_t at, size_t cut)
{
    struct values_splice *splice = &edit->part[edit->count++];
    *splice = (struct values_splice){.at = at, .cut = cut, .text = DV_BUF_INIT(VALUES_TEXT_MAX)};
    return splice;
}

static int values_unplaced(const struct values_doc *doc, const struct values_node *node, const char *what, struct dv_err *err)
{
    return dv_err_set(err, DV_ERR_INVALID, "line %zu: %s", values_node_line(doc, node), what);
}

/* ---------------------------------------------------------------- looks of the neighbours */

/* Blanks before the first key of a block mapping; -1 when something else stands on its line before it. */
static int values_indent_of(const struct values_doc *doc, const struct values_node *key, size_t *indent, struct dv_err *err)
{
    size_t line = values_text_line_start(doc, key->outer);
    for (size_t i = line; i < key->outer; i++)
        if (doc->text[i] != ' ')
            return values_unplaced(doc, key, "a key that does not begin its line leaves no safe place to add another", err);
    *indent = key->outer - line;
    return 0;
}

static size_t values_step_of(const struct values_node *map)
{
    for (const struct values_node *key = map->first; key != NULL; key = key->next->next) {
        const struct values_node *value = key->next;
        if (value->kind == VALUES_NODE_MAP && !value->flow && value->first->column > key->column)
            return value->first->column - key->column;
    }
    return 0;
}

/* By how much the file indents: as the siblings do, else as the mappings around them, else as the first of the root's. */
static size_t values_step(const struct values_doc *doc, const struct values_node *map)
{
    size_t step = 0;
    for (; map != NULL && step == 0; map = map->parent)
        if (map->kind == VALUES_NODE_MAP && !map->flow)
            step = values_step_of(map);
    const struct values_node *root = doc->root;
    if (step != 0 || root == NULL || root->kind != VALUES_NODE_MAP || root->flow)
        return step != 0 ? step : 2;
    for (const struct values_node *key = root->first; key != NULL && step == 0; key = key->next->next)
        if (key->next->kind == VALUES_NODE_MAP && !key->next->flow)
            step = values_step_of(key->next);
    return step != 0 ? step : 2;
}

/* Whether the keys of this flow mapping, or of the nearest one around it that has keys, are all in double quotes, as in JSON. */
static bool values_quotes_keys(const struct values_node *map)
{
    while (map != NULL && (map->kind != VALUES_NODE_MAP || map->count == 0))
        map = map->parent;
    if (map == NULL || !map->flow)
        return false;
    for (const struct values_node *key = map->first; key != NULL; key = key->next->next)
        if (key->style != YAML_DOUBLE_QUOTED_SCALAR_STYLE)
            return false;
    return true;
}

/* ---------------------------------------------------------------- lines */

static bool values_keeps_blank_lines(const struct values_doc *doc, const struct values_node *node)
{
    size_t end = values_text_line_end(doc, node->start);
    for (size_t i = node->start; i < end && doc->text[i] != '#'; i++)
        if (doc->text[i] == '+')
            return true;
    return false;
}

/* A text block's span reaches over the blank lines after it, to the start of a line. They are its own only with "+". */
static size_t values_after_text_block(const struct values_doc *doc, const struct values_node *node)
{
    size_t at = node->end;
    while (!values_keeps_blank_lines(doc, node) && at > node->start && values_text_line_start(doc, at) == at) {
        size_t line_end = at - 1; /* in the break before this line; the second half of CR LF counts as part of its line */
        size_t line = values_text_line_start(doc, line_end);
        if (line <= node->start || values_text_line_end(doc, line) != line)
            break;
        at = line;
    }
    return at;
}

/* The start of the line after the last entry of a block collection, or the end of the text. */
static size_t values_after_block(const struct values_doc *doc, const struct values_node *node)
{
    while ((node->kind == VALUES_NODE_MAP || node->kind == VALUES_NODE_LIST) && !node->flow && node->last != NULL)
        node = node->last;
    if (node->kind == VALUES_NODE_SCALAR && (node->style == YAML_LITERAL_SCALAR_STYLE || node->style == YAML_FOLDED_SCALAR_STYLE))
        return values_after_text_block(doc, node);
    size_t end = values_text_line_end(doc, node->end);
    return end + values_text_break(doc, end);
}

/* Puts the missing keys as lines at a line start, or at the end of a text whose last line has no end; it then gets none either. */
static void values_put_lines(const struct values_doc *doc, const struct values_scalar_change *change, size_t depth, size_t at,
                             struct values_lines lines, struct values_edit *edit)
{
    bool open_line = at > doc->base && values_text_line_start(doc, at) != at;
    struct values_splice *splice = values_splice(edit, at, 0);
    lines.newline = values_text_newline(doc, at);
    if (open_line)
        (void)dv_buf_adds(&splice->text, lines.newline);
    values_render_block(&splice->text, change, depth, &lines);
    if (!open_line)
        (void)dv_buf_adds(&splice->text, lines.newline);
}

static int values_place_in_block(const struct values_doc *doc, const struct values_scalar_change *change, const struct values_spot *spot,
                                 struct values_edit *edit, struct dv_err *err)
{
    struct values_lines lines = {.step = values_step(doc, spot->parent)};
    if (values_indent_of(doc, spot->parent->first, &lines.indent, err) != 0)
        return -1;
    values_put_lines(doc, change, spot->depth, values_after_block(doc, spot->parent), lines, edit);
    return 0;
}

/* ---------------------------------------------------------------- flow mappings */

static const struct values_token *values_token_between(const struct values_doc *doc, size_t from, size_t to, yaml_token_type_t type)
{
    for (size_t i = values_token_from(doc, from); i < doc->token_count && doc->tokens[i].start < to; i++)
        if (doc->tokens[i].type == type)
            return &doc->tokens[i];
    return NULL;
}

/* A key or value of which nothing is written, but perhaps an anchor or a tag. */
static bool values_is_bare(const struct values_node *node)
{
    return node->kind == VALUES_NODE_SCALAR && node->start == node->end;
}

/* Nothing stands there: the colon tells where it would. */
static size_t values_empty_end(const struct values_doc *doc, const struct values_node *value)
{
    const struct values_token *colon = values_token_between(doc, value->key->end, value->start + 1, YAML_VALUE_TOKEN);
    return colon != NULL ? colon->end : value->key->end;
}

static void values_place_in_braces(const struct values_doc *doc, const struct values_scalar_change *change, const struct values_spot *spot,
                                   struct values_edit *edit)
{
    const struct values_node *map = spot->parent;
    size_t at = map->start + 1;
    bool padded = at < map->end - 1 && doc->text[at] == ' ';
    struct values_splice *splice = values_splice(edit, at, 0);
    (void)dv_buf_adds(&splice->text, padded ? " " : "");
    values_render_flow(&splice->text, change, spot->depth, values_quotes_keys(map));
}

struct values_flow_end {
    size_t at;     /* end of the last entry */
    bool sticky;   /* it ends with a colon, tag or anchor that a comma might become part of: go-yaml v2 reads on where libyaml stops */
    size_t comma;  /* end of a comma after it, 0 for none */
    size_t after;  /* end of both */
    bool own_line; /* the last entry begins its line and ends before the brace's */
};

static struct values_flow_end values_flow_end(const struct values_doc *doc, const struct values_node *map)
{
    const struct values_node *value = map->last;
    struct values_flow_end end = {.at = value->end};
    if (values_is_bare(value)) {
        bool alone = value->outer == value->end;
        end.at = alone ? values_empty_end(doc, value) : value->end;
        end.sticky = end.at > value->key->end || values_is_bare(value->key);
    }
    const struct values_token *comma = values_token_between(doc, end.at, map->end, YAML_FLOW_ENTRY_TOKEN);
    end.comma = comma != NULL ? comma->end : 0;
    end.after = end.comma > end.at ? end.comma : end.at;
    size_t line = values_text_line_start(doc, value->key->outer);
    end.own_line = values_text_blank(doc, line, value->key->outer) && line > map->start && values_text_line_end(doc, end.after) < map->end;
    return end;
}

static void values_place_flow_line(const struct values_doc *doc, const struct values_scalar_change *change, const struct values_spot *spot,
                                   const struct values_flow_end *end, struct values_edit *edit)
{
    const struct values_node *key = spot->parent->last->key;
    if (end->comma == 0)
        (void)dv_buf_adds(&values_splice(edit, end->at, 0)->text, end->sticky ? " ," : ",");
    size_t line_end = values_text_line_end(doc, end->after);
    size_t at = line_end + values_text_break(doc, line_end);
    struct values_splice *splice = values_splice(edit, at, 0);
    size_t line = values_text_line_start(doc, key->outer);
    (void)dv_buf_add(&splice->text, doc->text + line, key->outer - line);
    values_render_flow(&splice->text, change, spot->depth, values_quotes_keys(spot->parent));
    (void)dv_buf_adds(&splice->text, end->comma != 0 ? "," : "");
    (void)dv_buf_adds(&splice->text, values_text_newline(doc, at));
}

static void values_place_in_flow(const struct values_doc *doc, const struct values_scalar_change *change, const struct values_spot *spot,
                                 struct values_edit *edit)
{
    if (spot->parent->count == 0) {
        values_place_in_braces(doc, change, spot, edit);
        return;
    }
    struct values_flow_end end = values_flow_end(doc, spot->parent);
    if (end.own_line) {
        values_place_flow_line(doc, change, spot, &end, edit);
        return;
    }
    struct values_splice *splice = values_splice(edit, end.after, 0);
    (void)dv_buf_adds(&splice->text, end.comma != 0 ? " " : end.sticky ? " , " : ", ");
    values_render_flow(&splice->text, change, spot->depth, values_quotes_keys(spot->parent));
    (void)dv_buf_adds(&splice->text, end.comma != 0 ? "," : "");
}

/* ---------------------------------------------------------------- null */

/* Opens a splice where a value replaces null, with what must stand between key and value. */
static struct dv_buf *values_replace_null(const struct values_doc *doc, const struct values_node *node, struct values_edit *edit)
{
    if (node->end > node->start)
        return &values_splice(edit, node->start, node->end - node->start)->text;
    size_t at = values_empty_end(doc, node);
    struct dv_buf *text = &values_splice(edit, at, 0)->text;
    (void)dv_buf_adds(text, at > node->key->end ? " " : values_is_bare(node->key) ? " : " : ": ");
    return text;
}

/* Missing keys below a null: as lines where nothing is written, in braces where "~" or "null" stands or the text is flow. */
static int values_place_below_null(const struct values_doc *doc, const struct values_scalar_change *change, const struct values_spot *spot,
                                   struct values_edit *edit, struct dv_err *err)
{
    const struct values_node *node = spot->parent;
    bool block = node->start == node->end && node->parent != NULL && !node->parent->flow;
    if (!block) {
        struct dv_buf *text = values_replace_null(doc, node, edit);
        (void)dv_buf_adds(text, "{");
        values_render_flow(text, change, spot->depth, values_quotes_keys(node->parent));
        (void)dv_buf_adds(text, "}");
        return 0;
    }
    struct values_lines lines = {.step = values_step(doc, node->parent)};
    if (values_indent_of(doc, node->key, &lines.indent, err) != 0)
        return -1;
    lines.indent += lines.step;
    values_put_lines(doc, change, spot->depth, values_after_block(doc, node), lines, edit);
    return 0;
}

/* No mapping at all: the end of the text, or the line of "..." that ends a document begun with "---". */
static void values_place_at_end(const struct values_doc *doc, const struct values_scalar_change *change, struct values_edit *edit)
{
    const struct values_token *end = values_token_between(doc, doc->base, doc->len, YAML_DOCUMENT_END_TOKEN);
    size_t at = end != NULL ? end->start : doc->len;
    struct values_lines lines = {.step = 2, .newline = values_text_newline(doc, at)};
    struct values_splice *splice = values_splice(edit, at, 0);
    if (at > doc->base && values_text_line_start(doc, at) != at)
        (void)dv_buf_adds(&splice->text, lines.newline);
    values_render_block(&splice->text, change, 0, &lines);
    (void)dv_buf_adds(&splice->text, lines.newline);
}

static int values_place_there(const struct values_doc *doc, const struct values_scalar_change *change, const struct values_spot *spot,
                              struct values_edit *edit, struct dv_err *err)
{
    const struct values_node *node = spot->node;
    if (node->tag != NULL)
        return values_unplaced(doc, node, "a value with a tag is not changed", err);
    if (node->type == VALUES_NULL) {
        if (node->anchor != NULL)
            return values_unplaced(doc, node, "a null with an anchor is not changed", err);
        values_render_scalar(values_replace_null(doc, node, edit), change, YAML_ANY_SCALAR_STYLE);
        return 0;
    }
    if (node->style == YAML_LITERAL_SCALAR_STYLE || node->style == YAML_FOLDED_SCALAR_STYLE)
        return values_unplaced(doc, node, "a text block is not changed", err);
    values_render_scalar(&values_splice(edit, node->start, node->end - node->start)->text, change, node->style);
    return 0;
}

int values_place(const struct values_doc *doc, const struct values_scalar_change *change, const struct values_spot *spot,
                 struct values_edit *edit, struct dv_err *err)
{
    const struct values_node *parent = spot->parent;
    if (spot->node != NULL)
        return values_place_there(doc, change, spot, edit, err);
    if (parent == NULL || (parent->parent == NULL && parent->type == VALUES_NULL && parent->start == parent->end && parent->tag == NULL &&
                           parent->anchor == NULL)) {
        values_place_at_end(doc, change, edit);
        return 0;
    }
    if (parent->type == VALUES_NULL && (parent->tag != NULL || parent->anchor != NULL))
        return values_unplaced(doc, parent, "a null with an anchor or a tag is not changed", err);
    if (parent->type == VALUES_NULL)
        return values_place_below_null(doc, change, spot, edit, err);
    if (!parent->flow)
        return values_place_in_block(doc, change, spot, edit, err);
    values_place_in_flow(doc, change, spot, edit);
    return 0;
}

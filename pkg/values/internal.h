/* What the files of this room share. Positions are byte offsets into the doc's text unless a name says otherwise. */
#ifndef DV_VALUES_INTERNAL_H
#define DV_VALUES_INTERNAL_H

#include <stdint.h>

#include <yaml.h>

#include "base/buf.h"
#include "values/values.h"

enum values_kind { VALUES_NODE_SCALAR, VALUES_NODE_MAP, VALUES_NODE_LIST, VALUES_NODE_ALIAS };

struct values_node {
    enum values_kind kind;
    enum values_type type; /* as Helm reads it; of an alias: VALUES_ABSENT */
    yaml_scalar_style_t style;
    bool flow;         /* a collection in [] or {} */
    bool merge;        /* a mapping with a "<<" key */
    bool odd_key;      /* a mapping with a number as key that Helm writes in another way */
    size_t outer;      /* start with anchor and tag */
    size_t start, end; /* without them; start == end: nothing stands there. Of block collections end is that of the last child */
    size_t column;     /* of outer, in characters */
    char *text;        /* scalar: value; alias: anchor's name. NUL added */
    size_t text_len;
    char *anchor, *tag;         /* or NULL */
    size_t uses;                /* aliases that point here */
    struct values_node *target; /* of an alias */
    struct values_node *parent, *first, *last, *next;
    struct values_node *key;  /* of a mapping's value: its key, the sibling before */
    size_t count;             /* children: of a mapping keys and values in turn */
    struct values_node *made; /* all nodes of the doc, newest first */
};

struct values_token {
    yaml_token_type_t type;
    size_t start, end;
};

struct values_doc {
    char *text; /* NUL added */
    size_t len;
    size_t base;      /* 3 after a byte order mark, else 0 */
    uint32_t *offset; /* of each character, counted from base; one more for the end */
    size_t characters;
    const char *newline;         /* the first line end in the text, "\n" without one */
    struct values_token *tokens; /* in order of their start */
    size_t token_count;
    struct values_node *root; /* NULL: no document */
    struct values_node *made;
};

/* text.c */
void values_text_index(struct values_doc *doc);
size_t values_text_offset(const struct values_doc *doc, size_t character);
/* Length of the line break at this place as libyaml sees it (LF, CR, CR LF, NEL, LS, PS), 0 for none. */
size_t values_text_break(const struct values_doc *doc, size_t at);
size_t values_text_line_start(const struct values_doc *doc, size_t at);
size_t values_text_line_end(const struct values_doc *doc, size_t at);                  /* before the break */
size_t values_text_line(const struct values_doc *doc, size_t at);                      /* number from 1, as an editor counts */
size_t values_node_line(const struct values_doc *doc, const struct values_node *node); /* a value's: that of its key */
bool values_text_blank(const struct values_doc *doc, size_t from, size_t to);          /* spaces and tabs only */
/* The line end to use for a line put in at this place: that of the line before it. */
const char *values_text_newline(const struct values_doc *doc, size_t at);
#define VALUES_PATH_TEXT 200
void values_path_text(struct values_path path, size_t count, char *out, size_t size);

/* scan.c */
int values_scan(struct values_doc *doc, struct dv_err *err);
int values_libyaml_error(const struct values_doc *doc, const yaml_parser_t *parser, struct dv_err *err);
int values_parser_start(const struct values_doc *doc, yaml_parser_t *parser, struct dv_err *err);
/* Index of the first token that starts at or after this place; token_count for none. */
size_t values_token_from(const struct values_doc *doc, size_t at);

/* resolve.c */
enum values_type values_resolve_plain(const char *text, size_t len);
bool values_resolve_bool(const char *text, size_t len, bool *value);
/* By text, style and tag; -1 when the tag is unknown or the text does not fit it. */
int values_resolve_scalar(const char *text, size_t len, bool plain, const char *tag, enum values_type *type);
bool values_is_number(const char *text, size_t len);
bool values_is_decimal(const char *text, size_t len); /* a number that Helm writes back as it stands */

/* build.c */
int values_build(struct values_doc *doc, struct dv_err *err);

/* find.c */
struct values_spot {
    const struct values_node *node;   /* what stands at the path; NULL: absent */
    const struct values_node *parent; /* the deepest that is there: a mapping or null; NULL: no document */
    size_t depth;                     /* keys of the path that are there */
};
/* What an alias points at; another node itself. */
static inline const struct values_node *values_node_real(const struct values_node *node)
{
    return node->kind == VALUES_NODE_ALIAS ? node->target : node;
}
int values_find(const struct values_doc *doc, struct values_path path, bool writing, struct values_spot *spot, struct dv_err *err);
const struct values_node *values_child(const struct values_node *map, const char *key); /* the value; NULL: no such key */
const char *values_node_noun(const struct values_node *node);                           /* "a list", "a string" ... */
bool values_node_is_key(const struct values_node *node, const char *key, size_t len);

/* edit.c */
bool values_path_same(struct values_path a, struct values_path b);

/* place.c: where a change goes */
struct values_splice {
    size_t at, cut;
    struct dv_buf text;
};
struct values_edit {
    struct values_splice part[2]; /* in order of their place */
    size_t count;
};
int values_place(const struct values_doc *doc, const struct values_scalar_change *change, const struct values_spot *spot,
                 struct values_edit *edit, struct dv_err *err);

/* render.c */
void values_render_key(struct dv_buf *buf, const char *key, bool quoted);
/* style: of what stands there, or YAML_ANY_SCALAR_STYLE */
void values_render_scalar(struct dv_buf *buf, const struct values_scalar_change *change, yaml_scalar_style_t style);
void values_render_flow(struct dv_buf *buf, const struct values_scalar_change *change, size_t depth, bool quoted);
struct values_lines {
    size_t indent, step;
    const char *newline;
};
void values_render_block(struct dv_buf *buf, const struct values_scalar_change *change, size_t depth, const struct values_lines *lines);

/* compare.c: whether exactly the changes' paths differ. */
bool values_compare(const struct values_doc *before, const struct values_doc *after, const struct values_scalar_change *changes,
                    size_t count);
bool values_scalar_is(const struct values_node *node, const struct values_scalar_change *change);

#endif

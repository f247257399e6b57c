/* Writes keys and scalars so that YAML 1.1 and 1.2 readers read them back as they are. In JSON (flow text with quoted keys) what is
 * written stays JSON. */
#include "values/internal.h"

#include <ctype.h>
#include <string.h>

static bool values_plain_safe(const char *text)
{
    size_t len = strlen(text);
    if (len == 0 || !(isalpha((unsigned char)text[0]) || text[0] == '_' || text[0] == '/') || text[len - 1] == ' ')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && strchr("_./-=+ ", text[i]) == NULL)
            return false;
    return values_resolve_plain(text, len) == VALUES_STRING;
}

/* Code point of a character that may not stand as it is in a quoted scalar of one line; 0 for all others. */
static unsigned values_needs_escape(const unsigned char *p, size_t *len)
{
    *len = 1;
    if (*p < 0x20 || *p == 0x7f)
        return *p;
    if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f) {
        *len = 2;
        return p[1];
    }
    if (p[0] == 0xe2 && p[1] == 0x80 && (p[2] == 0xa8 || p[2] == 0xa9)) {
        *len = 3;
        return p[2] == 0xa8 ? 0x2028 : 0x2029;
    }
    if (p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf) {
        *len = 3;
        return 0xfeff;
    }
    return 0;
}

static void values_render_double(struct dv_buf *buf, const char *text)
{
    (void)dv_buf_adds(buf, "\"");
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0';) {
        size_t len;
        unsigned code = values_needs_escape(p, &len);
        if (code != 0)
            (void)dv_buf_addf(buf, "\\u%04x", code);
        else if (*p == '"' || *p == '\\')
            (void)dv_buf_addf(buf, "\\%c", *p);
        else
            (void)dv_buf_add(buf, p, 1);
        p += len;
    }
    (void)dv_buf_adds(buf, "\"");
}

static bool values_single_can(const char *text)
{
    size_t len;
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++)
        if (values_needs_escape(p, &len) != 0)
            return false;
    return true;
}

static void values_render_single(struct dv_buf *buf, const char *text)
{
    (void)dv_buf_adds(buf, "'");
    for (const char *p = text; *p != '\0'; p++)
        (void)dv_buf_add(buf, "''", *p == '\'' ? 2 : 0), (void)dv_buf_add(buf, p, *p == '\'' ? 0 : 1);
    (void)dv_buf_adds(buf, "'");
}

void values_render_key(struct dv_buf *buf, const char *key, bool quoted)
{
    if (!quoted && values_plain_safe(key))
        (void)dv_buf_adds(buf, key);
    else
        values_render_double(buf, key);
}

void values_render_scalar(struct dv_buf *buf, const struct values_scalar_change *change, yaml_scalar_style_t style)
{
    if (change->type != VALUES_STRING)
        (void)dv_buf_adds(buf, change->text);
    else if (style == YAML_SINGLE_QUOTED_SCALAR_STYLE && values_single_can(change->text))
        values_render_single(buf, change->text);
    else if (style == YAML_PLAIN_SCALAR_STYLE && values_plain_safe(change->text))
        (void)dv_buf_adds(buf, change->text);
    else
        values_render_double(buf, change->text);
}

/* `a: {b: true}`, from the key at depth on. */
void values_render_flow(struct dv_buf *buf, const struct values_scalar_change *change, size_t depth, bool quoted)
{
    for (size_t i = depth; i < change->path.count; i++) {
        if (i > depth)
            (void)dv_buf_adds(buf, "{");
        values_render_key(buf, change->path.keys[i], quoted);
        (void)dv_buf_adds(buf, ": ");
    }
    values_render_scalar(buf, change, YAML_ANY_SCALAR_STYLE);
    for (size_t i = depth + 1; i < change->path.count; i++)
        (void)dv_buf_adds(buf, "}");
}

/* One line per key; no line end after the last. */
void values_render_block(struct dv_buf *buf, const struct values_scalar_change *change, size_t depth, const struct values_lines *lines)
{
    size_t indent = lines->indent;
    for (size_t i = depth; i < change->path.count; i++) {
        if (i > depth)
            (void)dv_buf_adds(buf, lines->newline);
        (void)dv_buf_addf(buf, "%*s", (int)indent, "");
        values_render_key(buf, change->path.keys[i], false);
        (void)dv_buf_adds(buf, ":");
        indent += lines->step;
    }
    (void)dv_buf_adds(buf, " ");
    values_render_scalar(buf, change, YAML_ANY_SCALAR_STYLE);
}

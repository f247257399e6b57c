#include "values/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static bool values_starts_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

/* libyaml's marks count characters; bytes that are no UTF-8 make it refuse the text, so they need no right place here. */
void values_text_index(struct values_doc *doc)
{
    doc->offset = dv_calloc(doc->len - doc->base + 1, sizeof *doc->offset);
    for (size_t i = doc->base; i < doc->len; i++)
        if (values_starts_character(doc->text[i]))
            doc->offset[doc->characters++] = (uint32_t)i;
    doc->offset[doc->characters] = (uint32_t)doc->len;
}

size_t values_text_offset(const struct values_doc *doc, size_t character)
{
    return character < doc->characters ? doc->offset[character] : doc->len;
}

size_t values_text_break(const struct values_doc *doc, size_t at)
{
    const char *p = doc->text + at; /* ends with a NUL */
    if (p[0] == '\n')
        return 1;
    if (p[0] == '\r')
        return p[1] == '\n' ? 2 : 1;
    if (memcmp(p, "\xc2\x85", p[0] == '\0' ? 1 : 2) == 0)
        return 2;
    if (strncmp(p, "\xe2\x80\xa8", 3) == 0 || strncmp(p, "\xe2\x80\xa9", 3) == 0)
        return 3;
    return 0;
}

/* Length of the break that ends right before this place. */
static size_t values_break_before(const struct values_doc *doc, size_t at)
{
    size_t room = at - doc->base;
    if (room >= 2 && values_text_break(doc, at - 2) == 2)
        return 2;
    if (room >= 3 && values_text_break(doc, at - 3) == 3)
        return 3;
    if (room >= 1 && values_text_break(doc, at - 1) == 1)
        return 1;
    return 0;
}

size_t values_text_line_start(const struct values_doc *doc, size_t at)
{
    while (at > doc->base && values_break_before(doc, at) == 0)
        at--;
    return at;
}

size_t values_text_line_end(const struct values_doc *doc, size_t at)
{
    while (at < doc->len && values_text_break(doc, at) == 0)
        at++;
    return at;
}

size_t values_text_line(const struct values_doc *doc, size_t at)
{
    size_t line = 1;
    for (size_t i = doc->base; i < at && i < doc->len; i++)
        if (doc->text[i] == '\n' || (doc->text[i] == '\r' && doc->text[i + 1] != '\n'))
            line++;
    return line;
}

size_t values_node_line(const struct values_doc *doc, const struct values_node *node)
{
    return values_text_line(doc, node->key != NULL ? node->key->outer : node->outer);
}

bool values_text_blank(const struct values_doc *doc, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (doc->text[i] != ' ' && doc->text[i] != '\t')
            return false;
    return true;
}

const char *values_text_newline(const struct values_doc *doc, size_t at)
{
    size_t len = values_break_before(doc, at);
    const char *line_end = doc->text + at - len;
    if (len == 2 && line_end[0] == '\r')
        return "\r\n";
    if (len == 1)
        return line_end[0] == '\r' ? "\r" : "\n";
    return doc->newline;
}

static bool values_key_needs_quotes(const char *key)
{
    return key[0] == '\0' || strpbrk(key, ". \"") != NULL;
}

void values_path_text(struct values_path path, size_t count, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < count && used < size - 1; i++) {
        const char *quote = values_key_needs_quotes(path.keys[i]) ? "\"" : "";
        int n = snprintf(out + used, size - used, "%s%s%s%s", i > 0 ? "." : "", quote, path.keys[i], quote);
        used += n > 0 ? (size_t)n : 0;
    }
    if (count == 0)
        (void)dv_strlcpy(out, "the document", size);
}

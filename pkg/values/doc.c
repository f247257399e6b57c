#include "values/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static int values_check_encoding(const char *text, size_t len, struct dv_err *err)
{
    if (len >= 2 && (memcmp(text, "\xfe\xff", 2) == 0 || memcmp(text, "\xff\xfe", 2) == 0))
        return dv_err_set(err, DV_ERR_INVALID, "the text is UTF-16; only UTF-8 is supported");
    return 0;
}

/* libyaml and go-yaml v2 read a later one in different ways. */
static int values_check_marks(const struct values_doc *doc, struct dv_err *err)
{
    const char *mark = memmem(doc->text + doc->base, doc->len - doc->base, "\xef\xbb\xbf", 3);
    if (mark == NULL)
        return 0;
    size_t line = values_text_line(doc, (size_t)(mark - doc->text));
    return dv_err_set(err, DV_ERR_INVALID, "line %zu holds a byte order mark (U+FEFF) within the text", line);
}

static const char *values_first_newline(const struct values_doc *doc)
{
    for (size_t i = doc->base; i < doc->len; i++) {
        if (doc->text[i] == '\n')
            return "\n";
        if (doc->text[i] == '\r')
            return doc->text[i + 1] == '\n' ? "\r\n" : "\r";
    }
    return "\n";
}

static struct values_doc *values_doc_new(const char *text, size_t len)
{
    struct values_doc *doc = dv_alloc(sizeof *doc);
    doc->text = dv_alloc(len + 1);
    if (len > 0)
        memcpy(doc->text, text, len);
    doc->len = len;
    doc->base = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    doc->newline = values_first_newline(doc);
    values_text_index(doc);
    return doc;
}

int values_parse(const char *text, size_t len, struct values_doc **out, struct dv_err *err)
{
    if (len > VALUES_TEXT_MAX)
        return dv_err_set(err, DV_ERR_LIMIT, "the values are longer than %d KiB", VALUES_TEXT_MAX / 1024);
    if (values_check_encoding(text, len, err) != 0)
        return -1;
    VALUES_CLEANUP_DOC struct values_doc *doc = values_doc_new(text, len);
    if (values_check_marks(doc, err) != 0 || values_scan(doc, err) != 0 || values_build(doc, err) != 0)
        return -1;
    *out = doc;
    doc = NULL;
    return 0;
}

static void values_node_free(struct values_node *node)
{
    free(node->text);
    free(node->anchor);
    free(node->tag);
    free(node);
}

void values_doc_free(struct values_doc *doc)
{
    if (doc == NULL)
        return;
    for (struct values_node *node = doc->made, *older; node != NULL; node = older) {
        older = node->made;
        values_node_free(node);
    }
    free(doc->tokens);
    free(doc->offset);
    free(doc->text);
    free(doc);
}

void values_doc_freep(struct values_doc **doc)
{
    values_doc_free(*doc);
}

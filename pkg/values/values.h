/* Reads and changes single paths in the YAML text of Helm values, by span: every byte that is not part of the change stays as it is
 * (comments, order, quoting, line ends, byte order mark). What cannot be changed safely is refused with one sentence, and then nothing
 * is changed. After every change the result is parsed again and compared with the input: exactly the wanted paths differ, or it is
 * refused.
 *
 * Scalars are read as Helm reads them. Helm 3 and 4 use sigs.k8s.io/yaml, which decodes with go-yaml v2 (YAML 1.1): the plain words
 * y yes true on / n no false off (lower, Capitalised, UPPER case) are booleans, as keys too ("on:" is the key "true"); "~", "null" and
 * nothing are null; quoted text is always a string. Source: go.yaml.in/yaml/v2 2.4.4 resolve.go, sigs.k8s.io/yaml 1.6.0 yaml.go.
 *
 * Refused as a whole: more than 256 KiB or nesting beyond 64 (both DV_ERR_LIMIT), UTF-16, a byte order mark that is not at the start
 * (libyaml and go-yaml read it in different ways), more than one document, a key given twice in one mapping (Helm takes the last), keys
 * that are lists, mappings, aliases or null, explicit keys ("? key"), directives, tags other than !!str !!int !!float !!bool !!null !!map
 * !!seq, Go template text outside quotes, text blocks and comments. Refused on the way of a path: merge keys ("<<"; go-yaml v2 lets a
 * later merge win over an explicit key), and for changes aliases, and anchors that are used elsewhere. Messages name lines (from 1) and
 * paths, never the text of a value: values can hold secrets.
 */
#ifndef DV_VALUES_VALUES_H
#define DV_VALUES_VALUES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define VALUES_TEXT_MAX (256 * 1024) /* bytes */
#define VALUES_DEPTH_MAX 64          /* mappings and lists inside each other; also keys of a path */

/* From the root. A key may hold dots; it is compared byte for byte. */
struct values_path {
    const char *const *keys;
    size_t count; /* 0: the root */
};

enum values_type { VALUES_ABSENT, VALUES_NULL, VALUES_BOOL, VALUES_STRING, VALUES_NUMBER, VALUES_LIST, VALUES_MAP };

/* A parsed text; keeps its own copy. */
struct values_doc;

/* 0 and *out (the caller frees it), or -1: DV_ERR_INVALID, DV_ERR_LIMIT. An empty text or one of comments only is right. */
int values_parse(const char *text, size_t len, struct values_doc **out, struct dv_err *err);
void values_doc_free(struct values_doc *doc); /* takes NULL */
void values_doc_freep(struct values_doc **doc);
#define VALUES_CLEANUP_DOC __attribute__((cleanup(values_doc_freep)))

/* Aliases are followed. VALUES_ABSENT also below a scalar or list, and where a merge key makes it uncertain: the functions below tell
 * these apart. */
enum values_type values_type_at(const struct values_doc *doc, struct values_path path);

/* 0, or -1: absent or null DV_ERR_NOT_FOUND, not a boolean or not certain DV_ERR_INVALID. */
int values_get_bool(const struct values_doc *doc, struct values_path path, bool *value, struct dv_err *err);

/* A list of strings; absent and null give count 0 and *list NULL. The caller frees with values_strings_free(). An item that is not a
 * string (a number, null, a list) is DV_ERR_INVALID. */
int values_get_strings(const struct values_doc *doc, struct values_path path, char ***list, size_t *count, struct dv_err *err);
void values_strings_free(char **list, size_t count);

/* Whether values_set_bools() can set this path, to either value: it is there as boolean or null, or can be added. Tried, not guessed. */
bool values_can_set(const struct values_doc *doc, struct values_path path, struct dv_err *err);

/* Whether a path that is not there is most likely a slip: a key beside the missing one differs in a letter or two, in case or in dots for
 * levels; or the path's last keys stand on another level. err then says where. What another known path stands for is no slip of this one,
 * nor are keys that differ in digits alone. */
bool values_mistyped(const struct values_doc *doc, struct values_path path, const struct values_path *known, size_t known_count,
                     struct dv_err *err);

struct values_change {
    struct values_path path;
    bool value;
};

/* Makes all changes or none. 0: *out is the new text (malloc'ed, NUL added and not counted; equal to the input when *changed is false,
 * which is when every path already reads as wanted, in whatever spelling). -1: outputs untouched; DV_ERR_INVALID when the text, or a
 * change in this place, is refused (another type stands there, a parent is no mapping, two changes contradict each other), DV_ERR_LIMIT
 * when the text is or becomes too big. Missing keys and mappings are added at the end of the mapping they belong to. */
int values_set_bools(const char *text, size_t len, const struct values_change *changes, size_t count, char **out, size_t *out_len,
                     bool *changed, struct dv_err *err);

/* The same for strings and numbers: type VALUES_BOOL ("true", "false"), VALUES_STRING (any UTF-8 without NUL; the quoting that stands
 * there is kept where it can hold the text) or VALUES_NUMBER (as it is to be written). Only null or the same type is replaced. */
struct values_scalar_change {
    struct values_path path;
    enum values_type type;
    const char *text;
};

int values_set_scalars(const char *text, size_t len, const struct values_scalar_change *changes, size_t count, char **out, size_t *out_len,
                       bool *changed, struct dv_err *err);

#endif

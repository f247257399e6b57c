/* Spans of a JSON text, found without building a tree: lists are taken apart item by item, Secrets without copies of their values. */
#ifndef DV_KUBE_SCAN_H
#define DV_KUBE_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#define SCAN_DEPTH_MAX 128

struct scan_span {
    const char *text; /* NULL: not there */
    size_t len;
};

/* Each member's value, or each element (key is then empty). key is the span between the quotes, escapes not resolved. The text is cut
 * at brackets and quotes, not validated beyond that: what is used is parsed by its own parser. A callback's non-zero ends it.
 * 0, what the callback returned, or -1 when the span is no object or array, or nests beyond SCAN_DEPTH_MAX. */
typedef int scan_each(void *arg, struct scan_span key, struct scan_span value);
int scan_object(struct scan_span span, scan_each *each, void *arg);
int scan_array(struct scan_span span, scan_each *each, void *arg);

/* The value of a member; text NULL when absent or the span is no object. */
struct scan_span scan_member(struct scan_span span, const char *key);
/* An object that is closed and has nothing behind it: of a text that breaks off no member can be trusted to be absent. */
bool scan_is_whole_object(struct scan_span span);
bool scan_is(struct scan_span span, char first); /* begins with '{', '[', '"', ... */
/* What stands between the quotes of a string without escapes; text NULL for anything else. */
struct scan_span scan_plain_string(struct scan_span span);

#endif

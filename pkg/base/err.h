/* Errors: one convention for the whole program.
 *
 * A function that can fail returns 0 (or a valid pointer) on success and -1 (or NULL) on failure, and takes a caller-owned
 * `struct dv_err *err` as its last argument (may be NULL). On failure it fills err once; the first error wins, and outputs stay
 * untouched. Each level on the way up may put context in front with dv_err_wrap(). Library code does not log.
 */
#ifndef DV_BASE_ERR_H
#define DV_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>

enum dv_err_kind {
    DV_ERR_NONE = 0,
    DV_ERR_INVALID,     /* the input is wrong; trying again cannot help */
    DV_ERR_NOT_FOUND,   /* the thing named is not there */
    DV_ERR_SECRET,      /* a Secret with credentials, or its key, is not there */
    DV_ERR_CONFLICT,    /* somebody else changed it first: look again */
    DV_ERR_DENIED,      /* a right is missing */
    DV_ERR_AUTH,        /* credentials were refused */
    DV_ERR_CERT,        /* a certificate or key is unusable or not trusted */
    DV_ERR_UNREACHABLE, /* no connection, connection lost, 5xx */
    DV_ERR_TIMEOUT,     /* no answer in time: the effect is unknown */
    DV_ERR_LIMIT,       /* a bound of ours was exceeded */
    DV_ERR_GONE,        /* resourceVersion or continue token too old */
    DV_ERR_UNSUPPORTED, /* the other side cannot do this */
    DV_ERR_INTERNAL,    /* a fault of this program */
};

#define DV_ERR_TEXT_MAX 512

struct dv_err {
    enum dv_err_kind kind;
    bool retry;                 /* the same call may succeed later without anybody's action */
    int code;                   /* HTTP status or library code, 0 when there is none */
    char text[DV_ERR_TEXT_MAX]; /* one sentence, no line break; valid UTF-8 */
};

#define DV_ERR_INIT ((struct dv_err){.kind = DV_ERR_NONE})

/* Fills err unless it already holds an error. Always returns -1, so that `return dv_err_set(...)` works. */
int dv_err_set(struct dv_err *err, enum dv_err_kind kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* As dv_err_set, marked as worth trying again. */
int dv_err_retry(struct dv_err *err, enum dv_err_kind kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Puts "<context>: " in front of the text. Always returns -1. */
int dv_err_wrap(struct dv_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void dv_err_clear(struct dv_err *err);
const char *dv_err_kind_name(enum dv_err_kind kind);

#endif

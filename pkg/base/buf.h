/* A growing byte buffer with a maximum given at birth. The bytes are always followed by a NUL that is not counted. */
#ifndef DV_BASE_BUF_H
#define DV_BASE_BUF_H

#include <stddef.h>

struct dv_buf {
    char *data; /* NULL until the first byte; owned */
    size_t len;
    size_t cap;
    size_t max; /* bytes, without the NUL */
};

#define DV_BUF_INIT(maximum) ((struct dv_buf){.max = (maximum)})

/* Both return 0, or -1 when the maximum would be exceeded; then the buffer is unchanged. */
int dv_buf_add(struct dv_buf *buf, const void *bytes, size_t len);
int dv_buf_addf(struct dv_buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int dv_buf_adds(struct dv_buf *buf, const char *text);
/* Drops the first len bytes (at most all of them). */
void dv_buf_drop(struct dv_buf *buf, size_t len);
void dv_buf_reset(struct dv_buf *buf); /* empties, keeps the memory */
void dv_buf_free(struct dv_buf *buf);  /* takes NULL and an inert buffer */
/* The text so far, never NULL. */
const char *dv_buf_text(const struct dv_buf *buf);
/* Hands the bytes to the caller, who frees them with free(); never NULL. The buffer is empty afterwards. */
char *dv_buf_take(struct dv_buf *buf);

#define DV_CLEANUP_BUF __attribute__((cleanup(dv_buf_free)))

#endif

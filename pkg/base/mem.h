/* Memory and strings. Allocation never returns NULL: without memory the process ends with a sentence on stderr, and the next start
 * resumes from the status of the resources, as after any crash. */
#ifndef DV_BASE_MEM_H
#define DV_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *dv_alloc(size_t size);                /* zeroed */
void *dv_calloc(size_t count, size_t size); /* zeroed, overflow ends the process */
void *dv_realloc(void *ptr, size_t size);   /* not zeroed beyond the old size */
void *dv_reallocarray(void *ptr, size_t count, size_t size);
char *dv_strdup(const char *text); /* NULL gives NULL */
char *dv_strndup(const char *text, size_t max);
char *dv_asprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

bool dv_streq(const char *a, const char *b); /* NULL equals NULL only */
bool dv_starts_with(const char *text, const char *prefix);
bool dv_ends_with(const char *text, const char *suffix);
/* Bounded copy with NUL; returns false when the text was cut. */
bool dv_strlcpy(char *dst, const char *src, size_t size);
/* As dv_strlcpy, but a text that does not fit ends in "...", after a whole word where one ends in its second half. */
bool dv_shorten(char *dst, const char *src, size_t size);
/* Appends to "a, b, c", cut where it does not fit. */
void dv_list_add(char *list, size_t size, const char *item);
/* dst must not overlap the arguments; cuts at size - 1. Returns dst. */
char *dv_format(char *dst, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Makes text valid UTF-8 in place: a character that was cut at the end is dropped, other bytes that belong to none become '?'. Returns
 * text. */
char *dv_utf8_clean(char *text);
/* Decimal, whole string, within [min, max]; 0 or -1, *out untouched on failure. */
int dv_parse_i64(const char *text, int64_t min, int64_t max, int64_t *out);

/* FNV-1a, 64 bits: identity of our own texts, not security. Start with DV_HASH_INIT. */
#define DV_HASH_INIT UINT64_C(0xcbf29ce484222325)
uint64_t dv_hash64(uint64_t seed, const void *bytes, size_t len);

/* Random identifier of 10 characters from [a-z0-9]; out holds at least 11 bytes. */
void dv_random_id(char *out, size_t size);
uint64_t dv_random_u64(void);

void dv_freep(void *pointer_to_pointer); /* for DV_CLEANUP_FREE */
#define DV_CLEANUP_FREE __attribute__((cleanup(dv_freep)))

#endif

/* Base64 of RFC 4648 with padding; line breaks are skipped, as Go does. */
#ifndef DV_BASE_B64_H
#define DV_BASE_B64_H

#include <stddef.h>

/* NULL when it is not base64; else the bytes with a NUL behind, which is not counted. The caller wipes and frees. */
char *dv_b64_decode(const char *text, size_t len, size_t *out_len);
/* Caller frees. */
char *dv_b64_encode(const char *bytes, size_t len);

/* Overwrites and frees bytes that may be secret; takes NULL. */
void dv_wipe(char *bytes, size_t len);

#endif

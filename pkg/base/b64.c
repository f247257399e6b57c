#include "base/b64.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const char b64_alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int b64_value(char c)
{
    const char *at = c != '\0' ? strchr(b64_alphabet, c) : NULL;
    return at != NULL ? (int)(at - b64_alphabet) : -1;
}

/* Bits gathered so far; count of digits and of padding seen. */
struct b64_state {
    uint32_t bits;
    size_t digits, padding, used;
};

static int b64_feed(struct b64_state *state, char c, char *out)
{
    if (c == '\n' || c == '\r')
        return 0;
    if (c == '=') {
        state->padding++;
        return 0;
    }
    int value = b64_value(c);
    if (value < 0 || state->padding > 0)
        return -1;
    state->bits = state->bits << 6 | (uint32_t)value;
    state->digits++;
    if (state->digits % 4 != 1)
        out[state->used++] = (char)(state->bits >> (6 - 2 * ((state->digits - 1) % 4)) & 0xff);
    return 0;
}

char *dv_b64_decode(const char *text, size_t len, size_t *out_len)
{
    char *out = dv_alloc(len / 4 * 3 + 4);
    struct b64_state state = {0};
    int rc = 0;
    for (size_t i = 0; i < len && rc == 0; i++)
        rc = b64_feed(&state, text[i], out);
    size_t tail = state.digits % 4;
    if (rc != 0 || state.padding != (tail == 0 ? 0 : 4 - tail) || tail == 1) {
        dv_wipe(out, state.used);
        return NULL;
    }
    out[state.used] = '\0';
    *out_len = state.used;
    return out;
}

char *dv_b64_encode(const char *bytes, size_t len)
{
    char *out = dv_alloc((len + 2) / 3 * 4 + 1);
    size_t used = 0;
    for (size_t i = 0; i < len; i += 3) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (i + k < len ? (unsigned char)bytes[i + k] : 0u);
        for (size_t k = 0; k < 4; k++)
            out[used++] = i + k > len ? '=' : b64_alphabet[bits >> (18 - 6 * k) & 63];
    }
    return out;
}

void dv_wipe(char *bytes, size_t len)
{
    if (bytes != NULL)
        explicit_bzero(bytes, len);
    free(bytes);
}

/* What the programs of test/fuzz share. Each is one function that takes any bytes; libFuzzer or fuzz_driver.c calls it. */
#ifndef DV_TEST_FUZZ_H
#define DV_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <jansson.h>

#include "base/mem.h"
#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Choices follow from the input alone, so that an input that was kept fails again. */
static inline uint64_t fuzz_state(const uint8_t *data, size_t size)
{
    return dv_hash64(DV_HASH_INIT, data, size);
}

static inline size_t fuzz_pick(uint64_t *state, size_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return below > 0 ? (size_t)(*state >> 33) % below : 0;
}

/* What people and the API server get to see: JSON takes it. */
static inline void fuzz_must_be_utf8(const char *text)
{
    json_t *json = json_string(text);
    MUST(json != NULL);
    json_decref(json);
}

static inline void fuzz_must_be_plain(const char *text)
{
    fuzz_must_be_utf8(text);
    for (const char *p = text; *p != '\0'; p++)
        MUST((unsigned char)*p >= 0x20 && *p != 0x7f);
}

#endif

/* A property that must hold whatever the input: a breach aborts, so that a fuzz program keeps the input that led to it. */
#ifndef DV_TEST_MUST_H
#define DV_TEST_MUST_H

#include <stdio.h>
#include <stdlib.h>

#define MUST(condition)                                                                          \
    do {                                                                                         \
        if (!(condition)) {                                                                      \
            (void)fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                             \
        }                                                                                        \
    } while (0)

#endif

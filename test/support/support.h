/* Helpers of the test programs: files of cases, JSON, random directories. */
#ifndef DV_TEST_SUPPORT_H
#define DV_TEST_SUPPORT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <jansson.h>

/* cmocka's fail() and fail_msg() do not come back; its header does not say so. */
void _fail(const char *file, int line) __attribute__((noreturn)); /* NOLINT(readability-redundant-declaration) */

/* Whole file below the project's root (the working directory of the tests), NUL added; ends the test when it is not there. Caller
 * frees. len may be NULL. */
char *test_read_file(const char *path, size_t *len);
/* Parsed JSON file; ends the test with file and line when it is not JSON. Caller decrefs. */
json_t *test_read_json(const char *path);
/* Calls each for every entry of the directory in name order, skipping dot files; returns the number of entries. */
size_t test_each_entry(const char *dir, void (*each)(const char *path, const char *name, void *arg), void *arg);

#endif

/* Fuzz program of pkg/values, for libFuzzer:
 *   clang -std=gnu17 -D_GNU_SOURCE -g -O1 -fsanitize=fuzzer,address,undefined -Ipkg test/fuzz/fuzz_values.c pkg/values/[a-z]*.c \
 *     pkg/base/{buf,err,mem}.c -lyaml -o build/fuzz_values && build/fuzz_values <directory of seeds>
 * The first byte picks how many paths are tried; the rest is the text. */
#include <stdint.h>

#include "../support/values_properties.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const enabled[] = {"distribution", "enabled"}, *const deep[] = {"a", "b", "c"}, *const one[] = {"a"},
                             *const dotted[] = {"a", "x.y"}, *const odd[] = {"on", "12", ""};
    static const struct values_path paths[] = {{one, 1}, {enabled, 2}, {deep, 2}, {deep, 3}, {dotted, 2}, {odd, 1}, {odd, 3}};
    if (size == 0)
        return 0;
    size_t count = 1 + data[0] % (sizeof paths / sizeof *paths);
    (void)values_check_text((const char *)data + 1, size - 1, paths, count);
    return 0;
}

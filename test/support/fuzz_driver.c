/* Stands in for libFuzzer where clang is not there: runs over the seeds, then over seeds changed at random, without looking at coverage.
 * Takes libFuzzer's options that test/fuzz/run gives (-max_total_time -seed -runs -artifact_prefix), then files and directories. With
 * -max_total_time=0 only the seeds are run. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define INPUT_MAX 65536
#define SEEDS_MAX 4096
#define ONE_RUN_MAX_S 20

struct input {
    uint8_t *data;
    size_t size;
};

static struct input seeds[SEEDS_MAX];
static size_t seed_count;
static struct input now; /* what runs at the moment */
static uint64_t chance = 1;
static long seconds = 20, runs_max = -1;
static char artifact[512]; /* where the input that fails is kept */

/* The runtimes read these: an error of theirs comes as a signal, as a breach of MUST does. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
const char *__asan_default_options(void)
{
    return "abort_on_error=1:handle_abort=0";
}
const char *__ubsan_default_options(void)
{
    return "abort_on_error=1:print_stacktrace=1";
}

static size_t below(size_t n)
{
    return fuzz_pick(&chance, n);
}

/* ---------------------------------------------------------------- seeds */

static void seed_add(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || seed_count == SEEDS_MAX)
        return;
    struct input *seed = &seeds[seed_count++];
    seed->data = dv_alloc(INPUT_MAX);
    seed->size = fread(seed->data, 1, INPUT_MAX, file);
    (void)fclose(file);
}

static void seeds_of(const char *path)
{
    struct dirent **entries = NULL;
    struct stat st;
    if (stat(path, &st) != 0)
        return;
    if (!S_ISDIR(st.st_mode)) {
        seed_add(path);
        return;
    }
    int n = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char *inner = dv_asprintf("%s/%s", path, entries[i]->d_name);
        if (stat(inner, &st) == 0 && S_ISREG(st.st_mode))
            seed_add(inner);
        free(inner);
        free(entries[i]);
    }
    free(entries);
}

/* ---------------------------------------------------------------- changes */

static void put(struct input *input, size_t at, size_t cut, const uint8_t *bytes, size_t len)
{
    cut = cut < input->size - at ? cut : input->size - at;
    if (input->size - cut + len > INPUT_MAX)
        return;
    memmove(input->data + at + len, input->data + at + cut, input->size - at - cut);
    memcpy(input->data + at, bytes, len);
    input->size = input->size - cut + len;
}

/* A piece of any seed: mostly a word or a sign, at times more. */
static struct input piece(void)
{
    const struct input *seed = &seeds[below(seed_count)];
    if (seed->size == 0)
        return *seed;
    size_t at = below(seed->size);
    size_t len = 1;
    if (below(4) == 0)
        len = 1 + below(seed->size - at < 200 ? seed->size - at : 200);
    else
        while (at + len < seed->size && (seed->data[at + len] | 0x20) >= 'a' && (seed->data[at + len] | 0x20) <= 'z')
            len++;
    return (struct input){seed->data + at, len};
}

static void change(struct input *input)
{
    static const char odd[] = "\n\r\t \0\"'\\{}[]:,#&*!|>-?%@`~09aZ\x1b\x7f\x80\xc2\xe2\xef\xff";
    uint8_t bytes[256];
    size_t at = below(input->size + 1);
    struct input some = piece();
    some.size = some.size < sizeof bytes ? some.size : sizeof bytes;
    switch (below(6)) {
    case 0:
        bytes[0] = (uint8_t)below(256);
        put(input, at, below(2), bytes, 1);
        break;
    case 1:
        bytes[0] = (uint8_t)odd[below(sizeof odd - 1)];
        put(input, at, below(2), bytes, 1);
        break;
    case 2: put(input, at, 1 + below(20), bytes, 0); break;
    case 3: put(input, at, 0, some.data, some.size); break;
    case 4: put(input, at, some.size, some.data, some.size); break;
    default: /* a part of itself, once more */
        some.size = input->size - at < sizeof bytes ? input->size - at : sizeof bytes;
        some.size = below(some.size + 1);
        memcpy(bytes, input->data + at, some.size);
        put(input, below(input->size + 1), 0, bytes, some.size);
    }
}

/* ---------------------------------------------------------------- running */

/* All of it may be called from a signal; the name is ready before. */
static void keep_and_die(int signal)
{
    static const char late[] = "one run takes too long: ", broken[] = "stopped by an error: ";
    int fd = open(artifact, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ssize_t written = fd >= 0 ? write(fd, now.data, now.size) : -1;
    written += signal == SIGALRM ? write(STDERR_FILENO, late, sizeof late - 1) : write(STDERR_FILENO, broken, sizeof broken - 1);
    written += write(STDERR_FILENO, artifact, strlen(artifact));
    written += write(STDERR_FILENO, "\n", 1);
    _exit(written >= 0 ? 1 : 2);
}

static void run(const struct input *input)
{
    uint8_t *exact = malloc(input->size > 0 ? input->size : 1); /* of this very size: a read beyond it is seen */
    if (exact == NULL)
        abort();
    memcpy(exact, input->data, input->size);
    now = (struct input){exact, input->size};
    (void)alarm(ONE_RUN_MAX_S);
    (void)LLVMFuzzerTestOneInput(exact, input->size);
    now = (struct input){NULL, 0};
    free(exact);
}

static long run_changed(void)
{
    time_t end = time(NULL) + seconds;
    struct input input = {dv_alloc(INPUT_MAX), 0};
    long runs = 0;
    for (; time(NULL) < end && (runs_max < 0 || runs < runs_max); runs++) {
        const struct input *seed = &seeds[below(seed_count)];
        memcpy(input.data, seed->data, seed->size);
        input.size = seed->size;
        for (size_t i = 1 + below(1 + below(8)); i > 0; i--)
            change(&input);
        run(&input);
    }
    free(input.data);
    return runs;
}

static void option(const char *text)
{
    const char *value = strchr(text, '=');
    int64_t number = 0;
    if (value == NULL)
        return;
    if (dv_starts_with(text, "-artifact_prefix="))
        (void)dv_format(artifact, sizeof artifact, "%scrash-%ld", value + 1, (long)getpid());
    if (dv_parse_i64(value + 1, INT32_MIN, INT32_MAX, &number) != 0)
        return;
    if (dv_starts_with(text, "-max_total_time="))
        seconds = (long)number;
    else if (dv_starts_with(text, "-runs="))
        runs_max = (long)number;
    else if (dv_starts_with(text, "-seed="))
        chance = (uint64_t)number;
}

int main(int argc, char **argv)
{
    option("-artifact_prefix=");
    (void)signal(SIGABRT, keep_and_die);
    (void)signal(SIGALRM, keep_and_die);
    for (int i = 1; i < argc; i++)
        if (argv[i][0] == '-')
            option(argv[i]);
        else
            seeds_of(argv[i]);
    for (size_t i = 0; i < seed_count; i++)
        run(&seeds[i]);
    if (seed_count == 0)
        seeds[seed_count++] = (struct input){dv_alloc(INPUT_MAX), 0};
    long runs = (long)seed_count + run_changed();
    (void)alarm(0);
    for (size_t i = 0; i < seed_count; i++)
        free(seeds[i].data);
    (void)fprintf(stderr, "Done %ld runs\n", runs);
    return 0;
}

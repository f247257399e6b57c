#include "../support/support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

char *test_read_file(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("cannot open %s", path);
    size_t used = 0;
    char *data = NULL;
    for (;;) {
        data = dv_realloc(data, used + 65537);
        size_t n = fread(data + used, 1, 65536, file);
        used += n;
        if (n == 0)
            break;
    }
    (void)fclose(file);
    data[used] = '\0';
    if (len != NULL)
        *len = used;
    return data;
}

json_t *test_read_json(const char *path)
{
    json_error_t error;
    json_t *json = json_load_file(path, JSON_DECODE_ANY, &error);
    if (json == NULL)
        fail_msg("%s:%d: %s", path, error.line, error.text);
    return json;
}

static int support_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

size_t test_each_entry(const char *dir, void (*each)(const char *path, const char *name, void *arg), void *arg)
{
    struct dirent **entries = NULL;
    int n = scandir(dir, &entries, support_visible, alphasort);
    if (n < 0)
        fail_msg("cannot list %s", dir);
    for (int i = 0; i < n; i++) {
        char *path = dv_asprintf("%s/%s", dir, entries[i]->d_name);
        each(path, entries[i]->d_name, arg);
        free(path);
        free(entries[i]);
    }
    free(entries);
    return (size_t)n;
}

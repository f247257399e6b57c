#include "kafka/internal.h"

#include <stdlib.h>
#include <string.h>

static bool filter_header(const struct kafka_filter *filter, const struct fact_record *record)
{
    for (size_t i = 0; i < record->header_count; i++) {
        const struct fact_header *header = &record->headers[i];
        if (strcmp(header->name, filter->header) != 0)
            continue;
        if (filter->header_value == NULL)
            return true;
        if (header->value != NULL && header->len == strlen(filter->header_value) &&
            memcmp(header->value, filter->header_value, header->len) == 0)
            return true;
    }
    return false;
}

static bool filter_key(const struct kafka_filter *filter, const struct fact_record *record)
{
    return filter->key_prefix != NULL && fact_bytes_begin(record->key, record->key_len, filter->key_prefix);
}

static bool filter_needle(const char *needle, const struct fact_record *record)
{
    return (record->key != NULL && fact_bytes_contain(record->key, record->key_len, needle)) ||
           (record->value != NULL && fact_bytes_contain(record->value, record->value_len, needle));
}

bool kafka_filter_passes(const struct kafka_filter *filter, const struct fact_record *record)
{
    if (filter->header != NULL && !filter_header(filter, record) && !filter_key(filter, record))
        return false;
    for (int i = 0; i < 2; i++)
        if (filter->needle[i] != NULL && !filter_needle(filter->needle[i], record))
            return false;
    return true;
}

void kafka_filter_free(struct kafka_filter *filter)
{
    free(filter->header);
    free(filter->header_value);
    free(filter->key_prefix);
    free(filter->needle[0]);
    free(filter->needle[1]);
}

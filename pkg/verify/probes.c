#include "verify/probes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define PROBE_ID_MAX 40

void probes_init(struct probe_table *table, const char *run, int32_t partitions)
{
    memset(table, 0, sizeof *table);
    (void)dv_strlcpy(table->run, run, sizeof table->run);
    table->partitions = partitions;
}

void probes_free(struct probe_table *table)
{
    free(table->probes);
    memset(table, 0, sizeof *table);
}

static void probes_add_batch(struct probe_table *table, const struct model_batch *batch)
{
    size_t more = (size_t)table->partitions * (size_t)batch->per_partition;
    table->probes = dv_reallocarray(table->probes, table->count + more, sizeof *table->probes);
    for (int32_t p = 0; p < table->partitions; p++)
        for (int32_t s = 0; s < batch->per_partition; s++)
            table->probes[table->count++] = (struct probe){.batch = table->batch_count, .partition = p, .sequence = s};
    table->batches[table->batch_count++] = *batch;
}

void probes_sync(struct probe_table *table, const struct model_run *run)
{
    for (size_t i = 0; i < table->batch_count && i < run->batch_count; i++)
        table->batches[i].maybe = run->batches[i].maybe;
    while (table->batch_count < run->batch_count)
        probes_add_batch(table, &run->batches[table->batch_count]);
}

void probes_forget_copies(struct probe_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        memset(table->probes[i].on, 0, sizeof table->probes[i].on);
    memset(table->copies, 0, sizeof table->copies);
    memset(table->foreign, 0, sizeof table->foreign);
}

static size_t probes_batch_start(const struct probe_table *table, size_t batch)
{
    size_t start = 0;
    for (size_t i = 0; i < batch; i++)
        start += (size_t)table->partitions * (size_t)table->batches[i].per_partition;
    return start;
}

static struct probe *probes_at(const struct probe_table *table, size_t batch, int32_t partition, int32_t sequence)
{
    if (batch >= table->batch_count || partition < 0 || partition >= table->partitions || sequence < 0 ||
        sequence >= table->batches[batch].per_partition)
        return NULL;
    size_t at = probes_batch_start(table, batch);
    at += (size_t)partition * (size_t)table->batches[batch].per_partition + (size_t)sequence;
    return &table->probes[at];
}

const struct probe *probes_find(const struct probe_table *table, size_t batch, int32_t partition, int32_t sequence)
{
    return probes_at(table, batch, partition, sequence);
}

static const struct fact_header *probes_header(const struct fact_record *record, const char *name)
{
    for (size_t i = 0; i < record->header_count; i++)
        if (dv_streq(record->headers[i].name, name))
            return &record->headers[i];
    return NULL;
}

static void probes_header_text(const struct fact_record *record, const char *name, char *out, size_t size)
{
    const struct fact_header *header = probes_header(record, name);
    size_t n = header != NULL && header->value != NULL ? header->len : 0;
    if (n >= size)
        n = 0;
    if (n > 0)
        memcpy(out, header->value, n);
    out[n] = '\0';
}

static struct probe *probes_by_id(const struct probe_table *table, char *id)
{
    char *dash1 = strchr(id, '-');
    char *dash2 = dash1 != NULL ? strchr(dash1 + 1, '-') : NULL;
    int64_t partition = 0;
    int64_t sequence = 0;
    if (dash2 == NULL)
        return NULL;
    *dash1 = '\0';
    *dash2 = '\0';
    if (dv_parse_i64(dash1 + 1, 0, INT32_MAX, &partition) != 0 || dv_parse_i64(dash2 + 1, 0, INT32_MAX, &sequence) != 0)
        return NULL;
    for (size_t i = 0; i < table->batch_count; i++)
        if (dv_streq(table->batches[i].id, id))
            return probes_at(table, i, (int32_t)partition, (int32_t)sequence);
    return NULL;
}

static void probes_texts(const struct probe_table *table, const struct probe *probe, char id[PROBE_ID_MAX], char key[96], char value[160])
{
    (void)dv_format(id, PROBE_ID_MAX, "%s-%d-%d", table->batches[probe->batch].id, probe->partition, probe->sequence);
    (void)dv_format(key, 96, PROBE_KEY_PREFIX "%s", table->run, id);
    (void)dv_format(value, 160, "{\"distverify\":\"%s\",\"probe\":\"%s\",\"note\":\"made to verify distribution; safe to ignore\"}",
                    table->run, id);
}

static void probes_hash_text(const char *value, char out[17])
{
    (void)dv_format(out, 17, "%016llx", (unsigned long long)dv_hash64(DV_HASH_INIT, value, strlen(value)));
}

static bool probes_bytes_equal(const unsigned char *bytes, size_t len, const char *text)
{
    return len == strlen(text) && (len == 0 || memcmp(bytes, text, len) == 0);
}

static bool probes_header_is(const struct fact_record *record, const char *name, const char *text)
{
    const struct fact_header *header = probes_header(record, name);
    return header != NULL && header->value != NULL && probes_bytes_equal(header->value, header->len, text);
}

static uint32_t probes_compare(const struct probe_table *table, const struct probe *probe, const struct fact_record *record)
{
    char id[PROBE_ID_MAX];
    char key[96];
    char value[160];
    char want[17];
    uint32_t altered = 0;
    probes_texts(table, probe, id, key, value);
    probes_hash_text(value, want);
    if (!probes_bytes_equal(record->key, record->key_len, key))
        altered |= PROBE_ALTERED_KEY;
    if (!probes_bytes_equal(record->value, record->value_len, value))
        altered |= PROBE_ALTERED_VALUE;
    if (!probes_header_is(record, PROBE_HEADER_HASH, want) || !probes_header_is(record, PROBE_HEADER_RUN, table->run) ||
        !probes_header_is(record, PROBE_HEADER_ID, id))
        altered |= PROBE_ALTERED_HEADER;
    if (record->partition != probe->partition)
        altered |= PROBE_ALTERED_PARTITION;
    return altered;
}

static uint32_t probes_flags(const struct fact_record *record)
{
    const struct fact_header *header = probes_header(record, PROBE_COPY_FLAGS);
    uint32_t flags = 0;
    if (header == NULL || header->value == NULL || header->len > 4)
        return 0;
    for (size_t i = 0; i < header->len; i++)
        flags = flags << 8 | header->value[i];
    return flags;
}

/* Copies differ in their timestamp when the far one is not that of the birth side. */
static void probes_compare_times(const struct probe_table *table, struct probe *probe)
{
    enum model_side born = table->batches[probe->batch].side;
    const struct probe_copies *near = &probe->on[born];
    struct probe_copies *far = &probe->on[model_far(born)];
    if (near->count > 0 && far->count > 0 && near->timestamp_ms != far->timestamp_ms)
        far->altered |= PROBE_ALTERED_TIMESTAMP;
}

/* By its header, or by its key where somebody took the headers away; NULL: it is none of the probes. */
static struct probe *probes_of(const struct probe_table *table, const struct fact_record *record, bool *ours)
{
    char id[PROBE_ID_MAX], prefix[64];
    size_t len = strlen(dv_format(prefix, sizeof prefix, PROBE_KEY_PREFIX, table->run));
    bool by_header = probes_header_is(record, PROBE_HEADER_RUN, table->run);
    bool by_key = fact_bytes_begin(record->key, record->key_len, prefix) && record->key_len > len && record->key_len - len < sizeof id;
    *ours = by_header || by_key;
    probes_header_text(record, PROBE_HEADER_ID, id, sizeof id);
    struct probe *probe = by_header ? probes_by_id(table, id) : NULL;
    if (probe != NULL || !by_key)
        return probe;
    memcpy(id, record->key + len, record->key_len - len);
    id[record->key_len - len] = '\0';
    return probes_by_id(table, id);
}

void probes_see(struct probe_table *table, enum model_side side, const struct fact_record *record, int64_t now_ms)
{
    bool ours = false;
    struct probe *probe = probes_of(table, record, &ours);
    if (probe == NULL) {
        table->foreign[side] += ours;
        return;
    }
    struct probe_copies *copies = &probe->on[side];
    if (copies->count++ == 0) {
        copies->offset = record->offset;
        copies->timestamp_ms = record->timestamp_ms;
        copies->first_ms = now_ms;
    }
    copies->last_offset = record->offset;
    copies->last_ms = now_ms;
    copies->flags |= probes_flags(record);
    copies->altered |= probes_compare(table, probe, record);
    table->copies[side]++;
    probes_compare_times(table, probe);
}

static unsigned char *probes_bytes(const char *text, size_t *len)
{
    *len = strlen(text);
    return (unsigned char *)dv_strdup(text);
}

static void probes_add_header(struct fact_record *record, const char *name, const char *value)
{
    struct fact_header *header = &record->headers[record->header_count++];
    header->name = dv_strdup(name);
    header->value = probes_bytes(value, &header->len);
}

static void probes_fill(const struct probe_table *table, const struct probe *probe, int64_t timestamp_ms, struct fact_record *record)
{
    char id[PROBE_ID_MAX];
    char key[96];
    char value[160];
    char hash[17];
    probes_texts(table, probe, id, key, value);
    probes_hash_text(value, hash);
    record->partition = probe->partition;
    record->offset = -1;
    record->timestamp_ms = timestamp_ms;
    record->key = probes_bytes(key, &record->key_len);
    record->value = probes_bytes(value, &record->value_len);
    record->headers = dv_calloc(3, sizeof *record->headers);
    probes_add_header(record, PROBE_HEADER_RUN, table->run);
    probes_add_header(record, PROBE_HEADER_ID, id);
    probes_add_header(record, PROBE_HEADER_HASH, hash);
}

struct fact_record *probes_records(const struct probe_table *table, size_t batch, int64_t base_ms, int64_t spacing_ms, size_t *count)
{
    size_t start = probes_batch_start(table, batch);
    *count = (size_t)table->partitions * (size_t)table->batches[batch].per_partition;
    struct fact_record *records = dv_calloc(*count, sizeof *records);
    for (size_t i = 0; i < *count; i++)
        probes_fill(table, &table->probes[start + i], base_ms + spacing_ms * table->probes[start + i].sequence, &records[i]);
    return records;
}

void probes_records_free(struct fact_record *records, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fact_record_clear(&records[i]);
    free(records);
}

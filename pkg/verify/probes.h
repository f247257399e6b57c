/* Probes: the records a run produces, found again by identity on both clusters.
 *
 * A probe's id is "<batch>-<partition>-<sequence>"; with the run's id it is unique for ever. Everything in a probe follows from (run,
 * batch, partition, sequence) and one base time, so that a copy can be compared with what was produced without keeping payloads. */
#ifndef DV_VERIFY_PROBES_H
#define DV_VERIFY_PROBES_H

#include "model/facts.h"
#include "model/status.h"

#define PROBE_KEY_PREFIX "distverify/%s/" /* run */
#define PROBE_HEADER_RUN "distverify-run"
#define PROBE_HEADER_ID "distverify-probe"
#define PROBE_HEADER_HASH "distverify-hash"
/* The header with which Distributors mark copies, one bit per level. Probes never carry it when they are born. */
#define PROBE_COPY_FLAGS "Axual-Copy-Flags"

enum probe_altered {
    PROBE_ALTERED_KEY = 1,
    PROBE_ALTERED_VALUE = 2,
    PROBE_ALTERED_HEADER = 4,
    PROBE_ALTERED_TIMESTAMP = 8,
    PROBE_ALTERED_PARTITION = 16,
};

/* Copies of one probe on one side. */
struct probe_copies {
    int32_t count;
    int64_t offset;       /* of the first copy; valid with count > 0 */
    int64_t last_offset;  /* of the last copy */
    int64_t timestamp_ms; /* of the first copy */
    int64_t first_ms;     /* monotonic time at which the first copy was seen */
    int64_t last_ms;
    uint32_t flags;   /* copy flags of all copies, ored */
    uint32_t altered; /* enum probe_altered, ored */
};

struct probe {
    size_t batch;
    int32_t partition;
    int32_t sequence;
    struct probe_copies on[MODEL_SIDES];
};

struct probe_table {
    char run[11];
    int32_t partitions;
    struct model_batch batches[MODEL_BATCHES_MAX];
    size_t batch_count;
    struct probe *probes; /* batch by batch, partition by partition, sequence by sequence */
    size_t count;
    int64_t foreign[MODEL_SIDES]; /* records of this run whose id is not in the table */
    int64_t copies[MODEL_SIDES];  /* all copies seen */
};

void probes_init(struct probe_table *table, const char *run, int32_t partitions);
void probes_free(struct probe_table *table);
/* Takes over the batches of the status; new ones get room, copies seen so far stay. */
void probes_sync(struct probe_table *table, const struct model_run *run);
void probes_forget_copies(struct probe_table *table); /* before the topic is read again */
void probes_see(struct probe_table *table, enum model_side side, const struct fact_record *record, int64_t now_ms);

/* The records of a batch; base_ms is their first timestamp. Sequence s has timestamp base + spacing * s: with a spacing of 2 each has a
 * millisecond of its own with room beside it. Caller frees with probes_records_free. */
struct fact_record *probes_records(const struct probe_table *table, size_t batch, int64_t base_ms, int64_t spacing_ms, size_t *count);
void probes_records_free(struct fact_record *records, size_t count);

const struct probe *probes_find(const struct probe_table *table, size_t batch, int32_t partition, int32_t sequence);

#endif

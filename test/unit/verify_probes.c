#include "../support/scene.h"

/* Records of the run, found again by identity and compared with what was produced. */

#define SPACING 2

static void table_with(struct probe_table *table, const char *run)
{
    struct model_run status = {.batch_count = 2};
    status.batches[0] = (struct model_batch){.id = "b0", .side = MODEL_A, .per_partition = 3};
    status.batches[1] = (struct model_batch){.id = "b1", .side = MODEL_B, .per_partition = 1};
    probes_init(table, run, SCENE_PARTITIONS);
    probes_sync(table, &status);
}

static struct fact_record *records_of(const struct probe_table *table, size_t batch, size_t *count)
{
    struct fact_record *records = probes_records(table, batch, SCENE_WALL, SPACING, count);
    for (size_t i = 0; i < *count; i++)
        records[i].offset = 100 + (int64_t)i;
    return records;
}

/* ---------------------------------------------------------------- what is produced */

static void each_record_is_its_own(void **state)
{
    (void)state;
    struct probe_table table;
    size_t count = 0;
    table_with(&table, SCENE_RUN);
    struct fact_record *records = records_of(&table, 0, &count);
    assert_int_equal(count, 6);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(records[i].partition, i / 3);
        assert_int_equal(records[i].timestamp_ms, SCENE_WALL + SPACING * (int64_t)(i % 3));
        assert_int_equal(records[i].header_count, 3);
        for (size_t h = 0; h < 3; h++)
            assert_false(dv_starts_with(records[i].headers[h].name, "Axual-"));
        for (size_t k = 0; k < i; k++)
            assert_true(records[i].key_len != records[k].key_len || memcmp(records[i].key, records[k].key, records[i].key_len) != 0);
    }
    probes_records_free(records, count);
    probes_free(&table);
}

static void equal_timestamps_can_be_asked_for(void **state)
{
    (void)state;
    struct probe_table table;
    size_t count = 0;
    table_with(&table, SCENE_RUN);
    struct fact_record *records = probes_records(&table, 0, SCENE_WALL, 0, &count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(records[i].timestamp_ms, SCENE_WALL);
    probes_records_free(records, count);
    probes_free(&table);
}

/* ---------------------------------------------------------------- what is seen */

static void copies_are_counted_where_they_are(void **state)
{
    (void)state;
    struct probe_table table;
    size_t count = 0;
    table_with(&table, SCENE_RUN);
    struct fact_record *records = records_of(&table, 0, &count);
    for (size_t i = 0; i < count; i++) {
        probes_see(&table, MODEL_A, &records[i], 1000);
        records[i].offset += 500;
        probes_see(&table, MODEL_B, &records[i], 2000);
    }
    records[4].offset = 700;
    probes_see(&table, MODEL_B, &records[4], 3000);
    const struct probe *probe = probes_find(&table, 0, 1, 1);
    assert_int_equal(probe->on[MODEL_A].count, 1);
    assert_int_equal(probe->on[MODEL_A].offset, 104);
    assert_int_equal(probe->on[MODEL_A].first_ms, 1000);
    assert_int_equal(probe->on[MODEL_B].count, 2);
    assert_int_equal(probe->on[MODEL_B].offset, 604);
    assert_int_equal(probe->on[MODEL_B].last_offset, 700);
    assert_int_equal(probe->on[MODEL_B].last_ms, 3000);
    assert_int_equal(table.copies[MODEL_A], 6);
    assert_int_equal(table.copies[MODEL_B], 7);
    for (size_t i = 0; i < table.count; i++)
        assert_int_equal(table.probes[i].on[MODEL_B].altered, 0);
    assert_int_equal(probes_find(&table, 1, 0, 0)->on[MODEL_B].count, 0);
    probes_records_free(records, count);
    probes_free(&table);
}

static void set_bytes(unsigned char **field, size_t *len, const char *text)
{
    free(*field);
    *field = (unsigned char *)dv_strdup(text);
    *len = strlen(text);
}

static void alter_key(struct fact_record *record)
{
    set_bytes(&record->key, &record->key_len, "other");
}

static void drop_key(struct fact_record *record)
{
    free(record->key);
    record->key = NULL;
    record->key_len = 0;
}

static void alter_value(struct fact_record *record)
{
    record->value[0] ^= 1;
}

static void cut_value(struct fact_record *record)
{
    record->value_len--;
}

static void alter_hash(struct fact_record *record)
{
    set_bytes(&record->headers[2].value, &record->headers[2].len, "0000000000000000");
}

static void null_hash(struct fact_record *record)
{
    free(record->headers[2].value);
    record->headers[2].value = NULL;
    record->headers[2].len = 0;
}

static void drop_hash(struct fact_record *record)
{
    free(record->headers[2].name);
    record->headers[2].name = dv_strdup("renamed");
}

static void alter_time(struct fact_record *record)
{
    record->timestamp_ms++;
}

static void alter_partition(struct fact_record *record)
{
    record->partition = 1;
}

static void add_header(struct fact_record *record)
{
    record->headers = dv_reallocarray(record->headers, 4, sizeof *record->headers);
    record->headers[3] = (struct fact_header){.name = dv_strdup(PROBE_COPY_FLAGS), .value = (unsigned char *)dv_strdup("\1"), .len = 1};
    record->header_count = 4;
}

static void drop_headers(struct fact_record *record)
{
    for (size_t i = 0; i < record->header_count; i++)
        record->headers[i].name[0] = 'x';
}

static void drop_run(struct fact_record *record)
{
    record->headers[0].name[0] = 'x';
}

static void drop_id(struct fact_record *record)
{
    record->headers[1].name[0] = 'x';
}

static void alter_run(struct fact_record *record)
{
    record->headers[0].value[0] ^= 1;
}

static void alterations_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        void (*alter)(struct fact_record *record);
        uint32_t want;
    } rows[] = {
        {alter_key, PROBE_ALTERED_KEY},
        {drop_key, PROBE_ALTERED_KEY},
        {alter_value, PROBE_ALTERED_VALUE},
        {cut_value, PROBE_ALTERED_VALUE},
        {alter_hash, PROBE_ALTERED_HEADER},
        {null_hash, PROBE_ALTERED_HEADER},
        {drop_hash, PROBE_ALTERED_HEADER},
        {drop_headers, PROBE_ALTERED_HEADER},
        {drop_run, PROBE_ALTERED_HEADER},
        {drop_id, PROBE_ALTERED_HEADER},
        {alter_run, PROBE_ALTERED_HEADER},
        {alter_time, PROBE_ALTERED_TIMESTAMP},
        {alter_partition, PROBE_ALTERED_PARTITION},
        {add_header, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int far_first = 0; far_first < 2; far_first++) {
            struct probe_table table;
            size_t count = 0;
            table_with(&table, SCENE_RUN);
            struct fact_record *born = records_of(&table, 0, &count);
            struct fact_record *copy = records_of(&table, 0, &count);
            rows[i].alter(&copy[0]);
            probes_see(&table, far_first ? MODEL_B : MODEL_A, far_first ? &copy[0] : &born[0], 1);
            probes_see(&table, far_first ? MODEL_A : MODEL_B, far_first ? &born[0] : &copy[0], 2);
            assert_int_equal(probes_find(&table, 0, 0, 0)->on[MODEL_A].altered, 0);
            assert_int_equal(probes_find(&table, 0, 0, 0)->on[MODEL_B].altered, rows[i].want);
            probes_records_free(born, count);
            probes_records_free(copy, count);
            probes_free(&table);
        }
    }
}

/* ---------------------------------------------------------------- copy flags */

static uint32_t flags_of(const char *bytes, size_t len, bool null)
{
    struct probe_table table;
    size_t count = 0;
    table_with(&table, SCENE_RUN);
    struct fact_record *records = records_of(&table, 0, &count);
    add_header(&records[0]);
    free(records[0].headers[3].value);
    records[0].headers[3].value = NULL;
    records[0].headers[3].len = len;
    if (!null) {
        records[0].headers[3].value = dv_alloc(len + 1);
        if (len > 0)
            memcpy(records[0].headers[3].value, bytes, len);
    }
    probes_see(&table, MODEL_B, &records[0], 1);
    uint32_t flags = probes_find(&table, 0, 0, 0)->on[MODEL_B].flags;
    probes_records_free(records, count);
    probes_free(&table);
    return flags;
}

static void flags_of_any_length_are_read(void **state)
{
    (void)state;
    assert_int_equal(flags_of("", 0, false), 0);
    assert_int_equal(flags_of("", 0, true), 0);
    assert_int_equal(flags_of("\1", 1, false), 1);
    assert_int_equal(flags_of("\1\2", 2, false), 0x102);
    assert_int_equal(flags_of("\0\0\4", 3, false), 4);
    assert_int_equal(flags_of("\0\0\0\0", 4, false), 0);
    assert_int_equal(flags_of("\x80\0\0\3", 4, false), 0x80000003u);
    assert_int_equal(flags_of("\1\1\1\1\1", 5, false), 0); /* not ours to read */
}

/* ---------------------------------------------------------------- ids */

static void see_id(struct probe_table *table, const char *run, const char *id)
{
    struct fact_header headers[2] = {{(char *)(uintptr_t)PROBE_HEADER_RUN, (unsigned char *)(uintptr_t)run, strlen(run)},
                                     {(char *)(uintptr_t)PROBE_HEADER_ID, (unsigned char *)(uintptr_t)id, strlen(id)}};
    struct fact_record record = {.headers = headers, .header_count = 2};
    probes_see(table, MODEL_A, &record, 1);
}

static void foreign_records_are_let_be(void **state)
{
    (void)state;
    static const char *const odd[] = {"b0-0-3",  "b0-2-0", "b2-0-0",  "b0-0",    "b0",       "",      "--",
                                      "b0--1-0", "b0-0-",  "b0-x-0",  "b0-0-0x", "b0-0-0-0", "b-0-0", "b0-99999999999-0",
                                      "b0-0--1", "B0-0-0", " b0-0-0", "b0- 0-0", "b0-+1-0"};
    struct probe_table table;
    table_with(&table, SCENE_RUN);
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        see_id(&table, SCENE_RUN, odd[i]);
    assert_int_equal(table.foreign[MODEL_A], sizeof odd / sizeof odd[0]);
    assert_int_equal(table.copies[MODEL_A], 0);
    see_id(&table, "otherrun01", "b0-0-0");
    see_id(&table, "abcdefghi", "b0-0-0");
    see_id(&table, SCENE_RUN "0", "b0-0-0");
    see_id(&table, "", "b0-0-0");
    assert_int_equal(table.foreign[MODEL_A], sizeof odd / sizeof odd[0]);
    see_id(&table, SCENE_RUN, "b0-0-0");
    assert_int_equal(table.copies[MODEL_A], 1);
    struct fact_record bare = {.offset = 1};
    probes_see(&table, MODEL_A, &bare, 1);
    assert_int_equal(table.copies[MODEL_A], 1);
    probes_free(&table);
}

/* ---------------------------------------------------------------- reading again, new batches */

static void reading_again_starts_from_nothing(void **state)
{
    (void)state;
    struct probe_table table;
    table_with(&table, SCENE_RUN);
    see_id(&table, SCENE_RUN, "b0-1-2");
    see_id(&table, SCENE_RUN, "b9-1-2");
    probes_forget_copies(&table);
    assert_int_equal(probes_find(&table, 0, 1, 2)->on[MODEL_A].count, 0);
    assert_int_equal(table.copies[MODEL_A], 0);
    assert_int_equal(table.foreign[MODEL_A], 0);
    see_id(&table, SCENE_RUN, "b0-1-2");
    assert_int_equal(probes_find(&table, 0, 1, 2)->on[MODEL_A].count, 1);
    probes_free(&table);
}

static void new_batches_leave_the_old_ones(void **state)
{
    (void)state;
    struct probe_table table;
    struct model_run run = {.batch_count = 1};
    run.batches[0] = (struct model_batch){.id = "b0", .side = MODEL_A, .per_partition = 2};
    probes_init(&table, SCENE_RUN, SCENE_PARTITIONS);
    probes_sync(&table, &run);
    assert_null(probes_find(&table, 1, 0, 0));
    see_id(&table, SCENE_RUN, "b0-1-1");
    run.batches[0].maybe = true;
    for (size_t i = 1; i < MODEL_BATCHES_MAX; i++) {
        run.batches[i] = (struct model_batch){.side = MODEL_B, .per_partition = (int32_t)(i % 3)};
        (void)dv_format(run.batches[i].id, sizeof run.batches[i].id, "b%u", (unsigned)i & 0xffu);
    }
    run.batch_count = MODEL_BATCHES_MAX;
    probes_sync(&table, &run);
    probes_sync(&table, &run);
    assert_int_equal(table.batch_count, MODEL_BATCHES_MAX);
    assert_true(table.batches[0].maybe);
    assert_int_equal(probes_find(&table, 0, 1, 1)->on[MODEL_A].count, 1);
    see_id(&table, SCENE_RUN, "b62-1-1");
    assert_int_equal(probes_find(&table, 62, 1, 1)->on[MODEL_A].count, 1);
    assert_null(probes_find(&table, 63, 0, 0)); /* of no records */
    assert_null(probes_find(&table, 0, SCENE_PARTITIONS, 0));
    assert_null(probes_find(&table, 0, -1, 0));
    assert_null(probes_find(&table, 0, 0, 2));
    assert_null(probes_find(&table, MODEL_BATCHES_MAX, 0, 0));
    probes_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_record_is_its_own),
        cmocka_unit_test(equal_timestamps_can_be_asked_for),
        cmocka_unit_test(copies_are_counted_where_they_are),
        cmocka_unit_test(alterations_are_told_apart),
        cmocka_unit_test(flags_of_any_length_are_read),
        cmocka_unit_test(foreign_records_are_let_be),
        cmocka_unit_test(reading_again_starts_from_nothing),
        cmocka_unit_test(new_batches_leave_the_old_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

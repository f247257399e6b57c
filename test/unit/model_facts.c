#include "../support/support.h"

#include <string.h>

#include "base/mem.h"
#include "model/facts.h"

/* A length that looks like a byte of a name: Avro (twice the length), Kafka's compact strings (one more), big-endian, Protobuf. */
static void binary_lengths_are_no_name(void)
{
    static const char group[] = "distribution-test-group";                            /* 23 bytes */
    static const char topic[] = "a-topic-with-a-name-of-fifty-characters-as-many-go"; /* 50 bytes */
    static const unsigned char avro[] = "\x2e"
                                        "distribution-test-group"
                                        "\x22"
                                        "distribution-test"
                                        "\x00";
    static const unsigned char avro_of_another[] = "\x32"
                                                   "distribution-test-group-2"
                                                   "\x22"
                                                   "distribution-test"
                                                   "\x00";
    static const unsigned char utf[] = "\x00\x32"
                                       "a-topic-with-a-name-of-fifty-characters-as-many-go"
                                       "\x30"
                                       "x";
    static const unsigned char compact[] = "\x33"
                                           "a-topic-with-a-name-of-fifty-characters-as-many-go"
                                           "a";
    assert_true(fact_bytes_contain(avro, sizeof avro - 1, group));
    assert_true(fact_bytes_contain(avro, sizeof avro - 1, "distribution-test"));
    assert_false(fact_bytes_contain(avro_of_another, sizeof avro_of_another - 1, group));
    assert_true(fact_bytes_contain(utf, sizeof utf - 1, topic));
    assert_true(fact_bytes_contain(compact, sizeof compact - 1, topic));
}

static void names_are_found_as_whole_strings(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        const char *needle;
        bool found;
    } rows[] = {
        {"{\"group\":\"g1\",\"topic\":\"t\"}", "g1", true},
        {"{\"group\":\"g11\"}", "g1", false},
        {"{\"group\":\"ag1\"}", "g1", false},
        {"my-g1", "g1", false},
        {"my.g1", "g1", false},
        {"g1_x", "g1", false},
        {"g1.x", "g1", false},
        {"g1", "g1", true},
        {"g1x g1", "g1", true},
        {"g1g1", "g1", false},
        {"xg1/g1", "g1", true},
        {"", "g1", false},
        {"g", "g1", false},
        {"anything", "", false},
        {"a.b-c_d:1", "a.b-c_d", true},
        {"aaa:aa", "aa", true},
        {"G1", "g1", false},
        {"caf\xc3\xa9-g", "g", false},
        {"\xc3\xa9g", "g", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t len = strlen(rows[i].bytes);
        unsigned char *exact = dv_alloc(len > 0 ? len : 1); /* without a NUL: reads beyond it show under asan */
        memcpy(exact, rows[i].bytes, len);
        if (fact_bytes_contain(exact, len, rows[i].needle) != rows[i].found)
            fail_msg("%s in %s", rows[i].needle, rows[i].bytes);
        dv_freep(&exact);
    }
    assert_true(fact_bytes_contain((const unsigned char *)"\0\2g1\0\1t", 7, "g1"));
    assert_true(fact_bytes_contain((const unsigned char *)"\0\2g1\0\1t", 7, "t"));
    assert_false(fact_bytes_contain(NULL, 0, "g"));
    binary_lengths_are_no_name();
    assert_false(fact_bytes_contain((const unsigned char *)"g", 1, NULL));
}

static void freeing_takes_nothing_and_half(void **state)
{
    (void)state;
    fact_connector_free(NULL);
    fact_connect_free(NULL);
    fact_pod_free(NULL);
    fact_job_free(NULL);
    fact_acls_free(NULL, 3);
    fact_groups_free(NULL, 3);
    fact_offsets_free(NULL);
    fact_record_clear(NULL);
    fact_connector_free(dv_alloc(sizeof(struct fact_connector)));
    fact_connect_free(dv_alloc(sizeof(struct fact_connect)));
    fact_pod_free(dv_alloc(sizeof(struct fact_pod)));
    fact_job_free(dv_alloc(sizeof(struct fact_job)));
    fact_offsets_free(dv_alloc(sizeof(struct fact_offsets)));
    fact_acls_free(dv_calloc(2, sizeof(struct fact_acl)), 2);
    struct fact_group *groups = dv_calloc(2, sizeof *groups);
    groups[1].name = dv_strdup("g");
    groups[1].assignment_count = 1;
    groups[1].assignments = dv_calloc(1, sizeof *groups[1].assignments);
    groups[1].assignments[0].topic = dv_strdup("t");
    fact_groups_free(groups, 2);
    struct fact_record record = {.key = dv_alloc(1), .header_count = 1, .headers = dv_calloc(1, sizeof *record.headers)};
    record.headers[0].name = dv_strdup("h");
    fact_record_clear(&record);
    assert_null(record.key);
    fact_record_clear(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_as_whole_strings),
        cmocka_unit_test(freeing_takes_nothing_and_half),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "../support/support.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "model/reasons.h"

static void names_parse_back(void **state)
{
    (void)state;
    for (int i = 0; i < MODEL_REASON_COUNT; i++) {
        enum model_reason back = REASON_Suspended;
        assert_int_equal(model_reason_parse(model_reason_name((enum model_reason)i), &back), 0);
        assert_int_equal(back, i);
    }
    enum model_reason kept = REASON_Stale;
    static const char *const unknown[] = {"passed", "None", "Pas", "PassedX", " Passed", NULL};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        assert_int_equal(model_reason_parse(unknown[i], &kept), -1);
    assert_int_equal(kept, REASON_Stale);
}

static void names_are_what_the_api_takes(void **state)
{
    (void)state;
    for (int i = 1; i < MODEL_REASON_COUNT; i++) {
        const char *name = model_reason_name((enum model_reason)i);
        assert_true(isupper((unsigned char)name[0]));
        assert_true(strlen(name) < 48);
        for (const char *at = name; *at != '\0'; at++)
            assert_true(isalnum((unsigned char)*at));
    }
    assert_string_equal(model_reason_name(REASON_None), "");
}

/* Whoever ends a run without a pass says what to do. */
static void each_bad_end_has_a_way_out(void **state)
{
    (void)state;
    for (int i = 0; i < MODEL_REASON_COUNT; i++) {
        enum model_verdict verdict = model_reason_verdict((enum model_reason)i);
        if (verdict != MODEL_NO_VERDICT && verdict != MODEL_PASSED)
            assert_true(model_reason_todo((enum model_reason)i)[0] != '\0');
    }
}

/* The verdicts of verification.md, row by row. */
static void verdicts_are_those_of_the_table(void **state)
{
    (void)state;
    static const struct {
        enum model_verdict verdict;
        const char *reasons;
    } rows[] = {
        {MODEL_ERROR,
         "ClusterUnreachable ConnectNotReady AuthenticationFailed CertificateInvalid SecretNotFound PermissionMissing ValuesNotFound "
         "ValuesInvalid ValuesNotApplied StageDeadlineExceeded RunDeadlineExceeded InvalidSpec"},
        {MODEL_FAILED,
         "ValuesReverted ValuesChanged SameKafkaCluster TopicNotFound TopicUnsuitable GroupNotEmpty DistributionAlreadyOn "
         "PrincipalNotListed InitJobFailed TimestampsTopicNotFound ForeignReplicator UnexpectedConnectorRunning AclMissing "
         "ConnectorFailed TaskFailed PluginMissing LogsNotClean LoopDetected DuplicateRecords RecordsMissing TopicNotSubscribed "
         "DistributionStalled LagNotDrained RecordAltered TimestampRecordMissing OffsetNotMoved OffsetBeyondLogEnd OffsetAhead "
         "OffsetRewound OffsetBehindTolerance OffsetEcho ValuesNotPersisted"},
        {MODEL_INCONCLUSIVE, "GroupActive RedeliverySuspected OpenTransaction TimestampRecordNotSeen TimestampsOutOfOrder EffectUnknown"},
        {MODEL_ABORTED, "Aborted SpecChanged"},
        {MODEL_PASSED, "Passed"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *list = dv_strdup(rows[i].reasons);
        char *rest = list;
        for (char *name = strsep(&rest, " "); name != NULL; name = strsep(&rest, " ")) {
            enum model_reason reason = REASON_None;
            if (model_reason_parse(name, &reason) != 0 || model_reason_verdict(reason) != rows[i].verdict)
                fail_msg("%s is not %s", name, model_verdict_name(rows[i].verdict));
        }
        dv_freep(&list);
    }
}

static void verdicts_have_names(void **state)
{
    (void)state;
    static const char *const names[] = {"", "Passed", "Failed", "Error", "Inconclusive", "Aborted"};
    for (int i = 0; i <= MODEL_ABORTED; i++)
        assert_string_equal(model_verdict_name((enum model_verdict)i), names[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_parse_back),           cmocka_unit_test(names_are_what_the_api_takes),
        cmocka_unit_test(each_bad_end_has_a_way_out), cmocka_unit_test(verdicts_are_those_of_the_table),
        cmocka_unit_test(verdicts_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

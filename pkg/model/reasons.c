#include "model/reasons.h"

#include <stddef.h>

#include "base/mem.h"

static const struct {
    const char *name;
    enum model_verdict verdict;
    const char *todo;
} reasons[MODEL_REASON_COUNT] = {
#define X(name, verdict, todo) {#name, MODEL_##verdict, todo},
    MODEL_REASONS(X)
#undef X
};

const char *model_reason_name(enum model_reason reason)
{
    return reason == REASON_None ? "" : reasons[reason].name;
}

enum model_verdict model_reason_verdict(enum model_reason reason)
{
    return reasons[reason].verdict;
}

const char *model_reason_todo(enum model_reason reason)
{
    return reasons[reason].todo;
}

int model_reason_parse(const char *name, enum model_reason *reason)
{
    for (int i = 0; i < MODEL_REASON_COUNT; i++) {
        if (dv_streq(name, model_reason_name((enum model_reason)i))) {
            *reason = (enum model_reason)i;
            return 0;
        }
    }
    return -1;
}

const char *model_verdict_name(enum model_verdict verdict)
{
    switch (verdict) {
    case MODEL_NO_VERDICT: return "";
    case MODEL_PASSED: return "Passed";
    case MODEL_FAILED: return "Failed";
    case MODEL_ERROR: return "Error";
    case MODEL_INCONCLUSIVE: return "Inconclusive";
    case MODEL_ABORTED: return "Aborted";
    }
    return "";
}

#include <stdlib.h>

#include "base/mem.h"
#include "kube/room.h"

#define BACKOFF_MIN_MS 500
#define BACKOFF_MAX_MS 30000
#define RETRY_AFTER_MAX_MS 60000 /* who asks for an hour would leave us blind for as long */

int64_t kube_periods_div_from_env(void)
{
    int64_t div = 1;
#ifdef DV_FAILPOINTS
    (void)dv_parse_i64(getenv("DISTVERIFY_PERIODS_DIV"), 1, 100000, &div);
#endif
    return div;
}

int64_t kube_period(const struct kube *kube, int64_t ms)
{
    int64_t shorter = ms / kube->periods_div;
    return shorter > 0 ? shorter : 1;
}

int64_t kube_backoff_next(const struct kube *kube, struct kube_backoff *backoff, int64_t retry_after_ms)
{
    int64_t ms = BACKOFF_MIN_MS;
    for (unsigned int i = 0; i < backoff->tries && ms < BACKOFF_MAX_MS; i++)
        ms *= 2;
    backoff->tries++;
    ms += (int64_t)(dv_random_u64() % (uint64_t)(ms / 2));
    ms = kube_period(kube, ms < BACKOFF_MAX_MS ? ms : BACKOFF_MAX_MS);
    if (retry_after_ms > RETRY_AFTER_MAX_MS)
        retry_after_ms = RETRY_AFTER_MAX_MS;
    return ms > retry_after_ms ? ms : retry_after_ms;
}

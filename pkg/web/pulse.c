#include "web/pulse.h"

void web_pulse_beat(struct web_pulse *pulse, int64_t mono_ms)
{
    int64_t gap = pulse->last_ms != 0 ? mono_ms - pulse->last_ms : 0;
    if (gap >= WEB_PULSE_LIMIT_MS) {
        pulse->blocked_at_ms = mono_ms;
        pulse->blocked_ms = gap;
    }
    pulse->last_ms = mono_ms;
}

int64_t web_pulse_blocked(const struct web_pulse *pulse, int64_t mono_ms)
{
    int64_t gap = pulse->last_ms != 0 ? mono_ms - pulse->last_ms : 0;
    if (gap >= WEB_PULSE_LIMIT_MS)
        return gap;
    return pulse->blocked_ms > 0 && mono_ms - pulse->blocked_at_ms < WEB_PULSE_REMEMBER_MS ? pulse->blocked_ms : 0;
}

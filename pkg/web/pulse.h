/* Has the loop been blocked? A timer beats; a beat that comes late is remembered for a while, since nobody can ask during the block. */
#ifndef DV_WEB_PULSE_H
#define DV_WEB_PULSE_H

#include <stdint.h>

#define WEB_PULSE_BEAT_MS 1000
#define WEB_PULSE_LIMIT_MS 5000     /* a gap this long between two beats is a block */
#define WEB_PULSE_REMEMBER_MS 10000 /* one period of a usual liveness probe: a single block fails one probe, not three */

/* Milliseconds of CLOCK_MONOTONIC. */
struct web_pulse {
    int64_t last_ms;       /* of the last beat */
    int64_t blocked_at_ms; /* end of the last block */
    int64_t blocked_ms;    /* its length, 0: none */
};

void web_pulse_beat(struct web_pulse *pulse, int64_t mono_ms); /* the first one starts it */
/* How long the block lasts or lasted that makes the process unhealthy now; 0: healthy. */
int64_t web_pulse_blocked(const struct web_pulse *pulse, int64_t mono_ms);

#endif

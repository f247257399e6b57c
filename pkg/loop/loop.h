/* The one event loop of the program, on libuv: timers, jobs on worker threads, wake-ups from other threads. */
#ifndef DV_LOOP_LOOP_H
#define DV_LOOP_LOOP_H

#include <stdint.h>

#include <uv.h>

struct loop;

struct loop *loop_new(void);
uv_loop_t *loop_uv(struct loop *loop);
void loop_run(struct loop *loop);  /* until loop_stop() or nothing is left */
void loop_stop(struct loop *loop); /* from the loop's thread */
/* Everything opened on it must be closed already; runs the loop until the close callbacks are done. */
void loop_free(struct loop *loop);

/* One-shot timer that belongs to the caller; inert until set. A timer that is set again forgets the earlier time. */
struct loop_timer;
struct loop_timer *loop_timer_new(struct loop *loop, void (*fn)(void *arg), void *arg);
void loop_timer_set(struct loop_timer *timer, int64_t after_ms); /* 0: at the next turn */
void loop_timer_clear(struct loop_timer *timer);
void loop_timer_free(struct loop_timer *timer); /* takes NULL; fn is not called any more */

#endif

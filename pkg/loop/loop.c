#include "loop/loop.h"

#include <stdlib.h>

#include "base/mem.h"

struct loop {
    uv_loop_t uv;
};

struct loop_timer {
    uv_timer_t uv;
    void (*fn)(void *arg);
    void *arg;
};

struct loop *loop_new(void)
{
    struct loop *loop = dv_alloc(sizeof *loop);
    if (uv_loop_init(&loop->uv) != 0)
        abort(); /* no descriptor left at the very start: nothing of the program could work */
    return loop;
}

uv_loop_t *loop_uv(struct loop *loop)
{
    return &loop->uv;
}

void loop_run(struct loop *loop)
{
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void loop_stop(struct loop *loop)
{
    uv_stop(&loop->uv);
}

void loop_free(struct loop *loop)
{
    if (loop == NULL)
        return;
    /* A stop that was asked for before is taken by the first run, so it may need a second one. */
    (void)uv_run(&loop->uv, UV_RUN_NOWAIT);
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
    /* A handle that its owner forgot to close still points into the loop: leave the memory to the leak checker. */
    if (uv_loop_close(&loop->uv) == 0)
        free(loop);
}

static void timer_fired(uv_timer_t *uv)
{
    struct loop_timer *timer = uv->data;
    timer->fn(timer->arg);
}

static void timer_closed(uv_handle_t *uv)
{
    free(uv->data);
}

struct loop_timer *loop_timer_new(struct loop *loop, void (*fn)(void *arg), void *arg)
{
    struct loop_timer *timer = dv_alloc(sizeof *timer);
    (void)uv_timer_init(&loop->uv, &timer->uv);
    timer->uv.data = timer;
    timer->fn = fn;
    timer->arg = arg;
    return timer;
}

void loop_timer_set(struct loop_timer *timer, int64_t after_ms)
{
    /* The loop's own time stands still while callbacks run; without this a timer set late in a long one fires early. */
    uv_update_time(timer->uv.loop);
    (void)uv_timer_start(&timer->uv, timer_fired, after_ms > 0 ? (uint64_t)after_ms : 0, 0);
}

void loop_timer_clear(struct loop_timer *timer)
{
    (void)uv_timer_stop(&timer->uv);
}

void loop_timer_free(struct loop_timer *timer)
{
    if (timer == NULL)
        return;
    uv_close((uv_handle_t *)&timer->uv, timer_closed);
}

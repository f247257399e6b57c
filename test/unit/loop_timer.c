/* Timers of the loop: order, setting again, clearing, freeing from within. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "loop/loop.h"

struct probe {
    struct loop *loop;
    struct loop_timer *timer;
    int fired;
    int stop_at;
};

static void probe_fired(void *arg)
{
    struct probe *probe = arg;
    probe->fired++;
    if (probe->fired == probe->stop_at)
        loop_stop(probe->loop);
    else if (probe->stop_at > 0)
        loop_timer_set(probe->timer, 0);
}

static void fires_once(void **state)
{
    (void)state;
    struct probe probe = {.loop = loop_new()};
    probe.timer = loop_timer_new(probe.loop, probe_fired, &probe);
    loop_run(probe.loop); /* inert until set */
    assert_int_equal(probe.fired, 0);
    loop_timer_set(probe.timer, 3600 * 1000);
    loop_timer_set(probe.timer, 1);
    loop_run(probe.loop);
    assert_int_equal(probe.fired, 1);
    loop_timer_free(probe.timer);
    loop_free(probe.loop);
}

static void set_again_from_within(void **state)
{
    (void)state;
    struct probe probe = {.loop = loop_new(), .stop_at = 3};
    probe.timer = loop_timer_new(probe.loop, probe_fired, &probe);
    loop_timer_set(probe.timer, 0);
    loop_run(probe.loop);
    assert_int_equal(probe.fired, 3);
    loop_timer_free(probe.timer);
    loop_free(probe.loop);
}

static void cleared_and_freed_do_not_fire(void **state)
{
    (void)state;
    struct probe probe = {.loop = loop_new()};
    struct loop_timer *cleared = loop_timer_new(probe.loop, probe_fired, &probe);
    struct loop_timer *freed = loop_timer_new(probe.loop, probe_fired, &probe);
    loop_timer_set(cleared, 0);
    loop_timer_set(freed, 0);
    loop_timer_clear(cleared);
    loop_timer_free(freed);
    loop_timer_free(NULL);
    loop_run(probe.loop);
    assert_int_equal(probe.fired, 0);
    loop_timer_free(cleared);
    loop_stop(probe.loop);
    loop_free(probe.loop);
    loop_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fires_once),
        cmocka_unit_test(set_again_from_within),
        cmocka_unit_test(cleared_and_freed_do_not_fire),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

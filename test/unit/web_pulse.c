#include "../support/support.h"

#include "web/pulse.h"

static void a_steady_beat_is_healthy(void **state)
{
    (void)state;
    struct web_pulse pulse = {0};
    assert_int_equal(web_pulse_blocked(&pulse, 1), 0);
    for (int64_t now = 1000; now < 60000; now += WEB_PULSE_BEAT_MS) {
        web_pulse_beat(&pulse, now);
        assert_int_equal(web_pulse_blocked(&pulse, now + WEB_PULSE_LIMIT_MS - 1), 0);
    }
}

static void a_block_shows_while_it_lasts(void **state)
{
    (void)state;
    struct web_pulse pulse = {0};
    web_pulse_beat(&pulse, 1000);
    assert_int_equal(web_pulse_blocked(&pulse, 1000 + WEB_PULSE_LIMIT_MS), WEB_PULSE_LIMIT_MS);
    assert_int_equal(web_pulse_blocked(&pulse, 31000), 30000);
}

static void a_block_is_remembered_then_forgotten(void **state)
{
    (void)state;
    struct web_pulse pulse = {0};
    web_pulse_beat(&pulse, 1000);
    web_pulse_beat(&pulse, 8000);
    web_pulse_beat(&pulse, 9000);
    assert_int_equal(web_pulse_blocked(&pulse, 9000), 7000);
    for (int64_t now = 10000; now < 8000 + WEB_PULSE_REMEMBER_MS; now += WEB_PULSE_BEAT_MS)
        web_pulse_beat(&pulse, now);
    assert_int_equal(web_pulse_blocked(&pulse, 8000 + WEB_PULSE_REMEMBER_MS - 1), 7000);
    assert_int_equal(web_pulse_blocked(&pulse, 8000 + WEB_PULSE_REMEMBER_MS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_steady_beat_is_healthy),
        cmocka_unit_test(a_block_shows_while_it_lasts),
        cmocka_unit_test(a_block_is_remembered_then_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Stands in for the Strimzi operator's intervals. Leaves out their environment variables, all but the reconcile interval's.
package io.distverify.lab.strimzi;

import java.time.Duration;

/** @param reconcile between two looks at everything; @param minute the unit of automatic restarts; @param ready how long pods may take */
record Timing(Duration reconcile, Duration minute, Duration ready) {
    static Timing fromEnvironment() {
        boolean field = "field".equals(System.getenv("LAB_PROFILE"));
        String interval = System.getenv("STRIMZI_FULL_RECONCILIATION_INTERVAL_MS");
        Duration reconcile = interval != null ? Duration.ofMillis(Long.parseLong(interval)) : Duration.ofSeconds(field ? 120 : 3);
        return new Timing(reconcile, reconcile.dividedBy(2), Duration.ofSeconds(field ? 300 : 60));
    }
}

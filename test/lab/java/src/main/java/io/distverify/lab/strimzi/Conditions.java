// Stands in for the Strimzi operator's status conditions. Leaves out warnings about unknown and deprecated fields.
package io.distverify.lab.strimzi;

import io.strimzi.api.kafka.model.common.Condition;
import io.strimzi.api.kafka.model.common.ConditionBuilder;
import java.time.Instant;

/** There is no Ready=False: what is not ready has a condition of type NotReady. */
final class Conditions {
    private Conditions() { }

    static Condition ready() {
        return condition("Ready").build();
    }

    static Condition notReady(Throwable problem) {
        return condition("NotReady").withReason(problem.getClass().getSimpleName()).withMessage(problem.getMessage()).build();
    }

    static Condition paused() {
        return condition("ReconciliationPaused").build();
    }

    private static ConditionBuilder condition(String type) {
        return new ConditionBuilder().withType(type).withStatus("True").withLastTransitionTime(Instant.now().toString());
    }
}

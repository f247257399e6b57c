// Stands in for the Strimzi operator's exception of the same name: its class name and message end up in a NotReady condition. Leaves out nothing of those.
package io.distverify.lab.strimzi;

/** A KafkaConnector names a KafkaConnect that cannot serve it. */
final class NoSuchResourceException extends Exception {
    private static final long serialVersionUID = 1L;

    NoSuchResourceException(String message) {
        super(message);
    }
}

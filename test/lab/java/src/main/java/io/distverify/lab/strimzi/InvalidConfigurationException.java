// Stands in for the Strimzi operator's InvalidConfigurationException: its class name and message end up in a NotReady condition. Leaves out nothing of those.
package io.distverify.lab.strimzi;

/** A resource asks for what is not allowed. */
final class InvalidConfigurationException extends Exception {
    private static final long serialVersionUID = 1L;

    InvalidConfigurationException(String message) {
        super(message);
    }
}

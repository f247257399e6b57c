// Stands in for the Strimzi operator's exception of the same name: its class name and message end up in a NotReady condition. Leaves out nothing of those.
package io.distverify.lab.strimzi;

import java.io.IOException;
import java.util.Map;

/** Kafka Connect refused a request. */
final class ConnectRestException extends IOException {
    private static final long serialVersionUID = 1L;
    private static final Map<Integer, String> PHRASES = Map.of(400, "Bad Request", 404, "Not Found", 409, "Conflict",
            500, "Internal Server Error", 503, "Service Unavailable");

    ConnectRestException(String method, String path, int status, String message) {
        super(method + " " + path + " returned " + status + " (" + PHRASES.getOrDefault(status, "") + "): " + message);
    }
}

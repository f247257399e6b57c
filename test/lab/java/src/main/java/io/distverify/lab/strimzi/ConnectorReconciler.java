// Stands in for the Strimzi operator's handling of one KafkaConnector. Leaves out offsets by annotation, connector versions and forbidden options.
package io.distverify.lab.strimzi;

import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.strimzi.api.kafka.model.common.ConnectorState;
import io.strimzi.api.kafka.model.connector.AutoRestart;
import io.strimzi.api.kafka.model.connector.AutoRestartStatus;
import io.strimzi.api.kafka.model.connector.KafkaConnector;
import io.strimzi.api.kafka.model.connector.KafkaConnectorSpec;
import io.strimzi.api.kafka.model.connector.KafkaConnectorStatus;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes a connector on the Connect cluster be what its resource says, and its resource's status say what is. */
final class ConnectorReconciler {
    private static final Logger LOG = LoggerFactory.getLogger(ConnectorReconciler.class);
    private static final String PAUSE = "strimzi.io/pause-reconciliation";
    private static final String RESTART = "strimzi.io/restart";
    private static final String RESTART_TASK = "strimzi.io/restart-task";
    private static final Duration STATUS_DEADLINE = Duration.ofSeconds(10);

    private final Resources<KafkaConnector> connectors;
    private final Timing timing;

    ConnectorReconciler(Resources<KafkaConnector> connectors, Timing timing) {
        this.connectors = connectors;
        this.timing = timing;
    }

    /** With a REST API: reconcile; the status is written in either case. */
    void reconcile(GenericKubernetesResource resource, ConnectRest rest) throws InterruptedException {
        KafkaConnector connector = connectors.model(resource);
        if (isPaused(resource)) {
            KafkaConnectorStatus status = connector.getStatus() == null ? new KafkaConnectorStatus() : connector.getStatus();
            status.setConditions(List.of(Conditions.paused()));
            connectors.writeStatus(resource, status);
            return;
        }
        KafkaConnectorStatus status = newStatus(connector);
        Throwable problem;
        try {
            apply(resource, connector.getSpec(), rest);
            observe(resource, connector, rest, status);
            problem = problem(status);
        } catch (IOException e) {
            LOG.warn("Connector {}: {}", resource.getMetadata().getName(), e.toString());
            problem = e;
        }
        status.setConditions(List.of(problem == null ? Conditions.ready() : Conditions.notReady(problem)));
        connectors.writeStatus(resource, status);
    }

    void fail(GenericKubernetesResource resource, Exception problem) {
        KafkaConnectorStatus status = newStatus(connectors.model(resource));
        status.setConditions(List.of(Conditions.notReady(problem)));
        connectors.writeStatus(resource, status);
    }

    static boolean isPaused(GenericKubernetesResource resource) {
        return "true".equals(annotation(resource, PAUSE));
    }

    static String annotation(GenericKubernetesResource resource, String name) {
        Map<String, String> annotations = resource.getMetadata().getAnnotations();
        return annotations == null ? null : annotations.get(name);
    }

    private static KafkaConnectorStatus newStatus(KafkaConnector connector) {
        KafkaConnectorStatus status = new KafkaConnectorStatus();
        status.setObservedGeneration(connector.getMetadata().getGeneration());
        Integer tasksMax = connector.getSpec().getTasksMax();
        status.setTasksMax(tasksMax == null ? 0 : tasksMax);
        return status;
    }

    private void apply(GenericKubernetesResource resource, KafkaConnectorSpec spec, ConnectRest rest) throws IOException, InterruptedException {
        String name = resource.getMetadata().getName();
        Map<String, String> wanted = config(name, spec);
        if (!rest.config(name).map(wanted::equals).orElse(false)) {
            LOG.info("Configuring connector {}", name);
            rest.configure(name, wanted);
        }
        String actual = state(awaitStatus(name, rest));
        ConnectorState state = wantedState(spec);
        if (state == ConnectorState.RUNNING && (actual.equals("PAUSED") || actual.equals("STOPPED"))) {
            rest.change(name, "resume");
        } else if (state == ConnectorState.PAUSED && !actual.equals("PAUSED")) {
            rest.change(name, "pause");
        } else if (state == ConnectorState.STOPPED && !actual.equals("STOPPED")) {
            rest.change(name, "stop");
        }
        if ("true".equals(annotation(resource, RESTART))) {
            rest.restart(name, false);
            connectors.removeAnnotation(resource, RESTART);
        }
        String task = annotation(resource, RESTART_TASK);
        if (task != null) {
            rest.restartTask(name, Integer.parseInt(task));
            connectors.removeAnnotation(resource, RESTART_TASK);
        }
    }

    private static ConnectorState wantedState(KafkaConnectorSpec spec) {
        if (spec.getState() != null) {
            return spec.getState();
        }
        return Boolean.TRUE.equals(spec.getPause()) ? ConnectorState.PAUSED : ConnectorState.RUNNING;
    }

    private static Map<String, String> config(String name, KafkaConnectorSpec spec) {
        Map<String, String> config = new HashMap<>();
        if (spec.getConfig() != null) {
            spec.getConfig().forEach((key, value) -> config.put(key, String.valueOf(value)));
        }
        config.put("name", name);
        config.put("connector.class", spec.getClassName());
        if (spec.getTasksMax() != null) {
            config.put("tasks.max", spec.getTasksMax().toString());
        }
        return config;
    }

    private void observe(GenericKubernetesResource resource, KafkaConnector connector, ConnectRest rest, KafkaConnectorStatus status)
            throws IOException, InterruptedException {
        String name = resource.getMetadata().getName();
        Map<String, Object> answer = awaitStatus(name, rest);
        AutoRestartStatus restarts = connector.getStatus() == null ? null : connector.getStatus().getAutoRestart();
        AutoRestart auto = connector.getSpec().getAutoRestart();
        if (auto != null && !Boolean.FALSE.equals(auto.isEnabled())) {
            boolean failed = state(answer).equals("FAILED") || !failedTasks(answer).isEmpty();
            if (failed && due(restarts, auto)) {
                LOG.info("Restarting connector {} and its failed tasks", name);
                rest.restart(name, true);
                answer = awaitStatus(name, rest);
                restarts = next(name, restarts);
            } else if (!failed && restarts != null && isQuiet(restarts)) {
                restarts = null;
            }
            status.setAutoRestart(restarts);
        }
        status.setConnectorStatus(answer);
        status.setTopics(rest.topics(name));
    }

    private static Map<String, Object> awaitStatus(String name, ConnectRest rest) throws IOException, InterruptedException {
        long deadline = System.nanoTime() + STATUS_DEADLINE.toNanos();
        for (long pause = 20; ; pause = Math.min(pause * 2, 1_000)) {
            Optional<Map<String, Object>> status = rest.status(name);
            if (status.isPresent()) {
                return status.get();
            }
            if (System.nanoTime() > deadline) {
                throw new ConnectRestException("GET", "/connectors/" + name + "/status", 404, "No status found for connector " + name);
            }
            Thread.sleep(pause);
        }
    }

    private static Throwable problem(KafkaConnectorStatus status) {
        if (state(status.getConnectorStatus()).equals("FAILED")) {
            return new Throwable("Connector has failed, see connectorStatus for more details.");
        }
        String failed = failedTasks(status.getConnectorStatus()).stream().map(String::valueOf).collect(Collectors.joining(", "));
        return failed.isEmpty() ? null : new Throwable("The following tasks have failed: " + failed + ", see connectorStatus for more details.");
    }

    private static String state(Map<String, Object> status) {
        return status.get("connector") instanceof Map<?, ?> connector ? String.valueOf(connector.get("state")) : "";
    }

    private static List<Object> failedTasks(Map<String, Object> status) {
        List<Object> failed = new ArrayList<>();
        if (status.get("tasks") instanceof List<?> tasks) {
            for (Object each : tasks) {
                if (each instanceof Map<?, ?> task && "FAILED".equals(task.get("state"))) {
                    failed.add(task.get("id"));
                }
            }
        }
        return failed;
    }

    private boolean due(AutoRestartStatus restarts, AutoRestart auto) {
        if (restarts == null) {
            return true;
        }
        boolean left = auto.getMaxRestarts() == null || restarts.getCount() < auto.getMaxRestarts();
        return left && isQuiet(restarts);
    }

    /** Strimzi waits n * n + n minutes after the n-th restart, and forgets the count after as long without a failure. */
    private boolean isQuiet(AutoRestartStatus restarts) {
        long count = restarts.getCount();
        Duration quiet = timing.minute().multipliedBy(Math.min(60, count * count + count));
        return !Instant.now().isBefore(Instant.parse(restarts.getLastRestartTimestamp()).plus(quiet));
    }

    private static AutoRestartStatus next(String name, AutoRestartStatus restarts) {
        AutoRestartStatus next = new AutoRestartStatus();
        next.setConnectorName(name);
        next.setCount(restarts == null ? 1 : restarts.getCount() + 1);
        next.setLastRestartTimestamp(Instant.now().toString());
        return next;
    }
}

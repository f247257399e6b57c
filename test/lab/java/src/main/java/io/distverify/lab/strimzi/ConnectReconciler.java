// Stands in for the Strimzi operator's handling of one KafkaConnect and its connectors. Leaves out builds, rolling updates, scaling hooks and everything but pods.
package io.distverify.lab.strimzi;

import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.Pod;
import io.strimzi.api.kafka.model.common.Condition;
import io.strimzi.api.kafka.model.connect.ConnectorPlugin;
import io.strimzi.api.kafka.model.connect.KafkaConnect;
import io.strimzi.api.kafka.model.connect.KafkaConnectStatus;
import io.strimzi.api.kafka.model.connector.KafkaConnector;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Everything of one namespace's Connect clusters; called with one cluster at a time. */
final class ConnectReconciler {
    private static final Logger LOG = LoggerFactory.getLogger(ConnectReconciler.class);
    private static final String CLUSTER = "strimzi.io/cluster";
    private static final String USE_CONNECTORS = "strimzi.io/use-connector-resources";

    private final Resources<KafkaConnect> connects;
    private final Resources<KafkaConnector> connectors;
    private final ConnectorReconciler connectorReconciler;
    private final ConnectPods pods;
    private final Timing timing;
    private final Map<String, Long> waitingSince = new HashMap<>();

    ConnectReconciler(Resources<KafkaConnect> connects, Resources<KafkaConnector> connectors, ConnectPods pods, Timing timing) {
        this.connects = connects;
        this.connectors = connectors;
        this.connectorReconciler = new ConnectorReconciler(connectors, timing);
        this.pods = pods;
        this.timing = timing;
    }

    static String cluster(GenericKubernetesResource connector) {
        Map<String, String> labels = connector.getMetadata().getLabels();
        return labels == null ? null : labels.get(CLUSTER);
    }

    synchronized boolean isWaiting(String cluster) {
        return waitingSince.containsKey(cluster);
    }

    /** What the controller of Strimzi's pod sets does by itself: pods are there, whatever else is going on. */
    void ensurePods(String cluster) {
        connects.get(cluster).map(connects::model).ifPresent(pods::ensure);
    }

    void reconcileConnect(String cluster) throws InterruptedException {
        Optional<GenericKubernetesResource> found = connects.get(cluster);
        if (found.isEmpty()) {
            reconcileConnectors(cluster, null);
            return;
        }
        GenericKubernetesResource resource = found.get();
        KafkaConnect connect = connects.model(resource);
        if (ConnectorReconciler.isPaused(resource)) {
            KafkaConnectStatus status = connect.getStatus() == null ? new KafkaConnectStatus() : connect.getStatus();
            status.setConditions(List.of(Conditions.paused()));
            connects.writeStatus(resource, status);
            return;
        }
        pods.ensure(connect);
        Optional<String> notReady = pods.firstNotReady(connect);
        if (notReady.isPresent() && !waitedTooLong(cluster)) {
            return;
        }
        if (notReady.isEmpty()) {
            stopWaiting(cluster);
        }
        KafkaConnectStatus status = newStatus(connect);
        Condition condition;
        try {
            if (notReady.isPresent()) {
                throw new TimeoutException("Exceeded timeout of " + timing.ready().toMillis() + "ms while waiting for Pods resource "
                        + notReady.get() + " in namespace " + resource.getMetadata().getNamespace() + " to be ready");
            }
            if (connect.getSpec().getReplicas() > 0 && usesConnectors(resource)) {
                ConnectRest rest = rest(connect);
                status.setConnectorPlugins(plugins(rest));
                removeStrangers(cluster, rest);
            }
            condition = Conditions.ready();
        } catch (IOException | TimeoutException e) {
            LOG.warn("KafkaConnect {}: {}", cluster, e.toString());
            condition = Conditions.notReady(e);
        }
        reconcileConnectors(cluster, notReady.isPresent() ? null : resource);
        status.setConditions(List.of(condition));
        connects.writeStatus(resource, status);
    }

    void reconcileConnector(String name) throws InterruptedException {
        Optional<GenericKubernetesResource> found = connectors.get(name);
        if (found.isEmpty()) {
            return;
        }
        GenericKubernetesResource connector = found.get();
        String cluster = cluster(connector);
        if (cluster == null) {
            connectorReconciler.fail(connector, new InvalidConfigurationException("Resource lacks label '" + CLUSTER + "': No connect cluster in which to create this connector."));
            return;
        }
        reconcileConnector(connector, cluster, connects.get(cluster).orElse(null));
    }

    /** Deletion is no event of a resource that is still there: the cluster is told. */
    void deleteConnector(String cluster, String name) throws InterruptedException, IOException {
        Optional<GenericKubernetesResource> connect = connects.get(cluster);
        if (connect.isPresent() && usesConnectors(connect.get()) && connectors.get(name).isEmpty()) {
            KafkaConnect model = connects.model(connect.get());
            if (pods.firstNotReady(model).isEmpty() && model.getSpec().getReplicas() > 0) {
                LOG.info("Deleting connector {}", name);
                rest(model).delete(name);
            }
        }
    }

    private void reconcileConnectors(String cluster, GenericKubernetesResource connect) throws InterruptedException {
        for (GenericKubernetesResource cached : connectors.cached()) {
            if (cluster.equals(cluster(cached))) {
                Optional<GenericKubernetesResource> connector = connectors.get(cached.getMetadata().getName());
                if (connector.isPresent()) {
                    reconcileConnector(connector.get(), cluster, connect);
                }
            }
        }
    }

    private void reconcileConnector(GenericKubernetesResource connector, String cluster, GenericKubernetesResource connect) throws InterruptedException {
        String namespace = connector.getMetadata().getNamespace();
        if (connect == null) {
            if (connects.get(cluster).isEmpty()) {
                connectorReconciler.fail(connector, new NoSuchResourceException("KafkaConnect resource '" + cluster
                        + "' identified by label '" + CLUSTER + "' does not exist in namespace " + namespace + "."));
            }
            return;
        }
        if (!usesConnectors(connect)) {
            connectorReconciler.fail(connector, new NoSuchResourceException("KafkaConnect " + cluster + " is not configured with annotation " + USE_CONNECTORS));
            return;
        }
        KafkaConnect model = connects.model(connect);
        if (model.getSpec().getReplicas() == 0) {
            connectorReconciler.fail(connector, new NoSuchResourceException("Kafka Connect cluster '" + cluster + "' in namespace " + namespace + " has 0 replicas."));
            return;
        }
        if (pods.firstNotReady(model).isEmpty()) {
            connectorReconciler.reconcile(connector, rest(model));
        } else {
            startWaiting(cluster);
        }
    }

    private void removeStrangers(String cluster, ConnectRest rest) throws IOException, InterruptedException {
        for (String name : rest.connectors()) {
            Optional<GenericKubernetesResource> known = connectors.get(name);
            if (known.isEmpty() || !cluster.equals(cluster(known.get()))) {
                LOG.info("Deleting connector {}, which has no resource", name);
                rest.delete(name);
            }
        }
    }

    private ConnectRest rest(KafkaConnect connect) {
        Pod pod = pods.list(connect.getMetadata().getName()).get(0);
        return new ConnectRest(pod.getStatus().getPodIP());
    }

    private static boolean usesConnectors(GenericKubernetesResource connect) {
        return "true".equals(ConnectorReconciler.annotation(connect, USE_CONNECTORS));
    }

    private static List<ConnectorPlugin> plugins(ConnectRest rest) throws IOException, InterruptedException {
        List<ConnectorPlugin> plugins = new ArrayList<>();
        for (Map<String, Object> each : rest.plugins()) {
            ConnectorPlugin plugin = new ConnectorPlugin();
            plugin.setConnectorClass((String) each.get("class"));
            plugin.setType((String) each.get("type"));
            plugin.setVersion((String) each.get("version"));
            plugins.add(plugin);
        }
        return plugins;
    }

    private static KafkaConnectStatus newStatus(KafkaConnect connect) {
        String cluster = connect.getMetadata().getName();
        KafkaConnectStatus status = new KafkaConnectStatus();
        status.setObservedGeneration(connect.getMetadata().getGeneration());
        status.setUrl("http://" + cluster + "-connect-api." + connect.getMetadata().getNamespace() + ".svc:8083");
        status.setReplicas(connect.getSpec().getReplicas());
        StringBuilder selector = new StringBuilder();
        new TreeMap<>(ConnectPods.labels(cluster)).forEach((key, value) -> selector.append(selector.isEmpty() ? "" : ",").append(key).append('=').append(value));
        status.setLabelSelector(selector.toString());
        return status;
    }

    private synchronized void startWaiting(String cluster) {
        waitingSince.putIfAbsent(cluster, System.nanoTime());
    }

    private synchronized boolean waitedTooLong(String cluster) {
        startWaiting(cluster);
        return System.nanoTime() - waitingSince.get(cluster) > timing.ready().toNanos();
    }

    private synchronized void stopWaiting(String cluster) {
        waitingSince.remove(cluster);
    }
}

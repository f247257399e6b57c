// Stands in for the Strimzi Cluster Operator as far as KafkaConnect and KafkaConnector go: objects in, worker pods and Connect's REST API driven, status out. Leaves out everything else Strimzi does.
package io.distverify.lab.strimzi;

import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.strimzi.api.kafka.model.connect.KafkaConnect;
import io.strimzi.api.kafka.model.connector.KafkaConnector;
import java.util.concurrent.CountDownLatch;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Started with KUBECONFIG; watches the namespace STRIMZI_NAMESPACE. */
public final class Operator {
    private static final Logger LOG = LoggerFactory.getLogger(Operator.class);

    private final WorkQueue queue;
    private final ConnectReconciler reconciler;

    private Operator(WorkQueue queue, ConnectReconciler reconciler) {
        this.queue = queue;
        this.reconciler = reconciler;
    }

    public static void main(String[] args) throws Exception {
        String namespace = System.getenv().getOrDefault("STRIMZI_NAMESPACE", "kafka");
        Timing timing = Timing.fromEnvironment();
        try (KubernetesClient client = new KubernetesClientBuilder().build();
                Resources<KafkaConnect> connects = new Resources<>(client, namespace, KafkaConnect.class, "KafkaConnect", "kafkaconnects");
                Resources<KafkaConnector> connectors = new Resources<>(client, namespace, KafkaConnector.class, "KafkaConnector", "kafkaconnectors")) {
            ConnectPods pods = new ConnectPods(client, namespace);
            Operator operator = new Operator(new WorkQueue(), new ConnectReconciler(connects, connectors, pods, timing));
            connectors.watch(operator.onConnector());
            connects.watch(operator.onConnect());
            client.pods().inNamespace(namespace).withLabel("strimzi.io/kind", "KafkaConnect").inform(operator.onPod(), 0);
            operator.queue.every(timing.reconcile(), () -> connects.cached().forEach(connect -> operator.reconcile(connect.getMetadata().getName())));
            LOG.info("Watching namespace {}, reconciling every {} s", namespace, timing.reconcile().toSeconds());
            new CountDownLatch(1).await();
        }
    }

    private void reconcile(String cluster) {
        queue.add(cluster, "connect " + cluster, () -> reconciler.reconcileConnect(cluster));
    }

    private void reconcileConnector(GenericKubernetesResource connector) {
        String name = connector.getMetadata().getName();
        String cluster = String.valueOf(ConnectReconciler.cluster(connector));
        queue.add(cluster, "connector " + name, () -> reconciler.reconcileConnector(name));
    }

    private ResourceEventHandler<GenericKubernetesResource> onConnect() {
        return new Changes<>() {
            @Override
            void changed(GenericKubernetesResource connect) {
                reconcile(connect.getMetadata().getName());
            }

            @Override
            void gone(GenericKubernetesResource connect) {
                reconcile(connect.getMetadata().getName());
            }
        };
    }

    private ResourceEventHandler<GenericKubernetesResource> onConnector() {
        return new Changes<>() {
            @Override
            void changed(GenericKubernetesResource connector) {
                reconcileConnector(connector);
            }

            @Override
            void gone(GenericKubernetesResource connector) {
                String name = connector.getMetadata().getName();
                String cluster = String.valueOf(ConnectReconciler.cluster(connector));
                queue.add(cluster, "delete " + name, () -> reconciler.deleteConnector(cluster, name));
            }
        };
    }

    private ResourceEventHandler<Pod> onPod() {
        return new Changes<>() {
            @Override
            void changed(Pod pod) {
                String cluster = pod.getMetadata().getLabels().get("strimzi.io/cluster");
                if (reconciler.isWaiting(cluster)) {
                    reconcile(cluster);
                }
            }

            @Override
            void gone(Pod pod) {
                String cluster = pod.getMetadata().getLabels().get("strimzi.io/cluster");
                queue.add(cluster, "pods " + cluster, () -> reconciler.ensurePods(cluster));
                changed(pod);
            }
        };
    }

    /** Added and updated are one thing here. */
    private abstract static class Changes<T> implements ResourceEventHandler<T> {
        abstract void changed(T resource);

        abstract void gone(T resource);

        @Override
        public void onAdd(T resource) {
            changed(resource);
        }

        @Override
        public void onUpdate(T old, T resource) {
            changed(resource);
        }

        @Override
        public void onDelete(T resource, boolean finalStateUnknown) {
            gone(resource);
        }
    }
}

// Stands in for the Strimzi operator's StrimziPodSet and pods of a Kafka Connect cluster. Leaves out services, network policies, service accounts, rolling one by one and SASL.
package io.distverify.lab.strimzi;

import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ContainerBuilder;
import io.fabric8.kubernetes.api.model.EnvVar;
import io.fabric8.kubernetes.api.model.EnvVarBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Volume;
import io.fabric8.kubernetes.api.model.VolumeBuilder;
import io.fabric8.kubernetes.api.model.VolumeMount;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.readiness.Readiness;
import io.strimzi.api.kafka.model.common.CertSecretSource;
import io.strimzi.api.kafka.model.common.authentication.KafkaClientAuthenticationTls;
import io.strimzi.api.kafka.model.common.template.AdditionalVolume;
import io.strimzi.api.kafka.model.common.template.ContainerEnvVar;
import io.strimzi.api.kafka.model.connect.KafkaConnect;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** The worker pods that a KafkaConnect wants, and those that are there. */
final class ConnectPods {
    private static final String REVISION = "strimzi.io/revision";

    private final KubernetesClient client;
    private final String namespace;

    ConnectPods(KubernetesClient client, String namespace) {
        this.client = client;
        this.namespace = namespace;
    }

    static Map<String, String> labels(String cluster) {
        return Map.of("strimzi.io/cluster", cluster, "strimzi.io/kind", "KafkaConnect", "strimzi.io/name", cluster + "-connect");
    }

    /** Creates what lacks, deletes what is too much or outdated; a deleted pod is made again when it is gone. */
    void ensure(KafkaConnect connect) {
        String cluster = connect.getMetadata().getName();
        Map<String, Pod> there = new TreeMap<>();
        for (Pod pod : list(cluster)) {
            there.put(pod.getMetadata().getName(), pod);
        }
        for (int i = 0; i < connect.getSpec().getReplicas(); i++) {
            Pod wanted = pod(connect, i);
            Pod pod = there.remove(wanted.getMetadata().getName());
            if (pod == null) {
                client.pods().inNamespace(namespace).resource(wanted).create();
            } else if (pod.getMetadata().getDeletionTimestamp() == null && (ended(pod) || !sameRevision(pod, wanted))) {
                client.pods().inNamespace(namespace).resource(pod).delete();
            }
        }
        for (Pod pod : there.values()) {
            client.pods().inNamespace(namespace).resource(pod).delete();
        }
    }

    List<Pod> list(String cluster) {
        return client.pods().inNamespace(namespace).withLabels(labels(cluster)).list().getItems();
    }

    /** The first pod of this revision that does not serve yet, if any. */
    Optional<String> firstNotReady(KafkaConnect connect) {
        List<Pod> pods = list(connect.getMetadata().getName());
        for (int i = 0; i < connect.getSpec().getReplicas(); i++) {
            Pod wanted = pod(connect, i);
            boolean serves = pods.stream().anyMatch(pod -> pod.getMetadata().getName().equals(wanted.getMetadata().getName())
                    && pod.getMetadata().getDeletionTimestamp() == null && sameRevision(pod, wanted) && Readiness.isPodReady(pod));
            if (!serves) {
                return Optional.of(wanted.getMetadata().getName());
            }
        }
        return Optional.empty();
    }

    private static boolean ended(Pod pod) {
        String phase = pod.getStatus() == null ? null : pod.getStatus().getPhase();
        return "Failed".equals(phase) || "Succeeded".equals(phase);
    }

    private static boolean sameRevision(Pod one, Pod other) {
        return one.getMetadata().getAnnotations() != null
                && other.getMetadata().getAnnotations().get(REVISION).equals(one.getMetadata().getAnnotations().get(REVISION));
    }

    private Pod pod(KafkaConnect connect, int index) {
        String cluster = connect.getMetadata().getName();
        List<Volume> volumes = new ArrayList<>();
        List<VolumeMount> mounts = new ArrayList<>();
        Container container = container(connect, volumes, mounts);
        Pod pod = new PodBuilder()
                .withNewMetadata()
                    .withName(cluster + "-connect-" + index).withNamespace(namespace)
                    .withLabels(labels(cluster)).addToLabels("app.kubernetes.io/name", "kafka-connect")
                    .addToLabels("app.kubernetes.io/instance", cluster).addToLabels("app.kubernetes.io/managed-by", "strimzi-cluster-operator")
                    .addNewOwnerReference().withApiVersion(connect.getApiVersion()).withKind("KafkaConnect").withName(cluster)
                    .withUid(connect.getMetadata().getUid()).withController(true).withBlockOwnerDeletion(false).endOwnerReference()
                .endMetadata()
                .withNewSpec()
                    .withContainers(container).withVolumes(volumes).withAutomountServiceAccountToken(false)
                    .withRestartPolicy("Always").withTerminationGracePeriodSeconds(30L)
                .endSpec().build();
        pod.getMetadata().setAnnotations(Map.of(REVISION, Integer.toHexString(pod.getSpec().toString().hashCode())));
        return pod;
    }

    private Container container(KafkaConnect connect, List<Volume> volumes, List<VolumeMount> mounts) {
        List<EnvVar> env = new ArrayList<>();
        var spec = connect.getSpec();
        env.add(variable("KAFKA_CONNECT_BOOTSTRAP_SERVERS", spec.getBootstrapServers()));
        env.add(variable("KAFKA_CONNECT_CONFIGURATION", configuration(connect)));
        if (spec.getTls() != null && spec.getTls().getTrustedCertificates() != null && !spec.getTls().getTrustedCertificates().isEmpty()) {
            CertSecretSource trusted = spec.getTls().getTrustedCertificates().get(0);
            String volume = secretVolume(trusted.getSecretName(), volumes);
            env.add(variable("KAFKA_CONNECT_TRUSTED_CERTS", path(volume, trusted.getCertificate())));
        }
        if (spec.getAuthentication() instanceof KafkaClientAuthenticationTls tls) {
            String volume = secretVolume(tls.getCertificateAndKey().getSecretName(), volumes);
            env.add(variable("KAFKA_CONNECT_TLS_CERT", path(volume, tls.getCertificateAndKey().getCertificate())));
            env.add(variable("KAFKA_CONNECT_TLS_KEY", path(volume, tls.getCertificateAndKey().getKey())));
        }
        addTemplate(connect, env, volumes, mounts);
        return new ContainerBuilder()
                .withName(connect.getMetadata().getName() + "-connect")
                .withImage(spec.getImage() == null ? "kafka-connect" : spec.getImage())
                .withCommand("$(LAB_JAVA)/run", "server", "io.distverify.lab.connect.Worker")
                .withEnv(env).withVolumeMounts(mounts)
                .addNewPort().withName("rest-api").withContainerPort(8083).withProtocol("TCP").endPort()
                .withNewReadinessProbe().withNewHttpGet().withPath("/health").withNewPort(8083).endHttpGet()
                .withPeriodSeconds(1).withTimeoutSeconds(5).withFailureThreshold(3).endReadinessProbe()
                .build();
    }

    private static void addTemplate(KafkaConnect connect, List<EnvVar> env, List<Volume> volumes, List<VolumeMount> mounts) {
        var template = connect.getSpec().getTemplate();
        if (template == null) {
            return;
        }
        if (template.getConnectContainer() != null) {
            for (ContainerEnvVar each : orEmpty(template.getConnectContainer().getEnv())) {
                env.add(variable(each.getName(), each.getValue()));
            }
            mounts.addAll(orEmpty(template.getConnectContainer().getVolumeMounts()));
        }
        if (template.getPod() != null) {
            for (AdditionalVolume each : orEmpty(template.getPod().getVolumes())) {
                volumes.add(new VolumeBuilder().withName(each.getName()).withSecret(each.getSecret()).withConfigMap(each.getConfigMap()).build());
            }
        }
    }

    private static String secretVolume(String secret, List<Volume> volumes) {
        if (volumes.stream().noneMatch(volume -> volume.getName().equals(secret))) {
            volumes.add(new VolumeBuilder().withName(secret).withNewSecret().withSecretName(secret).endSecret().build());
        }
        return secret;
    }

    /** The node of the lab has no mounts; it names the directory of each volume in a variable. */
    private static String path(String volume, String file) {
        return "$(LAB_MOUNT_" + volume.toUpperCase(java.util.Locale.ROOT).replace('-', '_') + ")/" + file;
    }

    private static String configuration(KafkaConnect connect) {
        var spec = connect.getSpec();
        Map<String, Object> config = new TreeMap<>(Map.of(
                "key.converter", "org.apache.kafka.connect.json.JsonConverter", "value.converter", "org.apache.kafka.connect.json.JsonConverter"));
        if (spec.getConfig() != null) {
            config.putAll(spec.getConfig());
        }
        put(config, "group.id", spec.getGroupId());
        put(config, "config.storage.topic", spec.getConfigStorageTopic());
        put(config, "offset.storage.topic", spec.getOffsetStorageTopic());
        put(config, "status.storage.topic", spec.getStatusStorageTopic());
        StringBuilder text = new StringBuilder();
        config.forEach((key, value) -> text.append(key).append('=').append(value).append('\n'));
        return text.toString();
    }

    private static void put(Map<String, Object> config, String key, String value) {
        if (value != null) {
            config.put(key, value);
        }
    }

    private static EnvVar variable(String name, String value) {
        return new EnvVarBuilder().withName(name).withValue(value).build();
    }

    private static <E> List<E> orEmpty(List<E> list) {
        return list == null ? List.of() : list;
    }
}

// Stands in for the Strimzi operator's access to its custom resources. Leaves out conversion: the API server serves each version of the lab's CRDs alike.
package io.distverify.lab.strimzi;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.GenericKubernetesResourceList;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.MixedOperation;
import io.fabric8.kubernetes.client.dsl.NonNamespaceOperation;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import io.strimzi.api.kafka.model.kafka.Status;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** All objects of one of Strimzi's kinds in the watched namespace, as Strimzi's own model, in the newest version served. */
final class Resources<T> implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Resources.class);
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String GROUP = "kafka.strimzi.io";

    private final KubernetesClient client;
    private final Class<T> type;
    private final NonNamespaceOperation<GenericKubernetesResource, GenericKubernetesResourceList, Resource<GenericKubernetesResource>> api;
    private SharedIndexInformer<GenericKubernetesResource> informer;

    Resources(KubernetesClient client, String namespace, Class<T> type, String kind, String plural) {
        this.client = client;
        this.type = type;
        MixedOperation<GenericKubernetesResource, GenericKubernetesResourceList, Resource<GenericKubernetesResource>> all =
                client.genericKubernetesResources(new ResourceDefinitionContext.Builder()
                        .withGroup(GROUP).withVersion(version(client)).withKind(kind).withPlural(plural).withNamespaced(true).build());
        api = all.inNamespace(namespace);
    }

    private static String version(KubernetesClient client) {
        List<String> served = client.getApiGroup(GROUP).getVersions().stream().map(version -> version.getVersion()).toList();
        return served.contains("v1") ? "v1" : served.get(0);
    }

    void watch(ResourceEventHandler<GenericKubernetesResource> handler) {
        informer = api.inform(handler, 0);
    }

    List<GenericKubernetesResource> cached() {
        return informer.getStore().list();
    }

    /** As it is now on the API server; the cache may be older than what caused the event. */
    Optional<GenericKubernetesResource> get(String name) {
        return Optional.ofNullable(api.withName(name).get());
    }

    T model(GenericKubernetesResource resource) {
        return client.getKubernetesSerialization().convertValue(resource, type);
    }

    /** Strimzi's way: the whole object by PUT on /status, and only when something but a transition time differs. */
    void writeStatus(GenericKubernetesResource resource, Status status) {
        JsonNode fresh = tree(status);
        JsonNode old = tree(resource.get("status"));
        if (comparable(fresh).equals(comparable(old))) {
            return;
        }
        GenericKubernetesResource update = client.getKubernetesSerialization().clone(resource);
        update.setAdditionalProperty("status", JSON.convertValue(fresh, Map.class));
        try {
            api.resource(update).updateStatus();
        } catch (KubernetesClientException e) {
            if (e.getCode() != 404 && e.getCode() != 409) {
                throw e;
            }
            LOG.info("{} {} changed meanwhile, its status waits for the next look", resource.getKind(), resource.getMetadata().getName());
        }
    }

    void removeAnnotation(GenericKubernetesResource resource, String annotation) {
        api.withName(resource.getMetadata().getName()).edit(object -> {
            object.getMetadata().getAnnotations().remove(annotation);
            return object;
        });
    }

    /** Through text: the same number is another node when its Java type differs. */
    private JsonNode tree(Object value) {
        try {
            return JSON.readTree(client.getKubernetesSerialization().asJson(value));
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    private static JsonNode comparable(JsonNode status) {
        JsonNode copy = status.deepCopy();
        for (JsonNode condition : copy.path("conditions")) {
            ((ObjectNode) condition).remove("lastTransitionTime");
        }
        return copy;
    }

    @Override
    public void close() {
        if (informer != null) {
            informer.close();
        }
    }
}

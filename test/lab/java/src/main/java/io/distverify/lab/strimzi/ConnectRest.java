// Stands in for the Strimzi operator's client of Kafka Connect's REST API. Leaves out offsets and loggers.
package io.distverify.lab.strimzi;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** One Connect cluster, by the address of one of its workers. */
final class ConnectRest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final HttpClient CLIENT = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(5)).build();

    private final String base;

    ConnectRest(String host) {
        base = "http://" + host + ":8083";
    }

    List<Map<String, Object>> plugins() throws IOException, InterruptedException {
        return JSON.convertValue(call("GET", "/connector-plugins", null, false).orElseThrow(), new TypeReference<>() { });
    }

    List<String> connectors() throws IOException, InterruptedException {
        return JSON.convertValue(call("GET", "/connectors", null, false).orElseThrow(), new TypeReference<>() { });
    }

    Optional<Map<String, String>> config(String name) throws IOException, InterruptedException {
        return call("GET", path(name) + "/config", null, true).map(node -> JSON.convertValue(node, new TypeReference<>() { }));
    }

    void configure(String name, Map<String, String> config) throws IOException, InterruptedException {
        call("PUT", path(name) + "/config", JSON.writeValueAsString(config), false);
    }

    Optional<Map<String, Object>> status(String name) throws IOException, InterruptedException {
        return call("GET", path(name) + "/status", null, true).map(node -> JSON.convertValue(node, new TypeReference<>() { }));
    }

    List<String> topics(String name) throws IOException, InterruptedException {
        Optional<JsonNode> answer = call("GET", path(name) + "/topics", null, true);
        return answer.map(node -> JSON.<List<String>>convertValue(node.path(name).path("topics"), new TypeReference<>() { }))
                .map(topics -> topics.stream().sorted().toList()).orElse(List.of());
    }

    void delete(String name) throws IOException, InterruptedException {
        call("DELETE", path(name), null, true);
    }

    /** @param state {@code pause}, {@code resume} or {@code stop} */
    void change(String name, String state) throws IOException, InterruptedException {
        call("PUT", path(name) + "/" + state, null, false);
    }

    void restart(String name, boolean onlyFailed) throws IOException, InterruptedException {
        call("POST", path(name) + "/restart?includeTasks=" + onlyFailed + "&onlyFailed=" + onlyFailed, null, false);
    }

    void restartTask(String name, int task) throws IOException, InterruptedException {
        call("POST", path(name) + "/tasks/" + task + "/restart", null, false);
    }

    private static String path(String name) {
        return "/connectors/" + URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
    }

    private Optional<JsonNode> call(String method, String path, String body, boolean mayLack) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create(base + path)).timeout(TIMEOUT)
                .header("Accept", "application/json").header("Content-Type", "application/json")
                .method(method, body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body)).build();
        HttpResponse<String> response = CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() == 404 && mayLack) {
            return Optional.empty();
        }
        if (response.statusCode() / 100 != 2) {
            throw new ConnectRestException(method, path, response.statusCode(), message(response.body()));
        }
        return Optional.of(response.body().isEmpty() ? JSON.createObjectNode() : JSON.readTree(response.body()));
    }

    private static String message(String body) {
        try {
            return JSON.readTree(body).path("message").asText(body);
        } catch (IOException e) {
            return body;
        }
    }
}

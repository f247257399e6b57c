/* Watches, calls and logs against scripted answers: test/unit/cases/kube-api/<name>.json.
 *
 * {"why", "watch" | "call" | "log": what is asked, "exchanges": see http_script.h, "heard": what the sink hears in order, each
 * ["ITEM", name, resourceVersion] ["GONE", name] ["SYNCED"] ["TROUBLE", kind, part of the text] ["ANSWER", kind, status, part of the text]
 * ["LINES", text] ["LOG_END"], "gapsMs": least times between requests in order, "idle": requests beyond the script that stay open,
 * "users": whom the kubeconfig names, and whom from the first SYNCED on}
 * Back-off is a tenth of the real one here.
 */
#include "../support/kube_harness.h"
#include "../support/http_script.h"

#define CASES "test/unit/cases/kube-api"

struct playing {
    struct harness *h;
    struct script *script;
    const json_t *wanted, *users;
    size_t idle;
    char kubeconfig[32];
};

static struct playing *playing_now; /* for what is called without an argument of ours */

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static struct port_server server_of(const json_t *what)
{
    const json_t *server = json_object_get(what, "server");
    return (struct port_server){.ns = text_of(server, "ns"), .secret = text_of(server, "secret"), .key = text_of(server, "key")};
}

static struct port_resource resource_of(const json_t *what)
{
    return (struct port_resource){.group = text_of(what, "group"),
                                  .version = text_of(what, "version"),
                                  .plural = text_of(what, "plural"),
                                  .ns = text_of(what, "ns"),
                                  .name = text_of(what, "name"),
                                  .subresource = text_of(what, "subresource")};
}

static enum port_verb verb_of(const char *name)
{
    static const char *const names[] = {"get", "create", "replace", "patch", "delete"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (dv_streq(name, names[i]))
            return (enum port_verb)i;
    fail_msg("unknown verb %s", name);
    return PORT_GET;
}

static void begin(struct harness *h, const json_t *test)
{
    const json_t *watch = json_object_get(test, "watch");
    const json_t *call = json_object_get(test, "call");
    const json_t *log = json_object_get(test, "log");
    if (watch != NULL)
        h->port->watch(
            h->port->impl, 1,
            &(struct port_watch){.server = server_of(watch), .resource = resource_of(watch), .label_selector = text_of(watch, "selector")});
    if (call != NULL)
        h->port->call(h->port->impl, 1,
                      &(struct port_call){.server = server_of(call),
                                          .verb = verb_of(text_of(call, "verb")),
                                          .resource = resource_of(call),
                                          .body = json_object_get(call, "body")});
    if (log != NULL)
        h->port->log(h->port->impl, 1,
                     &(struct port_log){.ns = text_of(log, "ns"),
                                        .pod = text_of(log, "pod"),
                                        .container = text_of(log, "container"),
                                        .since_ms = json_integer_value(json_object_get(log, "sinceMs")),
                                        .previous = json_is_true(json_object_get(log, "previous"))});
    assert_int_equal(h->count, 0); /* nothing is told from within */
}

/* ---------------------------------------------------------------- what was heard */

static json_t *heard_as_json(const struct heard *heard)
{
    const char *kind = dv_err_kind_name(heard->err.kind);
    const char *rv = text_of(json_object_get(heard->json, "metadata"), "resourceVersion");
    switch (heard->kind) {
    case PORT_KUBE_ANSWER: return json_pack("[s,s,i,s]", "ANSWER", kind, heard->err.code, heard->err.text);
    case PORT_KUBE_ITEM: return json_pack("[s,s,s]", "ITEM", heard->name, rv != NULL ? rv : "");
    case PORT_KUBE_GONE: return json_pack("[s,s]", "GONE", heard->name);
    case PORT_KUBE_SYNCED: return json_pack("[s]", "SYNCED");
    case PORT_KUBE_TROUBLE: return json_pack("[s,s,s]", "TROUBLE", kind, heard->err.text);
    case PORT_KUBE_LINES: return json_pack("[s,s]", "LINES", heard->text);
    case PORT_KUBE_LOG_END: return json_pack("[s]", "LOG_END");
    }
    return NULL;
}

static bool heard_equal(const json_t *wanted, const json_t *have)
{
    bool about_error = dv_streq(json_string_value(json_array_get(wanted, 0)), "TROUBLE") ||
                       dv_streq(json_string_value(json_array_get(wanted, 0)), "ANSWER");
    for (size_t i = 0; i < json_array_size(wanted); i++) {
        const json_t *a = json_array_get(wanted, i);
        const json_t *b = json_array_get(have, i);
        bool last = about_error && i > 1 && i + 1 == json_array_size(wanted) && json_is_string(a);
        if (last ? strstr(json_string_value(b), json_string_value(a)) == NULL : !json_equal(a, b))
            return false;
    }
    return true;
}

static void check_heard(const char *name, const struct playing *play)
{
    json_t *all = json_array();
    for (size_t i = 0; i < play->h->count; i++)
        (void)json_array_append_new(all, heard_as_json(&play->h->heard[i]));
    bool same = json_array_size(all) == json_array_size(play->wanted);
    for (size_t i = 0; same && i < json_array_size(all); i++)
        same = heard_equal(json_array_get(play->wanted, i), json_array_get(all, i));
    if (!same) {
        char *have = json_dumps(all, 0);
        char *want = json_dumps(play->wanted, 0);
        print_message("%s: heard  %s\n", name, have);
        print_message("%s: wanted %s\n", name, want);
        fail_msg("%s: heard something else (exchange %zu of %zu%s%s)", name, play->script->at, json_array_size(play->script->exchanges),
                 play->script->problem[0] != '\0' ? "; " : "", play->script->problem);
    }
    json_decref(all);
}

static void check_gaps(const char *name, const struct script *script, const json_t *gaps)
{
    size_t i;
    json_t *gap;
    json_array_foreach(gaps, i, gap)
    {
        int64_t have = script->requests[i + 1].at_ms - script->requests[i].at_ms;
        if (have < json_integer_value(gap))
            fail_msg("%s: request %zu came after %lld ms, not %lld", name, i + 1, (long long)have, (long long)json_integer_value(gap));
    }
}

static bool is_over(struct harness *h, void *arg)
{
    const struct playing *play = arg;
    return play->script->problem[0] != '\0' ||
           (h->count >= json_array_size(play->wanted) && script_is_over(play->script) && play->script->beyond >= play->idle);
}

static void write_kubeconfig(const struct playing *play, const char *user)
{
    FILE *file = fopen(play->kubeconfig, "w");
    assert_non_null(file);
    (void)fprintf(file,
                  "current-context: x\nclusters: [{name: c, cluster: {server: 'http://127.0.0.1:%d'}}]\n"
                  "contexts: [{name: x, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {as: %s}}]\n",
                  play->script->port, user != NULL ? user : "somebody");
    (void)fclose(file);
}

static void play_open(struct playing *play)
{
    (void)dv_strlcpy(play->kubeconfig, "/tmp/kube-script-XXXXXX", sizeof play->kubeconfig);
    int fd = mkstemp(play->kubeconfig);
    assert_true(fd >= 0);
    (void)close(fd);
    write_kubeconfig(play, json_string_value(json_array_get(play->users, 0)));
    harness_open(play->h, play->kubeconfig);
}

static void change_user(struct harness *h, const struct port_kube_event *event)
{
    if (event->kind == PORT_KUBE_SYNCED && harness_count(h, PORT_KUBE_SYNCED, 0) == 1)
        write_kubeconfig(playing_now, json_string_value(json_array_get(playing_now->users, 1)));
}

static void play_close(struct playing *play)
{
    (void)unlink(play->kubeconfig);
    script_free(play->script);
    harness_free(play->h);
}

static void play_case(const char *path, const char *name, void *arg)
{
    const char *only = getenv("CASE");
    if (only != NULL && strstr(name, only) == NULL)
        return;
    (void)arg;
    json_t *test = test_read_json(path);
    struct harness *h = harness_new();
    struct playing play = {.h = h,
                           .wanted = json_object_get(test, "heard"),
                           .users = json_object_get(test, "users"),
                           .idle = (size_t)json_integer_value(json_object_get(test, "idle"))};
    play.script = script_new(h->loop, json_object_get(test, "exchanges"));
    playing_now = &play;
    h->on_event = play.users != NULL ? change_user : NULL;
    play_open(&play);
    begin(h, test);
    bool over = harness_wait(h, is_over, &play, 10000);
    harness_wait(h, NULL, NULL, 60); /* what should not come would come now */
    check_heard(name, &play);
    if (play.script->problem[0] != '\0' || !over)
        fail_msg("%s: not played to its end (exchange %zu, %zu beyond): %s", name, play.script->at, play.script->beyond,
                 play.script->problem);
    assert_int_equal(play.script->beyond, play.idle);
    check_gaps(name, play.script, json_object_get(test, "gapsMs"));
    play_close(&play);
    json_decref(test);
}

static void scripted_cases(void **state)
{
    (void)state;
    assert_true(test_each_entry(CASES, play_case, NULL) > 0);
}

/* ---------------------------------------------------------------- new credentials end a watch, and its subscriber stops another */

static void stop_the_other(struct harness *h, const struct port_kube_event *event)
{
    if (event->kind == PORT_KUBE_TROUBLE && event->id == 1)
        h->port->watch_stop(h->port->impl, 2);
}

static void a_refused_request_is_cancelled_over_its_renewal(void **state)
{
    (void)state;
    static const char exchanges[] =
        "[{\"target\": \"/api/v1/pods\", \"header\": \"Impersonate-User: first\", \"respond\": {\"json\": {\"kind\": \"PodList\","
        "  \"apiVersion\": \"v1\", \"metadata\": {\"resourceVersion\": \"10\"}, \"items\": []}}},"
        " {\"target\": \"/api/v1/pods\", \"header\": \"Impersonate-User: first\", \"respond\": {\"lines\": [], \"end\": \"hang\"}},"
        " {\"target\": \"/api/v1/services\", \"header\": \"Impersonate-User: first\", \"respond\": {\"status\": 401, \"json\": {\"kind\": "
        "  \"Status\", \"status\": \"Failure\", \"reason\": \"Unauthorized\", \"code\": 401}}},"
        " {\"target\": \"/api/v1/pods\", \"query\": {\"watch\": \"1\"}, \"header\": \"Impersonate-User: second\", \"respond\": {\"lines\": "
        "[{\"type\":"
        "  \"ADDED\", \"object\": {\"kind\": \"Pod\", \"metadata\": {\"name\": \"a\", \"namespace\": \"demo\","
        "  \"resourceVersion\": \"11\"}}}], \"end\": \"hang\"}}]";
    json_t *list = json_loads(exchanges, 0, NULL);
    json_t *users = json_pack("[s,s]", "first", "second");
    assert_non_null(list);
    struct playing play = {.h = harness_new(), .users = users};
    play.script = script_new(play.h->loop, list);
    play_open(&play);
    play.h->on_event = stop_the_other;
    play.h->port->watch(play.h->port->impl, 1, &(struct port_watch){.resource = {.group = "", .version = "v1", .plural = "pods"}});
    assert_true(harness_expect(play.h, PORT_KUBE_SYNCED, 1, 1, NULL, 5000));
    harness_wait(play.h, NULL, NULL, 100); /* until the watch is open */
    write_kubeconfig(&play, "second");
    play.h->port->watch(play.h->port->impl, 2, &(struct port_watch){.resource = {.group = "", .version = "v1", .plural = "services"}});
    assert_true(harness_expect(play.h, PORT_KUBE_ITEM, 1, 1, "a", 5000));
    assert_int_equal(harness_count(play.h, PORT_KUBE_TROUBLE, 1), 1);
    assert_int_equal(harness_count(play.h, PORT_KUBE_TROUBLE, 2), 0);
    assert_string_equal(play.script->problem, "");
    play_close(&play);
    json_decref(list);
    json_decref(users);
}

int main(void)
{
    (void)setenv("DISTVERIFY_PERIODS_DIV", "10", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scripted_cases),
        cmocka_unit_test(a_refused_request_is_cancelled_over_its_renewal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "../support/crd_schema.h"
#include "../support/json_edit.h"

#include "base/mem.h"
#include "model/spec.h"

#define CASES "test/unit/cases/spec/"

static struct model_spec *decoded(const json_t *json)
{
    struct model_spec *spec = NULL;
    struct dv_err err = DV_ERR_INIT;
    if (model_spec_decode(json, "own-ns", &spec, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(err.kind, DV_ERR_NONE);
    return spec;
}

static struct model_spec *decoded_file(const char *path)
{
    json_t *json = test_read_json(path);
    struct model_spec *spec = decoded(json);
    json_decref(json);
    return spec;
}

static void assert_path(const struct model_path *path, const char *joined)
{
    char text[200] = "";
    for (size_t i = 0; i < path->count; i++) {
        char before[200];
        (void)dv_strlcpy(before, text, sizeof before);
        (void)dv_format(text, sizeof text, "%s%s%s", before, i > 0 ? "|" : "", path->keys[i]);
    }
    assert_string_equal(text, joined);
}

/* ---------------------------------------------------------------- every field */

static void top_fields_are_read(void **state)
{
    (void)state;
    struct model_spec *spec = decoded_file(CASES "full.json");
    const int64_t have[] = {spec->level,
                            spec->window_ms,
                            spec->records_per_partition,
                            spec->settle_ms,
                            spec->held_ms,
                            spec->reconcile_ms,
                            spec->commit_interval_ms,
                            spec->arrival_ms,
                            spec->lag_threshold,
                            spec->behind_tolerance,
                            spec->retries,
                            spec->stage_deadline_ms,
                            spec->run_deadline_ms,
                            spec->on_failure,
                            spec->on_loop};
    const int64_t want[] = {3, 30000, 5, 31000, 11000, 61000, 5000, 36000, 7, 2, 4, 540000, 7200000, MODEL_FAILURE_HOLD, MODEL_LOOP_HOLD};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++)
        assert_int_equal(have[i], want[i]);
    assert_true(spec->suspend);
    assert_true(spec->take_over);
    assert_int_equal(spec->log_allow_count, 2);
    assert_string_equal(spec->log_allow[1], "also fine");
    assert_string_equal(spec->cluster[MODEL_A].topic, "a-topic");
    assert_string_equal(spec->cluster[MODEL_B].topic, "b-topic");
    assert_string_equal(spec->cluster[MODEL_A].group, "a-group");
    assert_string_equal(spec->cluster[MODEL_B].group, "b-group");
    assert_string_equal(spec->cluster[MODEL_A].timestamps_topic, "a-ts");
    assert_string_equal(spec->cluster[MODEL_B].timestamps_topic, "b-ts");
    model_spec_free(spec);
}

static void the_distributor_is_read(void **state)
{
    (void)state;
    struct model_spec *spec = decoded_file(CASES "full.json");
    const struct model_cluster *a = &spec->cluster[MODEL_A];
    const struct model_distributor *d = &a->distributor;
    assert_string_equal(a->name, "dc1");
    assert_string_equal(a->ns, "kafka-a");
    assert_string_equal(a->kubeconfig_secret, "dc1-kube");
    assert_string_equal(a->kubeconfig_key, "config");
    assert_string_equal(spec->cluster[MODEL_B].kubeconfig_key, "kubeconfig");
    assert_string_equal(d->connect, "dc1-connect");
    assert_int_equal(d->principal_count, 2);
    assert_string_equal(d->principals[0], "User:CN=dist dc1, OU=x"); /* opaque: blanks and commas stay */
    assert_true(d->values.secret);
    assert_string_equal(d->values.name, "dc1-values");
    assert_string_equal(d->values.key, "values.{level}.yaml"); /* only paths and names of connectors carry the level */
    assert_false(spec->cluster[MODEL_B].distributor.values.secret);
    assert_string_equal(json_string_value(json_object_get(json_object_get(d->init_job_selector, "matchLabels"), "job")), "init");
    assert_null(spec->cluster[MODEL_B].distributor.init_job_selector);
    model_spec_free(spec);
}

static void the_level_is_put_in(void **state)
{
    (void)state;
    struct model_spec *spec = decoded_file(CASES "full.json");
    const struct model_switch_spec *switches = spec->cluster[MODEL_A].distributor.switches;
    assert_path(&spec->cluster[MODEL_A].distributor.principals_path, "init|principals|level-3");
    assert_path(&switches[MODEL_SW_INIT].path, "init.with.dots|enabled");
    assert_path(&switches[MODEL_SW_MD].path, "l3|md33");
    assert_string_equal(switches[MODEL_SW_MD].connector, "md-level-3");
    assert_string_equal(switches[MODEL_SW_MD].group, "g-3");
    assert_string_equal(switches[MODEL_SW_OD].connector, "od-level-3");
    assert_null(switches[MODEL_SW_OD].group);
    assert_string_equal(switches[MODEL_SW_OC].connector, "3-oc");
    assert_null(switches[MODEL_SW_INIT].connector);
    model_spec_free(spec);
}

static void distribution_stays_on_at_the_end_with_any_connector(void **state)
{
    (void)state;
    struct model_spec *spec = decoded_file(CASES "full.json");
    const bool *a = spec->cluster[MODEL_A].distributor.finally.on;
    const bool *b = spec->cluster[MODEL_B].distributor.finally.on;
    assert_true(a[MODEL_SW_DISTRIBUTION] && !a[MODEL_SW_INIT] && a[MODEL_SW_MD] && !a[MODEL_SW_OD] && !a[MODEL_SW_OC]);
    assert_true(!b[MODEL_SW_DISTRIBUTION] && b[MODEL_SW_INIT] && !b[MODEL_SW_MD] && !b[MODEL_SW_OD] && !b[MODEL_SW_OC]);
    model_spec_free(spec);
}

static void kafka_is_read(void **state)
{
    (void)state;
    struct model_spec *spec = decoded_file(CASES "full.json");
    const struct model_kafka *a = &spec->cluster[MODEL_A].kafka;
    const struct model_kafka *b = &spec->cluster[MODEL_B].kafka;
    assert_string_equal(a->bootstrap, "dc1-0:9093,dc1-1:9093");
    assert_true(a->tls);
    assert_int_equal(a->trusted_count, 2);
    assert_string_equal(a->trusted[1].secret, "old-ca");
    assert_string_equal(a->trusted[1].certificate, "old.crt");
    assert_int_equal(a->auth, MODEL_AUTH_TLS);
    assert_string_equal(a->cert_secret, "dc1-user");
    assert_string_equal(a->cert_certificate, "user.crt");
    assert_string_equal(a->cert_key, "user.key");
    assert_null(a->username);
    assert_false(a->allow_plaintext_credentials);
    assert_false(b->tls);
    assert_int_equal(b->auth, MODEL_AUTH_SCRAM_SHA_512);
    assert_string_equal(b->username, "verifier");
    assert_string_equal(b->password_secret, "dc2-pw");
    assert_string_equal(b->password_key, "pw");
    assert_true(b->allow_plaintext_credentials);
    model_spec_free(spec);
}

static void defaults_are_those_of_the_contract(void **state)
{
    (void)state;
    struct model_spec *spec = decoded_file(CASES "minimal.json");
    const int64_t have[] = {spec->level,
                            spec->window_ms,
                            spec->records_per_partition,
                            spec->settle_ms,
                            spec->held_ms,
                            spec->reconcile_ms,
                            spec->commit_interval_ms,
                            spec->arrival_ms,
                            spec->lag_threshold,
                            spec->behind_tolerance,
                            spec->retries,
                            spec->stage_deadline_ms,
                            spec->run_deadline_ms,
                            spec->on_loop};
    const int64_t want[] = {1, 60000, 3, 30000, 10000, 120000, -1, -1, -1, 1, 2, 600000, 3600000, MODEL_LOOP_DISABLE_LAST};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++)
        assert_int_equal(have[i], want[i]);
    assert_false(spec->suspend || spec->take_over);
    for (int side = 0; side < MODEL_SIDES; side++) {
        assert_string_equal(spec->cluster[side].ns, "own-ns");
        assert_null(spec->cluster[side].kubeconfig_secret);
        assert_string_equal(spec->cluster[side].topic, "distribution-test");
        assert_int_equal(spec->cluster[side].kafka.auth, MODEL_AUTH_NONE);
        for (int i = 0; i < MODEL_SWITCHES; i++)
            assert_true(spec->cluster[side].distributor.finally.on[i]);
    }
    model_spec_free(spec);
}

static void authentication_types_have_their_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum model_auth_type type;
    } rows[] = {{"scram-sha-256", MODEL_AUTH_SCRAM_SHA_256}, {"scram-sha-512", MODEL_AUTH_SCRAM_SHA_512}, {"plain", MODEL_AUTH_PLAIN}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *json = test_read_json(CASES "full.json");
        json_t *name = json_string(rows[i].name);
        json_edit(json, "clusters.b.kafka.authentication.type", name);
        struct model_spec *spec = decoded(json);
        assert_int_equal(spec->cluster[MODEL_B].kafka.auth, rows[i].type);
        model_spec_free(spec);
        json_decref(name);
        json_decref(json);
    }
}

/* ---------------------------------------------------------------- errors */

static void check_invalid(const json_t *item)
{
    const char *at = json_string_value(json_object_get(item, "at"));
    const char *want = json_string_value(json_object_get(item, "error"));
    json_t *json = test_read_json(CASES "minimal.json");
    struct model_spec *spec = NULL;
    struct dv_err err = DV_ERR_INIT;
    if (at[0] != '\0')
        json_edit(json, at, json_object_get(item, "set"));
    int rc = model_spec_decode(at[0] != '\0' ? json : json_object_get(item, "set"), "own-ns", &spec, &err);
    if (rc != -1 || spec != NULL || err.kind != DV_ERR_INVALID || !dv_starts_with(err.text, want))
        fail_msg("%s: want \"%s\", have %d \"%s\"", at, want, rc, err.text);
    assert_int_equal(model_spec_decode(at[0] != '\0' ? json : json_object_get(item, "set"), "own-ns", &spec, NULL), -1);
    json_decref(json);
}

static void errors_name_their_field(void **state)
{
    (void)state;
    json_t *cases = test_read_json(CASES "invalid.json");
    size_t i;
    json_t *item;
    json_array_foreach(cases, i, item) check_invalid(item);
    assert_true(i > 50);
    json_decref(cases);
}

static bool text_has_case(const json_t *cases, const char *text, size_t len)
{
    size_t i;
    json_t *item;
    json_array_foreach(cases, i, item)
    {
        const char *want = json_string_value(json_object_get(item, "error"));
        if (memmem(want, strlen(want), text, len) != NULL)
            return true;
    }
    return false;
}

/* Each sentence in the source that refuses a spec has a case. */
static void every_error_site_has_a_case(void **state)
{
    (void)state;
    static const char *const marks[] = {"spec_bad(", "DV_ERR_INVALID, \""};
    json_t *cases = test_read_json(CASES "invalid.json");
    char *source = test_read_file("pkg/model/spec.c", NULL);
    size_t sites = 0;
    for (size_t m = 0; m < sizeof marks / sizeof marks[0]; m++) {
        for (const char *at = strstr(source, marks[m]); at != NULL; at = strstr(at + 1, marks[m])) {
            const char *quote = at + strcspn(at, "\";{");
            if (*quote != '"' || strncmp(quote, "\"%s: %s\"", 8) == 0)
                continue; /* the function itself */
            const char *text = quote + 1;
            if (strncmp(text, "%s: ", 4) == 0)
                text += 4;
            size_t len = strcspn(text, "%\"");
            sites++;
            if (len == 0 || !text_has_case(cases, text, len))
                fail_msg("no case for: %.*s", (int)len, text);
        }
    }
    assert_true(sites >= 17);
    free(source);
    json_decref(cases);
}

/* ---------------------------------------------------------------- identity */

static void hash_of(const json_t *json, const char *at, const json_t *value, char out[17])
{
    json_t *copy = json_deep_copy(json);
    json_edit(copy, at, value);
    struct model_spec *spec = decoded(copy);
    (void)dv_strlcpy(out, spec->hash, 17);
    model_spec_free(spec);
    json_decref(copy);
}

static void some_fields_are_outside_the_hash(void **state)
{
    (void)state;
    static const struct {
        const char *at, *value;
        bool inside;
    } rows[] = {
        {"suspend", "true", false},
        {"approvals", "[\"OffsetsAtoB\"]", false},
        {"deadlines.stage", "\"20m\"", false},
        {"onFailure", "\"Hold\"", false},
        {"onLoop", "\"Hold\"", false},
        {"deletionPolicy", "\"Retain\"", false},
        {"checks.logs.allow", "[\"x\"]", false},
        {"window", "\"1m\"", false}, /* the same in other words */
        {"clusters.a.namespace", "\"own-ns\"", false},
        {"topic", "{\"nameOn\": {\"a\": \"distribution-test\", \"b\": \"distribution-test\"}}", false},
        {"checks.later", "7", false}, /* a CRD of a later version */
        {"clusters.b.kafka.later", "{\"and\": \"more\"}", false},
        {"level", "2", true},
        {"takeOver", "true", true},
        {"topic.name", "\"other\"", true},
        {"group.name", "\"other\"", true},
        {"timestampsTopic.name", "\"other\"", true},
        {"window", "\"61s\"", true},
        {"checks.behindTolerance", "2", true},
        {"checks.settle", "\"5s\"", true},
        {"clusters.a.name", "\"other\"", true},
        {"clusters.b.kafka.bootstrapServers", "\"other:9092\"", true},
        {"clusters.b.distributor.finally.init", "false", true},
        {"clusters.a.distributor.principals.0", "\"User:other\"", true},
        {"clusters.a.namespace", "\"other\"", true},
        {"clusters.a.kubeConfig.secretRef.name", "\"other\"", true},
        {"clusters.a.distributor.initJob.selector.matchLabels.job", "\"init\"", true},
        {"clusters.a.distributor.values", "{\"secretRef\": {\"name\": \"dc1-values\", \"key\": \"values.yaml\"}}", true},
        {"clusters.a.distributor.switches.messageDistributor.group", "\"own\"", true},
        {"clusters.a.kafka.tls", "{}", true},
        {"clusters.a.kafka.allowPlaintextCredentials", "true", true},
        {"checks.commitInterval", "\"60s\"", true},
        {"checks.arrival", "\"90s\"", true},
        {"checks.lagThreshold", "0", true},
        {"checks.retries", "0", true},
    };
    json_t *json = test_read_json(CASES "minimal.json");
    char base[17];
    hash_of(json, "level", NULL, base);
    assert_int_equal(strlen(base), 16);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *value = json_loads(rows[i].value, JSON_DECODE_ANY, NULL);
        char hash[17];
        hash_of(json, rows[i].at, value, hash);
        if (dv_streq(hash, base) == rows[i].inside)
            fail_msg("%s is %s the hash", rows[i].at, rows[i].inside ? "not in" : "in");
        json_decref(value);
    }
    json_decref(json);
}

/* ---------------------------------------------------------------- each field of a full spec, changed */

static const char *const beside[] = {"suspend", "deadlines", "onFailure", "onLoop", "checks.logs"};

static bool is_beside(const char *at)
{
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++)
        if (dv_starts_with(at, beside[i]))
            return true;
    return false;
}

/* False when the spec is not valid with this value. */
static bool other_value_counts(const json_t *root, const char *at, const json_t *value)
{
    json_t *copy = json_deep_copy(root);
    struct model_spec *before = decoded(root);
    struct model_spec *after = NULL;
    json_edit(copy, at, value);
    bool valid = model_spec_decode(copy, "own-ns", &after, NULL) == 0;
    if (valid && dv_streq(before->hash, after->hash) != is_beside(at))
        fail_msg("%s is %s the hash", at, is_beside(at) ? "in" : "not in");
    model_spec_free(before);
    model_spec_free(after);
    json_decref(copy);
    return valid;
}

static bool leaf_counts(const json_t *root, const char *at, const json_t *leaf)
{
    static const char *const values[] = {"\"other\"", "\"7s\"", "\"plain\"", "6", "true", "false"};
    bool done = false;
    for (size_t i = 0; i < sizeof values / sizeof values[0] && !done; i++) {
        json_t *value = json_loads(values[i], JSON_DECODE_ANY, NULL);
        done = !json_equal(value, leaf) && other_value_counts(root, at, value);
        json_decref(value);
    }
    return done;
}

static void each_leaf(const json_t *root, const json_t *json, const char *at, size_t *tried, size_t *fixed)
{
    const char *dot = at[0] != '\0' ? "." : "";
    const char *key;
    json_t *value;
    for (size_t i = 0; i < json_array_size(json); i++) {
        DV_CLEANUP_FREE char *inner = dv_asprintf("%s%s%zu", at, dot, i);
        each_leaf(root, json_array_get(json, i), inner, tried, fixed);
    }
    json_object_foreach ((json_t *)(uintptr_t)json, key, value) {
        DV_CLEANUP_FREE char *inner = dv_asprintf("%s%s%s", at, dot, key);
        each_leaf(root, value, inner, tried, fixed);
    }
    if (json_is_object(json) || json_is_array(json))
        return;
    (*tried)++;
    *fixed += !leaf_counts(root, at, json);
}

static void every_other_field_is_in_the_hash(void **state)
{
    (void)state;
    size_t tried = 0;
    size_t fixed = 0; /* cannot be changed alone: the type of an authentication, and that it may go without TLS */
    json_t *json = test_read_json(CASES "full.json");
    each_leaf(json, json, "", &tried, &fixed);
    assert_true(tried > 80);
    assert_int_equal(fixed, 2);
    json_decref(json);
}

/* ---------------------------------------------------------------- the same spec, the same hash */

/* As the API server does it: what is absent and has a default is written down; inside of what is there, too. */
static size_t put_defaults(const json_t *schema, json_t *json)
{
    size_t count = 0;
    const char *key;
    json_t *property;
    json_object_foreach (json_object_get(schema, "properties"), key, property) {
        const char *text = crd_scalar(property, "default");
        bool quoted = dv_streq(crd_scalar(property, "type"), "string");
        if (json_object_get(json, key) == NULL && json_object_get(property, "default") != NULL) {
            DV_CLEANUP_FREE char *value = text != NULL ? dv_asprintf(quoted ? "\"%s\"" : "%s", text) : dv_strdup("{}");
            json_object_set_new(json, key, json_loads(value, JSON_DECODE_ANY, NULL));
            assert_non_null(json_object_get(json, key));
            count++;
        }
        if (json_is_object(json_object_get(json, key)))
            count += put_defaults(property, json_object_get(json, key));
    }
    return count;
}

static void the_hash_does_not_depend_on_defaults(void **state)
{
    (void)state;
    static const char *const files[] = {CASES "minimal.json", CASES "full.json"};
    static const size_t least[] = {25, 2};
    json_t *schema = crd_schema_of("spec");
    for (size_t i = 0; i < 2; i++) {
        json_t *json = test_read_json(files[i]);
        struct model_spec *before = decoded(json);
        assert_true(put_defaults(schema, json) >= least[i]);
        struct model_spec *after = decoded(json);
        assert_string_equal(before->hash, after->hash);
        model_spec_free(before);
        model_spec_free(after);
        json_decref(json);
    }
    json_decref(schema);
}

/* A status of an earlier version holds it: another hash would end its run or make its pass stale. */
static void the_hash_stays_what_it_was(void **state)
{
    (void)state;
    struct model_spec *minimal = decoded_file(CASES "minimal.json");
    struct model_spec *full = decoded_file(CASES "full.json");
    assert_string_equal(minimal->hash, "74448080699c34c3");
    assert_string_equal(full->hash, "006c33b2255934ba");
    model_spec_free(minimal);
    model_spec_free(full);
}

/* The order of keys is the API server's affair. */
static void the_hash_does_not_depend_on_order(void **state)
{
    (void)state;
    json_t *json = test_read_json(CASES "full.json");
    json_t *turned = json_object();
    static const char *const keys[] = {"clusters",  "checks", "topic",     "group", "timestampsTopic", "window",
                                       "deadlines", "onLoop", "onFailure", "level", "takeOver",        "suspend"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        json_object_set(turned, keys[i], json_object_get(json, keys[i]));
    assert_int_equal(json_object_size(turned), json_object_size(json));
    struct model_spec *one = decoded(json);
    struct model_spec *two = decoded(turned);
    assert_string_equal(one->hash, two->hash);
    model_spec_free(one);
    model_spec_free(two);
    json_decref(turned);
    json_decref(json);
}

/* ---------------------------------------------------------------- odd input */

static void replace_each(json_t *root, json_t *json, const json_t *odd, size_t *count)
{
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(json, next, key, value)
    {
        json_t *kept = json_incref(value);
        DV_CLEANUP_FREE char *name = dv_strdup(key);
        struct model_spec *spec = NULL;
        struct dv_err err = DV_ERR_INIT;
        json_object_set_new(json, name, json_deep_copy(odd));
        if (model_spec_decode(root, "ns", &spec, &err) != 0)
            assert_true(dv_starts_with(err.text, "spec."));
        model_spec_free(spec);
        json_object_set_new(json, name, kept);
        replace_each(root, kept, odd, count);
        (*count)++;
    }
}

static void any_value_anywhere_is_survived(void **state)
{
    (void)state;
    static const char *const odd[] = {"null", "7", "-1", "1e300", "\"\"", "\"x\"", "[]", "[null]", "[[]]", "{}", "{\"name\":null}", "true"};
    size_t count = 0;
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        json_t *json = test_read_json(CASES "full.json");
        json_t *value = json_loads(odd[i], JSON_DECODE_ANY, NULL);
        replace_each(json, json, value, &count);
        json_decref(value);
        json_decref(json);
    }
    assert_true(count > 500);
    model_spec_free(NULL);
}

static void names_are_those_of_the_spec(void **state)
{
    (void)state;
    assert_string_equal(model_switch_name(MODEL_SW_DISTRIBUTION), "distribution");
    assert_string_equal(model_switch_name(MODEL_SW_OC), "offsetCommitter");
    assert_string_equal(model_connector_text(MODEL_MD), "Message Distributor");
    assert_string_equal(model_connector_text(MODEL_OD), "Offset Distributor");
    assert_string_equal(model_connector_text(MODEL_OC), "Offset Committer");
    assert_int_equal(model_connector_switch(MODEL_OC), MODEL_SW_OC);
    assert_int_equal(model_far(MODEL_A), MODEL_B);
    assert_int_equal(model_far(MODEL_B), MODEL_A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(top_fields_are_read),
        cmocka_unit_test(the_distributor_is_read),
        cmocka_unit_test(the_level_is_put_in),
        cmocka_unit_test(distribution_stays_on_at_the_end_with_any_connector),
        cmocka_unit_test(kafka_is_read),
        cmocka_unit_test(defaults_are_those_of_the_contract),
        cmocka_unit_test(authentication_types_have_their_names),
        cmocka_unit_test(errors_name_their_field),
        cmocka_unit_test(every_error_site_has_a_case),
        cmocka_unit_test(some_fields_are_outside_the_hash),
        cmocka_unit_test(every_other_field_is_in_the_hash),
        cmocka_unit_test(the_hash_does_not_depend_on_defaults),
        cmocka_unit_test(the_hash_stays_what_it_was),
        cmocka_unit_test(the_hash_does_not_depend_on_order),
        cmocka_unit_test(any_value_anywhere_is_survived),
        cmocka_unit_test(names_are_those_of_the_spec),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

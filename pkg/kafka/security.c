#include "kafka/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"

#define SECURITY_PEM_MAX (1024 * 1024)

/* The same for every cluster and every handle. */
static const char *const security_common[][2] = {
    {"client.id", "distverify"},
    {"enable.ssl.certificate.verification", "true"},
    {"ssl.endpoint.identification.algorithm", "https"},
    {"socket.keepalive.enable", "true"},
    {"socket.nagle.disable", "true"},
    {"socket.timeout.ms", "15000"},
    {"socket.connection.setup.timeout.ms", "10000"},
    {"reconnect.backoff.ms", "100"},
    {"reconnect.backoff.max.ms", "2000"},
    {"allow.auto.create.topics", "false"},
    {"topic.metadata.refresh.interval.ms", "60000"},
    {"topic.metadata.propagation.max.ms", "3000"},
};

struct security_parts {
    struct dv_buf ca, cert, key, password;
};

static bool security_sasl(enum model_auth_type auth)
{
    switch (auth) {
    case MODEL_AUTH_NONE:
    case MODEL_AUTH_TLS: return false;
    case MODEL_AUTH_SCRAM_SHA_256:
    case MODEL_AUTH_SCRAM_SHA_512:
    case MODEL_AUTH_PLAIN: return true;
    }
    return false;
}

static const char *security_mechanism(enum model_auth_type auth)
{
    switch (auth) {
    case MODEL_AUTH_NONE:
    case MODEL_AUTH_TLS: return NULL;
    case MODEL_AUTH_SCRAM_SHA_256: return "SCRAM-SHA-256";
    case MODEL_AUTH_SCRAM_SHA_512: return "SCRAM-SHA-512";
    case MODEL_AUTH_PLAIN: return "PLAIN";
    }
    return NULL;
}

size_t kafka_security_items(const struct model_kafka *spec, struct port_secret_item **items)
{
    struct port_secret_item *list = dv_calloc(spec->trusted_count + 3, sizeof *list);
    size_t count = 0;
    for (size_t i = 0; spec->tls && i < spec->trusted_count; i++)
        list[count++] = (struct port_secret_item){spec->trusted[i].secret, spec->trusted[i].certificate};
    if (spec->auth == MODEL_AUTH_TLS) {
        list[count++] = (struct port_secret_item){spec->cert_secret, spec->cert_certificate};
        list[count++] = (struct port_secret_item){spec->cert_secret, spec->cert_key};
    } else if (security_sasl(spec->auth)) {
        list[count++] = (struct port_secret_item){spec->password_secret, spec->password_key};
    }
    *items = list;
    return count;
}

static int security_add(struct dv_buf *buf, const struct port_secret_item *item, const char *value, size_t len, bool pem,
                        struct dv_err *err)
{
    if (value == NULL || len == 0)
        return dv_err_set(err, DV_ERR_SECRET, "key %s of Secret %s is empty", item->key, item->secret);
    if (memchr(value, '\0', len) != NULL)
        return dv_err_set(err, DV_ERR_SECRET, "key %s of Secret %s holds a NUL byte", item->key, item->secret);
    if (pem && memmem(value, len, "-----BEGIN", 10) == NULL)
        return dv_err_set(err, DV_ERR_CERT, "key %s of Secret %s is not in PEM format", item->key, item->secret);
    if (dv_buf_add(buf, value, len) != 0 || (pem && dv_buf_adds(buf, "\n") != 0))
        return dv_err_set(err, DV_ERR_LIMIT, "key %s of Secret %s is too long", item->key, item->secret);
    return 0;
}

static int security_gather(struct security_parts *parts, const struct model_kafka *spec, const char *const *values, const size_t *lens,
                           struct dv_err *err)
{
    DV_CLEANUP_FREE struct port_secret_item *items = NULL;
    size_t count = kafka_security_items(spec, &items), trusted = spec->tls ? spec->trusted_count : 0;
    for (size_t i = 0; i < count; i++) {
        struct dv_buf *buf = &parts->password;
        bool pem = true;
        if (i < trusted)
            buf = &parts->ca;
        else if (spec->auth == MODEL_AUTH_TLS)
            buf = i == trusted ? &parts->cert : &parts->key;
        else
            pem = false;
        if (security_add(buf, &items[i], values[i], lens[i], pem, err) != 0)
            return -1;
    }
    return 0;
}

/* librdkafka's message repeats the value it refuses, so it is never passed on. */
static int security_set(rd_kafka_conf_t *conf, const char *name, const char *value, struct dv_err *err)
{
    if (rd_kafka_conf_set(conf, name, value, NULL, 0) != RD_KAFKA_CONF_OK)
        return dv_err_set(err, DV_ERR_INTERNAL, "librdkafka does not take %s as the spec has it", name);
    return 0;
}

static int security_set_part(rd_kafka_conf_t *conf, const char *name, const struct dv_buf *buf, struct dv_err *err)
{
    return buf->len == 0 ? 0 : security_set(conf, name, dv_buf_text(buf), err);
}

static int security_apply(rd_kafka_conf_t *conf, const struct model_kafka *spec, const struct security_parts *parts, struct dv_err *err)
{
    bool sasl = security_sasl(spec->auth);
    for (size_t i = 0; i < sizeof security_common / sizeof security_common[0]; i++)
        if (security_set(conf, security_common[i][0], security_common[i][1], err) != 0)
            return -1;
    const char *protocol = spec->tls ? (sasl ? "sasl_ssl" : "ssl") : (sasl ? "sasl_plaintext" : "plaintext");
    if (security_set(conf, "bootstrap.servers", spec->bootstrap, err) != 0 || security_set(conf, "security.protocol", protocol, err) != 0)
        return -1;
    /* Without ssl.ca.pem librdkafka takes the system's CAs; with it, only what is in it. It reads all certificates of ssl.ca.pem, but
     * only the first of ssl.certificate.pem: intermediates of a client certificate must be known to the broker. */
    if (security_set_part(conf, "ssl.ca.pem", &parts->ca, err) != 0 ||
        security_set_part(conf, "ssl.certificate.pem", &parts->cert, err) != 0 ||
        security_set_part(conf, "ssl.key.pem", &parts->key, err) != 0)
        return -1;
    if (!sasl)
        return 0;
    if (security_set(conf, "sasl.mechanisms", security_mechanism(spec->auth), err) != 0 ||
        security_set(conf, "sasl.username", spec->username, err) != 0)
        return -1;
    return security_set_part(conf, "sasl.password", &parts->password, err);
}

static int security_check(const struct model_kafka *spec, struct dv_err *err)
{
    if (security_sasl(spec->auth) && !spec->tls && !spec->allow_plaintext_credentials)
        return dv_err_set(err, DV_ERR_INVALID, "a password without TLS is sent only with allowPlaintextCredentials");
    if (security_sasl(spec->auth) && (spec->username == NULL || spec->username[0] == '\0'))
        return dv_err_set(err, DV_ERR_INVALID, "authentication needs a username");
    if (spec->auth == MODEL_AUTH_TLS && !spec->tls)
        return dv_err_set(err, DV_ERR_INVALID, "authentication by certificate needs TLS");
    return 0;
}

static void security_wipe(struct dv_buf *buf)
{
    if (buf->data != NULL)
        explicit_bzero(buf->data, buf->cap);
    dv_buf_free(buf);
}

rd_kafka_conf_t *kafka_security_conf(const struct model_kafka *spec, const char *const *values, const size_t *lens,
                                     struct kafka_where where, struct dv_err *err)
{
    struct security_parts parts = {.ca = DV_BUF_INIT(SECURITY_PEM_MAX),
                                   .cert = DV_BUF_INIT(SECURITY_PEM_MAX),
                                   .key = DV_BUF_INIT(SECURITY_PEM_MAX),
                                   .password = DV_BUF_INIT(SECURITY_PEM_MAX)};
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    if (security_check(spec, err) != 0 || security_gather(&parts, spec, values, lens, err) != 0 ||
        security_apply(conf, spec, &parts, err) != 0) {
        char place[400];
        (void)dv_err_wrap(err, "%s", kafka_place(place, sizeof place, where));
        rd_kafka_conf_destroy(conf);
        conf = NULL;
    }
    security_wipe(&parts.ca);
    security_wipe(&parts.cert);
    security_wipe(&parts.key);
    security_wipe(&parts.password);
    return conf;
}

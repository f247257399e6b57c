#include "kafka/internal.h"

#include <string.h>

#include "base/err.h"

/* Codes by what a caller does about them. Whatever is not listed: INVALID when the broker said it, INTERNAL when librdkafka did. */
static const struct errors_row {
    rd_kafka_resp_err_t code;
    enum dv_err_kind kind;
    bool retry;
} errors_table[] = {
    {RD_KAFKA_RESP_ERR__AUTHENTICATION, DV_ERR_AUTH, false},
    {RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, DV_ERR_AUTH, false},
    {RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM, DV_ERR_AUTH, false},
    {RD_KAFKA_RESP_ERR_ILLEGAL_SASL_STATE, DV_ERR_AUTH, false},
    {RD_KAFKA_RESP_ERR__SSL, DV_ERR_CERT, false},
    {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, DV_ERR_DENIED, false},
    {RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, DV_ERR_DENIED, false},
    {RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, DV_ERR_DENIED, false},
    {RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, DV_ERR_DENIED, false},
    {RD_KAFKA_RESP_ERR__TRANSPORT, DV_ERR_UNREACHABLE, true},
    {RD_KAFKA_RESP_ERR__RESOLVE, DV_ERR_UNREACHABLE, true},
    {RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, DV_ERR_UNREACHABLE, true},
    {RD_KAFKA_RESP_ERR__WAIT_COORD, DV_ERR_UNREACHABLE, true},
    {RD_KAFKA_RESP_ERR__NODE_UPDATE, DV_ERR_UNREACHABLE, true},
    {RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, DV_ERR_UNREACHABLE, true},
    {RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, DV_ERR_UNREACHABLE, true},
    {RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE, DV_ERR_UNREACHABLE, true},
    {RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE, DV_ERR_UNREACHABLE, true},
    {RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION, DV_ERR_UNREACHABLE, true},
    {RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, DV_ERR_UNREACHABLE, true},
    {RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE, DV_ERR_UNREACHABLE, true},
    {RD_KAFKA_RESP_ERR_NOT_COORDINATOR, DV_ERR_UNREACHABLE, true},
    {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, DV_ERR_UNREACHABLE, true},
    {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND, DV_ERR_TIMEOUT, true},
    {RD_KAFKA_RESP_ERR_NOT_CONTROLLER, DV_ERR_UNREACHABLE, true},
    {RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR, DV_ERR_UNREACHABLE, true},
    {RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE, DV_ERR_UNREACHABLE, true},
    {RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH, DV_ERR_UNREACHABLE, true},
    {RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH, DV_ERR_UNREACHABLE, true},
    {RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED, DV_ERR_UNREACHABLE, true},
    {RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT, DV_ERR_UNREACHABLE, true},
    {RD_KAFKA_RESP_ERR__TIMED_OUT, DV_ERR_TIMEOUT, true},
    {RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE, DV_ERR_TIMEOUT, true},
    {RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, DV_ERR_TIMEOUT, true},
    {RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, DV_ERR_TIMEOUT, true},
    {RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, DV_ERR_NOT_FOUND, false},
    {RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, DV_ERR_NOT_FOUND, false},
    {RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, DV_ERR_NOT_FOUND, false},
    {RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND, DV_ERR_NOT_FOUND, false},
    {RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, DV_ERR_CONFLICT, false},
    {RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION, DV_ERR_CONFLICT, false},
    {RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS, DV_ERR_CONFLICT, false},
    {RD_KAFKA_RESP_ERR_NON_EMPTY_GROUP, DV_ERR_CONFLICT, false},
    {RD_KAFKA_RESP_ERR_GROUP_SUBSCRIBED_TO_TOPIC, DV_ERR_CONFLICT, false},
    {RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION, DV_ERR_UNSUPPORTED, false},
    {RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE, DV_ERR_UNSUPPORTED, false},
    {RD_KAFKA_RESP_ERR_SECURITY_DISABLED, DV_ERR_UNSUPPORTED, false},
    {RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE, DV_ERR_GONE, false},
    {RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, DV_ERR_GONE, false},
    {RD_KAFKA_RESP_ERR__QUEUE_FULL, DV_ERR_LIMIT, true},
};

/* A broker that goes down in the middle of a handshake fails it too ("unexpected eof", "connection reset"): that is no fault of anybody's
 * certificates, and passes. */
static bool errors_about_tls(const char *detail)
{
    static const char *const words[] = {"certificate", "alert", "wrong version", "protocol", "cipher", "key"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(detail, words[i]) != NULL)
            return true;
    return false;
}

static struct errors_row errors_classify(rd_kafka_resp_err_t code, const char *detail)
{
    for (size_t i = 0; i < sizeof errors_table / sizeof errors_table[0]; i++) {
        struct errors_row row = errors_table[i];
        if (row.code != code)
            continue;
        /* librdkafka tells a bad certificate a second time as a lost connection. */
        if (row.kind == DV_ERR_UNREACHABLE && detail != NULL && strstr(detail, "certificate verify failed") != NULL)
            row = (struct errors_row){code, DV_ERR_CERT, false};
        /* With TLS 1.3 a broker refuses a client's certificate after the handshake: an alert on a connection that was up. */
        if (row.kind == DV_ERR_UNREACHABLE && detail != NULL && strstr(detail, "alert") != NULL &&
            (strstr(detail, "certificate") != NULL || strstr(detail, "unknown ca") != NULL))
            row = (struct errors_row){code, DV_ERR_CERT, false};
        if (row.kind == DV_ERR_CERT && detail != NULL && !errors_about_tls(detail))
            row = (struct errors_row){code, DV_ERR_UNREACHABLE, true};
        return row;
    }
    return (struct errors_row){code, code > 0 ? DV_ERR_INVALID : DV_ERR_INTERNAL, false};
}

static const char *errors_resource(char *out, size_t size, struct kafka_what what, rd_kafka_resp_err_t code, enum dv_err_kind kind)
{
    /* an idempotent producer is refused so when it may write to no topic at all */
    bool cluster = code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED && !dv_streq(what.operation, "Write");
    if (cluster || (what.topic == NULL && what.group == NULL))
        return dv_format(out, size, "the cluster");
    if (what.group != NULL && (what.topic == NULL || code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED || kind == DV_ERR_CONFLICT))
        return dv_format(out, size, "group %s", what.group);
    return dv_format(out, size, "topic %s", what.topic);
}

/* Without the right to see a topic a broker does not tell whether there is one of that name; a group need not be there at all. */
static const char *errors_perhaps(struct kafka_what what, const char *resource)
{
    if (dv_starts_with(resource, "group "))
        return ", or the group's name is wrong";
    return dv_starts_with(resource, "topic ") && dv_streq(what.operation, "Describe") ? ", or the topic's name is wrong" : "";
}

/* What to do, as "; <sentence>"; "" where text says it or the reason's own advice is as good. */
static const char *errors_hint(char *out, size_t size, enum model_side side, enum dv_err_kind kind, const char *text)
{
    const char *name = model_side_name(side);
    out[0] = '\0';
    if (strchr(text, ';') != NULL)
        return out;
    if (kind == DV_ERR_AUTH)
        return dv_format(out, size, "; check them in spec.clusters.%s.kafka.authentication", name);
    if (strstr(text, "our certificate") != NULL || strstr(text, "client certificate") != NULL)
        return dv_format(out, size, "; check spec.clusters.%s.kafka.authentication", name);
    if (strstr(text, "broker's certificate") != NULL || strstr(text, "certificate verify failed") != NULL)
        return dv_format(out, size, "; check spec.clusters.%s.kafka.tls.trustedCertificates", name);
    return out;
}

static void errors_credentials(struct dv_err *err, struct kafka_where where, const char *place, enum dv_err_kind kind, const char *text)
{
    char hint[100];
    (void)errors_hint(hint, sizeof hint, where.side, kind, text);
    if (kind == DV_ERR_CERT)
        (void)dv_err_set(err, kind, "%s: %s%s%s", place, strstr(text, "certificate") == NULL ? "TLS does not work: " : "", text, hint);
    else if (dv_ends_with(text, "uthentication failed"))
        (void)dv_err_set(err, kind, "%s refuses the credentials%s", place, hint);
    else
        (void)dv_err_set(err, kind, "%s refuses the credentials: %s%s", place, text, hint);
}

static void errors_say(struct dv_err *err, struct kafka_where where, struct kafka_what what, struct errors_row row, const char *text)
{
    char resource[300], place[400];
    (void)errors_resource(resource, sizeof resource, what, row.code, row.kind);
    (void)kafka_place(place, sizeof place, where);
    switch (row.kind) {
    case DV_ERR_AUTH:
    case DV_ERR_CERT: errors_credentials(err, where, place, row.kind, text); break;
    case DV_ERR_DENIED:
        (void)dv_err_set(err, row.kind, "%s does not allow us %s on %s%s", place, what.operation, resource, errors_perhaps(what, resource));
        break;
    case DV_ERR_UNREACHABLE:
        (void)dv_err_set(err, row.kind, "%s %s: %s", place, row.code < 0 ? "cannot be reached" : "is not ready", text);
        break;
    case DV_ERR_TIMEOUT: (void)dv_err_set(err, row.kind, "%s gave no answer in time to %s on %s", place, what.operation, resource); break;
    case DV_ERR_NOT_FOUND: (void)dv_err_set(err, row.kind, "%s: %s on %s: not found", place, what.operation, resource); break;
    case DV_ERR_CONFLICT: (void)dv_err_set(err, row.kind, "%s: %s has members: %s", place, resource, text); break;
    case DV_ERR_NONE:
    case DV_ERR_INVALID:
    case DV_ERR_SECRET:
    case DV_ERR_LIMIT:
    case DV_ERR_GONE:
    case DV_ERR_UNSUPPORTED:
    case DV_ERR_INTERNAL: (void)dv_err_set(err, row.kind, "%s: %s on %s: %s", place, what.operation, resource, text); break;
    }
    err->retry = row.retry;
}

int kafka_err(struct dv_err *err, struct kafka_where where, struct kafka_what what, rd_kafka_resp_err_t code, const char *detail)
{
    if (err == NULL || err->kind != DV_ERR_NONE)
        return -1;
    char text[300];
    const struct kafka_known *known = kafka_known(detail);
    if (known != NULL) {
        (void)dv_err_set(err, known->kind, "%s: %sspec.clusters.%s.kafka.%s", kafka_place(text, sizeof text, where), known->text,
                         model_side_name(where.side), known->field);
        err->retry = known->kind == DV_ERR_UNREACHABLE;
    } else {
        (void)kafka_detail(text, sizeof text, detail != NULL && detail[0] != '\0' ? detail : rd_kafka_err2str(code));
        errors_say(err, where, what, errors_classify(code, detail), text);
    }
    err->code = (int)code;
    return -1;
}

void kafka_err_lost(struct dv_err *err, struct kafka_where where)
{
    char place[400];
    (void)dv_err_retry(err, DV_ERR_UNREACHABLE, "%s: the connection was given up for a new one", kafka_place(place, sizeof place, where));
}

bool kafka_err_unknown_effect(const struct dv_err *err)
{
    return err->kind == DV_ERR_TIMEOUT || err->kind == DV_ERR_UNREACHABLE || err->kind == DV_ERR_INTERNAL;
}

bool kafka_err_credentials(const struct dv_err *err)
{
    return err->kind == DV_ERR_AUTH || err->kind == DV_ERR_CERT;
}

const char *kafka_err_x509(int x509_error)
{
    /* Numbers of OpenSSL's x509_vfy.h, which are part of its ABI. */
    switch (x509_error) {
    case 9: return "the broker's certificate is not valid yet; look at the clocks";
    case 10: return "the broker's certificate has expired; renew it";
    case 18:
    case 19:
    case 20:
    case 21: return "the broker's certificate is not signed by a trusted certificate";
    case 62: return "the broker's certificate does not carry the host name of its address; correct the address or the certificate";
    case 64: return "the broker's certificate does not carry the IP address of its address; correct the address or the certificate";
    }
    return NULL;
}

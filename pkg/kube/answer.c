/* Answers of an API server, and of what may stand in front of it, as errors. */
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "kube/room.h"

#define STATUS_TEXT 300
#define ANSWER_JSON (JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL) /* a ConfigMap may hold U+0000: that hides no other object */
#define VALUE_SHOWN_MAX 100

struct answer_about {
    const char *server, *verb;
    const struct port_resource *resource;
};

bool kube_is_json(const char *content_type)
{
    return strncasecmp(content_type, "application/json", 16) == 0;
}

json_t *kube_json(const char *text, size_t len, struct dv_err *err)
{
    json_error_t error;
    json_t *json = json_loadb(text, len, ANSWER_JSON, &error);
    /* One huge number somewhere must not hide a whole object. */
    if (json == NULL && json_error_code(&error) == json_error_numeric_overflow)
        json = json_loadb(text, len, ANSWER_JSON | JSON_DECODE_INT_AS_REAL, &error);
    if (json == NULL)
        (void)dv_err_retry(err, DV_ERR_UNREACHABLE, "the answer is no JSON (line %d, column %d)", error.line, error.column);
    return json;
}

static bool answer_is_status(const json_t *status)
{
    return dv_streq(json_string_value(json_object_get(status, "kind")), "Status");
}

/* Past a string as Go quotes it; NULL when it does not end. */
static const char *answer_quoted_end(const char *text)
{
    for (text++; *text != '\0'; text++) {
        if (*text == '\\' && text[1] != '\0')
            text++;
        else if (*text == '"')
            return text + 1;
    }
    return NULL;
}

/* A refused patch is answered with the whole object in quotes before the reason. Short values stay, they help. */
static const char *answer_without_payload(const char *message, char *out)
{
    static const char mark[] = "Invalid value: \"";
    size_t used = 0;
    for (const char *at = message; *at != '\0' && used < STATUS_TEXT - 1;) {
        const char *end = dv_starts_with(at, mark) ? answer_quoted_end(at + sizeof mark - 2) : at;
        if (end == NULL)
            break;
        if (end > at + VALUE_SHOWN_MAX)
            at = dv_starts_with(end, ": ") ? end + 2 : end;
        out[used++] = *at;
        at += *at != '\0';
    }
    out[used < STATUS_TEXT ? used : STATUS_TEXT - 1] = '\0';
    return out;
}

/* A refusal repeats verb, object and namespace: who was refused is what it adds. NULL: it says something else. */
static const char *answer_refused(const char *message, char *out)
{
    static const char begin[] = " is forbidden: User \"";
    const char *user = message != NULL ? strstr(message, begin) : NULL;
    const char *end = user != NULL ? strstr(user, "\" cannot ") : NULL;
    if (end == NULL)
        return NULL;
    user += sizeof begin - 1;
    return dv_format(out, STATUS_TEXT, "forbidden for %.*s", (int)(end - user), user);
}

/* What the server says in words. Of Secrets only the reason and the fields, since a message may repeat a value. */
static const char *answer_words(const struct answer_about *about, const json_t *status, int code, char *out)
{
    const char *reason = json_string_value(json_object_get(status, "reason"));
    const char *message = json_string_value(json_object_get(status, "message"));
    if (code == 403 && answer_refused(message, out) != NULL)
        return out;
    if (!dv_streq(about->resource->plural, "secrets") || code == 403 || code == 404 || code == 401)
        return message != NULL && message[0] != '\0' ? answer_without_payload(message, out) : reason;
    size_t used = strlen(dv_format(out, STATUS_TEXT, "%s", reason != NULL ? reason : "refused"));
    size_t i;
    json_t *cause;
    json_array_foreach(json_object_get(json_object_get(status, "details"), "causes"), i, cause)
    {
        const char *field = json_string_value(json_object_get(cause, "field"));
        if (field != NULL && used < STATUS_TEXT)
            used += strlen(dv_format(out + used, STATUS_TEXT - used, "%s%s", i == 0 ? " at " : ", ", field));
    }
    return out;
}

static enum dv_err_kind answer_kind(int code, bool *retry)
{
    *retry = false;
    switch (code) {
    case 400:
    case 422: return DV_ERR_INVALID;
    case 401: return DV_ERR_AUTH;
    case 403: return DV_ERR_DENIED;
    case 404: return DV_ERR_NOT_FOUND;
    case 405:
    case 406:
    case 415:
    case 501: return DV_ERR_UNSUPPORTED;
    case 409: *retry = true; return DV_ERR_CONFLICT;
    case 410: *retry = true; return DV_ERR_GONE;
    case 413: return DV_ERR_LIMIT;
    default: break;
    }
    *retry = code == 408 || code == 429 || code >= 500;
    return *retry ? DV_ERR_UNREACHABLE : DV_ERR_INVALID;
}

static void answer_set(struct dv_err *err, const struct answer_about *about, int code, const char *words)
{
    char what[KUBE_RESOURCE_TEXT];
    bool retry = false;
    enum dv_err_kind kind = answer_kind(code, &retry);
    if (retry)
        (void)dv_err_retry(err, kind, "%s: %s %s: %s (HTTP %d)", about->server, about->verb, kube_resource_text(about->resource, what),
                           words, code);
    else
        (void)dv_err_set(err, kind, "%s: %s %s: %s (HTTP %d)", about->server, about->verb, kube_resource_text(about->resource, what), words,
                         code);
}

static void answer_foreign(struct dv_err *err, const struct answer_about *about, int code, const char *type)
{
    char what[KUBE_RESOURCE_TEXT];
    (void)dv_err_retry(err, DV_ERR_UNREACHABLE,
                       "%s: %s %s: no answer of an API server but %.40s (HTTP %d); a proxy or sign-in page in between?", about->server,
                       about->verb, kube_resource_text(about->resource, what), type[0] != '\0' ? type : "something untyped", code);
}

static void answer_not_served(struct dv_err *err, const struct answer_about *about)
{
    const struct port_resource *resource = about->resource;
    bool core = resource->group == NULL || resource->group[0] == '\0';
    (void)dv_err_retry(err, DV_ERR_UNSUPPORTED, "%s does not serve %s%s%s%s%s; install its CRD", about->server, resource->plural,
                       core ? "" : ".", core ? "" : resource->group, resource->version != NULL ? "/" : "",
                       resource->version != NULL ? resource->version : "");
}

static void answer_no_status(struct dv_err *err, const struct answer_about *about, const struct http_answer *answer)
{
    bool html = strncasecmp(answer->content_type, "text/html", 9) == 0;
    bool plain = strncasecmp(answer->content_type, "text/plain", 10) == 0;
    if (answer->status == 404 && plain)
        answer_not_served(err, about);
    else if (html || answer->status < 400)
        answer_foreign(err, about, answer->status, answer->content_type);
    else /* API servers write some refusals as plain text; the words are not repeated since anybody may have written them */
        answer_set(err, about, answer->status, "refused without a reason that can be read");
}

void kube_status_error(const char *status_text, size_t len, const char *server, const char *verb, const struct port_resource *resource,
                       struct dv_err *err)
{
    struct answer_about about = {server, verb, resource};
    char words[STATUS_TEXT];
    json_t *status = kube_json(status_text, len, NULL);
    int code = (int)json_integer_value(json_object_get(status, "code"));
    const char *said = answer_words(&about, status, code, words);
    answer_set(err, &about, code > 0 ? code : 500, said != NULL ? said : "error without a reason");
    if (err != NULL)
        err->code = code;
    json_decref(status);
}

int kube_answer_check(const struct http_answer *answer, const char *server, const char *verb, const struct port_resource *resource,
                      struct dv_err *err)
{
    struct answer_about about = {server, verb, resource};
    struct dv_err own = answer->err;
    bool good = answer->status >= 200 && answer->status < 300;
    if (own.kind == DV_ERR_NONE && good && kube_is_json(answer->content_type))
        return 0;
    if (own.kind == DV_ERR_NONE && !good && kube_is_json(answer->content_type)) {
        char words[STATUS_TEXT];
        json_t *status = kube_json(answer->body, answer->body_len, NULL);
        const char *said = answer_is_status(status) ? answer_words(&about, status, answer->status, words) : NULL;
        answer_set(&own, &about, answer->status, said != NULL ? said : "refused without a reason that can be read");
        json_decref(status);
    } else if (own.kind == DV_ERR_NONE) {
        answer_no_status(&own, &about, answer);
    }
    if (answer->status > 0) /* else the code of what went wrong before, such as getting a Secret */
        own.code = answer->status;
    if (err != NULL && err->kind == DV_ERR_NONE)
        *err = own;
    return -1;
}

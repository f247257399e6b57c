#include "kube/secrets.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/mem.h"
#include "base/b64.h"
#include "kube/scan.h"
#include "kube/server.h"

struct secret_item {
    char *secret, *key, *value;
    size_t len;
    bool found;
};

struct kube_secret_get {
    struct kube *kube;
    struct kube_secret_get *prev, *next;
    char *ns;
    struct secret_item *items;
    size_t count, at; /* at: the first item of the Secret that is being got */
    struct kube_request *request;
    struct loop_timer *timer; /* for an answer that needs no request */
    struct dv_err err;
    port_secret_done *done;
    void *arg;
};

static void secret_next(struct kube_secret_get *get);

static void get_free(struct kube_secret_get *get)
{
    kube_request_cancel(get->request);
    loop_timer_free(get->timer);
    DL_DELETE(get->kube->secret_gets, get);
    for (size_t i = 0; i < get->count; i++) {
        dv_wipe(get->items[i].value, get->items[i].len);
        free(get->items[i].secret);
        free(get->items[i].key);
    }
    free(get->items);
    free(get->ns);
    free(get);
}

static void secret_finish(struct kube_secret_get *get)
{
    bool good = get->err.kind == DV_ERR_NONE;
    const char **values = dv_calloc(get->count, sizeof *values);
    size_t *lens = dv_calloc(get->count, sizeof *lens);
    for (size_t i = 0; i < get->count; i++) {
        values[i] = get->items[i].value;
        lens[i] = get->items[i].len;
    }
    get->done(get->arg, &get->err, good ? values : NULL, good ? lens : NULL, good ? get->count : 0);
    free(values);
    free(lens);
    get_free(get);
}

static void secret_take_key(struct kube_secret_get *get, struct secret_item *item, struct scan_span data)
{
    struct scan_span text = scan_plain_string(scan_member(data, item->key));
    if (text.text == NULL) {
        (void)dv_err_set(&get->err, DV_ERR_SECRET, "Secret %s/%s has no key %s", get->ns, item->secret, item->key);
        return;
    }
    item->found = true;
    item->value = dv_b64_decode(text.text, text.len, &item->len);
    if (item->value == NULL)
        (void)dv_err_set(&get->err, DV_ERR_SECRET, "Secret %s/%s: key %s is not base64", get->ns, item->secret, item->key);
}

static void secret_answer(struct kube_secret_get *get, const struct http_answer *answer)
{
    const char *name = get->items[get->at].secret;
    struct port_resource resource = {.group = "", .plural = "secrets", .ns = get->ns, .name = name};
    if (kube_answer_check(answer, kube_server_name(get->kube->own), "get", &resource, &get->err) != 0) {
        if (get->err.kind == DV_ERR_NOT_FOUND) {
            dv_err_clear(&get->err);
            (void)dv_err_set(&get->err, DV_ERR_SECRET, "Secret %s/%s does not exist", get->ns, name);
        }
        return;
    }
    /* Taken by span out of the body, which is wiped: no copy of a value stays in a JSON tree. */
    struct scan_span body = {answer->body, answer->body_len};
    struct scan_span data = scan_member(body, "data");
    if (!scan_is_whole_object(body))
        (void)dv_err_retry(&get->err, DV_ERR_UNREACHABLE, "Secret %s/%s: the answer is no whole JSON", get->ns, name);
    for (size_t i = get->at; i < get->count && get->err.kind == DV_ERR_NONE; i++)
        if (dv_streq(get->items[i].secret, name))
            secret_take_key(get, &get->items[i], data);
}

static void secret_done(void *arg, const struct http_answer *answer)
{
    struct kube_secret_get *get = arg;
    get->request = NULL;
    secret_answer(get, answer);
    secret_next(get);
}

static void secret_next(struct kube_secret_get *get)
{
    while (get->at < get->count && get->items[get->at].found)
        get->at++;
    if (get->err.kind != DV_ERR_NONE || get->at == get->count) {
        secret_finish(get);
        return;
    }
    struct port_resource resource = {.group = "", .plural = "secrets", .ns = get->ns, .name = get->items[get->at].secret};
    struct dv_buf path = DV_BUF_INIT(4096);
    kube_path_add(&path, &resource, "v1");
    struct kube_request_spec spec = {
        .method = "GET", .target = dv_buf_text(&path), .timeout_ms = KUBE_CALL_MS, .on_done = secret_done, .arg = get};
    get->request = kube_request_start(get->kube->own, &spec);
    dv_buf_free(&path);
}

static void secret_begin(void *arg)
{
    secret_next(arg);
}

struct kube_secret_get *kube_secret_get_start(struct kube *kube, const char *ns, const struct port_secret_item *items, size_t count,
                                              port_secret_done *done, void *arg)
{
    struct kube_secret_get *get = dv_alloc(sizeof *get);
    *get = (struct kube_secret_get){.kube = kube, .ns = dv_strdup(ns), .count = count, .done = done, .arg = arg};
    get->items = dv_calloc(count, sizeof *get->items);
    for (size_t i = 0; i < count; i++)
        get->items[i] = (struct secret_item){.secret = dv_strdup(items[i].secret), .key = dv_strdup(items[i].key)};
    DL_APPEND(kube->secret_gets, get);
    get->timer = loop_timer_new(kube->loop, secret_begin, get);
    loop_timer_set(get->timer, 0);
    return get;
}

void kube_secret_get_cancel(struct kube_secret_get *get)
{
    if (get != NULL)
        get_free(get);
}

void kube_secret_gets_free(struct kube *kube)
{
    while (kube->secret_gets != NULL)
        get_free(kube->secret_gets);
}

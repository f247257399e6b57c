#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/b64.h"
#include "kube/server.h"

#define TOKEN_MAX (64u * 1024)
#define TOKEN_LOOK_MS 1000
#define TOKEN_READ_MS 60000
#define HEADERS_MAX 64

static void link_wipe(char *text)
{
    dv_wipe(text, text != NULL ? strlen(text) : 0);
}

static struct http_peer *link_peer(struct kube *kube, const struct kube_identity *id, struct dv_err *err)
{
    struct http_peer_options options = {.url = id->server,
                                        .ca = id->ca,
                                        .cert = id->cert,
                                        .key = id->key,
                                        .server_name = id->server_name,
                                        .insecure = id->insecure,
                                        .user_agent = kube->user_agent};
    return http_peer_new(kube->loop, &options, err);
}

static struct kube_link *link_find(struct kube *kube, const struct kube_identity *identity)
{
    for (struct kube_link *link = kube->links; link != NULL; link = link->next)
        if (kube_identity_equal(&link->identity, identity))
            return link;
    return NULL;
}

struct kube_link *kube_link_get(struct kube *kube, struct kube_identity *identity, struct dv_err *err)
{
    struct kube_link *link = link_find(kube, identity);
    if (link != NULL) {
        kube_identity_free(identity);
        link->refs++;
        return link;
    }
    struct http_peer *peer = link_peer(kube, identity, err);
    if (peer == NULL) {
        kube_identity_free(identity);
        return NULL;
    }
    link = dv_alloc(sizeof *link);
    *link = (struct kube_link){.kube = kube, .next = kube->links, .refs = 1, .identity = *identity, .peer = peer};
    *identity = (struct kube_identity){0};
    kube->links = link;
    return link;
}

void kube_link_unref(struct kube_link *link)
{
    if (link == NULL || --link->refs > 0)
        return;
    struct kube_link **at = &link->kube->links;
    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
    http_peer_free(link->peer);
    kube_identity_free(&link->identity);
    link_wipe(link->token);
    free(link);
}

/* ---------------------------------------------------------------- token file */

static int64_t link_mtime(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

bool kube_link_renew_token(struct kube_link *link)
{
    struct stat st;
    size_t len = 0;
    if (link->identity.token_file == NULL)
        return false;
    if (stat(link->identity.token_file, &st) == 0) {
        link->token_mtime_ns = link_mtime(&st);
        link->token_inode = st.st_ino;
    }
    char *token = kube_file_read(link->identity.token_file, TOKEN_MAX, &len, NULL);
    if (token == NULL) /* in the middle of a rotation: the one before may still do */
        return false;
    token[strcspn(token, " \t\r\n")] = '\0';
    link->token_read_ms = link->token_looked_ms = dv_clock_now().mono_ms;
    bool differs = !dv_streq(token, link->token);
    link_wipe(link->token);
    link->token = token;
    return differs;
}

static const char *link_token(struct kube_link *link)
{
    const struct kube_identity *id = &link->identity;
    int64_t now = dv_clock_now().mono_ms;
    struct stat st;
    if (id->token_file == NULL)
        return id->token;
    if (link->token == NULL || now - link->token_read_ms >= TOKEN_READ_MS) {
        (void)kube_link_renew_token(link);
    } else if (now - link->token_looked_ms >= TOKEN_LOOK_MS) {
        link->token_looked_ms = now;
        if (stat(id->token_file, &st) == 0 && (link_mtime(&st) != link->token_mtime_ns || st.st_ino != link->token_inode))
            (void)kube_link_renew_token(link);
    }
    return link->token != NULL ? link->token : id->token;
}

/* ---------------------------------------------------------------- headers */

struct link_headers {
    char *lines[HEADERS_MAX + 1];
    size_t count;
};

static void headers_add(struct link_headers *headers, const char *name, const char *value)
{
    if (value != NULL && headers->count < HEADERS_MAX)
        headers->lines[headers->count++] = dv_asprintf("%s: %s", name, value);
}

static void headers_authorize(struct link_headers *headers, struct kube_link *link)
{
    const struct kube_identity *id = &link->identity;
    const char *token = link_token(link);
    if (token != NULL && headers->count < HEADERS_MAX)
        headers->lines[headers->count++] = dv_asprintf("Authorization: Bearer %s", token);
    if (token == NULL && id->user != NULL && headers->count < HEADERS_MAX) {
        char *plain = dv_asprintf("%s:%s", id->user, id->password != NULL ? id->password : "");
        char *encoded = dv_b64_encode(plain, strlen(plain));
        headers->lines[headers->count++] = dv_asprintf("Authorization: Basic %s", encoded);
        link_wipe(plain);
        link_wipe(encoded);
    }
    headers_add(headers, "Impersonate-User", id->as);
    headers_add(headers, "Impersonate-Uid", id->as_uid);
    for (size_t i = 0; i < id->as_group_count; i++)
        headers_add(headers, "Impersonate-Group", id->as_groups[i]);
}

struct http_call *kube_link_start(struct kube_link *link, const struct kube_request_spec *spec)
{
    struct link_headers headers = {0};
    headers_add(&headers, "Accept", spec->accept != NULL ? spec->accept : "application/json");
    headers_add(&headers, "Content-Type", spec->body != NULL ? spec->content_type : NULL);
    headers_authorize(&headers, link);
    struct http_request request = {.method = spec->method,
                                   .target = spec->target,
                                   .headers = (const char *const *)headers.lines,
                                   .body = spec->body,
                                   .body_len = spec->body_len,
                                   .timeout_ms = spec->timeout_ms,
                                   .stall_ms = spec->stall_ms,
                                   .urgent = spec->urgent,
                                   .max_body = spec->max_body,
                                   .on_data = spec->on_data,
                                   .on_head = spec->on_head,
                                   .on_done = spec->on_done,
                                   .arg = spec->arg};
    struct http_call *call = http_start(link->peer, &request);
    for (size_t i = 0; i < headers.count; i++)
        link_wipe(headers.lines[i]);
    return call;
}

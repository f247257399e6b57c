/* HTTP/1.1 requests on the loop, with kept connections. Alone sees libcurl.
 *
 * A peer is one server with one identity (trust, client certificate); its connections are shared by its calls and by nobody else.
 * Callbacks come from the loop, never from within the functions here, and may call any function here, http_peer_free() included.
 * Redirects, proxies of the environment and netrc are never used; TLS is 1.2 or newer. No text of an error holds header or body bytes.
 */
#ifndef DV_LOOP_HTTP_H
#define DV_LOOP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "loop/loop.h"

#define HTTP_BODY_MAX (8u * 1024 * 1024)

struct http_peer;
struct http_call;

struct http_peer_options {
    const char *url;         /* http[s]://host[:port][/prefix], no user, query or fragment */
    const char *ca;          /* PEM certificates, alone trusted; NULL: the system's */
    const char *cert, *key;  /* PEM of the client certificate, or NULL */
    const char *server_name; /* in SNI and checked in the server's certificate; NULL: the host of the URL */
    bool insecure;           /* no check of the server's certificate */
    const char *user_agent;
    size_t max_active; /* bounded calls on the wire at once, more wait in order; 0: 16 */
};

/* NULL with err INVALID (URL) or CERT (client certificate and key do not read or do not fit, CA holds no certificate). */
struct http_peer *http_peer_new(struct loop *loop, const struct http_peer_options *options, struct dv_err *err);
/* Ends every call without a callback; takes NULL. */
void http_peer_free(struct http_peer *peer);
const char *http_peer_name(const struct http_peer *peer); /* "host:port" for messages */

struct http_answer {
    struct dv_err err; /* set when there is no whole answer; then nothing below holds but status when head had come */
    int status;
    const char *content_type; /* never NULL */
    int64_t retry_after_ms;   /* of the header; 0: none */
    const char *body;         /* NUL behind it; of a stream: only when status is no 2xx */
    size_t body_len;
};

struct http_request {
    const char *method;
    const char *target;         /* path and query, encoded, beginning with '/'; the URL's prefix goes in front */
    const char *const *headers; /* "Name: value", ended by NULL; may be NULL. Wiped after use */
    const char *body;           /* NULL: none. Copied, wiped after use */
    size_t body_len;
    int64_t timeout_ms; /* for the whole exchange; 0: none */
    int64_t stall_ms;   /* most time without a byte, connecting included; 0: none */
    bool urgent;        /* never waits behind other calls */
    size_t max_body;    /* more ends the call with LIMIT; 0: HTTP_BODY_MAX. Of a stream: of bodies that are not streamed */
    /* Set: a stream; called with each piece of a 2xx body. Pieces are not lines. Borrowed bytes. */
    void (*on_data)(void *arg, const char *bytes, size_t len);
    void (*on_head)(void *arg, int status, const char *content_type); /* may be NULL; only for streams */
    void (*on_done)(void *arg, const struct http_answer *answer);     /* last callback; answer is borrowed */
    void *arg;
};

/* Errors: UNREACHABLE (retry) without connection, also when the time ended before the request was sent; TIMEOUT (retry) when it ended
 * later; CERT; LIMIT. The call is gone when on_done returns. */
struct http_call *http_start(struct http_peer *peer, const struct http_request *request);
/* No callback comes any more; not after on_done began. */
void http_cancel(struct http_call *call);

/* Percent-encodes everything but RFC 3986's unreserved characters. Caller frees. */
char *http_escape(const char *text);

#endif

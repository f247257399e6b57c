/* Shared by the http*.c files only. libcurl's handles are void pointers here, since its header stays in the .c files. */
#ifndef DV_LOOP_HTTP_INTERNAL_H
#define DV_LOOP_HTTP_INTERNAL_H

#include "base/buf.h"
#include "loop/http.h"

enum http_state { HTTP_QUEUED, HTTP_ACTIVE, HTTP_FINISHED };

struct http_call {
    struct http_peer *peer;
    struct http_call *prev, *next; /* in one of the peer's lists, by state */
    enum http_state state;
    bool bounded;       /* counts among the peer's max_active */
    bool ready;         /* there is something to tell */
    bool streamed;      /* the answer's body goes to on_data */
    bool head_told;     /* on_head was called */
    bool head_come;     /* headers are complete */
    bool over;          /* body went past max_body */
    bool stalled;       /* no byte for stall_ms, or waited in the queue past timeout_ms */
    void *easy;         /* CURL */
    void *header_list;  /* struct curl_slist, wiped on free */
    void *connect_list; /* struct curl_slist */
    char *url, *method, *body;
    size_t body_len;
    int64_t timeout_ms, stall_ms;
    int result; /* CURLcode once finished */
    char reason[256];
    struct dv_buf inbox;
    struct loop_timer *timer;
    void (*on_data)(void *arg, const char *bytes, size_t len);
    void (*on_head)(void *arg, int status, const char *content_type);
    void (*on_done)(void *arg, const struct http_answer *answer);
    void *arg;
};

struct http_peer {
    struct loop *loop;
    void *multi; /* CURLM */
    struct loop_timer *timer;
    struct http_call *queued, *active, *finished;
    size_t bounded_active, max_active;
    struct http_call *current; /* whose callback runs; NULL once it was cancelled */
    bool delivering, closing;
    char *base, *name, *host_header, *connect_to, *user_agent, *ca, *cert, *key;
    bool tls, insecure;
};

/* http_poll.c: libcurl's sockets and time-outs on the loop. */
void http_poll_attach(struct http_peer *peer);
/* http.c: after every turn of libcurl. */
void http_peer_turn(struct http_peer *peer);

/* http_easy.c */
void *http_easy_new(struct http_call *call);
void http_easy_error(const struct http_call *call, struct dv_err *err);
void http_list_add(void **list, const char *line);
void http_list_wipe(void *list);

/* http_url.c: fills base, name, host_header, connect_to, tls. */
int http_url_take(struct http_peer *peer, const struct http_peer_options *options, struct dv_err *err);

#endif

#include <curl/curl.h>

#include "loop/http_internal.h"

#include <stdlib.h>

#include "base/mem.h"

struct http_socket {
    uv_poll_t uv;
    struct http_peer *peer;
    curl_socket_t fd;
};

static void poll_closed(uv_handle_t *uv)
{
    free(uv->data);
}

static void poll_ready(uv_poll_t *uv, int status, int events)
{
    struct http_socket *sock = uv->data;
    struct http_peer *peer = sock->peer;
    int flags = 0;
    if (status < 0)
        flags = CURL_CSELECT_ERR;
    if ((events & UV_READABLE) != 0)
        flags |= CURL_CSELECT_IN;
    if ((events & UV_WRITABLE) != 0)
        flags |= CURL_CSELECT_OUT;
    int running = 0;
    (void)curl_multi_socket_action(peer->multi, sock->fd, flags, &running);
    http_peer_turn(peer);
}

static struct http_socket *poll_new(struct http_peer *peer, curl_socket_t fd)
{
    struct http_socket *sock = dv_alloc(sizeof *sock);
    if (uv_poll_init_socket(loop_uv(peer->loop), &sock->uv, fd) != 0) {
        free(sock);
        return NULL;
    }
    sock->uv.data = sock;
    sock->peer = peer;
    sock->fd = fd;
    (void)curl_multi_assign(peer->multi, fd, sock);
    return sock;
}

static int poll_wanted(CURL *easy, curl_socket_t fd, int what, void *peer_arg, void *sock_arg)
{
    (void)easy;
    struct http_peer *peer = peer_arg;
    struct http_socket *sock = sock_arg;
    if (what == CURL_POLL_REMOVE) {
        if (sock != NULL) {
            (void)curl_multi_assign(peer->multi, fd, NULL);
            uv_close((uv_handle_t *)&sock->uv, poll_closed);
        }
        return 0;
    }
    if (sock == NULL)
        sock = poll_new(peer, fd);
    if (sock == NULL)
        return -1;
    int events = 0;
    if (what == CURL_POLL_IN || what == CURL_POLL_INOUT)
        events |= UV_READABLE;
    if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT)
        events |= UV_WRITABLE;
    return uv_poll_start(&sock->uv, events, poll_ready) == 0 ? 0 : -1;
}

static int poll_timer(CURLM *multi, long after_ms, void *arg)
{
    (void)multi;
    struct http_peer *peer = arg;
    if (after_ms < 0)
        loop_timer_clear(peer->timer);
    else
        loop_timer_set(peer->timer, after_ms);
    return 0;
}

void http_poll_attach(struct http_peer *peer)
{
    (void)curl_multi_setopt(peer->multi, CURLMOPT_SOCKETFUNCTION, poll_wanted);
    (void)curl_multi_setopt(peer->multi, CURLMOPT_SOCKETDATA, peer);
    (void)curl_multi_setopt(peer->multi, CURLMOPT_TIMERFUNCTION, poll_timer);
    (void)curl_multi_setopt(peer->multi, CURLMOPT_TIMERDATA, peer);
}

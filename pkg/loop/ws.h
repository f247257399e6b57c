/* A small HTTP/1.1 server on the loop, for health checks and metrics: one answer per request, made at once from memory.
 *
 * Bounds: headers of 8 KiB and 10 s, 256 connections (more wait in the kernel's queue), 75 s between requests of one connection,
 * replies of 8 MiB that are taken within 10 s. Request bodies are never read: a request that has one, or that has another method than
 * GET and HEAD, is answered and its connection closed. Upgrades (websocket, h2c) are answered as plain requests, then closed. What is no
 * HTTP, or has a method HTTP does not know, gets a 403 or nothing, then the close.
 */
#ifndef DV_LOOP_WS_H
#define DV_LOOP_WS_H

#include "base/buf.h"
#include "base/err.h"
#include "loop/loop.h"

struct ws_request {
    const char *method; /* "GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH" or "DELETE" */
    const char *path;   /* starts with '/', percent signs decoded, dot segments resolved, without the query */
};

struct ws_reply {
    int status;               /* 200 unless the handler says otherwise */
    const char *content_type; /* static text; "text/plain; charset=utf-8" unless the handler says otherwise */
    const char *allow;        /* static text of the Allow header, or NULL */
    struct dv_buf body;       /* empty, at most 8 MiB; not sent for HEAD */
};

/* Fills reply from what is in memory; runs on the loop and must not block. */
typedef void ws_handler(void *arg, const struct ws_request *request, struct ws_reply *reply);

/* Zero or NULL means the default above. Times in whole seconds. */
struct ws_config {
    const char *addr; /* "127.0.0.1:8080", "[::]:8080", ":8080" = every address of both families; port 0 = any free port. No names */
    ws_handler *handler;
    void *arg;
    unsigned header_s;
    unsigned idle_s;
    unsigned connections;
};

struct ws_server;

/* Listens when it returns. NULL and err: INVALID for an address that cannot be read or is not ours, CONFLICT when the port is taken, DENIED
 * for a port that needs more rights, UNSUPPORTED without libwebsockets' plugin for libuv. config is not kept, its arg is. The process
 * ignores SIGPIPE from then on, a habit of libwebsockets. */
struct ws_server *ws_server_new(struct loop *loop, const struct ws_config *config, struct dv_err *err);
int ws_server_port(const struct ws_server *server);
/* Takes NULL, and may be called anywhere, the handler included. The port is free and the handler is not called any more when it returns;
 * connections and memory go in the next turns of the loop, loop_free()'s at the latest. */
void ws_server_free(struct ws_server *server);

#endif

#include "web/web.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/metrics.h"
#include "base/timefmt.h"
#include "loop/ws.h"
#include "web/pulse.h"

#define WEB_WHY_MAX 256

struct web {
    struct ws_server *server;
    struct loop_timer *beat;
    struct web_pulse pulse;
    bool ready;
    char why[WEB_WHY_MAX];
};

static void web_beat(void *arg)
{
    struct web *web = arg;
    web_pulse_beat(&web->pulse, dv_clock_now().mono_ms);
    loop_timer_set(web->beat, WEB_PULSE_BEAT_MS);
}

static void web_healthz(const struct web *web, struct ws_reply *reply)
{
    int64_t blocked_ms = web_pulse_blocked(&web->pulse, dv_clock_now().mono_ms);
    if (blocked_ms > 0) {
        reply->status = 503;
        (void)dv_buf_addf(&reply->body, "the event loop was blocked for %" PRId64 " ms\n", blocked_ms);
        return;
    }
    (void)dv_buf_adds(&reply->body, "ok\n");
}

static void web_readyz(const struct web *web, struct ws_reply *reply)
{
    reply->status = web->ready ? 200 : 503;
    (void)dv_buf_addf(&reply->body, "%s\n", web->ready ? "ready" : web->why);
}

static void web_metrics(const struct web *web, struct ws_reply *reply)
{
    (void)web;
    reply->content_type = "text/plain; version=0.0.4; charset=utf-8";
    dv_metrics_print(&reply->body);
}

static void web_index(const struct web *web, struct ws_reply *reply)
{
    (void)web;
    (void)dv_buf_adds(&reply->body, "distverify\n"
                                    "/healthz  ok, or 503 when the event loop was blocked\n"
                                    "/readyz   ready, or 503 and why not\n"
                                    "/metrics  counters and gauges in the Prometheus text format\n");
}

static void web_answer(void *arg, const struct ws_request *request, struct ws_reply *reply)
{
    static const struct {
        const char *path;
        void (*fill)(const struct web *web, struct ws_reply *reply);
    } routes[] = {{"/", web_index}, {"/healthz", web_healthz}, {"/readyz", web_readyz}, {"/metrics", web_metrics}};
    if (!dv_streq(request->method, "GET") && !dv_streq(request->method, "HEAD")) {
        reply->status = 405;
        reply->allow = "GET, HEAD";
        (void)dv_buf_adds(&reply->body, "only GET and HEAD\n");
        return;
    }
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        if (dv_streq(routes[i].path, request->path)) {
            routes[i].fill(arg, reply);
            return;
        }
    }
    reply->status = 404;
    (void)dv_buf_adds(&reply->body, "not found\n");
}

struct web *web_new(struct loop *loop, const char *addr, struct dv_err *err)
{
    struct web *web = dv_alloc(sizeof *web);
    web_set_ready(web, false, "starting");
    web->server = ws_server_new(loop, &(struct ws_config){.addr = addr, .handler = web_answer, .arg = web}, err);
    if (web->server == NULL) {
        free(web);
        return NULL;
    }
    web->beat = loop_timer_new(loop, web_beat, web);
    web_beat(web);
    return web;
}

int web_port(const struct web *web)
{
    return ws_server_port(web->server);
}

void web_set_ready(struct web *web, bool ready, const char *why)
{
    web->ready = ready;
    (void)dv_strlcpy(web->why, why != NULL ? why : "not ready", sizeof web->why);
    for (char *c = web->why; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = ' ';
    }
}

void web_free(struct web *web)
{
    if (web == NULL)
        return;
    ws_server_free(web->server);
    loop_timer_free(web->beat);
    free(web);
}

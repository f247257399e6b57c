/* What people and machines ask over HTTP: /healthz, /readyz, /metrics, and an index at /. GET and HEAD only. Not meant for the world: no
 * TLS, no authentication, nothing secret. */
#ifndef DV_WEB_WEB_H
#define DV_WEB_WEB_H

#include <stdbool.h>

#include "base/err.h"
#include "loop/loop.h"

struct web;

/* addr as in loop/ws.h. Not ready ("starting") until web_set_ready(). NULL and err as ws_server_new(). */
struct web *web_new(struct loop *loop, const char *addr, struct dv_err *err);
int web_port(const struct web *web);
/* why: one sentence for /readyz while not ready; copied, cut at 255 bytes, control characters become spaces; NULL: "not ready". */
void web_set_ready(struct web *web, bool ready, const char *why);
/* Takes NULL. Nothing is answered any more; memory goes in the next turns of the loop, loop_free()'s at the latest. */
void web_free(struct web *web);

#endif

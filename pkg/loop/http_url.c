#include <curl/curl.h>

#include "loop/http_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct url_parts {
    char *scheme, *host, *port, *path;
};

static void url_parts_free(struct url_parts *parts)
{
    curl_free(parts->scheme);
    curl_free(parts->host);
    curl_free(parts->port);
    curl_free(parts->path);
}

static bool url_has(CURLU *url, CURLUPart part)
{
    char *text = NULL;
    bool has = curl_url_get(url, part, &text, 0) == CURLUE_OK;
    curl_free(text);
    return has;
}

static int url_split(CURLU *url, const char *text, struct url_parts *parts)
{
    if (text == NULL || curl_url_set(url, CURLUPART_URL, text, 0) != CURLUE_OK)
        return -1;
    if (url_has(url, CURLUPART_USER) || url_has(url, CURLUPART_PASSWORD) || url_has(url, CURLUPART_QUERY) ||
        url_has(url, CURLUPART_FRAGMENT))
        return -1;
    if (curl_url_get(url, CURLUPART_SCHEME, &parts->scheme, 0) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_HOST, &parts->host, 0) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_PORT, &parts->port, CURLU_DEFAULT_PORT) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_PATH, &parts->path, 0) != CURLUE_OK)
        return -1;
    return dv_streq(parts->scheme, "https") || dv_streq(parts->scheme, "http") ? 0 : -1;
}

/* With another name to check, the URL carries that name, the connection goes to the host, and so does the Host header. */
static void url_apply(struct http_peer *peer, const struct url_parts *parts, const char *server_name)
{
    int path_len = (int)strlen(parts->path);
    while (path_len > 0 && parts->path[path_len - 1] == '/')
        path_len--;
    peer->tls = dv_streq(parts->scheme, "https");
    peer->name = dv_asprintf("%s:%s", parts->host, parts->port);
    if (server_name == NULL || !peer->tls) {
        peer->base = dv_asprintf("%s://%s%.*s", parts->scheme, peer->name, path_len, parts->path);
        return;
    }
    peer->base = dv_asprintf("%s://%s:%s%.*s", parts->scheme, server_name, parts->port, path_len, parts->path);
    peer->host_header = dv_asprintf("Host: %s", peer->name);
    peer->connect_to = dv_asprintf("%s:%s:%s:%s", server_name, parts->port, parts->host, parts->port);
}

int http_url_take(struct http_peer *peer, const struct http_peer_options *options, struct dv_err *err)
{
    struct url_parts parts = {0};
    CURLU *url = curl_url();
    int rc = url_split(url, options->url, &parts);
    if (rc == 0)
        url_apply(peer, &parts, options->server_name);
    url_parts_free(&parts);
    curl_url_cleanup(url);
    if (rc != 0) /* not repeated in the text: it may hold a password */
        return dv_err_set(err, DV_ERR_INVALID, "server is not a URL of the form https://host:port");
    return 0;
}

char *http_escape(const char *text)
{
    char *escaped = curl_easy_escape(NULL, text, (int)strlen(text));
    char *copy = dv_strdup(escaped != NULL ? escaped : "");
    curl_free(escaped);
    return copy;
}

/* List and watch of one (server, resource, selector), shared by its subscribers: a state machine.
 *
 *   RESOLVE --version known--> LIST (pages; one object: GET) --complete--> WATCH --ended, productive--> WATCH
 *   any trouble --> PAUSE (back-off) --> LIST or WATCH;   410, either way --> LIST from its first page;   not served --> RESOLVE
 *
 * The store survives every trouble and is never swapped for half a list: items are put in as they come, and what a complete list did not
 * hold is swept at its end.
 * One object is got, not listed (rights by resourceNames), and watched from its resourceVersion. That may be older than what the server
 * remembers (410 for ever), and an absent object has none: the watch is then begun without one, and the object got again beside it.
 */
#ifndef DV_KUBE_WATCHER_H
#define DV_KUBE_WATCHER_H

#include <uthash.h>

#include "kube/frame.h"
#include "kube/room.h"
#include "kube/scan.h"
#include "kube/server.h"
#include "kube/store.h"

enum kube_watcher_state { KUBE_WATCHER_RESOLVE, KUBE_WATCHER_LIST, KUBE_WATCHER_WATCH, KUBE_WATCHER_PAUSE };

enum kube_subscription_state {
    KUBE_SUBSCRIPTION_NEW,       /* has seen nothing: gets the store, or the next list */
    KUBE_SUBSCRIPTION_LISTENING, /* joined before the list under way began: gets all its items */
    KUBE_SUBSCRIPTION_SYNCED,    /* gets what changes */
};

struct kube_subscriptions {
    UT_hash_handle hh; /* in kube->subscriptions, by id */
    port_id id;
    struct kube_watcher *watcher;
    struct kube_subscriptions *prev, *next; /* of the watcher */
    enum kube_subscription_state state;
    bool dead; /* stopped while events went out */
};

struct kube_watcher {
    struct kube *kube;
    struct kube_watcher *prev, *next;
    struct kube_server *server;
    struct port_resource resource;
    char *selector;
    struct kube_subscriptions *subscribers;
    size_t live;       /* subscribers that are not dead */
    int busy;          /* depth of our own callbacks: nothing is freed below */
    unsigned int turn; /* counts kube_watcher_go(): what is done piece by piece ends when a sink's call sent the machine elsewhere */

    enum kube_watcher_state state, after_pause;
    struct kube_discovery *discovery;
    struct kube_request *request; /* list page, get or watch */
    struct kube_request *confirm; /* the get beside a watch without resourceVersion */
    struct loop_timer *pause, *greet;
    struct kube_backoff backoff;

    struct kube_store store;
    char *version; /* of the API */
    char *rv;      /* where the watch goes on; NULL: from now */
    char *continue_;
    int limit;          /* of a page */
    unsigned int epoch; /* of the server's address when the list was made */
    bool complete;      /* the store is whole */

    struct kube_frame frame;
    bool open;        /* the watch answered 200 */
    bool moved;       /* this watch brought rv forward */
    int fruitless;    /* watches in a row that brought nothing */
    bool versionless; /* it began without resourceVersion: got again beside it */
    int64_t opened_ms;

    bool troubled;
    struct dv_err trouble; /* told last */
};

/* ---------------------------------------------------------------- watcher.c */

void kube_watch_start(struct kube *kube, port_id id, const struct port_watch *watch);
void kube_watch_stop(struct kube *kube, port_id id);
void kube_watchers_free(struct kube *kube);

void kube_watcher_enter(struct kube_watcher *watcher);
void kube_watcher_leave(struct kube_watcher *watcher); /* may free it */

void kube_watcher_item(struct kube_watcher *watcher, const json_t *object); /* into the store, and told */
void kube_watcher_gone(struct kube_watcher *watcher, const char *ns, const char *name, const json_t *last);
void kube_watcher_sweep(struct kube_watcher *watcher); /* what the list that just ended did not hold */
void kube_watcher_synced(struct kube_watcher *watcher);
void kube_watcher_trouble(struct kube_watcher *watcher, const struct dv_err *err);
void kube_watcher_recovered(struct kube_watcher *watcher);

/* Ends what is under way. after_ms 0: at the next turn. */
void kube_watcher_go(struct kube_watcher *watcher, enum kube_watcher_state state, int64_t after_ms);
/* After a failure: told, and the next try by back-off. */
void kube_watcher_failed(struct kube_watcher *watcher, const struct dv_err *err, enum kube_watcher_state next, int64_t retry_after_ms);
/* False once something called by us sent the machine elsewhere, or nobody listens any more. */
bool kube_watcher_goes_on(const struct kube_watcher *watcher, unsigned int turn);
void kube_watcher_set(char **text, struct scan_span span);

/* ---------------------------------------------------------------- lister.c, stream.c */

void kube_lister_begin(struct kube_watcher *watcher);
void kube_lister_confirm(struct kube_watcher *watcher);
void kube_stream_begin(struct kube_watcher *watcher);

#endif

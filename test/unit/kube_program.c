/* The controller program against a scripted API server: what /readyz says while it waits for its Lease, and what it logs. */
#include "../support/http_client.h"
#include "../support/http_script.h"

#include <signal.h>
#include <sys/wait.h>

struct fixture {
    struct loop *loop;
    json_t *exchanges;
    struct script *script;
    pid_t pid;
    int port; /* of /readyz */
    char dir[64];
};

/* One that is free now. */
static int free_port(void)
{
    struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof sin;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&sin, sizeof sin), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&sin, &len), 0);
    (void)close(fd);
    return ntohs(sin.sin_port);
}

static void write_kubeconfig(const char *path, int port)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file,
                  "{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: \"http://127.0.0.1:%d\"}}],\n"
                  " users: [{name: u, user: {}}], contexts: [{name: c, context: {cluster: c, user: u}}], current-context: c}\n",
                  port);
    (void)fclose(file);
}

/* The controller of this build: build/<mode>/distverify-controller, we are build/<mode>/test/unit/<name>. */
static void program_run(struct fixture *f)
{
    char program[512] = "";
    char *config = dv_asprintf("%s/kubeconfig", f->dir);
    char *log = dv_asprintf("%s/log", f->dir);
    char *addr = dv_asprintf("127.0.0.1:%d", f->port);
    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    for (int i = 0; i < 3; i++)
        *strrchr(program, '/') = '\0';
    char *path = dv_asprintf("%s/distverify-controller", program);
    write_kubeconfig(config, f->script->port);
    f->pid = fork();
    assert_true(f->pid >= 0);
    if (f->pid == 0) {
        int fd = open(log, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
        (void)dup2(fd, 2);
        (void)execl(path, path, "--kubeconfig", config, "--metrics-addr", addr, "--lease", "ns/lease", (char *)NULL);
        _exit(127);
    }
    free(config);
    free(log);
    free(addr);
    free(path);
}

static void fixture_new(void **state, json_t *exchanges)
{
    struct fixture *f = dv_alloc(sizeof *f);
    (void)dv_strlcpy(f->dir, "/tmp/kube-program-XXXXXX", sizeof f->dir);
    assert_non_null(mkdtemp(f->dir));
    f->loop = loop_new();
    f->exchanges = exchanges;
    assert_non_null(f->exchanges);
    f->script = script_new(f->loop, f->exchanges);
    f->port = free_port();
    program_run(f);
    *state = f;
}

static int fixture_up(void **state)
{
    static const char exchanges[] =
        "[{\"target\": \"/apis/coordination.k8s.io/v1/namespaces/ns/leases/lease\", \"repeat\": 2, \"respond\": {\"status\": 403, \"json\":"
        "  {\"kind\": \"Status\", \"status\": \"Failure\", \"reason\": \"Forbidden\", \"code\": 403, \"message\": \"no right to get "
        "leases\"}}},"
        " {\"target\": \"/apis/coordination.k8s.io/v1/namespaces/ns/leases/lease\", \"repeat\": 2, \"respond\": {\"status\": 200, \"json\":"
        "  {\"kind\": \"Lease\", \"metadata\": {\"name\": \"lease\", \"resourceVersion\": \"1\"},"
        "   \"spec\": {\"holderIdentity\": \"the-other\", \"leaseDurationSeconds\": 600}}}},"
        " {\"target\": \"/apis/coordination.k8s.io/v1/namespaces/ns/leases/lease\", \"repeat\": 100, \"respond\": {\"status\": 403, "
        "\"json\":"
        "  {\"kind\": \"Status\", \"status\": \"Failure\", \"reason\": \"Forbidden\", \"code\": 403, \"message\": \"taken from us "
        "again\"}}}]";
    fixture_new(state, json_loads(exchanges, 0, NULL));
    return 0;
}

static int denied_up(void **state)
{
    static const char leases[] = "/apis/coordination.k8s.io/v1/namespaces/ns/leases";
    json_t *exchanges = json_array();
    for (int i = 0; i < 20; i++) {
        (void)json_array_append_new(exchanges, json_pack("{s:s+,s:{s:i,s:{s:s,s:s,s:i}}}", "target", leases, "/lease", "respond", "status",
                                                         404, "json", "kind", "Status", "message", "there is none", "code", 404));
        (void)json_array_append_new(exchanges, json_pack("{s:s,s:s,s:{s:i,s:{s:s,s:s,s:i}}}", "method", "POST", "target", leases, "respond",
                                                         "status", 403, "json", "kind", "Status", "message", "forbidden", "code", 403));
    }
    (void)setenv("DISTVERIFY_PERIODS_DIV", "12", 1);
    fixture_new(state, exchanges);
    (void)unsetenv("DISTVERIFY_PERIODS_DIV");
    return 0;
}

static int fixture_down(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = {"kubeconfig", "log"};
    if (f->pid > 0) {
        (void)kill(f->pid, SIGKILL);
        (void)waitpid(f->pid, NULL, 0);
    }
    for (size_t i = 0; i < 2; i++) {
        char *path = dv_asprintf("%s/%s", f->dir, names[i]);
        (void)unlink(path);
        free(path);
    }
    (void)rmdir(f->dir);
    script_free(f->script);
    loop_free(f->loop);
    json_decref(f->exchanges);
    free(f);
    return 0;
}

/* False while nobody listens. */
static bool readyz(struct fixture *f, struct answer *answer)
{
    struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons((uint16_t)f->port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct client c = {.loop = f->loop, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .in = DV_BUF_INIT(CLIENT_MAX)};
    bool there = connect(c.fd, (struct sockaddr *)&sin, sizeof sin) == 0 && fcntl(c.fd, F_SETFL, O_NONBLOCK) == 0;
    if (there) {
        client_send(&c, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
        there = client_answer(&c, false, answer);
    }
    client_close(&c);
    return there;
}

/* Until /readyz says this. */
static void expect_readyz(struct fixture *f, int status, const char *text)
{
    struct answer answer = {0};
    int64_t until = dv_clock_now().mono_ms + WAIT_MS;
    while (!readyz(f, &answer) || answer.status != status || strstr(answer.body, text) == NULL) {
        if (dv_clock_now().mono_ms > until)
            fail_msg("/readyz says %d %s", answer.status, answer.body);
        turn(f->loop);
        (void)poll(NULL, 0, 20);
    }
}

static char *log_text(const struct fixture *f)
{
    char *path = dv_asprintf("%s/log", f->dir);
    char *log = test_read_file(path, NULL);
    free(path);
    return log;
}

static void expect_clean_end(struct fixture *f)
{
    int status = 0;
    assert_int_equal(kill(f->pid, SIGTERM), 0);
    assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
    f->pid = 0;
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static size_t times_in(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word))
        n++;
    return n;
}

/* What cannot see the Lease is no stand-by: it would stay away when the one that leads goes. */
static void ready_while_the_holder_is_seen(void **state)
{
    struct fixture *f = *state;
    expect_readyz(f, 503, "no right to get leases");
    expect_readyz(f, 200, "ready\n");
    expect_readyz(f, 503, "taken from us again");
    expect_clean_end(f);
    char *log = log_text(f);
    assert_int_equal(times_in(log, " warn "), 2); /* once per text: the first was said twice by the server */
    assert_int_equal(times_in(log, " warn cannot read or write the lease "), 2);
    assert_int_equal(times_in(log, "holder=the-other"), 1);
    assert_string_equal(f->script->problem, "");
    free(log);
}

/* A right that stays away is told again every minute, here every 5 s: not at each of the tries, which are 2 s apart. */
static void a_missing_right_is_told_again(void **state)
{
    struct fixture *f = *state;
    static const char told[] = "the controller may not create Lease ns/lease; give it the right or correct --lease";
    int64_t until = dv_clock_now().mono_ms + 3 * 6000;
    char *log = NULL;
    expect_readyz(f, 503, told);
    for (log = log_text(f); times_in(log, told) < 2 && dv_clock_now().mono_ms < until; log = log_text(f)) {
        free(log);
        turn(f->loop);
        (void)poll(NULL, 0, 20);
    }
    assert_int_equal(times_in(log, " warn cannot read or write the lease "), 2);
    assert_int_equal(times_in(log, told), 2);
    assert_true(f->script->count > 2 * 2); /* each try is a look and a creation */
    expect_readyz(f, 503, told);
    expect_clean_end(f);
    assert_string_equal(f->script->problem, "");
    free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ready_while_the_holder_is_seen, fixture_up, fixture_down),
        cmocka_unit_test_setup_teardown(a_missing_right_is_told_again, denied_up, fixture_down),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

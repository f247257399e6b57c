#include "kafka/internal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <utlist.h>

/* Lock order: none is ever held while another is taken; one lock in the hub covers its workers too. */
struct kafka_hub {
    pthread_mutex_t lock;
    pthread_cond_t ended; /* a thread ended */
    uv_async_t *async;    /* NULL once the loop is let go */
    struct kafka_job *finished;
    struct kafka_worker *workers; /* those whose thread runs */
    size_t threads, stuck, references;
};

struct kafka_worker {
    struct kafka_worker *prev, *next;
    struct kafka_hub *hub;
    pthread_cond_t wanted;
    struct kafka_job *queue;
    int64_t busy_ms; /* when the running job began; 0: idle */
    bool running, stuck;
};

static int64_t worker_now_ms(void)
{
    return (int64_t)(uv_hrtime() / 1000000);
}

struct kafka_hub *kafka_hub_new(uv_async_t *async)
{
    struct kafka_hub *hub = dv_alloc(sizeof *hub);
    pthread_condattr_t attr;
    (void)pthread_mutex_init(&hub->lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&hub->ended, &attr);
    (void)pthread_condattr_destroy(&attr);
    hub->async = async;
    hub->references = 1;
    return hub;
}

static void worker_hub_release(struct kafka_hub *hub)
{
    (void)pthread_mutex_lock(&hub->lock);
    bool last = --hub->references == 0;
    (void)pthread_mutex_unlock(&hub->lock);
    if (!last)
        return;
    kafka_hub_finish(hub, NULL);
    (void)pthread_cond_destroy(&hub->ended);
    (void)pthread_mutex_destroy(&hub->lock);
    free(hub);
}

static void worker_hub_wake_locked(struct kafka_hub *hub)
{
    if (hub->async != NULL)
        (void)uv_async_send(hub->async);
}

void kafka_hub_wake(struct kafka_hub *hub)
{
    (void)pthread_mutex_lock(&hub->lock);
    worker_hub_wake_locked(hub);
    (void)pthread_mutex_unlock(&hub->lock);
}

void kafka_hub_finish(struct kafka_hub *hub, struct kafka *kafka)
{
    (void)pthread_mutex_lock(&hub->lock);
    struct kafka_job *job = hub->finished, *next;
    hub->finished = NULL;
    (void)pthread_mutex_unlock(&hub->lock);
    for (; job != NULL; job = next) {
        next = job->next;
        job->done(job, kafka);
    }
}

static void worker_die(void)
{
    (void)fprintf(stderr, "distverify: more than %d threads hang in librdkafka: ending\n", KAFKA_WORKERS_STUCK_MAX);
    _exit(3);
}

size_t kafka_hub_check(struct kafka_hub *hub, int64_t now_ms)
{
    struct kafka_worker *worker;
    (void)pthread_mutex_lock(&hub->lock);
    DL_FOREACH(hub->workers, worker)
    {
        if (!worker->stuck && worker->busy_ms != 0 && now_ms - worker->busy_ms > KAFKA_WORKER_STUCK_MS) {
            worker->stuck = true;
            hub->stuck++;
        }
    }
    size_t stuck = hub->stuck;
    (void)pthread_mutex_unlock(&hub->lock);
    if (stuck > KAFKA_WORKERS_STUCK_MAX)
        worker_die();
    return stuck;
}

size_t kafka_hub_threads(struct kafka_hub *hub)
{
    (void)pthread_mutex_lock(&hub->lock);
    size_t threads = hub->threads;
    (void)pthread_mutex_unlock(&hub->lock);
    return threads;
}

void kafka_hub_close(struct kafka_hub *hub, struct kafka *kafka, int64_t wait_ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += wait_ms / 1000;
    (void)pthread_mutex_lock(&hub->lock);
    while (hub->threads > 0 && pthread_cond_timedwait(&hub->ended, &hub->lock, &until) == 0)
        continue;
    hub->async = NULL;
    (void)pthread_mutex_unlock(&hub->lock);
    kafka_hub_finish(hub, kafka);
    worker_hub_release(hub);
}

struct kafka_worker *kafka_worker_new(struct kafka_hub *hub)
{
    struct kafka_worker *worker = dv_alloc(sizeof *worker);
    (void)pthread_cond_init(&worker->wanted, NULL);
    worker->hub = hub;
    return worker;
}

static struct kafka_job *worker_take_locked(struct kafka_worker *worker)
{
    while (worker->queue == NULL)
        (void)pthread_cond_wait(&worker->wanted, &worker->hub->lock);
    struct kafka_job *job = worker->queue;
    worker->queue = job->next;
    job->next = NULL;
    worker->busy_ms = worker_now_ms();
    return job;
}

static void worker_leave_locked(struct kafka_worker *worker, struct kafka_job *job)
{
    struct kafka_hub *hub = worker->hub;
    if (worker->stuck) {
        worker->stuck = false;
        hub->stuck--;
    }
    worker->busy_ms = 0;
    LL_APPEND(hub->finished, job);
    worker_hub_wake_locked(hub);
}

static void *worker_main(void *arg)
{
    struct kafka_worker *worker = arg;
    struct kafka_hub *hub = worker->hub;
    (void)pthread_mutex_lock(&hub->lock);
    for (bool last = false; !last;) {
        struct kafka_job *job = worker_take_locked(worker);
        last = job->last;
        (void)pthread_mutex_unlock(&hub->lock);
        job->run(job);
        (void)pthread_mutex_lock(&hub->lock);
        worker_leave_locked(worker, job);
    }
    DL_DELETE(hub->workers, worker);
    hub->threads--;
    (void)pthread_cond_broadcast(&hub->ended);
    (void)pthread_mutex_unlock(&hub->lock);
    (void)pthread_cond_destroy(&worker->wanted);
    free(worker);
    worker_hub_release(hub);
    return NULL;
}

static void worker_start_locked(struct kafka_worker *worker)
{
    pthread_t thread;
    pthread_attr_t attr;
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    worker->running = true;
    DL_APPEND(worker->hub->workers, worker);
    worker->hub->threads++;
    worker->hub->references++;
    if (pthread_create(&thread, &attr, worker_main, worker) != 0) {
        (void)fprintf(stderr, "distverify: no thread can be started: ending\n");
        _exit(3);
    }
    (void)pthread_attr_destroy(&attr);
}

void kafka_worker_push(struct kafka_worker *worker, struct kafka_job *job)
{
    struct kafka_hub *hub = worker->hub;
    (void)pthread_mutex_lock(&hub->lock);
    LL_APPEND(worker->queue, job);
    if (!worker->running)
        worker_start_locked(worker);
    (void)pthread_cond_signal(&worker->wanted);
    (void)pthread_mutex_unlock(&hub->lock);
}

bool kafka_worker_stuck(struct kafka_worker *worker)
{
    (void)pthread_mutex_lock(&worker->hub->lock);
    bool stuck = worker->stuck;
    (void)pthread_mutex_unlock(&worker->hub->lock);
    return stuck;
}

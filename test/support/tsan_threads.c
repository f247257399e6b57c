/* C11 threads by way of POSIX threads, for MODE=tsan only. librdkafka uses <threads.h>, which gcc's ThreadSanitizer does not know: threads
 * begun that way crash it, and locks taken that way it does not see. It knows all that is called here. The types are of one size in glibc.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t), "glibc's types are not of one size");
_Static_assert(sizeof(once_flag) == sizeof(pthread_once_t) && sizeof(thrd_t) == sizeof(pthread_t), "glibc's types are not of one size");

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc names them with two underscores. */

static int result_of(int rc)
{
    return rc == 0 ? thrd_success : rc == ETIMEDOUT ? thrd_timedout : rc == EBUSY ? thrd_busy : rc == ENOMEM ? thrd_nomem : thrd_error;
}

/* ---------------------------------------------------------------- threads */

struct start {
    thrd_start_t function;
    void *arg;
};

static void *begin(void *arg)
{
    struct start start = *(struct start *)arg;
    free(arg);
    return (void *)(intptr_t)start.function(start.arg);
}

int thrd_create(thrd_t *thread, thrd_start_t function, void *arg)
{
    struct start *start = malloc(sizeof *start);
    if (start == NULL)
        return thrd_nomem;
    *start = (struct start){function, arg};
    int rc = pthread_create((pthread_t *)thread, NULL, begin, start);
    if (rc != 0)
        free(start);
    return result_of(rc);
}

int thrd_join(thrd_t thread, int *result)
{
    void *value = NULL;
    int rc = pthread_join((pthread_t)thread, &value);
    if (rc == 0 && result != NULL)
        *result = (int)(intptr_t)value;
    return result_of(rc);
}

void call_once(once_flag *flag, void (*function)(void))
{
    (void)pthread_once((pthread_once_t *)flag, function);
}

/* ---------------------------------------------------------------- locks */

int mtx_init(mtx_t *mutex, int type)
{
    pthread_mutexattr_t attr;
    (void)pthread_mutexattr_init(&attr);
    (void)pthread_mutexattr_settype(&attr, type & mtx_recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
    int rc = pthread_mutex_init((pthread_mutex_t *)mutex, &attr);
    (void)pthread_mutexattr_destroy(&attr);
    return result_of(rc);
}

void mtx_destroy(mtx_t *mutex)
{
    (void)pthread_mutex_destroy((pthread_mutex_t *)mutex);
}

int mtx_lock(mtx_t *mutex)
{
    return result_of(pthread_mutex_lock((pthread_mutex_t *)mutex));
}

int mtx_unlock(mtx_t *mutex)
{
    return result_of(pthread_mutex_unlock((pthread_mutex_t *)mutex));
}

/* ---------------------------------------------------------------- conditions */

int cnd_init(cnd_t *condition)
{
    return result_of(pthread_cond_init((pthread_cond_t *)condition, NULL));
}

void cnd_destroy(cnd_t *condition)
{
    (void)pthread_cond_destroy((pthread_cond_t *)condition);
}

int cnd_signal(cnd_t *condition)
{
    return result_of(pthread_cond_signal((pthread_cond_t *)condition));
}

int cnd_broadcast(cnd_t *condition)
{
    return result_of(pthread_cond_broadcast((pthread_cond_t *)condition));
}

int cnd_wait(cnd_t *condition, mtx_t *mutex)
{
    return result_of(pthread_cond_wait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex));
}

int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict until)
{
    return result_of(pthread_cond_timedwait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex, until));
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

/* SPDX-License-Identifier: MIT
 *
 * Tasks whose results are taken in index order, while others are being made: a line.
 * Each thread takes what is most urgent: the next result, a share of a loop within the
 * taking of one, a new task; or it waits.
 */
#include "ops/parallel_internal.h"

#ifdef _OPENMP

#include <omp.h>
#include <pthread.h>

/* A loop within a merge. */
struct loop {
    txd_task *body;
    void *self;
    size_t next, done, count;
    int workers;
    struct txd_failure failure;
};

struct line {
    const struct txd_in_order *tasks;
    pthread_mutex_t mutex; /* over all that follows */
    pthread_cond_t news;
    size_t next, merged; /* tasks that were begun, that were merged */
    size_t end;          /* all tasks; those before the first that failed */
    bool merging;
    struct loop *loop; /* of the merge at hand; NULL = none */
    struct txd_failure failure;
};

/* The line whose result this thread is taking, outside of its loops. */
static _Thread_local struct line *merging_in;

static void fail(struct line *line, size_t i, txd_status status)
{
    txd_failure_keep(&line->failure, i, status);
    line->end = i < line->end ? i : line->end;
}

/* ---- the next result ---- */

static bool can_merge(const struct line *line)
{
    const struct txd_in_order *tasks = line->tasks;

    return !line->merging && line->merged < line->next && line->merged < line->end &&
           tasks->made[line->merged % tasks->room];
}

static void merge(struct line *line)
{
    size_t i = line->merged;
    txd_status status;

    line->merging = true;
    pthread_mutex_unlock(&line->mutex);
    merging_in = line;
    status = line->tasks->merge(line->tasks->self, i);
    merging_in = NULL;
    pthread_mutex_lock(&line->mutex);
    line->merging = false;
    if (status != TXD_OK)
        fail(line, i, status);
    else
        line->merged++;
    pthread_cond_broadcast(&line->news);
}

/* ---- a share of a loop ---- */

static bool can_share(const struct line *line, int worker)
{
    const struct loop *loop = line->loop;

    return loop != NULL && loop->next < loop->count && worker < loop->workers;
}

static void share(struct line *line, struct loop *loop, int worker)
{
    size_t i = loop->next++;
    txd_status status;

    pthread_mutex_unlock(&line->mutex);
    status = loop->body(loop->self, i, worker);
    pthread_mutex_lock(&line->mutex);
    if (status != TXD_OK)
        txd_failure_keep(&loop->failure, i, status);
    if (++loop->done == loop->count)
        pthread_cond_broadcast(&line->news);
}

bool txd_shared_loop(txd_status *status, const txd_ctx *ctx, size_t count,
                     txd_task *body, void *self)
{
    struct line *line = merging_in;
    struct loop loop = {body, self, 0, 0, count, ctx->threads, {0, TXD_OK, ""}};
    int worker = omp_get_thread_num();

    if (line == NULL || worker >= ctx->threads)
        return false;
    merging_in = NULL; /* loops within this one are nobody else's */
    pthread_mutex_lock(&line->mutex);
    line->loop = &loop;
    pthread_cond_broadcast(&line->news);
    while (loop.next < loop.count)
        share(line, &loop, worker);
    while (loop.done < loop.count)
        pthread_cond_wait(&line->news, &line->mutex);
    line->loop = NULL;
    pthread_mutex_unlock(&line->mutex);
    merging_in = line;
    *status = txd_failure_say(&loop.failure);
    return true;
}

/* ---- a new task ---- */

static bool can_make(const struct line *line)
{
    return line->next < line->end && line->next < line->merged + line->tasks->room;
}

static void make(struct line *line, int worker)
{
    const struct txd_in_order *tasks = line->tasks;
    size_t i = line->next++;
    txd_status status;

    tasks->made[i % tasks->room] = false;
    pthread_mutex_unlock(&line->mutex);
    status = tasks->make(tasks->self, i, worker);
    pthread_mutex_lock(&line->mutex);
    tasks->made[i % tasks->room] = true;
    if (status != TXD_OK)
        fail(line, i, status);
    pthread_cond_broadcast(&line->news);
}

/* ---- all of them ---- */

static void work(struct line *line, int worker)
{
    pthread_mutex_lock(&line->mutex);
    while (line->merged < line->end) {
        if (can_merge(line))
            merge(line);
        else if (can_share(line, worker))
            share(line, line->loop, worker);
        else if (can_make(line))
            make(line, worker);
        else
            pthread_cond_wait(&line->news, &line->mutex);
    }
    pthread_mutex_unlock(&line->mutex);
}

static txd_status together(const struct txd_in_order *tasks, int threads)
{
    struct line line = {.tasks = tasks, .end = tasks->count};

    if (pthread_mutex_init(&line.mutex, NULL) != 0)
        return txd_fail(TXD_ERR_MEMORY, "no memory for a mutex");
    if (pthread_cond_init(&line.news, NULL) != 0) {
        pthread_mutex_destroy(&line.mutex);
        return txd_fail(TXD_ERR_MEMORY, "no memory for a condition variable");
    }
#pragma omp parallel num_threads(threads)
    work(&line, omp_get_thread_num());
    pthread_cond_destroy(&line.news);
    pthread_mutex_destroy(&line.mutex);
    return txd_failure_say(&line.failure);
}

#else

bool txd_shared_loop(txd_status *status, const txd_ctx *ctx, size_t count,
                     txd_task *body, void *self)
{
    (void)status, (void)ctx, (void)count, (void)body, (void)self;
    return false;
}

static txd_status together(const struct txd_in_order *tasks, int threads)
{
    (void)tasks;
    return txd_fail(TXD_ERR_INAPPLICABLE, "%d threads without OpenMP", threads);
}

#endif

static txd_status make_and_merge(void *self, size_t i, int worker)
{
    const struct txd_in_order *tasks = self;

    TXD_TRY(tasks->make(tasks->self, i, worker));
    return tasks->merge(tasks->self, i);
}

txd_status txd_parallel_in_order(txd_ctx *ctx, const struct txd_in_order *tasks)
{
    struct txd_in_order copy = *tasks;
    int threads = txd_team_of(ctx, tasks->count, tasks->operations);

    if (threads == 1)
        return txd_alone(tasks->count, make_and_merge, &copy);
    return together(&copy, threads);
}

/* SPDX-License-Identifier: MIT
 *
 * One operation of a backend with memory of its own, one repetition per line on the
 * standard input, as bench/worker.c has it. Seconds are from the call until the device
 * is done, and what is told to the host is there.
 *
 *   device BACKEND attention LENGTH WIDTH HEADS   causal, with the row statistics and
 *                                                 the heatmap of 64 x 64 cells
 *   device BACKEND heads LENGTH WIDTH HEADS       the same without either
 *   device BACKEND stats MEGABYTES                all statistics of so many numbers
 *   device BACKEND copy MEGABYTES                 a copy within the device's memory
 *   device BACKEND products SIDE                  a product of square matrices
 *
 * TXDIAG_CUDA_MODULE names the module.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "ops/module.h"
#include "ops/ops.h"

enum { CELLS = 64, PERIOD = 1 << 20 };

struct job {
    const txd_backend *backend;
    txd_ctx ctx;
    size_t size[3];
    void *values[4]; /* of the device */
    double *told[3]; /* of the host */
    int32_t *places[3];
    uint32_t *kv_head;
    uint8_t *padded;
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void *host(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);

    if (memory == NULL) {
        fprintf(stderr, "device: no memory for %zu x %zu bytes\n", count, bytes);
        exit(2);
    }
    return memory;
}

/* Numbers in [-1, 1) on the device, as its backend stores them. */
static txd_status put_values(struct job *job, int which, size_t count)
{
    float *x = host(count, sizeof *x);
    uint16_t *narrow = host(count, sizeof *narrow);
    uint64_t key = txd_rng_key((uint64_t)which, "bench");
    txd_status status = TXD_ERR_MEMORY;

    for (size_t i = 0; i < count; i++)
        x[i] = i < PERIOD ? (float)(2 * txd_rng_uniform(key, i) - 1) : x[i - PERIOD];
    if (job->backend->format != TXD_F32) {
        txd_convert(narrow, job->backend->format, x, TXD_F32, count);
        txd_convert(x, TXD_F32, narrow, job->backend->format, count);
    }
    job->values[which] = job->backend->alloc(count * sizeof *x);
    if (job->values[which] != NULL)
        status = job->backend->upload(job->values[which], x, count * sizeof *x);
    free(x);
    free(narrow);
    return status;
}

/* ---- attention ---- */

static txd_status make_attention(struct job *job)
{
    size_t n = job->size[0], heads = job->size[2];

    if (job->backend->attend == NULL)
        return txd_fail(TXD_ERR_MISSING, "%s has no attention without a matrix",
                        job->backend->name);
    for (int i = 0; i < 4; i++)
        TXD_TRY(put_values(job, i, heads * n * job->size[1]));
    for (int i = 0; i < 3; i++)
        job->places[i] = host(n, sizeof **job->places);
    for (size_t q = 0; q < n; q++) {
        job->places[1][q] = (int32_t)q + 1; /* ends; 0: begins; 2: positions */
        job->places[2][q] = (int32_t)q;
    }
    job->told[0] = host(heads * n * TXD_ROW_COUNT, sizeof **job->told);
    job->told[1] = host(heads * CELLS * CELLS, sizeof **job->told);
    job->told[2] = host(heads * CELLS * CELLS, sizeof **job->told);
    job->kv_head = host(heads, sizeof *job->kv_head);
    job->padded = host(n, 1);
    for (size_t h = 0; h < heads; h++)
        job->kv_head[h] = (uint32_t)h;
    return TXD_OK;
}

static txd_status attend(struct job *job, bool told)
{
    size_t n = job->size[0], heads = job->size[2];
    size_t cells = n < CELLS ? n : CELLS;
    txd_spans causal = {.begin = job->places[0], .end = job->places[1]};
    struct txd_attend_pool pool = {.sums = job->told[1],
                                   .tops = job->told[2],
                                   .query_cells = cells,
                                   .key_cells = cells,
                                   .padded = job->padded};
    struct txd_attend_args args = {
        .in = {.q = job->values[0],
               .k = job->values[1],
               .v = job->values[2],
               .heads = heads,
               .queries = n,
               .keys = n,
               .key_rows = n,
               .width = job->size[1],
               .value_width = job->size[1],
               .kv_heads = heads,
               .kv_head = job->kv_head,
               .query_positions = job->places[2],
               .key_positions = job->places[2],
               .visible = causal,
               .used = causal,
               .scale = 1 / sqrt((double)job->size[1]),
               .fill = -1e30},
        .out = job->values[3],
        .rows = told ? job->told[0] : NULL,
        .seen = causal,
        .sides = {.real_end = (int32_t)n,
                  .before = TXD_HIDDEN_WINDOW,
                  .after = TXD_HIDDEN_FUTURE},
        .pool = told ? &pool : NULL,
    };

    return job->backend->attend(&job->ctx, &args);
}

static txd_status attention(struct job *job)
{
    return attend(job, true);
}

static txd_status heads_alone(struct job *job)
{
    return attend(job, false);
}

/* ---- memory ---- */

static size_t numbers(const struct job *job)
{
    return job->size[0] * 1000000 / sizeof(float);
}

static txd_status make_stats(struct job *job)
{
    return put_values(job, 0, numbers(job));
}

static txd_status stats(struct job *job)
{
    struct txd_stats_part part = {0};
    struct txd_stats_args args = {.part = &part,
                                  .x = job->values[0],
                                  .rows = numbers(job) / 1000,
                                  .width = 1000,
                                  .stride = 1000,
                                  .flat_stride = 1000};

    return job->backend->ops.stats(&job->ctx, &args);
}

static txd_status make_copy(struct job *job)
{
    TXD_TRY(put_values(job, 0, numbers(job)));
    return put_values(job, 1, numbers(job));
}

static txd_status copy(struct job *job)
{
    return job->backend->copy(job->values[1], job->values[0],
                              numbers(job) * sizeof(float));
}

/* ---- products ---- */

static txd_status make_products(struct job *job)
{
    for (int i = 0; i < 3; i++)
        TXD_TRY(put_values(job, i, job->size[0] * job->size[0]));
    return TXD_OK;
}

static txd_status products(struct job *job)
{
    size_t side = job->size[0];
    struct txd_linear_args args = {.out = job->values[2],
                                   .x = job->values[0],
                                   .weight = job->values[1],
                                   .rows = side,
                                   .n = side,
                                   .k = side};

    return job->backend->ops.linear(&job->ctx, &args);
}

/* ---- the repetitions ---- */

static const struct kind {
    const char *name;
    int sizes;
    txd_status (*make)(struct job *job), (*run)(struct job *job);
} kinds[] = {
    {"attention", 3, make_attention, attention},
    {"heads", 3, make_attention, heads_alone},
    {"stats", 1, make_stats, stats},
    {"copy", 1, make_copy, copy},
    {"products", 1, make_products, products},
};

static txd_status repeat(struct job *job, const struct kind *kind)
{
    char line[64];

    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        double begin = now();

        TXD_TRY(kind->run(job));
        TXD_TRY(job->backend->sync(&job->ctx));
        printf("%.9f 0\n", now() - begin);
        fflush(stdout);
    }
    return TXD_OK;
}

static const struct kind *kind_of(const char *name, int sizes)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0 && kinds[i].sizes == sizes)
            return &kinds[i];
    return NULL;
}

static void finish(struct job *job)
{
    for (int i = 0; i < 4; i++)
        if (job->values[i] != NULL)
            job->backend->free(job->values[i]);
    for (int i = 0; i < 3; i++) {
        free(job->told[i]);
        free(job->places[i]);
    }
    free(job->kv_head);
    free(job->padded);
}

static txd_status open_backend(const txd_backend **out, const char *name)
{
    const char *module = getenv("TXDIAG_CUDA_MODULE");

    if (txd_cuda_has(name))
        TXD_TRY(txd_cuda_load(module != NULL ? module : "txdiag_cuda.so"));
    return txd_backend_find(out, name);
}

int main(int argc, char **argv)
{
    struct job job = {.ctx = {.threads = 1}};
    const struct kind *kind = argc < 4 ? NULL : kind_of(argv[2], argc - 3);
    txd_status status;

    if (kind == NULL) {
        fprintf(stderr, "usage: device BACKEND attention|heads LENGTH WIDTH HEADS | "
                        "stats|copy MEGABYTES | products SIDE\n");
        return 2;
    }
    for (int i = 0; i < kind->sizes; i++)
        job.size[i] = strtoul(argv[3 + i], NULL, 10);
    status = open_backend(&job.backend, argv[1]);
    if (status == TXD_OK && job.backend->prepare != NULL)
        job.backend->prepare();
    if (status == TXD_OK)
        status = kind->make(&job);
    if (status == TXD_OK)
        status = repeat(&job, kind);
    if (status != TXD_OK)
        fprintf(stderr, "device: %s\n", txd_message());
    finish(&job);
    return status == TXD_OK ? 0 : 2;
}

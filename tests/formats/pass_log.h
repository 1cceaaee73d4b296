/* SPDX-License-Identifier: MIT
 *
 * A tap that keeps every block that it is given, in order, so that a replay can be
 * held against the live pass that made the recording.
 */
#ifndef TXD_TESTS_PASS_LOG_H
#define TXD_TESTS_PASS_LOG_H

#include "suite.h"
#include "txd.h"

typedef struct logged_block {
    char name[96];
    txd_site site; /* its name points nowhere */
    int rank;
    size_t dims[TXD_MAX_RANK], part[TXD_MAX_RANK], start[TXD_MAX_RANK];
    txd_dtype dtype;
    bool last;
    double *values; /* NULL if there were none */
    double *rows;
    double *stats;
    double u_store, loss_scale;
    size_t batch, length; /* of the inputs */
    int32_t first_token, last_valid;
} logged_block;

typedef struct pass_log {
    txd_tap tap;
    const char *points; /* globs of sites to ask for; NULL = all, and parameters */
    unsigned asks;      /* bits to ask for; ROWS only where there are rows */
    txd_point earlier;  /* added to the log of attn.weights; TXD_POINT_COUNT = none */
    /* The value and the gradient of this point are added to the log of every gradient;
     * TXD_POINT_COUNT = none. */
    txd_point later;
    logged_block *blocks;
    size_t count, capacity, steps;
} pass_log;

void pass_log_init(pass_log *log, unsigned asks, const char *points);
void pass_log_finish(pass_log *log);

/* Asserts that both logs hold the same blocks with the same bits. `parts` says what of
 * them is compared; statistics may differ by `tolerance` relative. */
void pass_log_same(const pass_log *found, const pass_log *expected, unsigned parts,
                   double tolerance);

/* A model by cfg text, or a folder of real models, that is recorded while it runs. The
 * first row holds two documents. */
typedef struct recorded_pass {
    const char *cfg;       /* or NULL, with: */
    const char *folder;    /* path of a checkpoint */
    const char *backend;   /* "cpu32" */
    const char *record;    /* record list in cfg syntax; NULL = the default */
    const size_t *lengths; /* of each step */
    const size_t *memory;  /* rows to cross-attend to in each step; NULL = none */
    size_t steps, batch;
    size_t padding; /* tokens, and rows of memory, at the end of the last row */
} recorded_pass;

/* Runs it, backward too if the record asks for gradients, records to `path` and logs
 * with `log`. */
void pass_record(const char *path, const recorded_pass *pass, pass_log *log);

/* Opens the recording and feeds it to `log`. */
void pass_replay(const char *path, pass_log *log);

/* Both, with logs of `points`; the logs must be the same (pass_log_same). */
static inline void pass_compare(const recorded_pass *pass, unsigned asks,
                                const char *points, double tolerance)
{
    const char *path = test_file("pass.h5");
    pass_log live, replayed;

    pass_log_init(&live, asks, points);
    pass_log_init(&replayed, asks, points);
    pass_record(path, pass, &live);
    pass_replay(path, &replayed);
    pass_log_same(&replayed, &live, asks, tolerance);
    pass_log_finish(&live);
    pass_log_finish(&replayed);
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * One trial of one operation: a backend against ref64 on the same inputs, within the
 * derived bound. Outputs begin as NaN, so that a skipped write shows; guards around
 * them show a stray one.
 */
#ifndef TXD_TESTS_TRIAL_H
#define TXD_TESTS_TRIAL_H

#include "ops/bounds.h"

/* How inputs are filled; every value is a number of the backend's format (float32, if
 * that is float64). */
enum fill {
    FILL_NORMAL,
    FILL_TINY,
    FILL_HUGE,
    FILL_EQUAL,
    FILL_ONE_HOT,
    FILL_ZEROS,
    FILL_MASKED_ROW,
    FILL_NAN,      /* one element of each input, each elsewhere */
    FILL_INFINITE, /* likewise */
    FILLS
};

struct trial {
    const struct txd_ops *ops;  /* under test */
    const txd_backend *backend; /* gives dtype and roundoffs */
    enum fill fill;
    size_t size; /* which of the shapes */
    txd_ctx ctx;
    size_t compared, failures;
    uint64_t digest;   /* of all results */
    char first[200];   /* what failed first */
    void *memory[512]; /* freed by trial_finish */
    size_t allocations;
};

#define TRIAL_SIZES 6
#define TRIAL_WIDE 6 /* beside them: more warps of a device than one do a row */

/* Shapes: nothing, one, odd, past a vector, past a block. */
extern const size_t trial_sizes[TRIAL_SIZES + 1];
/* Of up to five pairs, with a factor. */
extern const struct txd_turns trial_turns;

/* The i-th backend of this run of the tests, NULL past the last: those of the host, or
 * those of the module that the environment's TXDIAG_CUDA_MODULE is. */
const txd_backend *trial_backend_at(size_t i);
/* A table for arguments in the host's memory: that of a backend, or one like it. */
const struct txd_ops *trial_table(const txd_backend *backend,
                                  const struct txd_ops *ops);

/* A trial of the i-th of them, with one thread; false past the last. */
bool trial_begin(struct trial *trial, size_t backend);
/* Runs one operation on the shapes and fills of the trial. */
void trial_run(struct trial *trial, txd_op op);
void trial_finish(struct trial *trial);

/* An operation's name. */
const char *trial_name(txd_op op);
/* Whether a test is to look at an operation: at all of them, or at the one that the
 * environment's TXD_OPERATION names (test_broken.py, which breaks one). */
bool trial_wanted(txd_op op);
/* Whether an entry of `ops`, which is for the memory of `backend`, fails with some of
 * all shapes and fills; the first failure in words. */
bool trial_fails(const struct txd_ops *ops, const txd_backend *backend, txd_op op,
                 char first[200]);

/* Memory of the trial, zeroed. */
void *trial_keep(struct trial *t, size_t bytes);
/* Filled inputs, in double; a name gives other numbers. */
double *trial_doubles(struct trial *t, const char *name, size_t count);
/* The nearest number that inputs may have; how large those of FILL_HUGE are. */
double trial_rounded(const struct trial *t, double value);
double trial_huge(const struct trial *t);
/* The same numbers in the dtype under test; NULL stays NULL. */
void *trial_narrowed(struct trial *t, const double *x, size_t count);
/* Filled inputs in the dtype under test. */
void *trial_numbers(struct trial *t, const char *name, size_t count);
/* The i-th of such numbers; all of them in double. */
double trial_at(const struct trial *t, const void *x, size_t i);
double *trial_widened(struct trial *t, const void *x, size_t count);
/* An output of NaN between guards; of the dtype under test, or of `element` bytes. */
void *trial_real_output(struct trial *t, size_t count);
void *trial_output(struct trial *t, size_t count, size_t element);
int32_t *trial_integers(struct trial *t, size_t count, int32_t below);

void trial_fail(struct trial *t, const char *what, size_t i, double got, double want,
                double allowed);
/* Of a result, which enters the digest. */
void trial_guards(struct trial *t, const char *what, const void *out, size_t bytes);
/* Lets the bytes of a result without guards enter the digest. */
void trial_note(struct trial *t, const void *out, size_t bytes);
/* A NaN is expected where ref64 has one, and the same infinity; else closeness. */
bool trial_agrees(double value, double exact, double room);
/* Elements and guards; `allowed` NULL: equal. Every element must be a number of the
 * backend's format; what is larger than the largest may be infinite. */
void trial_compare(struct trial *t, const char *what, void *out, const double *exact,
                   const double *allowed, size_t count);

/* Some bytes 0, about twice as many 1. */
uint8_t *trial_cells(struct trial *t, size_t count);
/* Spans of TRIAL_SPANS rows; whether a cell counts by them, all cells as a byte map. */
#define TRIAL_SPANS 4
const txd_spans *trial_spans(struct trial *t, size_t keys);
bool trial_counts(size_t row, size_t column, size_t keys);
uint8_t *trial_spans_map(struct trial *t, size_t keys, size_t stride);
/* Scores (rows, keys) of which some are -inf; all of the last row with FILL_MASKED_ROW.
 */
double *trial_masked_scores(struct trial *t, size_t rows, size_t keys);

/* One result of a backward entry. */
struct trial_result {
    const char *name;
    void **slot; /* in the arguments */
    size_t count;
    bool added;          /* to numbers that are there; else it is written */
    size_t keys, stride; /* of rows of tiles: what is between them stays; or 0 */
    const double *before;
    double *exact, *allowed;
    void *got;
};

/* Makes what `results` need and lets the arguments' slots point at `exact`. */
void trial_results_begin(struct trial *t, struct trial_result *results, size_t count);
/* Lets the operation under test compute all results, then each one alone: all within
 * `allowed` (NULL for copies: set it so), and alone the same bits as together. */
void trial_results_check(struct trial *t, txd_op op, void *args,
                         struct trial_result *results, size_t count);

/* One shape of linear, with a bias or not, and of linear_back. */
void trial_linear_shape(struct trial *t, size_t rows, size_t n, size_t k, bool biased);
void trial_linear_back_shape(struct trial *t, size_t rows, size_t n, size_t k,
                             bool add);

/* One function per operation. */
#define TXD_OP(name, arguments) void trial_##name(struct trial *t);
TXD_OPS(TXD_OP)
#undef TXD_OP

#endif

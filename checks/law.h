/* SPDX-License-Identifier: MIT
 *
 * What the laws share: their descriptors, thresholds, the rows of attention that a
 * block holds, and the words of findings. For the files of this folder only.
 */
#ifndef TXD_CHECKS_LAW_H
#define TXD_CHECKS_LAW_H

#include "checks/check.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TXD_CHECK(name) extern const txd_check txd_check_##name;
#include "checks/registry.def"
#undef TXD_CHECK

#define TXD_FINDINGS_KEPT 64

typedef enum txd_threshold {
#define TXD_LAW_BEGIN(law)
#define TXD_THRESHOLD(id, law, key, fallback, low, high, unit, sentence, source)       \
    TXD_THRESHOLD_##id,
#define TXD_LAW_END
#include "checks/thresholds.def"
#undef TXD_LAW_BEGIN
#undef TXD_THRESHOLD
#undef TXD_LAW_END
    TXD_THRESHOLD_COUNT
} txd_threshold;

/* The key tables of laws that have thresholds: txd_keys_row_sum, ... */
#define TXD_LAW_BEGIN(law) extern const txd_key txd_keys_##law[];
#define TXD_THRESHOLD(id, law, key, fallback, low, high, unit, sentence, source)
#define TXD_LAW_END
#include "checks/thresholds.def"
#undef TXD_LAW_BEGIN
#undef TXD_THRESHOLD
#undef TXD_LAW_END

/* "row_sum", "atol". */
const char *txd_threshold_law(txd_threshold threshold);
const char *txd_threshold_key(txd_threshold threshold);

/* The default, unless the settings or, before them, the rules say otherwise. */
txd_status txd_threshold_read(double *out, txd_threshold threshold,
                              const txd_check_context *context);

/* gamma_n(u) = n u / (1 - n u): the relative error of n roundings. Infinite where
 * n u >= 1: then there is no bound, and a law that needs one stays open. */
double txd_law_gamma(double n, double u);

/* True if `measured` is worse than `than`: larger, or NaN where that is a number. */
bool txd_law_is_worse(double measured, double than);

/* What measured / allowed is, for ordering places that have different allowances. */
double txd_law_ratio(double measured, double allowed);

/* False only if measured / allowed cannot be worse than a ratio that was seen: most
 * elements are not, and this costs no division. */
static inline bool txd_law_may_be_worse(double measured, double allowed, double ratio)
{
    return !(measured <= allowed * ratio * (1 - 0x1p-50));
}

/* Raises the worst value of a result to this one, if that is more of its allowance,
 * which is above 0. */
void txd_law_raise(txd_result *result, double measured, double allowed);

/* The number of the attention that a site is of: 2 layer, and 1 more for
 * cross-attention. */
size_t txd_law_part(const txd_site *site);

/* One row of attention: a query of a head. */
typedef struct txd_law_row {
    size_t batch, head, query;
    const double *column; /* TXD_ROW_COUNT */
    size_t passed;        /* rows of the block up to this one */
} txd_law_row;

/* The next row of a block of attn.weights whose query is no padding, which is never
 * judged; all zero is before the first. False behind the last, and at once without row
 * statistics. */
bool txd_law_row_next(txd_law_row *row, const txd_block *block);

/* Keys that some queries of attention see by the claimed mask, where they are one run
 * per query: of query `first` + i those from begin[i] to end[i], counted in the whole
 * value. */
#define TXD_LAW_SPANS 128
typedef struct txd_law_spans {
    int32_t begin[TXD_LAW_SPANS], end[TXD_LAW_SPANS];
    struct txd_hidden_sides sides;
} txd_law_spans;

/* Those of `count` (at most TXD_LAW_SPANS) queries of a batch row in the attention that
 * a block is of; false if they are no runs. */
bool txd_law_spans_of(txd_law_spans *out, const txd_block *block, size_t batch,
                      size_t first, size_t count);

/* Keys [begin, end) that one query sees, whether or not it is in the block. */
bool txd_law_run_of(txd_span *out, const txd_block *block, size_t batch, size_t query);

/* Which parameter of the decoder has this name in a layer (-1: in none);
 * TXD_PARAM_COUNT if there is none such. */
txd_param_id txd_law_param(const char *name, int layer);

/* Where something was seen; -1 where a coordinate does not apply. */
typedef struct txd_law_place {
    int step;
    int64_t batch, head, query, key;
} txd_law_place;

#define TXD_LAW_NOWHERE                                                                \
    {                                                                                  \
        .step = -1, .batch = -1, .head = -1, .query = -1, .key = -1                    \
    }

/* A finding at a point of a layer (-1: not per layer), message still empty. */
txd_finding txd_law_finding(txd_point point, int layer, const txd_law_place *place);

/* Makes it one at the gradient of that point: "layers.2.attn.masked@grad". */
void txd_law_of_gradient(txd_finding *finding);

/* Appends to a finding's message, cutting at its end. */
void txd_law_say(txd_finding *finding, const char *format, ...) TXD_PRINTF(2, 3);

/* "batch row 1, head 5: " as far as it tells something; `batches` of the input. */
void txd_law_say_place(txd_finding *finding, size_t batches);

/* "0.0312", "nan", "2.1e-07": a measure as people read it. `text` holds 32 bytes. */
const char *txd_law_number(char text[32], double value);
/* Two numbers that differ, in as many digits as tell them apart. */
void txd_law_numbers(char found[32], double x, char expected[32], double y);

#ifdef __cplusplus
}
#endif

#endif

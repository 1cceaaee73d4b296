/* SPDX-License-Identifier: MIT
 *
 * What the law `finite` keeps of a site, of what met there, and of the parameters. For
 * the files of this folder only.
 */
#ifndef TXD_CHECKS_FINITE_H
#define TXD_CHECKS_FINITE_H

#include "checks/law.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Values of a site that are not finite. */
typedef struct txd_nonfinite {
    char name[96]; /* of the site; "" = none */
    txd_site_kind kind;
    txd_point point;
    int layer, step;
    size_t index;
    double count, of; /* how many, of how many that were counted */
    double value;     /* the first of them */
    double largest;   /* magnitude of the finite ones; NaN if there are none */
    bool is_placed;   /* it is known where the first is, and what: a recording may
                         hold no more than how many they are */
    size_t flat;      /* where the first of them is */
    int rank;
    size_t dims[TXD_MAX_RANK];
} txd_nonfinite;

/* From the statistics of the block, which it has. */
void txd_nonfinite_read(txd_nonfinite *out, const txd_block *block);

/* True if `a` comes before `b` in order of execution. */
bool txd_nonfinite_precedes(const txd_nonfinite *a, const txd_nonfinite *b);

/* "head 5, query 3, key 0"; and the place for a finding. */
void txd_nonfinite_where(char *text, size_t bytes, const txd_nonfinite *site);
txd_law_place txd_nonfinite_place(const txd_nonfinite *site);
/* Coordinates of the first of them in the whole value. */
void txd_nonfinite_at(size_t at[TXD_MAX_RANK], const txd_nonfinite *site);

/* What met at one element: its operands, and what the causes are told by. NaN and 0
 * where something is not at hand or does not apply. */
typedef struct txd_meeting {
    bool is_set;
    size_t at[TXD_MAX_RANK];
    size_t operand_count;
    txd_operand operands[TXD_OPERANDS];
    txd_operand_part parts[TXD_OPERANDS]; /* count 0: not at hand */
    double product, scale; /* of a score: q.k; and what finite scores are of theirs */
    /* Of the row, as the softmax reads it: */
    bool has_row;            /* it was at hand */
    bool is_open;            /* some key, shown or not, is above -Inf */
    size_t shown, undefined; /* keys that the claimed mask shows; of these NaN */
    double highest;          /* of those */
    double variance;  /* of the row that a norm reads; of an rmsnorm the mean square */
    txd_point stream; /* what that norm reads */
} txd_meeting;

/* Nothing is at hand: as parameters have it, and their gradients. */
void txd_meeting_clear(txd_meeting *out);
/* Of the element `at` of the block's whole value. */
void txd_meeting_read(txd_meeting *out, const txd_block *block, const size_t *at);

#define TXD_BAD_PARAMETERS_KEPT 32

/* The parameters, as far as they were offered. */
typedef struct txd_finite_params {
    const txd_config *claimed;
    double *largest; /* (n_layers + 1, TXD_PARAM_COUNT): largest magnitude, or NaN */
    double tokens, promised; /* root mean square of embed.tok.weight, and by the
                                rules it was drawn by; NaN = unknown */
    txd_nonfinite bad[TXD_BAD_PARAMETERS_KEPT];
    size_t bad_count; /* kept or not */
} txd_finite_params;

txd_status txd_finite_params_init(txd_finite_params *p,
                                  const txd_check_context *context);
void txd_finite_params_finish(txd_finite_params *p);
/* Takes the statistics of a parameter. */
void txd_finite_params_add(txd_finite_params *p, const txd_block *block);

/* How many of the bad ones are kept. */
size_t txd_finite_params_kept(const txd_finite_params *p);
/* The bad parameter that explains a value: that which its operation reads, or else the
 * last that is read before it. NULL if there is none. */
const txd_nonfinite *txd_finite_params_guilty(bool *is_operand,
                                              const txd_finite_params *p,
                                              const txd_nonfinite *site);
/* Largest magnitude in the weight (0) or bias (1) that makes a point; NaN if unknown,
 * 0 without. */
double txd_finite_params_largest(const txd_finite_params *p, txd_point point, int layer,
                                 int which);

/* What is within this of the format's end is taken to have been on its way there. */
#define TXD_NEAR_LARGEST (1.0 / 1024)

/* What the cause of an origin is told by. */
typedef struct txd_origin {
    const txd_nonfinite *site;
    const txd_meeting *meeting; /* is_set false: nothing is at hand */
    const txd_finite_params *params;
    txd_dtype format;
    double largest;    /* that the format can store */
    double loss_scale; /* of gradients of values */
    size_t pairs;      /* tokens that have a loss */
    /* Keys that the claimed mask shows to the first query of the layer that sees none,
     * if the site lies there; NaN = it does not. */
    double empty;
} txd_origin;

/* Appends what it was made from, and the cause that this supports. */
void txd_origin_say_operands(txd_finding *finding, const txd_origin *origin);
void txd_origin_say_cause(txd_finding *finding, const txd_origin *origin);

/* ---- between the files of causes; true if something was said ---- */

bool txd_origin_say_attention(txd_finding *finding, const txd_origin *origin);
bool txd_origin_say_attention_back(txd_finding *finding, const txd_origin *origin);
void txd_origin_say_gradient(txd_finding *finding, const txd_origin *origin);
/* Everything that is judged and comes before is finite; padding is not judged. */
bool txd_origin_say_stranger(txd_finding *finding, const txd_origin *origin);
/* The claimed eps of the norms of its layer. */
double txd_origin_eps(const txd_origin *origin);
/* "float16 (up to 65504)". */
const char *txd_origin_format(char text[64], const txd_origin *origin);

#ifdef __cplusplus
}
#endif

#endif

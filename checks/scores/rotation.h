/* SPDX-License-Identifier: MIT
 *
 * Queries and keys before and after they are turned by their positions: the rows that
 * are judged, and turns by any rule. For the files of this folder only.
 */
#ifndef TXD_CHECKS_ROTATION_H
#define TXD_CHECKS_ROTATION_H

#include "checks/sample.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a turn multiplies roundoffs by: of plain speeds; with a factor, of that. */
#define TXD_TURN_ROUNDINGS 4
#define TXD_TURN_ROUNDINGS_SCALED 6

/* How pairs of lanes turn. */
typedef struct txd_turning {
    const double *speed; /* (width / 2) radians per position */
    size_t width, lanes; /* lanes that turn; of the head */
    bool adjacent;       /* pairs (2i, 2i+1); else (i, i + width/2) */
    bool is_crossed;     /* cosines and sines are laid out for the other pairing */
    bool by_head;        /* by the number of the head instead of the position */
    bool by_place;       /* by the place in the row */
    double sign, factor;
    int64_t offset;   /* of positions */
    txd_dtype format; /* in which angles are formed; TXD_F64 = exactly */
} txd_turning;

/* Which row of a value. */
typedef struct txd_turned_at {
    size_t batch, head, token;
    int64_t position;
} txd_turned_at;

/* The two lanes of a pair. */
void txd_turning_lanes(size_t out[2], const txd_turning *turning, size_t pair);
/* The angle of a pair, in radians. */
double txd_turning_angle(const txd_turning *turning, const txd_turned_at *at,
                         size_t pair);
/* out (lanes) = in, turned. */
void txd_turning_apply(double *out, const txd_turning *turning, const double *in,
                       const txd_turned_at *at);

/* What the claimed configuration says of a layer; `speed` has room for head_dim / 2. A
 * layer that does not turn has a width of 0. */
txd_turning txd_turning_of(const txd_config *claimed, int layer, double *speed);

/* By how much an element of a pair may be off, by what the two lanes were, the angle
 * not counted. Cosines, sines and products may be stored: in bfloat16 others do that.
 */
double txd_turning_allows(const txd_turning *turning, const txd_pass *pass,
                          const double *in, const size_t lanes[2]);

/* A walk over the rows of attn.q or attn.k that are judged: some tokens, all heads. */
typedef struct txd_turned {
    const txd_tensor *out;
    txd_tensor in;
    const txd_inputs *inputs;
    txd_picks picks;
    txd_turned_at at;
    double *before, *after; /* (head_dim) each: the row */
} txd_turned;

/* TXD_ERR_MISSING if what turns is not at hand. */
txd_status txd_turned_begin(txd_turned *walk, const txd_block *block, double *rows);
bool txd_turned_next(txd_turned *walk);

/* Asks for attn.q and attn.k; names what turns in needs. */
unsigned txd_turned_ask(void *self, const txd_site *site);
/* 0 for attn.q, 1 for attn.k. */
size_t txd_turned_which(txd_point point);

/* "the model has no rotary positions", or NULL. */
const char *txd_turned_inapplicable(const txd_check_context *context);

/* The needs of laws of turns. */
extern const struct txd_check_need txd_turned_needs[];
/* For taps, by the claimed configuration. */
const txd_point *txd_turned_operand(const txd_config *claimed, txd_point point);

#ifdef __cplusplus
}
#endif

#endif

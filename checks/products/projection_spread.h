/* SPDX-License-Identifier: MIT
 *
 * The linear maps of a block, the statistics of what they read and make, and what these
 * allow each other. For the files of this folder only.
 */
#ifndef TXD_CHECKS_PROJECTION_SPREAD_H
#define TXD_CHECKS_PROJECTION_SPREAD_H

#include "checks/law.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TXD_SPREAD_MAPS = 11 };

/* One linear map, as claimed. */
typedef struct txd_spread_map {
    txd_point out, in;
    txd_param_id weight, bias;      /* as they are stored; TXD_PARAM_COUNT: no bias */
    txd_param_id drawn, drawn_bias; /* by whose rule: those of a separate matrix */
    size_t outs, ins;
    size_t all; /* outputs of the stored matrix: more than outs if it is fused */
    bool in_table, is_output; /* one of q, k, v, o; it is o */
    const char *letter;       /* "W_k": for messages */
} txd_spread_map;

/* Statistics of a value or parameter. */
typedef struct txd_spread_size {
    double rms;
    bool is_there, is_finite;
} txd_spread_size;

typedef struct txd_spread {
    const txd_config *claimed;
    bool is_drawn;
    txd_spread_map maps[TXD_SPREAD_MAPS];
    size_t map_count;
    txd_params_draw
        *draws; /* (layers + 1, TXD_PARAM_COUNT); what weights.init states */
    txd_spread_size *params;                 /* the same shape: what they are */
    txd_spread_size values[TXD_POINT_COUNT]; /* of this layer */
    double u_store, u_accumulate;
    double tiny; /* the smallest number above 0 of the format */
} txd_spread;

/* How one map came out. */
typedef struct txd_spread_finding {
    double measured;     /* root mean square of the output */
    double predicted;    /* drawn: what it should be; else: the most that it can be */
    double uncorrelated; /* sqrt(d) rms(W) rms(x) and the bias */
    double off, allowed; /* how many times too large or too small; how many may be */
    double weight, input;
    bool is_drawn, is_broken, is_inherited, is_lost;
    int step;
} txd_spread_finding;

txd_status txd_spread_init(txd_spread *out, const txd_check_context *context);
void txd_spread_finish(txd_spread *spread);

/* True at the sites whose statistics are needed; keeps them; forgets the layer's. */
bool txd_spread_wants(const txd_spread *spread, const txd_site *site);
void txd_spread_take(txd_spread *spread, const txd_site *site, const double *stats);
void txd_spread_forget(txd_spread *spread);

/* Judges map m of a layer. False if it cannot be judged, because something was not
 * offered, (is_inherited) is not finite before the map, or (is_lost) is 0, or too small
 * for the format to have a size. */
bool txd_spread_judge(txd_spread_finding *out, const txd_spread *spread, int layer,
                      size_t m);

/* How many times larger than the table the weights of map m are drawn; 0 if it is not
 * in the table. */
double txd_spread_table_factor(const txd_spread *spread, int layer, size_t m);

/* Appends whether the weights themselves are larger than they were drawn. */
void txd_spread_say_cause(txd_finding *finding, const txd_spread *spread,
                          const txd_spread_finding *f, int layer, size_t m);

#ifdef __cplusplus
}
#endif

#endif

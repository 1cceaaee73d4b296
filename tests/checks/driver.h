/* SPDX-License-Identifier: MIT
 *
 * Feeds the taps of one law with values made by hand, tile by tile, as a pass would:
 * asks, reduces, merges. The model is only a shape; nothing is computed by a decoder.
 */
#ifndef TXD_TESTS_CHECKS_DRIVER_H
#define TXD_TESTS_CHECKS_DRIVER_H

#include "checks/check.h"
#include "suite.h"

enum { LAYERS = 3, HEADS = 4, LENGTH = 9, WIDTH = 8 };

typedef struct driver {
    txd_arena *arena;
    txd_config config; /* LAYERS, HEADS (2 KV heads), causal */
    txd_inputs inputs; /* 1 x LENGTH unless changed with driver_inputs */
    txd_pass pass;     /* float64 */
    txd_checks *checks;
    bool is_drawn;                      /* weights are not trained */
    txd_setting *root;                  /* thresholds; NULL = defaults */
    txd_offers offers;                  /* NULL = everything */
    size_t key_begin, key_limit;        /* computed keys, if key_limit != 0 */
    txd_tensor values[TXD_POINT_COUNT]; /* of the current layer */
    txd_tensor gradients[TXD_POINT_COUNT];
} driver;

/* driver_init, changes of config and inputs, driver_start, values, driver_result. */
void driver_init(driver *d);
void driver_inputs(driver *d, size_t batch, const int *lengths, bool left);
void driver_start(driver *d, const char *law);
const txd_result *driver_result(driver *d);
void driver_finish(driver *d);

/* Elements of a whole value; index of (b, h, q, k). */
size_t driver_count(const driver *d, txd_point point);
size_t driver_at(const driver *d, size_t b, size_t h, size_t q, size_t k);

/* (b, h, q, k) of healthy attention: a softmax of pseudo-random scores over the keys
 * that layer `layer` of the configuration shows; 0 elsewhere. In the arena. */
double *driver_weights(driver *d, int layer);
/* Pseudo-random values in [-1, 1), in the arena: some; as many as the point has. */
double *driver_numbers(driver *d, size_t count, uint64_t seed);
static inline double *driver_random(driver *d, txd_point point, uint64_t seed)
{
    return driver_numbers(d, driver_count(d, point), seed);
}

/* Offers a whole value, or tiles of 4 query rows of attn.weights and attn.scores. */
void driver_offer(driver *d, txd_point point, int layer, double *data);
/* The same of a gradient. */
void driver_offer_gradient(driver *d, txd_point point, int layer, double *data);
/* Offers the parameter `name`; its gradient, if the name ends so. */
void driver_offer_parameter(driver *d, const char *name, int layer, double *data,
                            size_t rows, size_t columns);

/* One whole run of a row law: healthy weights in every layer, except that `plant`
 * changes those of `layer`. */
const txd_result *driver_run_weights(driver *d, const char *law, int layer,
                                     void (*plant)(driver *d, double *weights));

#endif

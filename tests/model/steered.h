/* SPDX-License-Identifier: MIT
 *
 * A tap that tests steer: where it looks, what it asks for, what it answers.
 */
#ifndef TXD_TESTS_STEERED_H
#define TXD_TESTS_STEERED_H

#include "observe.h"

/* A tap that the tests steer. */
struct probe {
    txd_point point;
    int layer;
    unsigned bits;
    txd_point need;     /* read in edit; TXD_POINT_COUNT = none */
    txd_point needs[2]; /* what it says it reads */
    size_t asked, edits, merges, lasts;
    bool edited_before_read;
    txd_status answer;
    double factor; /* edit multiplies by it */
    double need_sum;
};

/* The callbacks; self is a struct probe. */
unsigned steered_ask(void *self, const txd_site *site);
const txd_point *steered_needs(void *self, txd_point point);
txd_status steered_edit(void *self, txd_block *block);
txd_status steered_merge(void *self, const txd_block *block, const void *slot);

/* A pass of `o` with this tap before its own; ref64. */
txd_status pass_with(observed *o, txd_tap *tap, size_t form_limit);
/* A small model of two layers and a batch of two rows. */
void prepare(observed *o, size_t length);

#endif

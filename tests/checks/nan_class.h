/* SPDX-License-Identifier: MIT
 *
 * One way to come to NaN, infinities or lost digits, planted in the first, the middle
 * and the last layer of a small model; what the law `finite` must say of it.
 */
#ifndef TXD_TESTS_CHECKS_NAN_CLASS_H
#define TXD_TESTS_CHECKS_NAN_CLASS_H

#include "wrong_ops.h"

enum { NAN_LAYERS = 3 };

#define SIZES "n_layers = 3; vocab = 23; d_ff = 64; max_seq_len = 16; "
#define MINI "model : { preset = \"mini\"; d_model = 32; n_heads = 4; " SIZES "}; "
#define TOKENS                                                                         \
    "input : { tokens = ( [3, 1, 4, 15, 9, 2, 6, 5, 3, 5], [8, 9, 7, 9, 3, 2] ); }; "
#define PADDED                                                                         \
    "input : { tokens = ( [3, 1, 4, 15, 9], [8, 9, 7] ); pad = \"left\"; }; "          \
    "mask : { evaluate_hidden = \"always\"; }; "
#define FP16 "precision : { backend = \"fp16\"; }; "
#define INIT(rules)                                                                    \
    "weights : { init = ( { params = \"*\"; scheme = \"xavier_normal\"; }, " rules     \
    " ); }; "
#define CONSTANT(params, value)                                                        \
    "{ params = \"" params "\"; scheme = \"constant\"; value = " value "; }"
#define BACKWARD "record : ( { probe = \"grad_norm\"; } ); "

/* -1 where a coordinate does not apply. */
typedef struct spot {
    int batch, head, query, key;
} spot;

/* What is planted in one layer, and what must be said of it. */
typedef struct nan_class {
    const char *cfg; /* "%d" is the layer, if it stands there */
    const char *point;
    spot at;
    bool is_sought; /* `at` is wherever another look finds the first */
    const char *operands, *cause;
    void (*install)(struct txd_layer_ops *ops, void *self);
    wrong_op op;
    wrong_token token; /* point TXD_POINT_COUNT or value 0: none */
} nan_class;

/* `finite` alone fails in the planted layer, and says all that; or the test fails. */
void nan_class_expect(const nan_class *c);
/* Nothing is infinite or NaN; `law` alone fails, or, if it is NULL, no law speaks. */
void nan_class_expect_finite(const nan_class *c, const char *law);
/* The cfg holds by itself. */
void nan_class_expect_healthy(const char *cfg);
/* So does what is set on its way in each layer, whatever is installed besides. */
void nan_class_expect_harmless(const nan_class *c);

#endif

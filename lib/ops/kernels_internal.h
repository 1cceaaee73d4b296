/* SPDX-License-Identifier: MIT
 *
 * The table of one instruction set: what kernels_SET.c makes of the bodies below, which
 * are written once. Whoever adds a kernel adds it here and to ops/kernels.h.
 */
#ifndef TXD_OPS_KERNELS_INTERNAL_H
#define TXD_OPS_KERNELS_INTERNAL_H

#include "ops/kernels.h"
#include "ops/kernels_activate_internal.h"
#include "ops/kernels_columns_internal.h"
#include "ops/kernels_entropy_internal.h"
#include "ops/kernels_exp_internal.h"
#include "ops/kernels_mask_internal.h"
#include "ops/kernels_moments_internal.h"
#include "ops/kernels_norm_internal.h"
#include "ops/kernels_products_internal.h"
#include "ops/kernels_rotate_internal.h"
#include "ops/kernels_round_internal.h"
#include "ops/kernels_scan_internal.h"
#include "ops/kernels_sizes_internal.h"
#include "ops/kernels_softcap_internal.h"
#include "ops/kernels_softmax_internal.h"
#include "ops/kernels_squares_internal.h"
#include "ops/kernels_totals_internal.h"
#include "ops/kernels_turn_internal.h"

/* The initialiser of a table. */
#define TXD_KERNELS(set)                                                               \
    {                                                                                  \
        .name = set, .exp = exp_row, .finite = finite_row, .zero = zero_row,           \
        .zero_unless = zero_unless_row, .fill = fill_row, .mask = mask_row,            \
        .squares = squares_row, .sizes = sizes_row, .products = products_row,          \
        .add = add_row, .multiply = multiply_row, .scale = scale_row,                  \
        .activate = activate_row, .activate_back = activate_back_row,                  \
        .slope = slope_row, .softcap = softcap_row, .softcap_back = softcap_back_row,  \
        .norm_scale = norm_scale_row, .norm = norm_row, .norm_back = norm_back_row,    \
        .norm_params = norm_params_row, .rotate = rotate_row, .turn = turn_row,        \
        .largest = largest_row, .exp_sums = exp_sums_row,                              \
        .scale_twice = scale_twice_row, .dot = dot_row, .weigh = weigh_row,            \
        .moments = moments_row, .totals = totals_row, .weights = weights_row,          \
        .entropy = entropy_row, .columns = columns_rows, .column_runs = column_runs,   \
        .scan = scan_row, .round_bf16 = round_bf16_row, .round_f16 = round_f16_row,    \
    }

#endif

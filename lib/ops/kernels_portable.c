/* SPDX-License-Identifier: MIT
 *
 * The kernels for what every machine of this kind has.
 */
#include "ops/kernels_internal.h"
#include "ops/kernels_sets.h"

const txd_kernels txd_kernels_portable = TXD_KERNELS("portable");

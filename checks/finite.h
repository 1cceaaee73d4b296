/* SPDX-License-Identifier: MIT
 *
 * What the law `finite` keeps of a site. For the files of this folder only.
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
    size_t flat;      /* where that is */
    int rank;
    size_t dims[TXD_MAX_RANK];
} txd_nonfinite;

/* From the statistics of the block, which it has. */
void txd_nonfinite_read(txd_nonfinite *out, const txd_block *block);

/* "head 5, query 3, key 0"; and the place for a finding. */
void txd_nonfinite_where(char *text, size_t bytes, const txd_nonfinite *site);
txd_law_place txd_nonfinite_place(const txd_nonfinite *site);

#ifdef __cplusplus
}
#endif

#endif

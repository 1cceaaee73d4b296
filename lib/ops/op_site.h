/* SPDX-License-Identifier: MIT
 *
 * Where an operation is called: the first of its arguments.
 */
#ifndef TXD_OPS_OP_SITE_H
#define TXD_OPS_OP_SITE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Where an operation is called. */
typedef struct txd_op_site {
    int layer; /* -1 outside of layers */
    int point; /* the txd_point whose value it makes; TXD_POINT_COUNT if none */
    int batch, head, first_query; /* of a tile; -1 for whole values */
    const void *self;
} txd_op_site;

#ifdef __cplusplus
}
#endif

#endif

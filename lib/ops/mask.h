/* SPDX-License-Identifier: MIT
 *
 * Which keys a query may see: the one definition, over data (positions, validity and
 * documents), never over "i >= j", so that causality, padding on either side, windows
 * and packing are one rule.
 */
#ifndef TXD_OPS_MASK_H
#define TXD_OPS_MASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One layer's rule over one batch row. */
typedef struct txd_mask_view {
    bool causal;
    size_t window; /* keys that a query sees, itself included; 0 = all */
    /* Documents NULL: all are one. Positions are read only if causal or with a window.
     */
    const int32_t *query_positions, *query_document;
    const int32_t *key_positions, *key_document, *key_valid;
} txd_mask_view;

/* Why a key is hidden from a query (the first reason that applies). */
typedef enum txd_hidden {
    TXD_SEEN = 0,
    TXD_HIDDEN_PADDING,  /* the key is not a real token */
    TXD_HIDDEN_DOCUMENT, /* another document */
    TXD_HIDDEN_FUTURE,   /* causal, and the key's position is after the query's */
    TXD_HIDDEN_WINDOW,   /* too far away */
} txd_hidden;

static inline txd_hidden txd_mask_hides(const txd_mask_view *mask, size_t query,
                                        size_t key)
{
    int64_t distance, away;

    if (!mask->key_valid[key])
        return TXD_HIDDEN_PADDING;
    if (mask->key_document && mask->key_document[key] != mask->query_document[query])
        return TXD_HIDDEN_DOCUMENT;
    if (!mask->causal && mask->window == 0)
        return TXD_SEEN;
    distance = (int64_t)mask->query_positions[query] - mask->key_positions[key];
    if (mask->causal && distance < 0)
        return TXD_HIDDEN_FUTURE;
    away = distance < 0 ? -distance : distance;
    if (mask->window != 0 && away >= (int64_t)mask->window)
        return TXD_HIDDEN_WINDOW;
    return TXD_SEEN;
}

#ifdef __cplusplus
}
#endif

#endif

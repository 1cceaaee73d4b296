/* SPDX-License-Identifier: MIT
 *
 * Activations in double: those that a model can claim, and others that stand in their
 * place by mistake. For the files of this folder only.
 */
#ifndef TXD_CHECKS_ACTIVATION_H
#define TXD_CHECKS_ACTIVATION_H

#include "checks/law.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The first are the txd_activation of the same number. */
typedef enum txd_activated {
    TXD_ACTIVATED_GELU,
    TXD_ACTIVATED_GELU_TANH,
    TXD_ACTIVATED_RELU,
    TXD_ACTIVATED_SILU,
    TXD_ACTIVATED_GELU_QUICK, /* x sigmoid(1.702 x) */
    TXD_ACTIVATED_RELU_SQUARED,
    TXD_ACTIVATED_SIGMOID,
    TXD_ACTIVATED_TANH,
    TXD_ACTIVATED_NOT, /* x */
    TXD_ACTIVATED_COUNT
} txd_activated;

const char *txd_activated_name(txd_activated kind);

/* f(x), and how far from it the same in floating point can be. */
typedef struct txd_activated_value {
    double exact, allowed;
} txd_activated_value;

txd_activated_value txd_activate(txd_activated kind, double x, txd_roundoff u);
/* That times a factor, as stored after it. */
txd_activated_value txd_activated_times(txd_activated_value value, double factor,
                                        txd_roundoff u);

#ifdef __cplusplus
}
#endif

#endif

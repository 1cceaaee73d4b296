/* SPDX-License-Identifier: MIT
 *
 * Which of an operation's arguments are values in a backend's memory, how many there
 * are, and which of them are written: all that must be known to carry the arguments
 * from one memory to another.
 */
#ifndef TXD_OPS_OPERANDS_H
#define TXD_OPS_OPERANDS_H

#include "ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A `void` pointer of arguments that is not NULL: `rows` rows of `width` values, a row
 * beginning `stride` values after the one before. */
struct txd_operand {
    const void **in; /* where the pointer stands if it is read alone */
    void **out; /* where it stands if it may be written, too; one of both is NULL */
    size_t rows, width, stride;
    size_t bytes;      /* from the first value to the last */
    const char *begin; /* the memory of all operands that share values with this one */
    const char *end;
    size_t first; /* the first operand with the same begin and end; at most its own */
};

#define TXD_OPERANDS_MOST 8

struct txd_operands {
    struct txd_operand of[TXD_OPERANDS_MOST];
    size_t count;
    /* Copies of what arguments point to and what has such pointers itself. */
    struct txd_relative relative;
    struct txd_stats_args measure;
};

/* The operands of *args, `element` bytes a value. args->relative and args->measure
 * become pointers into *out, so that every pointer listed may be changed: *args is the
 * caller's copy, and holds as long as *out. The table of bias_back, which it does not
 * read, is not listed. */
#define TXD_OP(name, arguments)                                                        \
    void txd_operands_##name(struct txd_operands *out, size_t element,                 \
                             struct txd_##arguments##_args *args);
TXD_OPS(TXD_OP)
#undef TXD_OP

/* Where an operand's values are, and the same place of other memory for them. */
const void *txd_operand_at(const struct txd_operand *operand);
void txd_operand_move(const struct txd_operand *operand, void *to);

#ifdef __cplusplus
}
#endif

#endif

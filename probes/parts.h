/* SPDX-License-Identifier: MIT
 *
 * What a recorder and its dry run must agree on: which probes take part, and the
 * datasets of the inputs. For the files of this folder only.
 */
#ifndef TXD_PROBES_PARTS_H
#define TXD_PROBES_PARTS_H

#include "probes/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A probe with all its uses, chained by `next`. */
typedef struct txd_probe_part {
    const txd_probe *probe;
    txd_probe_use *first, *last;
} txd_probe_part;

/* One part per probe that is used, in the order of first use; copies in `arena`.
 * ERR_CONFIG for an unknown probe. */
txd_status txd_probe_parts(txd_probe_part **out, size_t *count, txd_arena *arena,
                           const txd_probe_use *uses, size_t use_count);

/* The uses as text, a line each: probe, points, layers, heads and steps, separated by
 * tabs; "*" = all. The root attribute `record`, by which readers tell what was not
 * recorded from what is not a number. */
void txd_probe_uses_print(txd_text *out, const txd_probe_use *uses, size_t count);

typedef enum txd_input_part {
    TXD_INPUT_TOKENS,
    TXD_INPUT_VALID,
    TXD_INPUT_POSITIONS,
    TXD_INPUT_LABELS,
    TXD_INPUT_DOCUMENT,
    TXD_INPUT_CALL,
    TXD_INPUT_TYPES, /* of models that have them: the last */
    TXD_INPUT_PARTS
} txd_input_part;

/* How many of them the model has. */
int txd_input_parts(const txd_probe_context *context);

/* /input/<part> (s, b, t) int32; `path` is written to and pointed into. */
txd_dataset_spec txd_input_spec(char path[32], const txd_probe_context *context,
                                txd_input_part part);

/* The memory of cross-attention: part 0 is /input/memory_valid (s, b, k), part 1
 * /input/memory (s, b, k, d), which only small ones have. */
typedef struct txd_memory_record {
    size_t parts, datasets[2];
    txd_dtype dtype;
} txd_memory_record;

size_t txd_memory_parts(const txd_probe_context *context);
txd_dataset_spec txd_memory_spec(char path[32], const txd_probe_context *context,
                                 size_t part);
txd_status txd_memory_make(txd_memory_record *out, txd_recording *recording,
                           const txd_probe_context *context);
txd_status txd_memory_write(const txd_memory_record *record, txd_recording *recording,
                            const txd_inputs *inputs, size_t step);

/* /input/pieces and /memory/pieces, of a step; NULL = there are none. */
typedef struct txd_piece_record {
    const char **tokens, **memory;
} txd_piece_record;

txd_status txd_pieces_make(txd_piece_record *out, txd_arena *arena,
                           const txd_probe_context *context);
txd_status txd_pieces_write(const txd_piece_record *record, txd_recording *recording,
                            const txd_probe_context *context, const txd_inputs *inputs);

#ifdef __cplusplus
}
#endif

#endif

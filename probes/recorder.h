/* SPDX-License-Identifier: MIT
 *
 * The recorder: all probes of a run and the recording that they fill.
 */
#ifndef TXD_PROBES_RECORDER_H
#define TXD_PROBES_RECORDER_H

#include "probes/probe.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_recorder txd_recorder;

/* The keys of `record` and of `recording`. */
extern const txd_key txd_record_keys[];
extern const txd_key txd_recording_keys[];

/* Reads the group `recording` of a validated tree; what it does not say is kept. */
txd_status txd_record_how_read(txd_record_how *out, const txd_setting *root);

/* Reads the `record` list of a validated tree into *count uses in `arena`. Without the
 * key: rows, stats, norms, nonfinite, leaks, pooled, and, up to TXD_SHORT_LENGTH keys,
 * full of attn.weights and logits. ERR_CONFIG for an unknown probe (with the nearest)
 * or globs that select no site. */
txd_status txd_record_read(txd_probe_use **out, size_t *count, txd_arena *arena,
                           const txd_setting *root, const txd_probe_context *context);

/* Thins what `full` records until the file will take at most how.max_bytes (0: does
 * nothing): the largest point first; every 2nd, 4th, ... step of it, then layer, then
 * nothing. *uses and *count become what is left, in `arena`, and `said` (empty) says
 * it, "logits: every 4th step; layers.*.attn.q: left out". ERR_CONFIG if the rest alone
 * is too large. */
txd_status txd_record_fit(txd_probe_use **uses, size_t *count, txd_arena *arena,
                          const txd_probe_context *context, txd_text *said);

/* True if the uses select a gradient: only then do passes need a backward half. */
bool txd_record_has_gradients(const txd_probe_use *uses, size_t count);
/* The same of `record` as it is written, before anything is known to match it against.
 */
bool txd_record_asks_gradients(const txd_setting *root);

/* What a recording holds besides the probes' data. */
typedef struct txd_recorder_info {
    const char *command, *config, *faults, *backend, *simd, *blas;
    const char *budget; /* what txd_record_fit said; NULL or "" = nothing */
    int64_t seed;
} txd_recorder_info;

/* Creates PATH.part, makes all datasets, writes the metadata. The caller owns *out. */
txd_status txd_recorder_create(txd_recorder **out, const char *path, bool force,
                               const txd_probe_context *context,
                               const txd_recorder_info *info, const txd_probe_use *uses,
                               size_t count);

/* The taps to hand to a run; owned by the recorder. */
txd_tap *const *txd_recorder_taps(const txd_recorder *recorder, size_t *count);

/* Records the inputs before a step; after it, /steps, a flush, and one line of
 * PATH.jsonl. grad_norm: of all parameters; NaN without a backward half. */
txd_status txd_recorder_step_begin(txd_recorder *recorder, const txd_inputs *inputs,
                                   int step);
txd_status txd_recorder_step_end(txd_recorder *recorder, double loss, double grad_norm);

/* The recording underneath, for the verdicts (/checks). */
txd_recording *txd_recorder_recording(txd_recorder *recorder);

/* Completes (renames over PATH) or leaves PATH.part; frees. NULL is allowed. */
txd_status txd_recorder_close(txd_recorder *recorder, bool complete);

/* Closes and removes PATH.part; frees. For failures before the first step. */
void txd_recorder_discard(txd_recorder *recorder);

/* Bytes of the finished file, of the memory that writing it takes, and by what the file
 * may be larger if much is wrong: tables of events, empty in a healthy model, become as
 * long as they can; and of a faulty one, what the mask hides is not 0. */
typedef struct txd_recorder_cost {
    size_t disk, memory, wrong;
} txd_recorder_cost;

/* Everything that a run would record: a line per dataset (point, shape, dtype, bytes)
 * is appended to `out`, and what it costs in all. */
txd_status txd_recorder_plan(txd_text *out, txd_recorder_cost *cost,
                             const txd_probe_context *context,
                             const txd_probe_use *uses, size_t count);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT
 *
 * From a model.cfg to a model that can be run: read, validated, resolved, loaded. In
 * two halves, so that whatever is wrong with the configuration is said before any
 * weights are read.
 */
#ifndef TXD_CLI_SESSION_H
#define TXD_CLI_SESSION_H

#include "cli/options.h"
#include "probes/recorder.h"

typedef struct txd_session {
    txd_arena *arena;
    const txd_options *options;
    const char *path;  /* of the cfg */
    txd_setting *root; /* validated */
    uint64_t seed;
    const txd_backend *backend;
    const char *from; /* the checkpoint's path; NULL = none */
    txd_checkpoint *checkpoint;
    txd_config claimed;
    txd_stop *order;
    size_t stops;
    txd_input_source *source;
    size_t batch, length, memory, steps; /* memory: rows to cross-attend to */
    txd_inputs inputs;                   /* those that the faults were tried on */
    txd_fault_use *faults;
    size_t fault_count;
    txd_plan *plan;           /* NULL without faults */
    const txd_config *actual; /* the plan's, or `claimed` */
    bool backward;            /* `record` asks for gradients */
    txd_params *params;       /* from here on after txd_session_bind */
    txd_model *model;
    txd_record_how how;
    txd_probe_use *uses; /* from here on after txd_session_record */
    size_t use_count;
    const char *budget; /* what recording.max_bytes left out; or NULL */
} txd_session;

/* Reads the cfg at `path` with --set and --backend applied. Close in either case. */
txd_status txd_session_open(txd_session *out, const txd_options *options,
                            const char *path);

/* Reads or draws the weights, plants the faults that act on them, binds the model. */
txd_status txd_session_bind(txd_session *session);

void txd_session_close(txd_session *session);

/* Fails if `output` is a file that the session reads. */
txd_status txd_session_spares(const txd_session *session, const char *output);

/* Says of texts that look like the names of files, and are not read, what they are. */
void txd_session_say_texts(const txd_session *session);

/* What the faults are told about the session. */
txd_fault_scene txd_session_scene(const txd_session *session);

/* What the recorder is told about the session. */
txd_probe_context txd_session_context(const txd_session *session);

/* Reads `record`, whether anything will be recorded or not. */
txd_status txd_session_record(txd_session *session);

/* The claimed configuration as text: `model`, `mask` and `precision` resolved, the rest
 * as it was written, without the faults. */
void txd_session_print(txd_text *out, const txd_session *session);

/* The faults: "mask_off_by_one layers=2; nan_in_weights"; "" without any. */
void txd_session_print_faults(txd_text *out, const txd_session *session);
/* One of them. */
void txd_session_print_fault(txd_text *out, const txd_fault_use *use);

#endif

/* SPDX-License-Identifier: MIT
 *
 * `txdiag info` of what holds a model, or a part of one.
 */
#ifndef TXD_CLI_INFO_MODEL_H
#define TXD_CLI_INFO_MODEL_H

#include "cli/facts.h"

typedef struct txd_info_model {
    txd_trace *trace; /* of a file that is no whole model; or NULL */
    txd_checkpoint *checkpoint;
} txd_info_model;

/* Adds what is known of a folder, or of a file of one of these kinds. A file with
 * tensors but without a model around them (a vocabulary, weights without config.json, a
 * family that is not supported) is told by its parts, and why. The facts refer to *out.
 */
txd_status txd_info_model_add(txd_info_model *out, txd_facts *facts, const char *path,
                              bool is_folder);
void txd_info_model_close(txd_info_model *model);

/* Whether a file is for the above. */
bool txd_info_is_model(const char *path, txd_file_kind kind);

#endif

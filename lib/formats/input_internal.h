/* SPDX-License-Identifier: MIT
 *
 * Rows of numbers as `input` gives them, before they are cut into batches.
 */
#ifndef TXD_FORMATS_INPUT_INTERNAL_H
#define TXD_FORMATS_INPUT_INTERNAL_H

#include "base/settings.h"

struct txd_id_row {
    size_t count;
    int32_t *ids;
};

struct txd_id_rows {
    size_t count;
    struct txd_id_row *rows;
};

/* Reads a list of numbers, or a list of such lists, none of them empty, each number
 * from 0 to `high`. `what` is one of them in messages ("a token id"). */
txd_status txd_ids_from_list(struct txd_id_rows *out, txd_arena *arena,
                             const txd_setting *list, const char *what, size_t high);

/* Reads a .npy file of integers of rank 1 or 2; the path is relative to the file in
 * which the setting stands. */
txd_status txd_ids_from_file(struct txd_id_rows *out, txd_arena *arena,
                             const txd_setting *file, size_t high);

#endif

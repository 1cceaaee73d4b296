/* SPDX-License-Identifier: MIT
 *
 * Masks as characters.
 */
#ifndef TXD_CLI_MASK_TEXT_H
#define TXD_CLI_MASK_TEXT_H

#include "viz/read/masks.h"

/* How the terminal draws. */
typedef struct txd_terminal {
    size_t columns;
    bool utf8; /* blocks and dots; else ASCII alone */
} txd_terminal;

/* What stdout is, by what it says and the environment; 80 columns if nobody knows. */
txd_terminal txd_terminal_of_stdout(void);

/* Counts the masks into `arena` and appends them, each as a block of characters no
 * wider than the terminal: one per pair of query and key while they fit, else one for
 * several. */
txd_status txd_masks_print(txd_text *out, txd_arena *arena, txd_masks *masks,
                           const txd_terminal *terminal);

#endif

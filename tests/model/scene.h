/* SPDX-License-Identifier: MIT
 *
 * Models of every kind with their inputs, and passes over them with and without edits,
 * for tests of what a run keeps in memory.
 */
#ifndef TXD_TESTS_SCENE_H
#define TXD_TESTS_SCENE_H

#include "cross.h"

#define SCENES 9      /* models */
#define SCENE_EDITS 4 /* the first is none */

/* A model with its inputs and all that a run of it points to. */
typedef struct scene {
    observed o;
    const char *globs; /* of what is edited */
    txd_tap editing, *taps[3];
    txd_run_options options;
} scene;

/* The model and its inputs. */
void scene_begin(scene *s, size_t variant, size_t edited);
/* A pass there and back, seen by s->o and by another tap or NULL. */
void scene_pass(scene *s, txd_tap *listening);

#endif

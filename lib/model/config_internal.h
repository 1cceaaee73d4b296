/* SPDX-License-Identifier: MIT
 *
 * The fields of config.def as tables, for the files that make up model/config.h:
 * reading and printing loop over them, so that neither can forget one.
 */
#ifndef TXD_MODEL_CONFIG_INTERNAL_H
#define TXD_MODEL_CONFIG_INTERNAL_H

#include "model/config.h"

/* Bounds that keep every product of sizes far inside size_t. */
#define TXD_DIM_MAX 16777216
#define TXD_LAYERS_MAX 65536
#define TXD_LENGTH_MAX 2147483647
#define TXD_REAL_MAX 1e30
#define TXD_REAL_MIN 1e-30
#define TXD_SCALE_MIN 1e-8
#define TXD_SCALE_MAX 1e13

enum txd_field_kind {
    TXD_FIELD_SIZE,
    TXD_FIELD_REAL,
    TXD_FIELD_BOOL,
    TXD_FIELD_WORD,
    TXD_FIELD_FILL,
};

struct txd_field {
    const char *group, *name;
    enum txd_field_kind kind;
    size_t offset; /* in txd_config or txd_layer_config */
    double low, high;
};

/* Ended by NULL name. */
extern const struct txd_field txd_config_fields[], txd_layer_fields[];

/* Reads the field of `object` from the setting at `path` below `group`, if it is
 * there. */
txd_status txd_field_read(void *object, const struct txd_field *field,
                          const txd_setting *group, const char *path);

bool txd_field_equal(const void *a, const void *b, const struct txd_field *field);

/* Whether the value is one that txd_field_read could have read. */
bool txd_field_valid(const void *object, const struct txd_field *field);

/* Adds the field of `object` to a group, under its own name. */
txd_status txd_field_put(txd_arena *arena, txd_setting *group,
                         const struct txd_field *field, const void *object);

/* The conventions of a preset, by the words of model.preset; `layer` gets those of
 * each layer. Sizes are 0. */
void txd_config_preset(txd_config *config, txd_layer_config *layer, int preset);

#endif

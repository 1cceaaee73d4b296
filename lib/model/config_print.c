/* SPDX-License-Identifier: MIT
 *
 * A configuration copied, and as the text that recordings keep: every value written
 * out, so that a later version with other defaults reads the same model.
 */
#include "model/config_internal.h"

#include <stdio.h>
#include <string.h>

static bool equal_layers(const txd_layer_config *a, const txd_layer_config *b)
{
    for (const struct txd_field *field = txd_layer_fields; field->name; field++)
        if (!txd_field_equal(a, b, field))
            return false;
    return true;
}

static txd_status put_fields(txd_arena *arena, txd_setting *group,
                             const struct txd_field *fields, const void *object)
{
    for (; fields->name; fields++)
        if (strcmp(fields->group, group->name) == 0)
            TXD_TRY(txd_field_put(arena, group, fields, object));
    return TXD_OK;
}

/* What layers [begin, end) have that layer 0 has not, as an element of the list. */
static txd_status put_difference(txd_arena *arena, txd_setting *list,
                                 const txd_config *config, size_t begin, size_t end)
{
    txd_setting *element = txd_setting_add(arena, list, NULL, TXD_SETTING_GROUP);
    const txd_layer_config *layer = &config->layers[begin];
    txd_setting *range;
    char text[48];

    if (!element)
        return TXD_ERR_MEMORY;
    range = txd_setting_add(arena, element, "range", TXD_SETTING_STRING);
    if (!range)
        return TXD_ERR_MEMORY;
    snprintf(text, sizeof text, "%zu:%zu", begin, end);
    range->string = txd_arena_string(arena, text);
    if (!range->string)
        return TXD_ERR_MEMORY;
    range->string_length = strlen(text);
    for (const struct txd_field *field = txd_layer_fields; field->name; field++)
        if (!txd_field_equal(layer, config->layers, field))
            TXD_TRY(txd_field_put(arena, element, field, layer));
    return TXD_OK;
}

static txd_status put_layers(txd_arena *arena, txd_setting *model,
                             const txd_config *config)
{
    txd_setting *list = NULL;
    size_t end;

    for (size_t begin = 1; begin < config->n_layers; begin = end) {
        const txd_layer_config *layer = &config->layers[begin];

        for (end = begin + 1; end < config->n_layers; end++)
            if (!equal_layers(layer, &config->layers[end]))
                break;
        if (equal_layers(layer, config->layers))
            continue;
        if (!list)
            list = txd_setting_add(arena, model, "layers", TXD_SETTING_LIST);
        if (!list)
            return TXD_ERR_MEMORY;
        TXD_TRY(put_difference(arena, list, config, begin, end));
    }
    return TXD_OK;
}

txd_status txd_config_copy(txd_config *out, txd_arena *arena, const txd_config *from)
{
    txd_layer_config *layers =
        txd_arena_alloc(arena, from->n_layers, sizeof *from->layers);

    if (!layers)
        return TXD_ERR_MEMORY;
    if (from->n_layers != 0)
        memcpy(layers, from->layers, from->n_layers * sizeof *layers);
    *out = *from;
    out->layers = layers;
    if (!from->encoder)
        return TXD_OK;
    out->encoder = txd_arena_alloc(arena, 1, sizeof *out->encoder);
    return out->encoder ? txd_config_copy(out->encoder, arena, from->encoder)
                        : TXD_ERR_MEMORY;
}

txd_status txd_config_put(txd_arena *arena, txd_setting *root, const txd_config *config)
{
    static const char *const groups[] = {"model", "mask", "precision"};

    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        txd_setting *group = txd_setting_add(arena, root, groups[i], TXD_SETTING_GROUP);

        if (!group)
            return TXD_ERR_MEMORY;
        TXD_TRY(put_fields(arena, group, txd_config_fields, config));
        TXD_TRY(put_fields(arena, group, txd_layer_fields, config->layers));
        if (i == 0)
            TXD_TRY(put_layers(arena, group, config));
    }
    return TXD_OK;
}

void txd_config_print(txd_text *out, const txd_config *config)
{
    txd_arena *arena = NULL;
    txd_setting *root;
    txd_status status = txd_arena_create(&arena);

    if (status == TXD_OK) {
        root = txd_setting_root(arena, NULL);
        status = root ? txd_config_put(arena, root, config) : TXD_ERR_MEMORY;
        if (status == TXD_OK)
            txd_settings_print(out, root);
    }
    if (status != TXD_OK)
        out->status = status;
    txd_arena_destroy(arena);
}

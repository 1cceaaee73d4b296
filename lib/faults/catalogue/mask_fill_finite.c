/* SPDX-License-Identifier: MIT
 *
 * Fault: hidden scores become a large negative number instead of minus infinity. Where
 * a query sees any key at all, the weights are the same; what breaks are the queries
 * that see none: in cross-attention, those of a batch row whose memory is all padding.
 * (In its own sequence a token sees itself.)
 */
#include <math.h>

#include "faults/wrap.h"

/* Scores do not come near to it; a number above it may leave hidden keys weight. */
#define FAR (-1e4)

/* True if the backend stores the strength as minus infinity. */
static bool is_beyond(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return scene->backend != NULL &&
           isinf(txd_wrap_round(use->strength, scene->backend->format));
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    for (size_t l = 0; l < scene->claimed->n_layers; l++)
        if (isinf(scene->claimed->layers[l].fill))
            return scene->claimed->cross ? NULL : txd_fault_needs_mask(scene);
    return "needs mask.fill = \"-inf\"";
}

static bool has_any(const int32_t *valid, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (valid[i])
            return true;
    return false;
}

/* True if a real query attends to a memory of which nothing is real. */
static bool has_empty_row(const txd_fault_scene *scene)
{
    const txd_inputs *inputs = scene->inputs;
    size_t queries = inputs->length, keys = inputs->memory_length;

    for (size_t b = 0; inputs->memory_valid && b < inputs->batch; b++)
        if (has_any(inputs->valid + b * queries, queries) &&
            !has_any(inputs->memory_valid + b * keys, keys))
            return true;
    return false;
}

/* Why the finite fill would give the weights that -inf gives, or NULL. */
static const char *is_same(const txd_fault_scene *scene, const txd_fault_use *use)
{
    if (is_beyond(scene, use))
        return "this backend's format has no such number: it becomes -inf";
    if (use->strength > FAR)
        return scene->claimed->cross ? NULL : txd_fault_idle_unmasked(scene, use);
    if (!has_empty_row(scene))
        return "no real query is without a key: the weights are what -inf gives";
    for (size_t l = 0; l < scene->claimed->n_layers; l++)
        if (txd_range_has(&use->layers, l) && isinf(scene->claimed->layers[l].fill) &&
            scene->claimed->layers[l].masked_row != TXD_MASKED_ROW_UNIFORM)
            return NULL;
    return "no real query differs: mask.masked_row = \"uniform\" gives the same";
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    for (size_t l = 0; l < scene->claimed->n_layers; l++)
        if (txd_range_has(&use->layers, l) && isinf(scene->claimed->layers[l].fill))
            return is_same(scene, use);
    return "mask.fill is finite already";
}

const txd_fault txd_fault_mask_fill_finite = {
    .name = "mask_fill_finite",
    .sentence = "hidden scores become strength (-1e9) instead of -inf",
    .symptom = "a query that sees no key attends to all keys alike, padding and future "
               "included; queries that see one are as they should be",
    .example = "wrong: scores.masked_fill(mask == 0, -1e9)\n"
               "right: scores.masked_fill(mask == 0, -inf), and say what an empty row "
               "gives",
    .selectors = TXD_FAULT_LAYERS | TXD_FAULT_STRENGTH,
    .strength = -1e9,
    .inapplicable = inapplicable,
    .idle = idle,
    .plant = txd_plan_fill,
};

/* SPDX-License-Identifier: MIT
 *
 * How most mask faults act: an override of the operation that says which query sees
 * which key, in chosen heads, queries and batch rows of chosen layers.
 */
#include <math.h>

#include "faults/wrap.h"

struct rule {
    txd_sight sight;
    bool observed; /* acts only where somebody reads the weights */
};

static txd_status visible(txd_ctx *ctx, const struct txd_visible_args *args)
{
    const struct rule *rule = txd_wrap_of(&args->at)->more;

    TXD_TRY(txd_below_visible(ctx, args));
    if (args->at.point != TXD_POINT_ATTN_MASKED || (rule->observed && !args->observed))
        return TXD_OK;
    for (size_t r = 0; r < args->rows; r++) {
        size_t query = (size_t)args->at.first_query + r;

        if (!txd_wrap_has_row(&args->at, r))
            continue;
        for (size_t k = 0; k < args->keys; k++) {
            uint8_t *cell = &args->out[r * args->keys + k];

            *cell = rule->sight(args->mask, query, k, args->keys, *cell);
        }
    }
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use,
                        const struct rule *acting)
{
    static const struct txd_ops mine = {.visible = visible};
    struct rule *rule = txd_arena_alloc(plan->arena, 1, sizeof *rule);

    if (rule == NULL)
        return TXD_ERR_MEMORY;
    *rule = *acting;
    return txd_plan_wrap(plan, use, &mine, rule);
}

txd_status txd_plan_sight(txd_plan *plan, const txd_fault_use *use, txd_sight sight)
{
    return plant(plan, use, &(struct rule){.sight = sight});
}

txd_status txd_plan_sight_observed(txd_plan *plan, const txd_fault_use *use,
                                   txd_sight sight)
{
    return plant(plan, use, &(struct rule){.sight = sight, .observed = true});
}

bool txd_sight_without_causal(const txd_mask_view *mask, size_t query, size_t key,
                              size_t keys, bool seen)
{
    txd_mask_view without = *mask;

    (void)keys;
    without.causal = false;
    return seen || txd_mask_hides(&without, query, key) == TXD_SEEN;
}

static bool changes_row(const txd_mask_view *mask, size_t query, size_t keys,
                        txd_sight sight)
{
    for (size_t k = 0; k < keys; k++) {
        bool seen = txd_mask_hides(mask, query, k) == TXD_SEEN;

        if (sight(mask, query, k, keys, seen) != seen)
            return true;
    }
    return false;
}

static bool changes_layer(const txd_layer_config *layer, const txd_inputs *inputs,
                          const txd_fault_use *use, txd_sight sight)
{
    size_t keys = inputs->length;

    /* The softmax of one finite score is 1, whatever the score. */
    if (keys == 1 && isfinite(layer->fill))
        return false;
    for (size_t b = 0; b < inputs->batch; b++) {
        txd_mask_view mask = txd_mask_of(layer, inputs, b);

        for (size_t q = 0; txd_range_has(&use->batch, b) && q < keys; q++)
            if (mask.key_valid[q] && txd_range_has(&use->queries, q) &&
                changes_row(&mask, q, keys, sight))
                return true;
    }
    return false;
}

bool txd_sight_changes(const txd_fault_scene *scene, const txd_fault_use *use,
                       txd_sight sight)
{
    const txd_config *config = scene->claimed;

    for (size_t l = 0; l < config->n_layers; l++)
        if (txd_range_has(&use->layers, l) &&
            changes_layer(&config->layers[l], scene->inputs, use, sight))
            return true;
    return false;
}

bool txd_sight_everything(const txd_mask_view *mask, size_t query, size_t key,
                          size_t keys, bool seen)
{
    (void)mask;
    (void)query;
    (void)key;
    (void)keys;
    (void)seen;
    return true;
}

const char *txd_fault_idle_unmasked(const txd_fault_scene *scene,
                                    const txd_fault_use *use)
{
    return txd_sight_changes(scene, use, txd_sight_everything)
               ? NULL
               : "no real query has a hidden key";
}

static bool row_sees(const txd_mask_view *mask, size_t query, size_t keys, size_t least)
{
    size_t seen = 0;

    for (size_t k = 0; k < keys && seen < least; k++)
        seen += txd_mask_hides(mask, query, k) == TXD_SEEN;
    return seen >= least;
}

bool txd_fault_sees_keys(const txd_fault_scene *scene, const txd_fault_use *use,
                         size_t least)
{
    const txd_inputs *inputs = scene->inputs;
    size_t keys = inputs->length;

    for (size_t l = 0; l < scene->claimed->n_layers; l++)
        for (size_t b = 0; txd_range_has(&use->layers, l) && b < inputs->batch; b++) {
            txd_mask_view mask = txd_mask_of(&scene->claimed->layers[l], inputs, b);

            for (size_t q = 0; txd_range_has(&use->batch, b) && q < keys; q++)
                if (mask.key_valid[q] && txd_range_has(&use->queries, q) &&
                    row_sees(&mask, q, keys, least))
                    return true;
        }
    return false;
}

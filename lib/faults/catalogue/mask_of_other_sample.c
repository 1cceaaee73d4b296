/* SPDX-License-Identifier: MIT
 *
 * Fault: the masks of a batch are tiled over (batch heads) as [M0, M1, M0, M1], and
 * read at b heads + h, where each should be repeated for all heads of its sample. What
 * is taken from the other sample is its padding and its documents; what is later,
 * queries know themselves.
 */
#include "faults/wrap.h"

struct rule {
    size_t heads;
};

static size_t sample_of(size_t batch, size_t head, size_t batches, size_t heads)
{
    return (batch * heads + head) % batches;
}

static txd_mask_view mixed(const txd_mask_view *own, const txd_mask_view *other)
{
    txd_mask_view mask = *own;

    mask.key_valid = other->key_valid;
    mask.key_document = other->key_document;
    mask.query_document = other->query_document;
    return mask;
}

static txd_status visible(txd_ctx *ctx, const struct txd_visible_args *args)
{
    const struct rule *rule = txd_wrap_of(&args->at)->more;
    txd_mask_view other, mask;

    TXD_TRY(txd_below_visible(ctx, args));
    if (args->at.point != TXD_POINT_ATTN_MASKED || args->mask_of == NULL)
        return TXD_OK;
    other = args->mask_of(args->job,
                          sample_of((size_t)args->at.batch, (size_t)args->at.head,
                                    args->batch, rule->heads));
    mask = mixed(args->mask, &other);
    for (size_t r = 0; r < args->rows; r++) {
        size_t query = (size_t)args->at.first_query + r;

        for (size_t k = 0; txd_wrap_has_row(&args->at, r) && k < args->keys; k++)
            args->out[r * args->keys + k] = txd_mask_hides(&mask, query, k) == TXD_SEEN;
    }
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.visible = visible};
    struct rule *rule = txd_arena_alloc(plan->arena, 1, sizeof *rule);

    if (rule == NULL)
        return TXD_ERR_MEMORY;
    rule->heads = plan->config.n_heads;
    return txd_plan_wrap(plan, use, &mine, rule);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    if (scene->inputs != NULL && scene->inputs->batch < 2)
        return "needs a batch of two sequences or more";
    return txd_fault_needs_heads(scene);
}

/* True if a real query of a batch row sees other keys by the mask of another. */
static bool rows_differ(const txd_fault_scene *scene, const txd_fault_use *use,
                        size_t layer, const size_t samples[2])
{
    const txd_inputs *inputs = scene->inputs;
    const txd_layer_config *config = &scene->claimed->layers[layer];
    txd_mask_view own = txd_mask_of(config, inputs, samples[0]);
    txd_mask_view other = txd_mask_of(config, inputs, samples[1]);
    txd_mask_view mask = mixed(&own, &other);

    for (size_t q = 0; q < inputs->length; q++)
        for (size_t k = 0;
             own.key_valid[q] && txd_range_has(&use->queries, q) && k < inputs->length;
             k++)
            if ((txd_mask_hides(&own, q, k) == TXD_SEEN) !=
                (txd_mask_hides(&mask, q, k) == TXD_SEEN))
                return true;
    return false;
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    size_t batches = scene->inputs->batch, heads = scene->claimed->n_heads;

    for (size_t l = 0; l < scene->claimed->n_layers; l++)
        for (size_t i = 0; txd_range_has(&use->layers, l) && i < batches * heads; i++) {
            size_t b = i / heads, h = i % heads;
            const size_t samples[2] = {b, sample_of(b, h, batches, heads)};

            if (txd_range_has(&use->batch, b) && txd_range_has(&use->heads, h) &&
                rows_differ(scene, use, l, samples))
                return NULL;
        }
    return "the mask that each selected head reads shows it the same keys";
}

const txd_fault txd_fault_mask_of_other_sample = {
    .name = "mask_of_other_sample",
    .sentence =
        "masks are tiled over batch and heads: heads go by another sample's mask",
    .symptom =
        "right with one sequence or one head; in a batch, a sequence changes with "
        "the length of its neighbour",
    .example = "wrong: mask.repeat(heads, 1, 1)                  # [M0, M1, M0, M1]\n"
               "right: mask.repeat_interleave(heads, dim=0)      # [M0, M0, M1, M1]",
    .selectors = TXD_FAULT_TILES,
    .inapplicable = inapplicable,
    .idle = idle,
    .plant = plant,
};

/* SPDX-License-Identifier: MIT
 *
 * Fault: the causal mask of the tokens is also applied where they attend to a memory,
 * which has no order in common with them.
 */
#include "faults/wrap.h"

static bool sees(size_t query, size_t key)
{
    return key <= query;
}

static txd_status visible(txd_ctx *ctx, const struct txd_visible_args *args)
{
    TXD_TRY(txd_below_visible(ctx, args));
    if (txd_point_attention((txd_point)args->at.point) != TXD_ATTENTION_CROSS)
        return TXD_OK;
    for (size_t r = 0; r < args->rows; r++)
        for (size_t k = 0; txd_wrap_has_row(&args->at, r) && k < args->keys; k++)
            if (!sees((size_t)args->at.first_query + r, k))
                args->out[r * args->keys + k] = 0;
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.visible = visible};

    return txd_plan_wrap(plan, use, &mine, NULL);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    return scene->claimed->cross ? NULL : "needs cross-attention (model.cross = true)";
}

static bool hides_something(const txd_inputs *inputs, size_t b, size_t query)
{
    for (size_t k = 0; k < inputs->memory_length; k++)
        if (inputs->memory_valid[b * inputs->memory_length + k] && !sees(query, k))
            return true;
    return false;
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    const txd_inputs *inputs = scene->inputs;

    for (size_t b = 0; b < inputs->batch; b++)
        for (size_t q = 0; txd_range_has(&use->batch, b) && q < inputs->length; q++)
            if (inputs->valid[b * inputs->length + q] &&
                txd_range_has(&use->queries, q) && hides_something(inputs, b, q))
                return NULL;
    return "no real row of the memory comes after a real query's place";
}

const txd_fault txd_fault_cross_causal = {
    .name = "cross_causal",
    .sentence = "cross-attention is causal: query q sees rows 0 to q of the memory",
    .symptom = "early tokens are made from the beginning of the source alone; short "
               "targets never see its end",
    .example = "wrong: cross_attn(x, memory, mask=minimum(causal, memory_padding))\n"
               "right: cross_attn(x, memory, mask=memory_padding)",
    .selectors = TXD_FAULT_TILES,
    .inapplicable = inapplicable,
    .idle = idle,
    .plant = plant,
};

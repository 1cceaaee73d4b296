/* SPDX-License-Identifier: MIT
 *
 * Why faults cannot act, where several share the reason.
 */
#include "faults/fault.h"

bool txd_config_has_causal(const txd_config *config)
{
    for (size_t l = 0; l < config->n_layers; l++)
        if (config->layers[l].causal)
            return true;
    return false;
}

bool txd_inputs_have_padding(const txd_inputs *inputs)
{
    for (size_t i = 0; i < inputs->batch * inputs->length; i++)
        if (!inputs->valid[i])
            return true;
    return false;
}

bool txd_inputs_have_documents(const txd_inputs *inputs)
{
    for (size_t i = 0; i < inputs->batch * inputs->length; i++)
        if (inputs->document[i] != inputs->document[i - i % inputs->length])
            return true;
    return false;
}

const char *txd_fault_needs_causal(const txd_fault_scene *scene)
{
    if (!txd_config_has_causal(scene->claimed))
        return "needs a causal mask (mask.causal = true)";
    if (scene->inputs != NULL && scene->inputs->length < 2)
        return "needs at least two tokens: one alone has no future";
    return NULL;
}

const char *txd_fault_needs_mask(const txd_fault_scene *scene)
{
    const txd_config *config = scene->claimed;
    bool masked = txd_config_has_causal(config);

    for (size_t l = 0; l < config->n_layers; l++)
        masked = masked || config->layers[l].window != 0;
    if (masked || (scene->inputs != NULL && (txd_inputs_have_padding(scene->inputs) ||
                                             txd_inputs_have_documents(scene->inputs))))
        return NULL;
    return "needs a mask: causal, a window, documents, or padded input";
}

const char *txd_fault_needs_padding(const txd_fault_scene *scene)
{
    if (scene->inputs != NULL && !txd_inputs_have_padding(scene->inputs))
        return "needs padded input: rows of unequal length";
    return NULL;
}

const char *txd_fault_needs_absolute_positions(const txd_fault_scene *scene)
{
    txd_positions_kind positions = scene->claimed->positions;

    return positions == TXD_POSITIONS_LEARNED || positions == TXD_POSITIONS_SINUSOIDAL
               ? NULL
               : "needs positions that are added to embeddings: distances stay the "
                 "same";
}

const char *txd_fault_needs_heads(const txd_fault_scene *scene)
{
    return scene->claimed->n_heads > 1 ? NULL : "needs more than one head";
}

static bool have_pairs(const txd_inputs *inputs)
{
    for (size_t i = 0; i < inputs->batch * inputs->length; i++)
        if (txd_inputs_is_pair(inputs, i))
            return true;
    return false;
}

const char *txd_fault_needs_backward(const txd_fault_scene *scene)
{
    if (scene->forward_only)
        return "needs gradients, which record does not ask for: name points with "
               "@grad, or the probe grad_norm";
    if (scene->inputs != NULL && !have_pairs(scene->inputs))
        return "needs two real tokens side by side: without a next token to predict "
               "there is no loss, and every gradient is 0";
    return NULL;
}

const char *txd_fault_needs_cache(const txd_fault_scene *scene)
{
    if (scene->no_cache)
        return "needs passes with a cache of earlier keys, which `txdiag run` makes "
               "only "
               "with --experiments; `txdiag check MODEL.cfg` and `txdiag generate` do";
    if (scene->inputs != NULL && scene->inputs->length < 2)
        return "needs at least two tokens: one is a whole sequence, without earlier "
               "calls";
    return NULL;
}

const char *txd_fault_idle_at_one(const txd_fault_scene *scene,
                                  const txd_fault_use *use)
{
    (void)scene;
    return use->strength == 1 ? "a strength of 1 leaves the weights as they are" : NULL;
}

const char *txd_fault_idle_at_one_token(const txd_fault_scene *scene,
                                        const txd_fault_use *use)
{
    (void)use;
    return scene->inputs->length == 1
               ? "with one token, heads lie in memory in the same order either way"
               : NULL;
}

txd_status txd_fault_refuse(const txd_fault_use *use, const char *reason)
{
    char place[256];

    txd_fail(TXD_ERR_INAPPLICABLE, "fault %s changes nothing in what it selects: %s",
             use->name, reason);
    if (use->setting == NULL)
        return TXD_ERR_INAPPLICABLE;
    return txd_fail_prefix(TXD_ERR_INAPPLICABLE, "%s",
                           txd_setting_place(place, sizeof place, use->setting));
}

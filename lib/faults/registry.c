/* SPDX-License-Identifier: MIT
 *
 * The catalogue, from registry.def, and the reasons why faults cannot act.
 */
#include <string.h>

#include "faults/fault.h"

#define TXD_FAULT(name) extern const txd_fault txd_fault_##name;
#include "faults/registry.def"
#undef TXD_FAULT

static const txd_fault *const faults[] = {
#define TXD_FAULT(name) &txd_fault_##name,
#include "faults/registry.def"
#undef TXD_FAULT
};

#define FAULTS (sizeof faults / sizeof faults[0])

const txd_fault *txd_fault_at(size_t i)
{
    return i < FAULTS ? faults[i] : NULL;
}

const txd_fault *txd_fault_find(const char *name)
{
    for (size_t i = 0; i < FAULTS; i++)
        if (strcmp(faults[i]->name, name) == 0)
            return faults[i];
    return NULL;
}

const char *txd_fault_name(const txd_fault *fault)
{
    return fault->name;
}

const char *txd_fault_sentence(const txd_fault *fault)
{
    return fault->sentence;
}

const char *txd_fault_symptom(const txd_fault *fault)
{
    return fault->symptom;
}

const char *txd_fault_example(const txd_fault *fault)
{
    return fault->example;
}

unsigned txd_fault_selectors(const txd_fault *fault)
{
    return fault->selectors;
}

const char *txd_fault_inapplicable(const txd_fault *fault, const txd_config *config,
                                   const txd_inputs *inputs)
{
    return fault->inapplicable == NULL ? NULL : fault->inapplicable(config, inputs);
}

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

const char *txd_fault_needs_causal(const txd_config *config, const txd_inputs *inputs)
{
    if (!txd_config_has_causal(config))
        return "needs a causal mask (mask.causal = true)";
    if (inputs != NULL && inputs->length < 2)
        return "needs at least two tokens: one alone has no future";
    return NULL;
}

const char *txd_fault_needs_mask(const txd_config *config, const txd_inputs *inputs)
{
    bool masked = txd_config_has_causal(config);

    for (size_t l = 0; l < config->n_layers; l++)
        masked = masked || config->layers[l].window != 0;
    if (masked || (inputs != NULL && (txd_inputs_have_padding(inputs) ||
                                      txd_inputs_have_documents(inputs))))
        return NULL;
    return "needs a mask: causal, a window, documents, or padded input";
}

const char *txd_fault_needs_padding(const txd_config *config, const txd_inputs *inputs)
{
    (void)config;
    if (inputs != NULL && !txd_inputs_have_padding(inputs))
        return "needs padded input: rows of unequal length";
    return NULL;
}

const char *txd_fault_idle_at_one(const txd_config *config, const txd_inputs *inputs,
                                  const txd_fault_use *use)
{
    (void)config;
    (void)inputs;
    return use->strength == 1 ? "a strength of 1 leaves the embeddings as they are"
                              : NULL;
}

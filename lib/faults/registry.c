/* SPDX-License-Identifier: MIT
 *
 * The catalogue, from registry.def.
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

bool txd_fault_is_backward(const txd_fault *fault)
{
    return fault->backward || fault->inapplicable == txd_fault_needs_backward;
}

const char *txd_fault_inapplicable(const txd_fault *fault, const txd_fault_scene *scene)
{
    return fault->inapplicable == NULL ? NULL : fault->inapplicable(scene);
}

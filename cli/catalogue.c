/* SPDX-License-Identifier: MIT
 *
 * The page is made from the descriptors alone: a fault or a law that is added is in it.
 */
#include "cli/catalogue.h"

#include <string.h>

#include "checks/check.h"
#include "cli/describe.h"

static const char about[] =
    "# Faults\n"
    "\n"
    "Ways in which people get transformers wrong. `faults` in `model.cfg` plants "
    "them:\n"
    "\n"
    "```\n"
    "faults : ( { name = \"mask_off_by_one\"; layers = \"2\"; heads = \"0,3\"; } );\n"
    "```\n"
    "\n"
    "A selector that is left out takes everything. Several faults act together, in "
    "the\n"
    "order of the list, a later one around an earlier one. A fault that cannot act in "
    "a\n"
    "model, or would change nothing in what it selects, is refused with the reason "
    "(exit\n"
    "status 2); `txdiag list faults MODEL.cfg` says which can act. Laws judge by the "
    "claimed\n"
    "configuration, never by the faulty one. A faulty model has its own gradients: "
    "those of\n"
    "what it computes.\n"
    "\n"
    "A law that is named with a fault notices it alone, with all others switched off, "
    "in\n"
    "the first, a middle and the last layer: tests hold it to that. Others may, too.\n"
    "\n"
    "This page is made by `txdiag list faults --markdown`.\n";

static bool must_notice(const txd_check *law, const char *fault)
{
    const char *const *name;

    for (name = law->faults; name && *name; name++)
        if (strcmp(*name, fault) == 0)
            return true;
    return false;
}

static void add_laws(txd_text *out, const char *fault)
{
    const char *between = "";
    size_t i;

    for (i = 0; txd_check_at(i); i++) {
        if (!must_notice(txd_check_at(i), fault))
            continue;
        txd_text_addf(out, "%s`%s`", between, txd_check_at(i)->name);
        between = ", ";
    }
    txd_text_add(out, "\n");
}

static void add_fault(txd_text *out, const txd_fault *fault)
{
    const char *name = txd_fault_name(fault);
    char selectors[96];

    txd_text_addf(out, "\n## %s\n\nWhat is wrong: %s.\n\n", name,
                  txd_fault_sentence(fault));
    txd_text_addf(out, "How it shows: %s.\n\n", txd_fault_symptom(fault));
    txd_text_addf(out, "```\n%s\n```\n\n", txd_fault_example(fault));
    if (txd_fault_is_backward(fault))
        txd_text_add(out, "It acts on gradients: `record` must ask for one.\n\n");
    txd_text_addf(out, "Selectors: %s. Laws: ",
                  txd_describe_selectors(selectors, sizeof selectors, fault));
    add_laws(out, name);
}

void txd_catalogue_add(txd_text *out)
{
    size_t i;

    txd_text_add(out, about);
    for (i = 0; txd_fault_at(i); i++)
        add_fault(out, txd_fault_at(i));
}

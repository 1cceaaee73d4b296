/* SPDX-License-Identifier: MIT
 *
 * The `faults` list of model.cfg as uses of the catalogue.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "faults/fault.h"

const txd_key txd_faults_keys[] = {
    {"faults", "list", "none", "", "", "faults to plant, in this order"},
    {"faults[].name", "string", "required", "", "", "which (txdiag list faults)"},
    {"faults[].layers", "range", "all", "", "", "layers: \"2\", \"0:3\", \"0,4\""},
    {"faults[].heads", "range", "all", "", "", "query heads"},
    {"faults[].queries", "range", "all", "", "", "queries, by place"},
    {"faults[].batch", "range", "all", "", "", "batch rows"},
    {"faults[].strength", "real", "the fault's own", "1", "",
     "how strong, where the fault has a strength"},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};

static const struct {
    const char *key;
    unsigned bit;
} selectors[] = {
    {"layers", TXD_FAULT_LAYERS},     {"heads", TXD_FAULT_HEADS},
    {"queries", TXD_FAULT_QUERIES},   {"batch", TXD_FAULT_BATCH},
    {"strength", TXD_FAULT_STRENGTH},
};

#define SELECTORS (sizeof selectors / sizeof selectors[0])

static txd_status refuse_selectors(const txd_fault *fault, const txd_setting *entry)
{
    char place[256];

    for (size_t i = 0; i < SELECTORS; i++) {
        const txd_setting *given = txd_setting_find(entry, selectors[i].key);

        if (given != NULL && !(fault->selectors & selectors[i].bit))
            return txd_fail(
                TXD_ERR_CONFIG,
                "%s: the fault %s takes no %s; remove it (txdiag list faults "
                "says what each takes)",
                txd_setting_place(place, sizeof place, given), fault->name,
                selectors[i].key);
    }
    return TXD_OK;
}

/* A range as text, or a single index as an integer. */
static txd_status read_range(txd_range *out, const txd_setting *entry, const char *key)
{
    const txd_setting *given = txd_setting_find(entry, key);
    char text[32], place[256];
    const char *range = text;
    txd_status status;

    if (given == NULL)
        return TXD_OK;
    txd_setting_place(place, sizeof place, given);
    if (given->kind == TXD_SETTING_INT && given->integer >= 0)
        snprintf(text, sizeof text, "%" PRId64, given->integer);
    else if (given->kind == TXD_SETTING_STRING)
        range = given->string;
    else
        return txd_fail(TXD_ERR_CONFIG,
                        "%s: expected an index or a range such as \"0:3\"", place);
    status = txd_range_parse(out, range);
    return status == TXD_OK ? TXD_OK : txd_fail_prefix(status, "%s", place);
}

static const txd_fault *find(const txd_setting *entry, const char *name)
{
    const txd_fault *fault = txd_fault_find(name);
    const char *known[64], *nearest;
    char place[256];
    size_t count = 0;

    if (fault != NULL)
        return fault;
    while (count < 64 && txd_fault_at(count) != NULL) {
        known[count] = txd_fault_at(count)->name;
        count++;
    }
    nearest = txd_nearest(name, known, count);
    txd_fail(TXD_ERR_CONFIG,
             "%s: there is no fault \"%s\"%s%s%s; txdiag list faults "
             "shows all",
             txd_setting_place(place, sizeof place, entry), name,
             nearest == NULL ? "" : ", did you mean \"", nearest == NULL ? "" : nearest,
             nearest == NULL ? "" : "\"");
    return NULL;
}

static txd_status read_use(txd_fault_use *use, const txd_setting *entry)
{
    const txd_fault *fault;
    char place[256];

    memset(use, 0, sizeof *use);
    use->setting = entry;
    TXD_TRY(txd_setting_string(&use->name, entry, "name"));
    if (use->name == NULL)
        return txd_fail(TXD_ERR_CONFIG, "%s: a fault needs a name",
                        txd_setting_place(place, sizeof place, entry));
    fault = find(entry, use->name);
    if (fault == NULL)
        return TXD_ERR_CONFIG;
    TXD_TRY(refuse_selectors(fault, entry));
    TXD_TRY(read_range(&use->layers, entry, "layers"));
    TXD_TRY(read_range(&use->heads, entry, "heads"));
    TXD_TRY(read_range(&use->queries, entry, "queries"));
    TXD_TRY(read_range(&use->batch, entry, "batch"));
    TXD_TRY(txd_setting_real(&use->strength, entry, "strength", -1e30, 1e30));
    if (txd_setting_find(entry, "strength") != NULL && use->strength == 0)
        return txd_fail(TXD_ERR_CONFIG,
                        "%s: a strength of 0 is none; without it the fault has its own "
                        "(txdiag list faults)",
                        txd_setting_place(place, sizeof place,
                                          txd_setting_find(entry, "strength")));
    return TXD_OK;
}

txd_status txd_faults_read(txd_fault_use **out, size_t *count, txd_arena *arena,
                           const txd_setting *root)
{
    const txd_setting *list = txd_setting_find(root, "faults");
    size_t n = list == NULL ? 0 : list->count, i = 0;
    txd_fault_use *uses = txd_arena_alloc(arena, n, sizeof *uses);

    if (uses == NULL)
        return TXD_ERR_MEMORY;
    for (const txd_setting *e = n == 0 ? NULL : list->child; e != NULL; e = e->next)
        TXD_TRY(read_use(&uses[i++], e));
    *out = uses;
    *count = n;
    return TXD_OK;
}

/* SPDX-License-Identifier: MIT
 *
 * Uses of one probe become one part, so that overlapping uses fill the same datasets
 * instead of making them twice.
 */
#include "probes/parts.h"

#include <stdint.h>
#include <stdio.h>

static txd_probe_part *find_part(txd_probe_part *parts, size_t count,
                                 const txd_probe *probe)
{
    for (size_t i = 0; i < count; i++)
        if (parts[i].probe == probe)
            return &parts[i];
    return NULL;
}

txd_status txd_probe_parts(txd_probe_part **out, size_t *count, txd_arena *arena,
                           const txd_probe_use *uses, size_t use_count)
{
    txd_probe_part *parts = txd_arena_alloc(arena, use_count, sizeof *parts);
    txd_probe_use *copies = txd_arena_alloc(arena, use_count, sizeof *copies);
    size_t found = 0;

    if (!parts || !copies)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < use_count; i++) {
        const txd_probe *probe = txd_probe_find(uses[i].probe);
        txd_probe_part *part = find_part(parts, found, probe);

        if (!probe)
            return txd_fail(TXD_ERR_CONFIG, "there is no probe \"%s\"", uses[i].probe);
        copies[i] = uses[i];
        copies[i].next = NULL;
        if (part) {
            part->last->next = &copies[i];
            part->last = &copies[i];
        } else {
            parts[found++] = (txd_probe_part){probe, &copies[i], &copies[i]};
        }
    }
    *out = parts;
    *count = found;
    return TXD_OK;
}

static void print_range(txd_text *out, const txd_range *range)
{
    if (range->count == 0)
        txd_text_add(out, "*");
    for (int i = 0; i < range->count; i++) {
        size_t begin = range->parts[i].begin, end = range->parts[i].end;

        txd_text_addf(out, "%s%zu", i ? "," : "", begin);
        if (end == begin + 1)
            continue;
        txd_text_add(out, ":");
        if (end != SIZE_MAX)
            txd_text_addf(out, "%zu", end);
        if (range->parts[i].every > 1)
            txd_text_addf(out, ":%zu", range->parts[i].every);
    }
}

void txd_probe_uses_print(txd_text *out, const txd_probe_use *uses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const txd_probe *probe = txd_probe_find(uses[i].probe);

        txd_text_addf(out, "%s\t%s\t", uses[i].probe,
                      uses[i].points ? uses[i].points
                      : probe        ? probe->points
                                     : "");
        print_range(out, &uses[i].layers);
        txd_text_add(out, "\t");
        print_range(out, &uses[i].heads);
        txd_text_add(out, "\t");
        print_range(out, &uses[i].steps);
        txd_text_add(out, "\n");
    }
}

int txd_input_parts(const txd_probe_context *context)
{
    return context->claimed->token_types > 0 ? TXD_INPUT_PARTS : TXD_INPUT_TYPES;
}

txd_dataset_spec txd_input_spec(char path[32], const txd_probe_context *context,
                                txd_input_part part)
{
    static const struct {
        const char *name, *unit, *point;
    } parts[TXD_INPUT_PARTS] = {
        [TXD_INPUT_TOKENS] = {"tokens", "token", "input.tokens"},
        [TXD_INPUT_VALID] = {"valid", "1", "input.valid"},
        [TXD_INPUT_POSITIONS] = {"positions", "token", "input.positions"},
        [TXD_INPUT_LABELS] = {"labels", "token", ""},
        [TXD_INPUT_DOCUMENT] = {"document", "1", "input.document"},
        [TXD_INPUT_CALL] = {"call", "1", ""},
        [TXD_INPUT_TYPES] = {"types", "1", "input.types"},
    };
    txd_dataset_spec spec = {
        .path = path,
        .axes = "sbt",
        .point = parts[part].point,
        .unit = parts[part].unit,
        .dtype = TXD_I32,
        .per_step = true,
        .rank = 2,
        .dims = {context->batch, context->length},
        .steps = context->steps,
        /* Beyond the end of a shorter step there is no token. */
        .fill_zero = part == TXD_INPUT_VALID,
    };

    snprintf(path, 32, "input/%s", parts[part].name);
    txd_probe_grow(&spec, context, 1, context->length);
    return spec;
}

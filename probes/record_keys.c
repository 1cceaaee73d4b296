/* SPDX-License-Identifier: MIT
 *
 * The `record` list of model.cfg: its keys, and the uses of probes that it states.
 * What selects nothing is a mistake, and the message offers what exists.
 */
#include <stdio.h>
#include <string.h>

#include "probes/common.h"
#include "probes/recorder.h"

const txd_key txd_record_keys[] = {
    {"record[].probe", "string", "required", NULL, NULL,
     "which probe: full, rows, stats, norms, grad_norm, nonfinite, leaks, "
     "pooled or tile"},
    {"record[].points", "string", "the probe's own", NULL, NULL,
     "where: comma-separated globs over full names; * matches dots too, but gradients "
     "only if the glob has an @: \"*@grad\""},
    {"record[].layers", "string", "*", NULL, NULL,
     "layers: \"2\", \"0:4\" (4 excluded), \"3:\", or a list of these"},
    {"record[].heads", "string", "*", NULL, NULL,
     "query heads (full, rows, leaks, pooled, tile), written like layers"},
    {"record[].steps", "string", "*", NULL, NULL, "steps, written like layers"},
    {"record[].queries", "string", "*", NULL, NULL,
     "tile: one range of queries, by place: \"31000:31256\" (31256 excluded)"},
    {"record[].keys", "string", "*", NULL, NULL,
     "tile: one range of keys, by place; at cross.* of rows of the memory"},
    {"record[].cells", "int", "64", "cells", "1 to 256",
     "pooled: cells per side of a pooled attention matrix, at most"},
    {"record[].limit", "int", "1000", "rows", "1 to 10000000",
     "leaks: rows per step, at most; the counts are always complete"},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};

/* Every name that a use could mean, for messages: of all sites that its probe takes,
 * and the same with a star for the layer. */
typedef struct known {
    const char **names;
    size_t count;
} known;

static txd_status add_name(known *out, txd_arena *arena, const char *name)
{
    char *copy = txd_arena_string(arena, name);

    if (!copy)
        return TXD_ERR_MEMORY;
    out->names[out->count++] = copy;
    return TXD_OK;
}

/* With a star for the layer, of the sites in layer 0. */
static txd_status add_stars(known *out, txd_arena *arena, const txd_probe_sites *sites)
{
    for (size_t i = 0; i < sites->count; i++) {
        const txd_site *site = &sites->list[i];
        bool is_gradient = txd_site_is_gradient(site->kind);
        char text[TXD_SITE_NAME_BYTES];

        if (site->layer != 0 || txd_site_is_parameter(site->kind))
            continue;
        snprintf(text, sizeof text, "layers.*.%s%s", txd_point_get(site->point)->name,
                 is_gradient ? TXD_GRADIENT_SUFFIX : "");
        TXD_TRY(add_name(out, arena, text));
    }
    return TXD_OK;
}

static txd_status find_names(known *out, txd_arena *arena, const txd_probe *probe,
                             const txd_probe_context *context)
{
    static const txd_site_kind order[] = {TXD_SITE_VALUE, TXD_SITE_PARAMETER,
                                          TXD_SITE_GRADIENT,
                                          TXD_SITE_PARAMETER_GRADIENT};
    const txd_probe_use all = {.points = "*,*@grad"};
    txd_probe_sites sites[TXD_SITE_KINDS];
    size_t room = 2 * TXD_POINT_COUNT;

    for (int k = 0; k < TXD_SITE_KINDS; k++) {
        TXD_TRY(txd_probe_sites_find(&sites[k], arena, probe, &all, context, order[k]));
        room += sites[k].count;
    }
    *out = (known){.count = 0};
    out->names = txd_arena_alloc(arena, room, sizeof *out->names);
    if (!out->names)
        return TXD_ERR_MEMORY;
    for (int k = 0; k < TXD_SITE_KINDS; k++)
        TXD_TRY(add_stars(out, arena, &sites[k]));
    for (int k = 0; k < TXD_SITE_KINDS; k++)
        for (size_t i = 0; i < sites[k].count; i++)
            TXD_TRY(add_name(out, arena, sites[k].names[i]));
    return TXD_OK;
}

static bool matches_any(const char *pattern, const known *names)
{
    for (size_t i = 0; i < names->count; i++)
        if (txd_glob_list(pattern, names->names[i]))
            return true;
    return false;
}

/* The next item of a comma-separated list into `item`, without blanks; false at its
 * end. */
static bool next_item(char item[TXD_SITE_NAME_BYTES], const char **list)
{
    size_t length;

    *list += strspn(*list, ", \t\r\n");
    length = strcspn(*list, ",");
    if (length == 0)
        return false;
    snprintf(item, TXD_SITE_NAME_BYTES, "%.*s", (int)length, *list);
    for (size_t i = strlen(item); i > 0 && strchr(" \t\r\n", item[i - 1]); i--)
        item[i - 1] = '\0';
    *list += length;
    return true;
}

static txd_status check_points(const txd_probe *probe, const txd_probe_use *use,
                               txd_arena *arena, const txd_probe_context *context)
{
    const char *rest = use->points;
    char item[TXD_SITE_NAME_BYTES];
    known names;

    if (!rest)
        return TXD_OK;
    TXD_TRY(find_names(&names, arena, probe, context));
    if (!next_item(item, &rest))
        return txd_fail(TXD_ERR_CONFIG, "points is empty; leave it out for \"%s\"",
                        probe->points);
    do {
        const char *nearest = txd_nearest(item, names.names, names.count);

        if (matches_any(item, &names))
            continue;
        return txd_fail(TXD_ERR_CONFIG,
                        "\"%s\" selects nothing that the probe %s records in this "
                        "model; %s%s",
                        item, probe->name, nearest ? "nearest: " : "it records, say, ",
                        nearest       ? nearest
                        : names.count ? names.names[0]
                                      : "nothing");
    } while (next_item(item, &rest));
    return TXD_OK;
}

static txd_status check_range(const char *key, const txd_range *range, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (txd_range_has(range, i))
            return TXD_OK;
    return txd_fail(TXD_ERR_CONFIG, "%s selects none: there are %s 0 to %zu", key, key,
                    count ? count - 1 : 0);
}

/* Puts the place of a use's key, or of the use, in front of a failure. */
static txd_status fail_at(txd_status status, const txd_setting *use, const char *key)
{
    const txd_setting *setting = txd_setting_find(use, key);
    char place[256];

    if (status == TXD_OK)
        return status;
    txd_setting_place(place, sizeof place, setting ? setting : use);
    return txd_fail_prefix(status, "%s", place);
}

static txd_status check_sites(const txd_probe *probe, const txd_probe_use *use,
                              txd_arena *arena, const txd_probe_context *context)
{
    for (int kind = 0; kind < TXD_SITE_KINDS; kind++) {
        txd_probe_sites sites;

        TXD_TRY(txd_probe_sites_find(&sites, arena, probe, use, context,
                                     (txd_site_kind)kind));
        if (sites.count > 0)
            return TXD_OK;
    }
    return txd_fail(TXD_ERR_CONFIG,
                    "points and layers together select nothing that the probe %s "
                    "records in this model",
                    probe->name);
}

static txd_status read_probe(txd_probe_use *use, const txd_setting *setting)
{
    const char *names[32];
    const char *nearest;
    size_t count = 0;

    for (; count < 32 && txd_probe_at(count); count++)
        names[count] = txd_probe_at(count)->name;
    if (!use->probe)
        return fail_at(txd_fail(TXD_ERR_CONFIG,
                                "probe is missing; `txdiag list probes` "
                                "names all"),
                       setting, "probe");
    if (txd_probe_find(use->probe))
        return TXD_OK;
    nearest = txd_nearest(use->probe, names, count);
    txd_fail(TXD_ERR_CONFIG,
             "there is no probe \"%s\"%s%s; `txdiag list probes` names all", use->probe,
             nearest ? "; nearest: " : "", nearest ? nearest : "");
    return fail_at(TXD_ERR_CONFIG, setting, "probe");
}

/* Keys that mean nothing to the probe are mistakes, not wishes. */
static txd_status check_key(const txd_setting *setting, const char *key, bool is_known,
                            const char *probe)
{
    if (is_known || !txd_setting_find(setting, key))
        return TXD_OK;
    txd_fail(TXD_ERR_CONFIG, "the probe %s has no %s; leave it out", probe, key);
    return fail_at(TXD_ERR_CONFIG, setting, key);
}

/* The number that a probe has is a mistake in the uses of all others. */
static txd_status check_numbers(const txd_setting *setting, const txd_probe *probe)
{
    const txd_probe *other;

    for (size_t i = 0; (other = txd_probe_at(i)); i++) {
        const txd_probe_number *number = &other->number;
        size_t value = 0;

        if (!number->key)
            continue;
        TXD_TRY(check_key(setting, number->key, other == probe, probe->name));
        TXD_TRY(
            txd_setting_size(&value, setting, number->key, number->low, number->high));
    }
    return TXD_OK;
}

static txd_status read_range(txd_range *out, const txd_setting *setting,
                             const char *key, size_t count)
{
    const char *text = NULL;

    TXD_TRY(txd_setting_string(&text, setting, key));
    TXD_TRY(fail_at(txd_range_parse(out, text), setting, key));
    return fail_at(check_range(key, out, count), setting, key);
}

/* Queries and keys of a tile: places side by side. */
static txd_status read_span(txd_range *out, const txd_setting *setting, const char *key,
                            size_t count)
{
    TXD_TRY(read_range(out, setting, key, count));
    if (out->count == 0 || (out->count == 1 && out->parts[0].every == 1))
        return TXD_OK;
    txd_fail(TXD_ERR_CONFIG,
             "a tile has one range of %s without gaps, such as \"31000:31256\"", key);
    return fail_at(TXD_ERR_CONFIG, setting, key);
}

static txd_status read_tile(txd_probe_use *use, const txd_setting *setting,
                            const txd_probe *probe, const txd_probe_context *context)
{
    size_t keys = context->memory > context->length ? context->memory : context->length;

    TXD_TRY(check_key(setting, "queries", probe->by_tile, probe->name));
    TXD_TRY(check_key(setting, "keys", probe->by_tile, probe->name));
    TXD_TRY(read_span(&use->queries, setting, "queries", context->length));
    return read_span(&use->keys, setting, "keys", keys);
}

static txd_status read_use(txd_probe_use *use, txd_arena *arena,
                           const txd_setting *setting, const txd_probe_context *context)
{
    const txd_config *claimed = context->claimed;
    const txd_probe *probe;

    use->setting = setting;
    TXD_TRY(txd_setting_string(&use->probe, setting, "probe"));
    TXD_TRY(read_probe(use, setting));
    probe = txd_probe_find(use->probe);
    TXD_TRY(check_key(setting, "heads", probe->by_head, probe->name));
    TXD_TRY(check_numbers(setting, probe));
    TXD_TRY(read_tile(use, setting, probe, context));
    TXD_TRY(read_range(&use->layers, setting, "layers", claimed->n_layers));
    TXD_TRY(read_range(&use->heads, setting, "heads", claimed->n_heads));
    TXD_TRY(read_range(&use->steps, setting, "steps", context->steps));
    TXD_TRY(txd_setting_string(&use->points, setting, "points"));
    TXD_TRY(fail_at(check_points(probe, use, arena, context), setting, "points"));
    return fail_at(check_sites(probe, use, arena, context), setting, "points");
}

static txd_status make_defaults(txd_probe_use **out, size_t *count, txd_arena *arena,
                                const txd_probe_context *context)
{
    static const char *const names[] = {"rows",  "stats",  "norms", "nonfinite",
                                        "leaks", "pooled", "full"};
    size_t all = sizeof names / sizeof *names;
    txd_probe_use *uses = txd_arena_alloc(arena, all, sizeof *uses);

    if (!uses)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < all; i++)
        uses[i].probe = names[i];
    if (context->memory > TXD_SHORT_LENGTH)
        uses[all - 1].points = "layers.*.attn.weights,logits";
    *out = uses;
    *count = context->length <= TXD_SHORT_LENGTH ? all : all - 1;
    return TXD_OK;
}

bool txd_record_has_gradients(const txd_probe_use *uses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const txd_probe *probe = txd_probe_find(uses[i].probe);
        const char *points = uses[i].points;

        if (!points)
            points = probe ? probe->points : "";
        if (strchr(points, '@'))
            return true;
    }
    return false;
}

bool txd_record_asks_gradients(const txd_setting *root)
{
    const txd_setting *list = txd_setting_find(root, "record");
    bool asks = false;

    for (const txd_setting *e = list ? list->child : NULL; e && !asks; e = e->next) {
        const txd_setting *probe = txd_setting_find(e, "probe");
        const txd_setting *points = txd_setting_find(e, "points");
        const txd_probe_use use = {.probe = probe ? probe->string : "",
                                   .points = points ? points->string : NULL};

        asks = txd_record_has_gradients(&use, 1);
    }
    return asks;
}

txd_status txd_record_read(txd_probe_use **out, size_t *count, txd_arena *arena,
                           const txd_setting *root, const txd_probe_context *context)
{
    const txd_setting *list = txd_setting_find(root, "record");
    txd_probe_use *uses;
    size_t found = 0;

    if (!list || list->kind == TXD_SETTING_NULL)
        return make_defaults(out, count, arena, context);
    uses = txd_arena_alloc(arena, list->count, sizeof *uses);
    if (!uses)
        return TXD_ERR_MEMORY;
    for (const txd_setting *item = list->child; item; item = item->next)
        TXD_TRY(read_use(&uses[found++], arena, item, context));
    *out = uses;
    *count = found;
    return TXD_OK;
}

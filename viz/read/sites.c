/* SPDX-License-Identifier: MIT
 *
 * Names of recorded sites: which there are, which layers a '*' stands for, and the
 * message for one that is not there, which must say what could be asked instead.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viz/figures/figures.h"
#include "viz/draw/script.h"
#include "viz/read/slice.h"

/* No configuration has more. */
#define MOST_LAYERS 65536

void txd_site_of_layer(char out[TXD_SITE_BYTES], const char *site, int layer)
{
    const char *star = strchr(site, '*');

    if (star)
        snprintf(out, TXD_SITE_BYTES, "%.*s%d%s", (int)(star - site), site, layer,
                 star + 1);
    else
        snprintf(out, TXD_SITE_BYTES, "%s", site);
}

int txd_site_layer(const char *name)
{
    static const char prefix[] = "layers.";
    const char *digits = name + sizeof prefix - 1;
    char *end;
    long layer;

    if (strncmp(name, prefix, sizeof prefix - 1) != 0 || *digits < '0' || *digits > '9')
        return -1;
    layer = strtol(digits, &end, 10);
    return *end == '.' && layer < MOST_LAYERS ? (int)layer : -1;
}

int txd_site_layer_in(const char *site, const char *name)
{
    const char *star = strchr(site, '*');
    size_t before = star ? (size_t)(star - site) : 0;
    char *end;
    long layer;

    if (!star || strncmp(site, name, before) != 0 || name[before] < '0' ||
        name[before] > '9')
        return -1;
    layer = strtol(name + before, &end, 10);
    return strcmp(end, star + 1) == 0 && layer < INT_MAX ? (int)layer : -1;
}

txd_attention_kind txd_site_attention(const char *site)
{
    bool cross = strncmp(site, "cross_", 6) == 0 || strstr(site, ".cross.");

    return cross ? TXD_ATTENTION_CROSS : TXD_ATTENTION_SELF;
}

static int by_value(const void *left, const void *right)
{
    int a = *(const int *)left, b = *(const int *)right;

    return (a > b) - (a < b);
}

txd_status txd_site_layers(int **out, size_t *count, txd_arena *arena,
                           const txd_trace *recording, const char *site)
{
    size_t entries = txd_trace_count(recording), found = 0;
    int *layers = txd_arena_alloc(arena, entries, sizeof *layers);

    if (!layers)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < entries; i++) {
        txd_trace_info info;

        TXD_TRY(txd_trace_get(recording, &info, i));
        layers[found] = txd_site_layer_in(site, info.name);
        found += layers[found] >= 0;
    }
    if (found > 1)
        qsort(layers, found, sizeof *layers, by_value);
    *out = layers;
    *count = found;
    return TXD_OK;
}

/* "layers.3.attn.weights" as "layers.*.attn.weights", so that a list stays short. */
void txd_site_generalise(char out[TXD_SITE_BYTES], const char *name)
{
    static const char prefix[] = "layers.";
    const char *rest = name + sizeof prefix - 1;

    if (strncmp(name, prefix, sizeof prefix - 1) == 0 && *rest >= '0' && *rest <= '9') {
        rest += strspn(rest, "0123456789");
        snprintf(out, TXD_SITE_BYTES, "layers.*%s", rest);
    } else {
        snprintf(out, TXD_SITE_BYTES, "%s", name);
    }
}

typedef struct name_list {
    char (*names)[TXD_SITE_BYTES];
    const char **pointers;
    size_t count;
} name_list;

static void add_name(name_list *list, const char *name)
{
    char general[TXD_SITE_BYTES];

    txd_site_generalise(general, name);
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->pointers[i], general) == 0)
            return;
    memcpy(list->names[list->count], general, sizeof general);
    list->pointers[list->count] = list->names[list->count];
    list->count++;
}

/* What can be drawn: values, row statistics, pooled maps and charts, not inputs and
 * tables. */
static bool is_drawable(const txd_trace_info *info)
{
    static const char *const charts[] = {"steps/loss", "series/norms",
                                         "series/grad_norm"};

    for (size_t i = 0; i < sizeof charts / sizeof *charts; i++)
        if (strcmp(info->name, charts[i]) == 0)
            return true;
    return info->rank >= 1 && strncmp(info->name, "checks/", 7) != 0 &&
           strncmp(info->name, "events/", 7) != 0 &&
           strncmp(info->name, "dims/", 5) != 0 &&
           strncmp(info->name, "series/", 7) != 0 &&
           strncmp(info->name, "steps/", 6) != 0 &&
           (strncmp(info->name, "input/", 6) != 0 ||
            strcmp(info->name, "input/memory") == 0);
}

static txd_status list_names(name_list *list, txd_arena *arena,
                             const txd_trace *recording)
{
    size_t entries = txd_trace_count(recording);

    list->names = txd_arena_alloc(arena, entries, sizeof *list->names);
    list->pointers = txd_arena_alloc(arena, entries, sizeof *list->pointers);
    list->count = 0;
    if (!list->names || !list->pointers)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < 2 * entries;
         i++) { /* what is of cross-attention comes last */
        txd_trace_info info;

        TXD_TRY(txd_trace_get(recording, &info, i % entries));
        if (is_drawable(&info) &&
            (txd_site_attention(info.name) == TXD_ATTENTION_CROSS) == (i >= entries))
            add_name(list, info.name);
    }
    return TXD_OK;
}

/* "layers.*.attn.scores", or its gradient: a point that could have been recorded. */
static bool is_point(const char *general)
{
    char name[TXD_SITE_BYTES];
    txd_point point;
    int layer;

    txd_site_of_layer(name, general, 0);
    if (txd_ends_in(name, TXD_GRADIENT_SUFFIX))
        name[strlen(name) - strlen(TXD_GRADIENT_SUFFIX)] = '\0';
    return txd_point_parse(&point, &layer, name) == TXD_OK;
}

/* Of gradients there are often the norms alone, a chart of all layers. */
static bool has_norms(const txd_trace *recording, const char *site)
{
    const char *const *sites;
    size_t count;

    if (txd_trace_strings(recording, &sites, &count, "series/grad_norm_sites") !=
        TXD_OK)
        return false;
    for (size_t i = 0; i < count; i++)
        if (strcmp(sites[i], site) == 0)
            return true;
    return false;
}

/* A name and, if more than three follow it in its folder, how many these are; returns
 * how many were left out. */
static size_t add_listed(txd_text *out, const name_list *list, size_t i)
{
    const char *name = list->pointers[i], *slash = strchr(name, '/');
    size_t more = 0, length = slash ? (size_t)(slash - name) + 1 : 0;

    txd_text_addf(out, "%s%s", i ? ", " : "", name);
    while (length && i + more + 1 < list->count &&
           strncmp(list->pointers[i + more + 1], name, length) == 0)
        more++;
    if (more <= 3)
        return 0;
    txd_text_addf(out, " and %zu more of %.*s", more, (int)length, name);
    return more;
}

/* What was meant: a figure, a site as it is listed, or the name of a point. */
static const char *nearest(const char *general, const name_list *list)
{
    const char *figures[64], *near;
    const txd_figure *figure;
    char full[TXD_SITE_BYTES + 16];
    size_t count = 0;

    for (size_t i = 0; (figure = txd_figure_at(i)) && count < 64; i++)
        if (figure->heading)
            figures[count++] = figure->name;
    near = strpbrk(general, "./") ? NULL : txd_nearest(general, figures, count);
    if (!near)
        near = txd_nearest(general, list->pointers, list->count);
    snprintf(full, sizeof full, "layers.*.%s", general);
    return near ? near : txd_nearest(full, list->pointers, list->count);
}

static void describe(txd_text *out, const name_list *list, const char *site,
                     bool has_chart)
{
    char general[TXD_SITE_BYTES];
    bool known;
    const char *near;
    size_t i;

    txd_site_generalise(general, site);
    known = is_point(general);
    if (has_chart)
        txd_text_addf(out, "; its norm is in the chart '%s'", general);
    near = known ? NULL : nearest(general, list);
    if (known)
        txd_text_addf(out,
                      "; to record it, in model.cfg: record = ( { probe = \"full\"; "
                      "points = \"%s\"; } );",
                      general);
    else if (near && strcmp(near, general) != 0)
        txd_text_addf(out, "; did you mean %s?", near);
    else if (*site)
        txd_text_add(out, ".");
    txd_text_add(out, list->count ? " Recorded: " : " Nothing in it can be drawn");
    for (i = 0; i < list->count && out->length < 1200; i++)
        i += add_listed(out, list, i);
    if (i < list->count)
        txd_text_add(out, ", ...");
    if (list->count && !known)
        txd_text_add(out, ". More is recorded by `record` in model.cfg");
}

/* It is there, but not of this layer. */
static txd_status check_layer(txd_arena *arena, const txd_trace *recording,
                              const char *site)
{
    char general[TXD_SITE_BYTES];
    int *layers;
    size_t count;

    txd_site_generalise(general, site);
    if (!strchr(general, '*'))
        return TXD_OK;
    TXD_TRY(txd_site_layers(&layers, &count, arena, recording, general));
    if (count == 0)
        return TXD_OK;
    if (count == 1)
        return txd_fail(TXD_ERR_CONFIG, "%s: recorded is layer %d", site, layers[0]);
    return txd_fail(TXD_ERR_CONFIG, "%s: recorded are layers %d to %d", site, layers[0],
                    layers[count - 1]);
}

txd_status txd_site_unknown(const txd_trace *recording, const char *site)
{
    txd_arena *arena;
    name_list list;
    txd_text text;
    txd_status status;

    TXD_TRY(txd_arena_create(&arena));
    txd_text_init(&text);
    status = check_layer(arena, recording, site);
    if (status == TXD_OK)
        status = list_names(&list, arena, recording);
    if (status == TXD_OK) {
        if (*site)
            txd_clean(&text, site, 100);
        txd_text_add(&text, *site ? ": not recorded" : "which site?");
        describe(&text, &list, site, has_norms(recording, site));
        status = txd_fail(TXD_ERR_CONFIG, "%s", txd_text_get(&text));
    }
    txd_text_finish(&text);
    txd_arena_destroy(arena);
    return status;
}

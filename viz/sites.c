/* SPDX-License-Identifier: MIT
 *
 * Names of recorded sites: which there are, which layers a '*' stands for, and the
 * message for one that is not there, which must say what could be asked instead.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viz/script.h"
#include "viz/slice.h"

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

/* What can be drawn: values, row statistics and pooled maps, not inputs and tables. */
static bool is_drawable(const txd_trace_info *info)
{
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
    for (size_t i = 0; i < entries; i++) {
        txd_trace_info info;

        TXD_TRY(txd_trace_get(recording, &info, i));
        if (is_drawable(&info))
            add_name(list, info.name);
    }
    return TXD_OK;
}

/* "layers.*.attn.scores": a point that could have been recorded. */
static bool is_point(const char *general)
{
    char name[TXD_SITE_BYTES];
    txd_point point;
    int layer;

    txd_site_of_layer(name, general, 0);
    return txd_point_parse(&point, &layer, name) == TXD_OK;
}

static void describe(txd_text *out, const name_list *list, const char *site)
{
    char general[TXD_SITE_BYTES];
    bool known;
    const char *near;

    txd_site_generalise(general, site);
    known = is_point(general);
    near = known ? NULL : txd_nearest(general, list->pointers, list->count);
    if (known)
        txd_text_addf(out,
                      "; to record it, in model.cfg: record = ( { probe = \"full\"; "
                      "points = \"%s\"; } );",
                      general);
    else if (near && strcmp(near, general) != 0)
        txd_text_addf(out, "; did you mean %s?", near);
    else
        txd_text_add(out, ".");
    txd_text_add(out, list->count ? " Recorded: " : " Nothing in it can be drawn");
    for (size_t i = 0; i < list->count && out->length < 1200; i++)
        txd_text_addf(out, "%s%s", i ? ", " : "", list->pointers[i]);
    if (list->count && !known)
        txd_text_add(out, ". More is recorded by `record` in model.cfg");
}

txd_status txd_site_unknown(const txd_trace *recording, const char *site)
{
    txd_arena *arena;
    name_list list;
    txd_text text;
    txd_status status;

    TXD_TRY(txd_arena_create(&arena));
    txd_text_init(&text);
    status = list_names(&list, arena, recording);
    if (status == TXD_OK) {
        txd_clean(&text, site, 100);
        txd_text_add(&text, ": not recorded");
        describe(&text, &list, site);
        status = txd_fail(TXD_ERR_CONFIG, "%s", txd_text_get(&text));
    }
    txd_text_finish(&text);
    txd_arena_destroy(arena);
    return status;
}

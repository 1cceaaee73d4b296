/* SPDX-License-Identifier: MIT
 *
 * Where tiles lie, by the attribute `tiles`: "layers.3.attn.weights queries 31000:31256
 * of 32000 keys 0:256 of 32000; ...". A slice of a tile counts places as the value
 * does, so that masks, tokens and marks are where they belong.
 */
#include "viz/read/tile.h"

#include <stdio.h>
#include <string.h>

#define FOLDER "tile/"
#define MOST_PLACES ((size_t)1 << 26)

/* Of queries, of keys. */
typedef struct bounds {
    size_t first[2], end[2], all[2];
} bounds;

bool txd_tile_is(const char *site)
{
    return strncmp(site, FOLDER, strlen(FOLDER)) == 0;
}

static bool is_sound(const bounds *of)
{
    for (int i = 0; i < 2; i++)
        if (of->first[i] >= of->end[i] || of->end[i] > of->all[i] ||
            of->all[i] > MOST_PLACES)
            return false;
    return true;
}

static bool find(bounds *out, const txd_trace *recording, const char *site)
{
    const char *text = txd_trace_meta(recording, "tiles");
    size_t length = strlen(site);

    for (; text && *text; text += strcspn(text, ";")) {
        text += strspn(text, "; ");
        if (strncmp(text, site, length) == 0 &&
            sscanf(text + length, " queries %zu:%zu of %zu keys %zu:%zu of %zu",
                   &out->first[0], &out->end[0], &out->all[0], &out->first[1],
                   &out->end[1], &out->all[1]) == 6)
            return is_sound(out);
    }
    return false;
}

/* "tile/layers/3/attn/weights" is the tile of "layers.3.attn.weights". */
static bool is_tile_of(const char *name, const char *site)
{
    if (!txd_tile_is(name))
        return false;
    for (name += strlen(FOLDER); *name && *site; name++, site++)
        if (*name != (*site == '.' ? '/' : *site))
            return false;
    return *name == '\0' && *site == '\0';
}

const char *txd_tile_site(const txd_trace *recording, const char *site)
{
    size_t count = txd_trace_count(recording);
    txd_trace_info info;
    bounds of;

    if (!find(&of, recording, site))
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (txd_trace_get(recording, &info, i) == TXD_OK && is_tile_of(info.name, site))
            return info.name;
    return NULL;
}

static void site_of_tile(char out[TXD_SITE_BYTES], const char *name)
{
    snprintf(out, TXD_SITE_BYTES, "%s", name + strlen(FOLDER));
    for (char *slash = out; (slash = strchr(slash, '/'));)
        *slash = '.';
}

txd_status txd_tile_place(txd_slice *slice)
{
    const int axes[2] = {txd_axis_of(&slice->info, 'q'),
                         txd_axis_of(&slice->info, 'k')};
    char name[TXD_SITE_BYTES];
    bounds of;

    snprintf(name, sizeof name, "%s", slice->site);
    site_of_tile(slice->site, name);
    if (axes[0] < 0 || axes[1] < 0 || !find(&of, slice->recording, slice->site) ||
        of.end[0] - of.first[0] != slice->info.dims[axes[0]] ||
        of.end[1] - of.first[1] != slice->info.dims[axes[1]])
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: the root attribute \"tiles\" does not say which queries "
                        "and keys it holds, or not as many as there are",
                        name);
    slice->is_tile = true;
    for (int i = 0; i < 2; i++) {
        slice->origin[axes[i]] = of.first[i];
        slice->info.dims[axes[i]] = of.all[i];
    }
    return TXD_OK;
}

/* What a range selects of `all` lies within the tile; what selects nothing does. */
static bool is_within(const txd_range *range, const bounds *of, int which)
{
    for (int i = 0; i < range->count; i++) {
        size_t begin = range->parts[i].begin, end = range->parts[i].end;

        if (end > of->all[which])
            end = of->all[which];
        if (begin < end && (begin < of->first[which] || end > of->end[which]))
            return false;
    }
    return true;
}

bool txd_tile_holds(const txd_trace *recording, const char *tile,
                    const txd_figure_request *request)
{
    char site[TXD_SITE_BYTES];
    bounds of;

    site_of_tile(site, tile);
    return (request->query.count != 0 || request->key.count != 0) &&
           find(&of, recording, site) && is_within(&request->query, &of, 0) &&
           is_within(&request->key, &of, 1);
}

static void set_range(txd_range *range, const bounds *of, int which)
{
    if (range->count != 0)
        return;
    range->count = 1;
    range->parts[0].begin = of->first[which];
    range->parts[0].end = of->end[which];
    range->parts[0].every = 1;
}

static void add_words(txd_text *out, const bounds *of, const char *site)
{
    bool cross = txd_site_attention(site) == TXD_ATTENTION_CROSS;

    txd_text_addf(out, "queries %zu to %zu, %s %zu to %zu", of->first[0],
                  of->end[0] - 1, cross ? "rows of the memory" : "keys", of->first[1],
                  of->end[1] - 1);
}

void txd_tile_words(txd_text *out, const txd_trace *recording, const char *site)
{
    bounds of;

    if (txd_tile_site(recording, site) && find(&of, recording, site))
        add_words(out, &of, site);
}

txd_status txd_tile_zoom(txd_figure_request *request, const txd_slice *slice)
{
    txd_text words;
    bounds of;

    if (!slice->is_tile || !find(&of, slice->recording, slice->site))
        return TXD_OK;
    set_range(&request->query, &of, 0);
    set_range(&request->key, &of, 1);
    if (is_within(&request->query, &of, 0) && is_within(&request->key, &of, 1))
        return TXD_OK;
    txd_text_init(&words);
    add_words(&words, &of, slice->site);
    (void)txd_fail(TXD_ERR_CONFIG,
                   "%s: one tile was recorded, by the probe tile: %s; what was chosen "
                   "is not all within it",
                   slice->site, txd_text_get(&words));
    txd_text_finish(&words);
    return TXD_ERR_CONFIG;
}

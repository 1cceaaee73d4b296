/* SPDX-License-Identifier: MIT
 *
 * Chooses the block of a value that a request asks for. Step and batch have a default
 * (the first); a layer or head that is not chosen is drawn as an axis if there is room
 * for it, and asked for if there is not.
 */
#include "viz/read/slice.h"

#include <stdio.h>
#include <string.h>

#include "viz/read/tile.h"

enum { MOST_PLACES = 1 << 26 }; /* of an axis; more is not in any file */

int txd_axis_of(const txd_trace_info *info, char letter)
{
    const char *found = letter && info->axes ? strchr(info->axes, letter) : NULL;

    return found && found - info->axes < info->rank ? (int)(found - info->axes) : -1;
}

static const char *word_of(char letter)
{
    static const struct {
        char letter;
        const char *word;
    } words[] = {
        {'s', "step"},       {'l', "layer"},        {'b', "batch"},
        {'t', "position"},   {'q', "query"},        {'k', "key"},
        {'h', "head"},       {'g', "KV head"},      {'e', "lane"},
        {'f', "value lane"}, {'d', "channel"},      {'m', "MLP unit"},
        {'v', "token id"},   {'i', "pooled query"}, {'j', "pooled key"},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].letter == letter)
            return words[i].word;
    return "place";
}

bool txd_axis_of_memory(const txd_slice *slice, int axis)
{
    char letter = axis < 0 ? '\0' : slice->info.axes[axis];

    return (letter == 'k' || letter == 'j') &&
           (txd_site_attention(slice->site) == TXD_ATTENTION_CROSS ||
            strncmp(slice->site, "input", 5) == 0);
}

const char *txd_axis_word(const txd_slice *slice, int axis)
{
    char letter = slice->info.axes[axis];

    if (!txd_axis_of_memory(slice, axis))
        return word_of(letter);
    return letter == 'j' ? "pooled memory row" : "memory row";
}

txd_status txd_choice(size_t *out, const char *what, int chosen, size_t count)
{
    if (count == 0)
        return txd_fail(TXD_ERR_CONFIG, "the recording holds no %s", what);
    if (chosen >= 0 && (size_t)chosen >= count)
        return txd_fail(TXD_ERR_CONFIG, "%s %d: recorded are 0 to %zu", what, chosen,
                        count - 1);
    *out = chosen < 0 ? 0 : (size_t)chosen;
    return TXD_OK;
}

txd_status txd_places(size_t **out, size_t *selected, txd_arena *arena,
                      const txd_range *range, size_t count, const char *what)
{
    size_t *places, found = 0;

    if (count > MOST_PLACES)
        return txd_fail(TXD_ERR_LIMIT, "%zu %s are more than can be drawn (%d)", count,
                        what, MOST_PLACES);
    places = txd_arena_alloc(arena, count, sizeof *places);
    if (!places)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        if (txd_range_has(range, i))
            places[found++] = i;
    if (found == 0 && count == 0)
        return txd_fail(TXD_ERR_CONFIG, "the recording holds no %s", what);
    if (found == 0)
        return txd_fail(TXD_ERR_CONFIG,
                        "the chosen range of %s is empty: there are 0 "
                        "to %zu",
                        what, count - 1);
    *out = places;
    *selected = found;
    return TXD_OK;
}

static int layer_of(const char *site)
{
    txd_point point;
    int layer, digits = 0;

    if (txd_point_parse(&point, &layer, site) == TXD_OK)
        return layer;
    return sscanf(site, "layers.%d.%n", &layer, &digits) == 1 && digits ? layer : -1;
}

static txd_status star_needs_layer(const txd_trace *recording, const char *site)
{
    txd_arena *arena;
    int *layers;
    size_t count;
    txd_status status;

    TXD_TRY(txd_arena_create(&arena));
    status = txd_site_layers(&layers, &count, arena, recording, site);
    if (status == TXD_OK && count == 0)
        status = txd_site_unknown(recording, site);
    else if (status == TXD_OK)
        status = txd_fail(TXD_ERR_CONFIG,
                          "%s: choose a layer with --layer: recorded are %d to %d",
                          site, layers[0], layers[count - 1]);
    txd_arena_destroy(arena);
    return status;
}

/* A site with '*' is known, but not this layer of it. */
static txd_status layer_unknown(const txd_trace *recording,
                                const txd_figure_request *request)
{
    txd_arena *arena;
    int *layers;
    size_t count;
    txd_status status;

    TXD_TRY(txd_arena_create(&arena));
    status = txd_site_layers(&layers, &count, arena, recording, request->site);
    if (status == TXD_OK && count != 0)
        status = txd_fail(TXD_ERR_CONFIG, "%s, layer %d: recorded are %d to %d",
                          request->site, request->layer, layers[0], layers[count - 1]);
    else if (status == TXD_OK)
        status = txd_site_unknown(recording, request->site);
    txd_arena_destroy(arena);
    return status;
}

static txd_status find_entry(txd_slice *slice, const txd_trace *recording,
                             const txd_figure_request *request)
{
    bool star = strchr(request->site, '*') != NULL;

    slice->recording = recording;
    if (star && request->layer < 0)
        return star_needs_layer(recording, request->site);
    txd_site_of_layer(slice->site, request->site, request->layer);
    if (txd_trace_find(recording, &slice->entry, slice->site) != TXD_OK)
        return star ? layer_unknown(recording, request)
                    : txd_site_unknown(recording, slice->site);
    TXD_TRY(txd_trace_get(recording, &slice->info, slice->entry));
    if (slice->info.rank < 1)
        return txd_fail(TXD_ERR_CONFIG, "%s: a single number cannot be drawn",
                        slice->site);
    if (txd_tile_is(slice->site))
        TXD_TRY(txd_tile_place(slice));
    slice->layer = layer_of(slice->site);
    if (!star && request->layer >= 0 && txd_axis_of(&slice->info, 'l') < 0 &&
        request->layer != slice->layer)
        return txd_fail(TXD_ERR_CONFIG, "%s: layer %d was asked for, but the site %s",
                        slice->site, request->layer,
                        slice->layer < 0 ? "belongs to no layer" : "names another");
    return TXD_OK;
}

/* Fixes an axis at what was chosen; without a choice it stays to be drawn. */
static txd_status fix(txd_slice *slice, bool *free_axis, char letter, int chosen)
{
    int axis = txd_axis_of(&slice->info, letter);
    bool always = letter == 's' || letter == 'b';

    if (axis < 0)
        return TXD_OK;
    if (chosen < 0 && !always && slice->info.dims[axis] != 1)
        return TXD_OK;
    free_axis[axis] = false;
    if (txd_choice(&slice->fixed[axis], word_of(letter), chosen,
                   slice->info.dims[axis]) == TXD_OK)
        return TXD_OK;
    return txd_fail_prefix(TXD_ERR_CONFIG, "%s", slice->site);
}

static txd_status fix_head(txd_slice *slice, bool *free_axis, int chosen)
{
    char letter = txd_axis_of(&slice->info, 'h') >= 0 ? 'h' : 'g';
    int axis = txd_axis_of(&slice->info, letter);

    if (axis < 0 && chosen >= 0)
        return txd_fail(TXD_ERR_CONFIG, "%s has no heads, but head %d was asked for",
                        slice->site, chosen);
    TXD_TRY(fix(slice, free_axis, letter, chosen));
    if (axis >= 0 && !free_axis[axis])
        slice->head = (int)slice->fixed[axis];
    return TXD_OK;
}

static txd_status too_many_axes(const txd_slice *slice, const bool *free_axis,
                                int excess)
{
    const char *between = ": choose ";
    txd_text text;

    txd_text_init(&text);
    txd_text_addf(&text, "%s: a picture has two axes, this value has %d more",
                  slice->site, excess);
    for (int axis = 0; axis < slice->info.rank; axis++) {
        char letter = slice->info.axes[axis];

        if (!free_axis[axis] || (letter != 'l' && letter != 'h' && letter != 'g'))
            continue;
        txd_text_addf(&text, "%s--%s (0 to %zu)", between,
                      letter == 'l' ? "layer" : "head", slice->info.dims[axis] - 1);
        between = excess == 1 ? " or " : " and ";
    }
    (void)txd_fail(TXD_ERR_CONFIG, "%s", txd_text_get(&text));
    txd_text_finish(&text);
    return TXD_ERR_CONFIG;
}

static txd_status choose_drawn(txd_slice *slice, const bool *free_axis)
{
    int count = 0;

    slice->row_axis = slice->column_axis = -1;
    for (int axis = slice->info.rank - 1; axis >= 0; axis--) {
        if (!free_axis[axis])
            continue;
        if (count == 0)
            slice->column_axis = axis;
        else if (count == 1)
            slice->row_axis = axis;
        count++;
    }
    if (count > 2)
        return too_many_axes(slice, free_axis, count - 2);
    if (count == 0) /* all axes have length 1 or were chosen: draw the last */
        slice->column_axis = slice->info.rank - 1;
    return TXD_OK;
}

/* Axes of a value that names none: the step is taken to lead, as in recordings. */
static void name_axes(txd_trace_info *info)
{
    static const char *const usual[] = {"", "x", "xy", "sxy", "sbxy"};

    if (strlen(info->axes ? info->axes : "") != (size_t)info->rank)
        info->axes = info->rank <= 4 ? usual[info->rank] : "sbxyzuvw";
}

txd_status txd_slice_find(txd_slice *out, const txd_trace *recording,
                          const txd_figure_request *request)
{
    bool free_axis[TXD_MAX_RANK];
    txd_slice slice = {.head = -1};

    TXD_TRY(find_entry(&slice, recording, request));
    name_axes(&slice.info);
    for (int axis = 0; axis < slice.info.rank; axis++)
        free_axis[axis] = true;
    TXD_TRY(fix(&slice, free_axis, 's', request->step));
    TXD_TRY(fix(&slice, free_axis, 'b', request->batch));
    TXD_TRY(fix(&slice, free_axis, 'l', request->layer));
    TXD_TRY(fix_head(&slice, free_axis, request->head));
    TXD_TRY(choose_drawn(&slice, free_axis));
    if (txd_axis_of(&slice.info, 's') >= 0)
        slice.step = slice.fixed[txd_axis_of(&slice.info, 's')];
    if (txd_axis_of(&slice.info, 'b') >= 0)
        slice.batch = slice.fixed[txd_axis_of(&slice.info, 'b')];
    if (txd_axis_of(&slice.info, 'l') >= 0 && !free_axis[txd_axis_of(&slice.info, 'l')])
        slice.layer = (int)slice.fixed[txd_axis_of(&slice.info, 'l')];
    *out = slice;
    return TXD_OK;
}

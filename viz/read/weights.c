/* SPDX-License-Identifier: MIT
 *
 * Reads rows of attention weights, and knows by the claimed mask which of their keys
 * are hidden.
 */
#include "viz/read/weights.h"

#include <stdio.h>
#include <string.h>

#include "viz/read/slice.h"

enum { BLOCK_ROWS = 256, BLOCK_VALUES = 1 << 20 };

#define MOST_VALUES 0x1p28 /* that are read of one recording */

const char *txd_weights_site(txd_attention_kind kind)
{
    return kind == TXD_ATTENTION_CROSS ? "layers.*.cross.weights"
                                       : "layers.*.attn.weights";
}

bool txd_weights_recorded(const txd_trace *recording, txd_attention_kind kind)
{
    txd_trace_info info;

    for (size_t i = 0; i < txd_trace_count(recording); i++)
        if (txd_trace_get(recording, &info, i) == TXD_OK &&
            txd_site_layer_in(txd_weights_site(kind), info.name) >= 0)
            return true;
    return false;
}

static txd_status find_layer(size_t *entry, txd_trace_info *info,
                             const txd_weights *weights, int layer)
{
    const txd_trace *recording = weights->claim->recording;
    char name[TXD_SITE_BYTES];

    txd_site_of_layer(name, txd_weights_site(weights->kind), layer);
    TXD_TRY(txd_trace_find(recording, entry, name));
    TXD_TRY(txd_trace_get(recording, info, *entry));
    if (info->rank != 5 || strcmp(info->axes, "sbhqk") != 0)
        return txd_fail(TXD_ERR_FORMAT, "%s: axes \"%s\", expected \"sbhqk\"", name,
                        info->axes);
    return TXD_OK;
}

static txd_status find_layers(txd_weights *out, int only)
{
    const char *site = txd_weights_site(out->kind);
    int *layers;
    size_t count;

    TXD_TRY(txd_site_layers(&layers, &count, out->claim->arena, out->claim->recording,
                            site));
    if (count == 0)
        return txd_fail(TXD_ERR_MISSING,
                        "%s: not recorded in full; to record it, in model.cfg: record "
                        "= ( { probe = \"full\"; points = \"%s\"; } );",
                        site, site);
    out->layers = layers;
    out->layer_count = count;
    for (size_t i = 0; only >= 0 && i < count; i++) {
        if (layers[i] != only)
            continue;
        out->layers = layers + i;
        out->layer_count = 1;
        return TXD_OK;
    }
    return only < 0 ? TXD_OK
                    : txd_fail(TXD_ERR_CONFIG, "%s, layer %d: recorded are %d to %d",
                               site, only, layers[0], layers[count - 1]);
}

static size_t cut(size_t extent, size_t filled)
{
    return filled != 0 && filled < extent ? filled : extent;
}

static txd_status find_extent(txd_weights *out, const txd_figure_request *request)
{
    bool cross = out->kind == TXD_ATTENTION_CROSS;
    const txd_claim *claim = out->claim;
    double values, row;
    txd_trace_info info;
    size_t entry;

    TXD_TRY(find_layer(&entry, &info, out, out->layers[0]));
    TXD_TRY(txd_choice(&out->step, "step", request->step, info.dims[0]));
    TXD_TRY(txd_choice(&out->first_batch, "batch", request->batch, info.dims[1]));
    out->batches = request->batch < 0 ? info.dims[1] : 1;
    out->heads = info.dims[2];
    out->queries = cut(info.dims[3], claim->length_q);
    out->keys = cut(info.dims[4], cross ? claim->length_memory : claim->length_k);
    out->past = !cross && out->keys > out->queries ? out->keys - out->queries : 0;
    row = (double)out->heads * (double)out->keys;
    values = row * (double)out->layer_count * (double)out->batches;
    if (values > MOST_VALUES)
        return txd_fail(TXD_ERR_LIMIT,
                        "%s: %zu heads of %zu keys in %zu batch rows are too many to "
                        "read, whatever the queries: choose with --layer and --batch",
                        info.name, out->heads, out->keys, out->batches);
    out->every = 1 + (size_t)(values * (double)out->queries / MOST_VALUES);
    return TXD_OK;
}

txd_status txd_weights_open(txd_weights *out, const txd_claim *claim,
                            txd_attention_kind kind, const txd_figure_request *request)
{
    *out = (txd_weights){.claim = claim, .kind = kind};
    TXD_TRY(find_layers(out, request->layer));
    return find_extent(out, request);
}

bool txd_weights_mask(txd_mask_view *out, const txd_weights *weights, int layer,
                      size_t batch)
{
    const txd_claim_block block = {.kind = weights->kind,
                                   .layer = layer,
                                   .batch = batch,
                                   .queries = weights->queries,
                                   .keys = weights->keys};

    return txd_claim_mask(out, weights->claim, &block);
}

bool txd_weights_valid(const txd_weights *weights, size_t batch, size_t query)
{
    const txd_inputs *inputs = &weights->claim->inputs;

    return !weights->claim->has_inputs || batch >= inputs->batch ||
           query >= inputs->length || inputs->valid[batch * inputs->length + query];
}

/* A line per use of a probe: its name, points, layers, heads, steps, between tabs. */
static bool use_has_head(const char *line, size_t head)
{
    char heads[256] = "";
    txd_range range;

    if (sscanf(line, "full\t%*[^\t]\t%*[^\t]\t%255[^\t\n]", heads) != 1)
        return false;
    return strcmp(heads, "*") == 0 || txd_range_parse(&range, heads) != TXD_OK ||
           txd_range_has(&range, head);
}

bool txd_weights_has_head(const txd_weights *weights, size_t head)
{
    const char *line = txd_trace_meta(weights->claim->recording, "record");
    bool any = false;

    for (; line && *line; line = *line ? line + 1 : line) {
        any |= strncmp(line, "full\t", 5) == 0;
        if (use_has_head(line, head))
            return true;
        line += strcspn(line, "\n");
    }
    return !any; /* another program wrote them */
}

txd_status txd_weights_read(double *out, const txd_weights *weights,
                            const txd_weights_place *from, size_t rows, size_t width)
{
    const size_t start[5] = {weights->step, from->batch, from->head, from->query,
                             from->key};
    const size_t block[5] = {1, 1, 1, rows, width};
    txd_trace_info info;
    size_t entry;

    TXD_TRY(find_layer(&entry, &info, weights, from->layer));
    for (int axis = 0; axis < 5; axis++)
        if (start[axis] + block[axis] > info.dims[axis])
            return txd_fail(TXD_ERR_FORMAT,
                            "%s: smaller than the same value of other layers",
                            info.name);
    return txd_trace_read(weights->claim->recording, out, entry, start, block, TXD_F64);
}

/* A block of rows of one batch row, of all heads. */
typedef struct block {
    size_t batch, first, rows;
    double *values;
    unsigned char *hidden;
} block;

static void hide(block *at, const txd_weights *weights, int layer)
{
    txd_mask_view mask;

    memset(at->hidden, 0, at->rows * weights->keys);
    if (!txd_weights_mask(&mask, weights, layer, at->batch))
        return;
    for (size_t row = 0; row < at->rows; row++)
        for (size_t key = 0; key < weights->keys; key++)
            at->hidden[row * weights->keys + key] =
                txd_mask_hides(&mask, at->first + row, key) != TXD_SEEN;
}

static txd_status walk_block(const block *at, const txd_weights *weights, int layer,
                             void (*visit)(void *context, const txd_weights_row *row),
                             void *context)
{
    for (size_t head = 0; head < weights->heads; head++) {
        const txd_weights_place place = {layer, at->batch, head, at->first, 0};

        if (!txd_weights_has_head(weights, head))
            continue;
        TXD_TRY(txd_weights_read(at->values, weights, &place, at->rows, weights->keys));
        for (size_t row = 0; row < at->rows; row++) {
            const txd_weights_row one = {.batch = at->batch - weights->first_batch,
                                         .head = head,
                                         .query = at->first + row,
                                         .weights = at->values + row * weights->keys,
                                         .hidden = at->hidden + row * weights->keys,
                                         .keys = weights->keys};

            if (txd_weights_valid(weights, at->batch, one.query))
                visit(context, &one);
        }
    }
    return TXD_OK;
}

txd_status txd_weights_walk(const txd_weights *weights, int layer, txd_arena *scratch,
                            void (*visit)(void *context, const txd_weights_row *row),
                            void *context)
{
    size_t rows = BLOCK_VALUES / (weights->keys ? weights->keys : 1), blocks;
    block at;

    rows = rows < 1 ? 1 : rows > BLOCK_ROWS ? BLOCK_ROWS : rows;
    blocks = weights->batches * ((weights->queries + rows - 1) / rows);
    at.values = txd_arena_alloc(scratch, rows * weights->keys, sizeof *at.values);
    at.hidden = txd_arena_alloc(scratch, rows * weights->keys, 1);
    if (!at.values || !at.hidden)
        return TXD_ERR_MEMORY;
    for (size_t batch = 0; batch < weights->batches; batch++) {
        at.batch = weights->first_batch + batch;
        for (at.first = 0; at.first < weights->queries; at.first += at.rows) {
            size_t left = weights->queries - at.first;

            at.rows = left < rows ? left : rows;
            if (--blocks % weights->every != 0) /* the last is always read */
                continue;
            hide(&at, weights, layer);
            TXD_TRY(walk_block(&at, weights, layer, visit, context));
        }
    }
    return TXD_OK;
}

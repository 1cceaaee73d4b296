/* SPDX-License-Identifier: MIT
 *
 * The tap that keeps the values of a pass.
 */
#include "checks/experiments/capture.h"

#include <string.h>

/* Of one capture. */
#define MOST_BYTES ((size_t)256 << 20)

static unsigned kind_of(const txd_site *site)
{
    const txd_point_info *info = txd_point_get(site->point);

    if (site->point == TXD_POINT_LOSS_TOKEN || txd_point_is_of_memory(site->point))
        return 0;
    switch (info->place) {
    case TXD_PLACE_TOP:
    case TXD_PLACE_LAYER:
        return TXD_CAPTURE_VALUES;
    case TXD_PLACE_TILE:
        return txd_point_in_self(site->point) == TXD_POINT_ATTN_WEIGHTS
                   ? TXD_CAPTURE_WEIGHTS
                   : 0;
    case TXD_PLACE_ROWS:
        return TXD_CAPTURE_LOGITS;
    default:
        return 0;
    }
}

static unsigned ask(void *self, const txd_site *site)
{
    const txd_capture *capture = self;

    if (capture->step >= 0 && site->step != capture->step)
        return 0;
    if (site->kind == TXD_SITE_GRADIENT)
        return capture->what & TXD_CAPTURE_GRADIENTS &&
                       kind_of(site) == TXD_CAPTURE_VALUES
                   ? TXD_ASK_VALUE
                   : 0;
    if (site->kind != TXD_SITE_VALUE)
        return 0;
    return capture->what & kind_of(site) ? TXD_ASK_VALUE : 0;
}

static bool is_same(const txd_site *a, const txd_site *b)
{
    return a->kind == b->kind && a->point == b->point && a->layer == b->layer;
}

const txd_captured *txd_capture_at(const txd_capture *capture, const txd_site *site)
{
    for (size_t i = capture->count; i-- > 0;)
        if (is_same(&capture->sites[i].site, site))
            return &capture->sites[i];
    return NULL;
}

static txd_status grow(txd_capture *capture)
{
    size_t capacity = capture->capacity ? 2 * capture->capacity : 64;
    txd_captured *grown =
        txd_arena_alloc(capture->arena, capacity, sizeof *capture->sites);

    if (!grown)
        return TXD_ERR_MEMORY;
    if (capture->count)
        memcpy(grown, capture->sites, capture->count * sizeof *grown);
    capture->sites = grown;
    capture->capacity = capacity;
    return TXD_OK;
}

/* Memory for the whole value that a block is of; *out stays NULL beyond the limit. */
static txd_status add(txd_captured **out, txd_capture *capture, const txd_block *block)
{
    txd_captured *made;
    size_t bytes;

    TXD_TRY(txd_shape_count(&bytes, block->dims, block->value.rank));
    TXD_TRY(txd_size_mul(&bytes, bytes, txd_dtype_bytes(block->value.dtype)));
    if (bytes > MOST_BYTES - capture->bytes) {
        capture->left_out++;
        return TXD_OK;
    }
    if (capture->count == capture->capacity)
        TXD_TRY(grow(capture));
    made = &capture->sites[capture->count];
    made->site = *block->site;
    made->site.name = txd_arena_string(capture->arena, block->site->name);
    made->value =
        txd_tensor_make(block->value.dtype, txd_arena_alloc(capture->arena, bytes, 1),
                        block->value.rank, block->dims);
    if (!made->site.name || !made->value.data)
        return TXD_ERR_MEMORY;
    capture->bytes += bytes;
    capture->count++;
    *out = made;
    return TXD_OK;
}

/* Rows of the last axis of a block go to their places in the whole value. */
static void put(txd_tensor *whole, const txd_block *block)
{
    const txd_tensor *part = &block->value;
    int last = part->rank - 1;
    size_t item = txd_dtype_bytes(part->dtype), width = part->dims[last];
    size_t rows = width ? txd_tensor_count(part) / width : 0;

    for (size_t row = 0; row < rows; row++) {
        size_t rest = row, place = block->start[last], step = whole->dims[last];

        for (int axis = last - 1; axis >= 0; axis--) {
            place += (block->start[axis] + rest % part->dims[axis]) * step;
            rest /= part->dims[axis];
            step *= whole->dims[axis];
        }
        memcpy((char *)whole->data + place * item,
               (const char *)part->data + row * width * item, width * item);
    }
}

static bool is_first(const txd_block *block)
{
    for (int axis = 0; axis < block->value.rank; axis++)
        if (block->start[axis] > 0)
            return false;
    return true;
}

/* Tiles of two sites may come in turns, as those of raw logits and of logits do. */
static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    txd_capture *capture = self;
    txd_captured *to = NULL;
    size_t i = capture->count;

    (void)slot;
    if (!block->value.data)
        return TXD_OK;
    capture->batch = block->pass->inputs->batch;
    capture->length = block->pass->inputs->length;
    while (i > 0 && !is_same(&capture->sites[i - 1].site, block->site))
        i--;
    if (i > 0)
        to = &capture->sites[i - 1];
    else if (is_first(block))
        TXD_TRY(add(&to, capture, block));
    if (to)
        put(&to->value, block);
    return TXD_OK;
}

txd_status txd_capture_init(txd_capture *out, const txd_experiment *experiment,
                            unsigned what)
{
    *out = (txd_capture){.claimed = experiment->setup->claimed,
                         .what = what,
                         .step = -1,
                         .tap = {.name = "capture",
                                 .gradients = (what & TXD_CAPTURE_GRADIENTS) != 0,
                                 .ask = ask,
                                 .merge = merge}};
    out->tap.self = out;
    out->taps[0] = &out->tap;
    return txd_arena_create(&out->arena);
}

void txd_capture_finish(txd_capture *capture)
{
    txd_arena_destroy(capture->arena);
    capture->arena = NULL;
}

txd_status txd_capture_pass(txd_capture *capture, const txd_experiment *experiment,
                            const txd_experiment_how *how, const txd_inputs *inputs)
{
    txd_experiment_how with = *how;
    txd_tap *taps[8];

    if (how->tap_count + 1 > sizeof taps / sizeof *taps)
        return txd_fail(TXD_ERR_ARGUMENT, "too many taps beside a capture");
    if (how->tap_count)
        memcpy(taps, how->taps, how->tap_count * sizeof *taps);
    taps[how->tap_count] = &capture->tap;
    with.taps = taps;
    with.tap_count = how->tap_count + 1;
    return txd_experiment_pass(experiment, &with, inputs);
}

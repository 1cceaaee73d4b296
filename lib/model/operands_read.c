/* SPDX-License-Identifier: MIT
 *
 * Which part of an operand enters an element: by the letters of their axes. A token is
 * the same token everywhere, a head reads its KV head, and of what is summed over
 * (lanes, keys) all of it enters.
 */
#include <math.h>
#include <string.h>

#include "model/operands.h"
#include "ops/args.h"
#include "ops/kernels.h"

/* The part of an operand's whole value: [begin, end) of each axis, all if not `set`. */
typedef struct box {
    bool set[TXD_MAX_RANK];
    size_t begin[TXD_MAX_RANK], end[TXD_MAX_RANK];
} box;

/* What a box is made for. */
typedef struct reach {
    const txd_operand *operand;
    const txd_block *block;
    const char *axes; /* of the site */
    const size_t *at;
} reach;

/* The element's coordinate along the first of these letters that its site has, or -1.
 */
static long along(const reach *r, const char *letters)
{
    for (; *letters; letters++) {
        const char *axis = strchr(r->axes, *letters);

        if (axis)
            return (long)r->at[axis - r->axes];
    }
    return -1;
}

static void fix(box *b, int axis, long first, long count)
{
    if (first < 0)
        return;
    b->set[axis] = true;
    b->begin[axis] = (size_t)first;
    b->end[axis] = (size_t)(first + count);
}

static void fix_heads(box *b, int axis, char letter, const reach *r)
{
    const txd_config *config = r->block->pass->claimed;
    long group = (long)(config->n_heads / config->n_kv_heads);
    long head = along(r, "h"), shared = along(r, "g");

    if (letter == 'h' && head < 0 && shared >= 0)
        fix(b, axis, shared * group, group);
    else if (letter == 'h')
        fix(b, axis, head, 1);
    else if (shared >= 0)
        fix(b, axis, shared, 1);
    else
        fix(b, axis, head < 0 ? -1 : head / group, 1);
}

/* The heads side by side: element d of a token is lane d % width of head d / width. */
static bool fix_merged(box *b, const reach *r)
{
    long width = (long)r->block->pass->claimed->value_dim;
    txd_point from = txd_point_in_self(r->block->site->point);
    txd_point to = txd_point_in_self(r->operand->point);

    if (from == TXD_POINT_ATTN_MERGED && to == TXD_POINT_ATTN_HEADS) {
        fix(b, 1, (long)r->at[2] / width, 1);
        fix(b, 3, (long)r->at[2] % width, 1);
        return true;
    }
    if (from == TXD_POINT_ATTN_HEADS && to == TXD_POINT_ATTN_MERGED) {
        fix(b, 2, (long)r->at[1] * width + (long)r->at[3], 1);
        return true;
    }
    return false;
}

static bool is_tile(txd_point point)
{
    return txd_point_get(point)->place == TXD_PLACE_TILE;
}

/* A softmax reads the whole row of keys; all else knows its own key. */
static bool mixes_keys(const reach *r)
{
    return is_tile(r->operand->point) && is_tile(r->block->site->point) &&
           !r->operand->is_pointwise;
}

static box box_of(const reach *r)
{
    const char *axes = txd_point_get(r->operand->point)->axes;
    box b = {.set = {false}};
    bool is_merged = fix_merged(&b, r);

    for (int axis = 0; axes[axis]; axis++) {
        const char letter[2] = {axes[axis], '\0'};

        if (*letter == 'b')
            fix(&b, axis, along(r, "b"), 1);
        else if (*letter == 't')
            fix(&b, axis, along(r, "tqk"), 1);
        else if (*letter == 'q')
            fix(&b, axis, along(r, "qt"), 1);
        else if (*letter == 'k')
            fix(&b, axis, mixes_keys(r) ? -1 : along(r, "kt"), 1);
        else if (is_merged)
            continue;
        else if (*letter == 'h' || *letter == 'g')
            fix_heads(&b, axis, *letter, r);
        else if (r->operand->is_pointwise)
            fix(&b, axis, along(r, letter), 1);
    }
    return b;
}

/* From coordinates in the whole value to those in the part that is at hand. */
static bool place(box *b, const reach *r, const txd_tensor *value)
{
    for (int axis = 0; axis < value->rank; axis++) {
        size_t start = is_tile(r->operand->point) ? r->block->start[axis] : 0;

        if (!b->set[axis]) {
            b->begin[axis] = 0;
            b->end[axis] = value->dims[axis];
            continue;
        }
        if (b->begin[axis] < start || b->end[axis] - start > value->dims[axis])
            return false;
        b->begin[axis] -= start;
        b->end[axis] -= start;
    }
    return true;
}

static void take(txd_operand_part *out, double x)
{
    bool is_first = out->count++ == 0;

    out->nonfinite += !isfinite(x);
    if (is_first || (!isnan(out->value) && (isnan(x) || fabs(x) > fabs(out->value))))
        out->value = x;
}

/* Steps `at` on within the box; false after its last element. */
static bool step(size_t *at, const box *b, int rank)
{
    for (int axis = rank - 1; axis >= 0; axis--) {
        if (++at[axis] < b->end[axis])
            return true;
        at[axis] = b->begin[axis];
    }
    return false;
}

static txd_operand_part read_box(const txd_tensor *value, const box *b)
{
    txd_operand_part part = {.value = (double)NAN};
    size_t at[TXD_MAX_RANK];

    memcpy(at, b->begin, sizeof at);
    for (int axis = 0; axis < value->rank; axis++)
        if (b->begin[axis] >= b->end[axis])
            return part;
    do {
        size_t flat = 0;

        for (int axis = 0; axis < value->rank; axis++)
            flat = flat * value->dims[axis] + at[axis];
        take(&part, txd_tensor_get(value, flat));
    } while (step(at, b, value->rank));
    return part;
}

txd_status txd_operand_read(txd_operand_part *out, const txd_operand *operand,
                            const txd_block *block, const size_t *at)
{
    const reach r = {operand, block, txd_point_get(block->site->point)->axes, at};
    txd_tensor value;
    box b;

    TXD_TRY(operand->is_gradient ? txd_block_gradient(&value, block, operand->point)
                                 : txd_block_earlier(&value, block, operand->point));
    b = box_of(&r);
    if (!value.data || !place(&b, &r, &value))
        return txd_fail(TXD_ERR_MISSING, "%s is not at hand at %s",
                        txd_point_get(operand->point)->name, block->site->name);
    *out = read_box(&value, &b);
    return TXD_OK;
}

/* ---- the first element that is not finite ---- */

/* Coordinates in the whole value of element `i` of the block. */
static void coordinates(size_t *at, const txd_block *block, size_t i)
{
    for (int axis = block->value.rank - 1; axis >= 0; axis--) {
        size_t length = block->value.dims[axis];

        at[axis] = block->start[axis] + i % length;
        i /= length;
    }
}

static txd_mask_view mask_of(const txd_block *block, size_t batch)
{
    const txd_site *site = block->site;

    return txd_mask_of_attention(txd_point_attention(site->point),
                                 &block->pass->claimed->layers[site->layer],
                                 block->pass->inputs, batch);
}

static bool is_seen(const txd_block *block, const size_t *at)
{
    txd_mask_view mask = mask_of(block, at[0]);

    return txd_mask_hides(&mask, at[2], at[3]) == TXD_SEEN;
}

bool txd_block_judges(const txd_block *block, const size_t *at)
{
    const txd_inputs *inputs = block->pass->inputs;
    const char *axes, *token;

    if (txd_site_is_parameter(block->site->kind))
        return true;
    axes = txd_point_get(block->site->point)->axes;
    token = strpbrk(axes, "tq") ? strpbrk(axes, "tq") : strchr(axes, 'k');
    if (txd_point_is_of_memory(block->site->point)
            ? !inputs->memory_valid[at[0] * inputs->memory_length + at[token - axes]]
            : !inputs->valid[at[0] * inputs->length + at[token - axes]])
        return false;
    if (block->site->point == TXD_POINT_LOSS_TOKEN)
        return txd_inputs_is_pair(inputs, at[0] * inputs->length + at[1]);
    return !is_tile(block->site->point) || is_seen(block, at);
}

static bool all_finite(const txd_tensor *value, size_t begin, size_t end)
{
    return value->dtype == TXD_F32 &&
           txd_kernels_here()->finite((const float *)value->data + begin, end - begin);
}

/* The first from `i` on that is not finite, or `count`. */
static size_t search(const txd_tensor *value, size_t i, size_t count)
{
    while (i < count && isfinite(txd_tensor_get(value, i)))
        i++;
    return i;
}

/* One row of a tile, where hidden cells are infinite as a rule. */
static bool search_row(size_t at[TXD_MAX_RANK], const txd_block *block, size_t row)
{
    const txd_inputs *inputs = block->pass->inputs;
    size_t keys = block->value.dims[block->value.rank - 1], first = row * keys;
    txd_span span = txd_span_of(block->seen, row, 0, keys);
    txd_mask_view mask;

    coordinates(at, block, first);
    if (!inputs->valid[at[0] * inputs->length + at[2]] ||
        all_finite(&block->value, first + span.begin, first + span.end))
        return false;
    mask = mask_of(block, at[0]);
    for (size_t i = first + span.begin;
         (i = search(&block->value, i, first + span.end)) < first + span.end; i++) {
        at[3] = block->start[3] + i - first;
        if (txd_mask_hides(&mask, at[2], at[3]) == TXD_SEEN)
            return true;
    }
    return false;
}

static bool search_tile(size_t at[TXD_MAX_RANK], const txd_block *block, size_t count)
{
    size_t keys = block->value.dims[block->value.rank - 1];

    for (size_t row = 0; row * keys < count; row++)
        if (search_row(at, block, row))
            return true;
    return false;
}

/* Statistics are of what is judged. */
static bool is_told_finite(const txd_block *block)
{
    if (block->part)
        return block->part->nonfinite == 0;
    return block->stats && block->stats[TXD_STAT_NONFINITE] == 0;
}

bool txd_block_nonfinite(size_t at[TXD_MAX_RANK], const txd_block *block)
{
    size_t count = block->value.data ? txd_tensor_count(&block->value) : 0;

    if (count == 0 || is_told_finite(block))
        return false;
    if (!txd_site_is_parameter(block->site->kind) && is_tile(block->site->point))
        return search_tile(at, block, count);
    if (all_finite(&block->value, 0, count))
        return false;
    for (size_t i = 0; (i = search(&block->value, i, count)) < count; i++) {
        coordinates(at, block, i);
        if (txd_block_judges(block, at))
            return true;
    }
    return false;
}

/* SPDX-License-Identifier: MIT
 *
 * The probe `grad_norm`: how large gradients are, of values and of parameters, and of
 * all parameters of a layer and of the model together. Of the loss as it is: the loss
 * scale is divided out. Padded tokens and hidden cells do not count.
 */
#include "probes/common.h"

#include <math.h>
#include <stdio.h>

static const char field_names[] = "count,l2,rms,max_abs,zeros,nonfinite";
enum { COUNT, L2, RMS, MAX_ABS, ZEROS, NONFINITE, FIELDS };

/* Squares beyond what a double holds are summed in another unit (Blue 1978). */
#define LARGE 0x1p600
#define SMALL 0x1p-600
#define LARGE_FROM 0x1p480
#define SMALL_BELOW 0x1p-480

/* Sums over elements. All zero is the start. */
typedef struct sums {
    double count, zeros, nonfinite, largest;
    double large, square, small; /* of the squares, in units of LARGE, 1 and SMALL */
} sums;

/* All parameters of a layer, or of the model. */
typedef struct group {
    sums sum;
    size_t seen, of;
    int step; /* of those seen */
} group;

typedef struct grad_norm {
    txd_probe_frame frame;
    txd_series series;
    sums sum[TXD_PROBE_OPEN]; /* of the blocks of one site so far */
    group *groups;            /* one per layer, then the model */
    size_t group_count;
    size_t *row_of; /* of a group in the series, or SIZE_MAX */
    const char **names;
    size_t names_count;
} grad_norm;

static unsigned ask(txd_site_kind kind, txd_point point)
{
    (void)point;
    return txd_site_is_gradient(kind) ? TXD_ASK_VALUE : 0;
}

/* ---- which groups are complete ---- */

static size_t group_of(const grad_norm *state, const txd_site *site)
{
    return site->layer < 0 ? state->group_count - 1 : (size_t)site->layer;
}

static txd_status name_group(grad_norm *state, size_t g)
{
    char name[48];

    if (g + 1 < state->group_count)
        snprintf(name, sizeof name, "layers.%zu@grad", g);
    else
        snprintf(name, sizeof name, "parameters@grad");
    state->row_of[g] = state->names_count;
    state->names[state->names_count] = txd_arena_string(state->frame.arena, name);
    return state->names[state->names_count++] ? TXD_OK : TXD_ERR_MEMORY;
}

/* A group has a row if all of its parameters are selected. */
static txd_status find_groups(grad_norm *state)
{
    const txd_probe_sites *sites = &state->frame.sites[TXD_SITE_PARAMETER_GRADIENT];
    txd_params *params = (txd_params *)state->frame.context->params;
    size_t all = params ? txd_params_count(params) : 0, last = state->group_count - 1;

    for (size_t i = 0; i < all; i++) {
        int layer = txd_params_at(params, i)->layer;

        if (layer >= 0)
            state->groups[layer].of++;
        state->groups[last].of++;
    }
    for (size_t i = 0; i < sites->count; i++) {
        if (sites->list[i].layer >= 0)
            state->groups[sites->list[i].layer].seen++;
        state->groups[last].seen++;
    }
    for (size_t g = 0; g < state->group_count; g++) {
        bool is_whole = all > 0 && state->groups[g].seen == state->groups[g].of;

        state->row_of[g] = SIZE_MAX;
        state->groups[g].step = -1;
        if (is_whole)
            TXD_TRY(name_group(state, g));
    }
    return TXD_OK;
}

static txd_status fill(void *self)
{
    grad_norm *state = self;
    txd_arena *arena = state->frame.arena;
    txd_series_spec spec = {.name = "grad_norm", .fields = field_names};

    state->group_count = state->frame.context->claimed->n_layers + 1;
    state->groups = txd_arena_alloc(arena, state->group_count, sizeof *state->groups);
    state->row_of = txd_arena_alloc(arena, state->group_count, sizeof *state->row_of);
    state->names = txd_arena_alloc(arena, state->group_count, sizeof *state->names);
    if (!state->groups || !state->row_of || !state->names)
        return TXD_ERR_MEMORY;
    TXD_TRY(find_groups(state));
    spec.kinds = TXD_KIND(TXD_SITE_GRADIENT) | TXD_KIND(TXD_SITE_PARAMETER_GRADIENT);
    spec.groups = state->names;
    spec.group_count = state->names_count;
    return txd_series_create(&state->series, &state->frame, &spec);
}

/* ---- sums ---- */

static void add(sums *to, double x)
{
    double size = fabs(x);

    to->count++;
    if (!isfinite(x)) {
        to->nonfinite++;
        return;
    }
    to->zeros += x == 0;
    to->largest = fmax(to->largest, size);
    if (size > LARGE_FROM)
        to->large += x / LARGE * (x / LARGE);
    else if (size < SMALL_BELOW)
        to->small += x / SMALL * (x / SMALL);
    else
        to->square += x * x;
}

static void join(sums *to, const sums *from)
{
    to->count += from->count;
    to->zeros += from->zeros;
    to->nonfinite += from->nonfinite;
    to->largest = fmax(to->largest, from->largest);
    to->large += from->large;
    to->square += from->square;
    to->small += from->small;
}

static double norm_of(const sums *sum)
{
    if (sum->large > 0)
        return LARGE * sqrt(sum->large + sum->square / LARGE / LARGE);
    if (sum->square > 0)
        return sqrt(sum->square + sum->small * SMALL * SMALL);
    return SMALL * sqrt(sum->small);
}

/* Elements of a row have tokens of their own, not one that they share. */
static bool is_judged_by_element(const txd_site *site)
{
    return !txd_site_is_parameter(site->kind) &&
           (site->point == TXD_POINT_LOSS_TOKEN ||
            txd_point_get(site->point)->place == TXD_PLACE_TILE);
}

/* Elements of float32 that are judged together. False, with nothing done, if there is a
 * NaN or an infinity among them. */
static bool add_run(sums *to, const float *x, size_t count)
{
    struct txd_sizes sizes;

    if (!txd_kernels_here()->sizes(&sizes, x, count))
        return false;
    to->count += (double)count;
    to->zeros += (double)sizes.zeros;
    to->largest = fmax(to->largest, (double)sizes.largest);
    to->square += sizes.squares;
    return true;
}

/* Whether all that is judged of a row was added: a row of float32, or what is seen of
 * one of a tile. */
static bool add_whole_row(sums *to, const txd_block *block, size_t row,
                          const size_t *at)
{
    const txd_tensor *value = &block->value;
    const txd_inputs *inputs = block->pass->inputs;
    size_t width = value->dims[value->rank - 1];
    const float *x = (const float *)value->data + row * width;
    txd_span span = {0, width};

    if (value->dtype != TXD_F32)
        return false;
    if (is_judged_by_element(block->site)) {
        if (!block->seen)
            return false;
        if (!inputs->valid[at[0] * inputs->length + at[2]])
            return true;
        span = txd_span_of(block->seen, row % value->dims[2], 0, width);
    } else if (!txd_block_judges(block, at))
        return true;
    return add_run(to, x + span.begin, span.end - span.begin);
}

static void add_row(sums *to, const txd_block *block, size_t row, size_t *at)
{
    const txd_tensor *value = &block->value;
    int last = value->rank - 1;
    size_t width = value->dims[last];
    bool by_element = is_judged_by_element(block->site);

    at[last] = block->start[last];
    if (add_whole_row(to, block, row, at))
        return;
    if (!by_element && !txd_block_judges(block, at))
        return;
    for (size_t i = 0; i < width; i++) {
        at[last] = block->start[last] + i;
        if (by_element && !txd_block_judges(block, at))
            continue;
        add(to, txd_tensor_get(value, row * width + i));
    }
}

static void reduce(void *slot, const void *self, const txd_block *block)
{
    const txd_tensor *value = &block->value;
    size_t rows = value->data ? txd_block_rows(block) : 0;
    size_t at[TXD_MAX_RANK];

    (void)self;
    for (size_t row = 0; row < rows; row++) {
        size_t rest = row;

        for (int axis = value->rank - 2; axis >= 0; axis--) {
            at[axis] = block->start[axis] + rest % value->dims[axis];
            rest /= value->dims[axis];
        }
        add_row(slot, block, row, at);
    }
}

/* ---- rows ---- */

static void fill_row(double *row, const sums *sum, double scale)
{
    double finite = sum->count - sum->nonfinite, norm = norm_of(sum) / scale;

    row[COUNT] = sum->count;
    row[L2] = norm;
    row[RMS] = finite > 0 ? norm / sqrt(finite) : (double)NAN;
    row[MAX_ABS] = sum->largest / scale;
    row[ZEROS] = sum->count > 0 ? sum->zeros / sum->count : (double)NAN;
    row[NONFINITE] = sum->nonfinite;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    grad_norm *state = self;

    if (slot)
        join(&state->sum[block->site->point], slot);
    return TXD_OK;
}

/* Where uses select other parameters in other steps, a step may lack some. */
static void end_group(grad_norm *state, size_t g, int step, const sums *sum)
{
    group *at = &state->groups[g];

    if (at->step != step)
        *at = (group){.of = at->of, .step = step};
    join(&at->sum, sum);
    if (++at->seen == at->of && state->row_of[g] != SIZE_MAX)
        fill_row(txd_series_group(&state->series, state->row_of[g]), &at->sum, 1);
}

static txd_status end(void *self, const txd_block *block)
{
    grad_norm *state = self;
    bool is_parameter = txd_site_is_parameter(block->site->kind);
    size_t last = state->group_count - 1;
    sums *sum = &state->sum[block->site->point];

    fill_row(txd_series_row(&state->series, block->site), sum,
             is_parameter ? 1 : block->pass->loss_scale);
    if (is_parameter && group_of(state, block->site) != last)
        end_group(state, group_of(state, block->site), block->site->step, sum);
    if (is_parameter)
        end_group(state, last, block->site->step, sum);
    *sum = (sums){.count = 0};
    return TXD_OK;
}

const txd_probe txd_probe_grad_norm = {
    .name = "grad_norm",
    .sentence = "norms of gradients: of values, parameters, layers and the model",
    .points = "*@grad",
    .fields = "count      elements, padding and hidden cells left out\n"
              "l2, rms    norm and root mean square of the finite elements\n"
              "max_abs    largest magnitude of a finite element\n"
              "zeros      share of elements that are exactly 0\n"
              "nonfinite  elements that are NaN or infinite",
    .ask = ask,
    .state_bytes = sizeof(grad_norm),
    .fill = fill,
    .slot_bytes = sizeof(sums),
    .reduce = reduce,
    .merge = merge,
    .end = end,
};

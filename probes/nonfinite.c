/* SPDX-License-Identifier: MIT
 *
 * The probe `nonfinite`: a row for every site, parameters too, that holds NaN or
 * infinities, in order of execution, so that the first row is where trouble starts. Of
 * gradients also what met there: the value itself and the gradient that came in.
 */
#include "probes/common.h"

#include <math.h>

/* What met at the first element of a gradient that is not finite. */
typedef struct meeting {
    double is_set, forward, incoming;
} meeting;

typedef struct nonfinite {
    txd_probe_frame frame;
    txd_table table;
    meeting first[TXD_PROBE_OPEN];
    txd_point needs[TXD_POINT_COUNT][TXD_OPERAND_NEEDS];
} nonfinite;

enum {
    STEP,
    SITE,
    LAYER,
    BATCH,
    HEAD,
    ROW,
    COLUMN,
    INDEX,
    VALUE,
    COUNT,
    ELEMENTS,
    FORWARD,
    INCOMING
};

static const txd_table_column columns[] = {
    [STEP] = {"step", TXD_CELL_INT},          [SITE] = {"site", TXD_CELL_TEXT},
    [LAYER] = {"layer", TXD_CELL_INT},        [BATCH] = {"batch", TXD_CELL_INT},
    [HEAD] = {"head", TXD_CELL_INT},          [ROW] = {"row", TXD_CELL_INT},
    [COLUMN] = {"column", TXD_CELL_INT},      [INDEX] = {"index", TXD_CELL_INT},
    [VALUE] = {"value", TXD_CELL_REAL},       [COUNT] = {"count", TXD_CELL_INT},
    [ELEMENTS] = {"elements", TXD_CELL_INT},  [FORWARD] = {"forward", TXD_CELL_REAL},
    [INCOMING] = {"incoming", TXD_CELL_REAL},
};

static unsigned ask(txd_site_kind kind, txd_point point)
{
    if (kind == TXD_SITE_VALUE && txd_point_get(point)->place == TXD_PLACE_INPUT)
        return 0;
    return txd_site_is_gradient(kind) ? TXD_ASK_FINITE | TXD_ASK_VALUE : TXD_ASK_FINITE;
}

static const txd_point *needs(void *self, txd_point point)
{
    const nonfinite *state = self;

    return state->needs[point];
}

/* How many rows there will be, nobody knows; in a healthy model there are none. */
static txd_status fill(void *self)
{
    nonfinite *state = self;
    txd_probe_frame *frame = &state->frame;

    for (int p = 0; p < TXD_POINT_COUNT; p++)
        txd_operands_needs(state->needs[p], frame->context->claimed, (txd_point)p);
    if (frame->tap.gradients)
        frame->tap.needs = needs;
    txd_table_create(&state->table, frame, "events/nonfinite", columns,
                     sizeof columns / sizeof *columns);
    for (int kind = 0; kind < TXD_SITE_KINDS; kind++)
        state->table.most += frame->sites[kind].count;
    return TXD_OK;
}

/* Where element `index` lies: the batch row, the head, the token and the last axis;
 * of a parameter its row and column. What there is none of stays -1. */
static void locate(txd_cell *cells, const txd_block *block, size_t index)
{
    const char *axes = "";
    int rank = block->value.rank;

    if (!txd_site_is_parameter(block->site->kind))
        axes = txd_point_get(block->site->point)->axes;
    for (int i = rank - 1; i >= 0; i--) {
        int64_t place = (int64_t)(index % block->dims[i]);

        index /= block->dims[i];
        if (axes[0] && i == 0)
            cells[BATCH].integer = place;
        else if (axes[0] && (axes[i] == 'h' || axes[i] == 'g'))
            cells[HEAD].integer = place;
        else if (i == rank - 1 && !(axes[0] && axes[i] == 't'))
            cells[COLUMN].integer = place;
        else
            cells[ROW].integer = place;
    }
}

/* The gradient that a value's is made from where one element makes one, or else the
 * largest of those that are summed. */
static double incoming(const txd_block *block, const size_t *at)
{
    txd_operand operands[TXD_OPERANDS];
    size_t count = txd_operands_of(operands, block->pass->claimed, block->site);
    txd_operand_part part;
    double found = (double)NAN;

    for (size_t i = count; i-- > 0;) {
        if (!operands[i].is_gradient ||
            txd_operand_read(&part, &operands[i], block, at) != TXD_OK)
            continue;
        found = part.value;
        if (operands[i].is_pointwise)
            break;
    }
    return found;
}

static double parameter_at(const nonfinite *state, const txd_block *block,
                           const size_t *at)
{
    txd_params *params = (txd_params *)state->frame.context->params;
    const txd_tensor *value = &txd_params_at(params, block->site->index)->value;

    return txd_tensor_get(value,
                          value->rank == 2 ? at[0] * value->dims[1] + at[1] : at[0]);
}

static void reduce(void *slot, const void *self, const txd_block *block)
{
    const nonfinite *state = self;
    const txd_operand own = {.point = block->site->point, .is_pointwise = true};
    meeting *found = slot;
    txd_operand_part part;
    size_t at[TXD_MAX_RANK];

    if (!txd_site_is_gradient(block->site->kind) || !txd_block_nonfinite(at, block))
        return;
    *found = (meeting){1, (double)NAN, (double)NAN};
    if (txd_site_is_parameter(block->site->kind)) {
        found->forward = parameter_at(state, block, at);
        return;
    }
    if (txd_operand_read(&part, &own, block, at) == TXD_OK)
        found->forward = part.value;
    found->incoming = incoming(block, at);
}

static txd_status begin(void *self, const txd_block *block)
{
    nonfinite *state = self;

    state->first[block->site->point] = (meeting){0, (double)NAN, (double)NAN};
    return TXD_OK;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    nonfinite *state = self;
    meeting *first = &state->first[block->site->point];
    const meeting *found = slot;

    if (found && found->is_set != 0 && first->is_set == 0)
        *first = *found;
    return TXD_OK;
}

static txd_status end(void *self, const txd_block *block)
{
    nonfinite *state = self;
    const double *stats = block->stats;
    txd_cell cells[sizeof columns / sizeof *columns];

    if (!stats || stats[TXD_STAT_NONFINITE] <= 0)
        return TXD_OK;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        cells[i] = (txd_cell){.integer = -1};
    cells[STEP].integer = block->site->step;
    cells[SITE].text = txd_probe_name(&state->frame, block->site);
    cells[LAYER].integer = block->site->layer;
    cells[INDEX].integer = (int64_t)stats[TXD_STAT_FIRST];
    cells[VALUE].real = stats[TXD_STAT_FIRST_VALUE];
    cells[COUNT].integer = (int64_t)stats[TXD_STAT_NONFINITE];
    cells[ELEMENTS].integer = (int64_t)stats[TXD_STAT_COUNT];
    cells[FORWARD].real = state->first[block->site->point].forward;
    cells[INCOMING].real = state->first[block->site->point].incoming;
    if (stats[TXD_STAT_FIRST] >= 0)
        locate(cells, block, (size_t)stats[TXD_STAT_FIRST]);
    return txd_table_add(&state->table, cells);
}

const txd_probe txd_probe_nonfinite = {
    .name = "nonfinite",
    .sentence = "where NaN and infinities are, the first of each value and parameter",
    .points = "*",
    .ask = ask,
    .state_bytes = sizeof(nonfinite),
    .fill = fill,
    .begin = begin,
    .slot_bytes = sizeof(meeting),
    .reduce = reduce,
    .merge = merge,
    .end = end,
};

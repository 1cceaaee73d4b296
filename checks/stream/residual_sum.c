/* SPDX-License-Identifier: MIT
 *
 * The residual stream adds up: after a sublayer it is what entered plus the branch,
 * element by element, with one rounding and nothing else:
 *   |out - (in + branch)| <= (u_store + 2^-53) |in + branch|
 * (2^-53: this law's own sum, in double). With post-norm placement what enters all but
 * the first is the normalised stream, norm1.out or norm_cross.out. A parallel block has
 * one sum of the stream and both branches, which are added first: with the rounding of
 * that (u_store + 2^-53) |attn.branch + mlp.branch| is allowed besides.
 *
 * Of many tokens some are judged, as many as make up ELEMENTS_JUDGED elements: a
 * residual that is missing is missing everywhere.
 *
 * Where in + branch is not finite itself, or larger than any number of the format,
 * `finite` speaks, not this law.
 */
#include "checks/kept.h"
#include "checks/stream/residual.h"
#include "checks/sample.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Of one sum, per step; tokens at least. */
#define ELEMENTS_JUDGED 8192
#define TOKENS_LEAST 8
#define PIECE 64 /* elements that are read at once */

typedef struct state {
    const txd_config *claimed;
    txd_residual_tally *tallies; /* (layers, SUMS) */
    txd_point operands[3][4];    /* of each sum: input and branches, ended */
    size_t batches;
    bool lacks_operand;
} state;

typedef struct operands {
    txd_tensor input, branch;
    txd_tensor beside; /* data is NULL where there is none */
} operands;

/* The sums of a block, in order. */
static const txd_point sums[] = {TXD_POINT_RESID_MID, TXD_POINT_RESID_CROSS,
                                 TXD_POINT_RESID_POST};
enum { SUMS = sizeof sums / sizeof *sums };

/* SUMS for a point that is none. */
static size_t place_of(txd_point point)
{
    size_t i = 0;

    while (i < SUMS && sums[i] != point)
        i++;
    return i;
}

static txd_sublayer part_of(const txd_config *claimed, txd_point sum)
{
    txd_sublayer part = {0};

    (void)txd_sublayer_with(&part, claimed, sum);
    return part;
}

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    if (site->kind != TXD_SITE_VALUE || place_of(site->point) == SUMS)
        return 0;
    return TXD_ASK_VALUE;
}

static const txd_point *needs(void *self, txd_point point)
{
    const state *s = self;
    size_t i = place_of(point);

    return i < SUMS ? s->operands[i] : NULL;
}

/* Where row (batch, token) of the block begins in an operand: a whole value, or the
 * same part as the block. */
static size_t row_in(const txd_tensor *operand, const txd_block *block, size_t row)
{
    size_t tokens = block->value.dims[1], width = block->value.dims[2];
    size_t batch = row / tokens, token = row % tokens;

    if (operand->dims[0] == block->dims[0] && operand->dims[1] == block->dims[1]) {
        batch += block->start[0];
        token += block->start[1];
    }
    return (batch * operand->dims[1] + token) * width;
}

static void add_row(txd_residual_tally *t, const operands *from, const txd_block *block,
                    size_t row)
{
    size_t tokens = block->value.dims[1], width = block->value.dims[2];
    size_t in_first = row_in(&from->input, block, row);
    size_t branch_first = row_in(&from->branch, block, row);
    bool is_pair = from->beside.data != NULL;
    size_t beside_first = is_pair ? row_in(&from->beside, block, row) : 0;
    double unit = block->pass->u_store + 0x1p-53;

    for (size_t c = 0; c < width; c += PIECE) {
        size_t count = width - c < PIECE ? width - c : PIECE;
        double in[PIECE], branch[PIECE], beside[PIECE] = {0}, out[PIECE];

        txd_kept_read(in, &from->input, in_first + c, count);
        txd_kept_read(branch, &from->branch, branch_first + c, count);
        if (is_pair)
            txd_kept_read(beside, &from->beside, beside_first + c, count);
        txd_kept_read(out, &block->value, row * width + c, count);
        for (size_t i = 0; i < count; i++) {
            double both = branch[i] + beside[i];
            const txd_residual_element element = {in[i], both, out[i],
                                                  is_pair ? unit * fabs(both) : 0};

            if (txd_residual_add(t, &element, block->pass)) {
                t->batch = block->start[0] + row / tokens;
                t->token = block->start[1] + row % tokens;
                t->channel = c + i;
            }
        }
    }
}

static txd_status find_operands(operands *from, const state *s, const txd_block *block)
{
    txd_sublayer part = part_of(s->claimed, block->site->point);

    *from = (operands){.beside = {.data = NULL}};
    TXD_TRY(txd_block_earlier(&from->input, block, part.stream));
    TXD_TRY(txd_block_earlier(&from->branch, block, part.branch));
    if (part.beside == TXD_POINT_COUNT)
        return TXD_OK;
    TXD_TRY(txd_block_earlier(&from->beside, block, part.beside));
    return from->beside.data ? TXD_OK : TXD_ERR_MISSING;
}

static void reduce(void *slot, const void *self, const txd_block *block)
{
    const state *s = self;
    const txd_inputs *inputs = block->pass->inputs;
    const size_t *dims = block->value.dims;
    size_t wanted = txd_picks_wanted(ELEMENTS_JUDGED, dims[2], TOKENS_LEAST), i;
    txd_picks picks =
        txd_picks_of(inputs->valid, inputs->batch * inputs->length, wanted);
    operands from;
    txd_residual_tally *t = slot;

    t->step = block->site->step;
    t->status = find_operands(&from, s, block);
    if (t->status != TXD_OK || !block->value.data)
        return;
    while (txd_picks_next(&i, &picks)) {
        size_t batch = i / inputs->length - block->start[0]; /* wraps if before */
        size_t token = i % inputs->length - block->start[1];

        if (batch < dims[0] && token < dims[1])
            add_row(t, &from, block, batch * dims[1] + token);
    }
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;
    const txd_residual_tally *t = slot;
    size_t place = (size_t)block->site->layer * SUMS + place_of(block->site->point);

    s->batches = block->pass->inputs->batch;
    if (t->status == TXD_ERR_MISSING) {
        s->lacks_operand = true;
        return TXD_OK;
    }
    if (t->status != TXD_OK)
        return txd_fail(t->status, "residual_sum: %s: its operands cannot be read",
                        block->site->name);
    txd_residual_join(&s->tallies[place], t);
    return TXD_OK;
}

static txd_status add_sum(txd_result *result, const state *s, int layer, txd_point sum)
{
    const txd_residual_tally *t = &s->tallies[(size_t)layer * SUMS + place_of(sum)];
    txd_sublayer part = part_of(s->claimed, sum);
    const char *in = txd_point_get(part.stream)->name;
    char branch[64];
    txd_law_place at = {t->step, (int64_t)t->batch, -1, (int64_t)t->token, -1};
    txd_finding finding;
    char out[32], expected[32];

    result->evaluated += t->judged;
    if (t->judged > 0 &&
        txd_law_is_worse(txd_law_ratio(t->measured, t->allowed),
                         txd_law_ratio(result->worst, result->allowed))) {
        result->worst = t->measured;
        result->allowed = t->allowed;
    }
    if (t->broken == 0)
        return TXD_OK;
    snprintf(branch, sizeof branch, "%s%s%s", txd_point_get(part.branch)->name,
             part.beside == TXD_POINT_COUNT ? "" : " + ",
             part.beside == TXD_POINT_COUNT ? "" : txd_point_get(part.beside)->name);
    finding = txd_law_finding(sum, layer, &at);
    finding.measured = t->measured;
    finding.allowed = t->allowed;
    txd_law_say_place(&finding, s->batches);
    txd_law_numbers(out, t->out, expected, t->expected);
    txd_law_say(&finding,
                "token %zu, channel %zu is %s, but %s + %s is %s; %" PRIu64
                " of %" PRIu64 " elements are off",
                t->token, t->channel, out, in, branch, expected, t->broken, t->judged);
    txd_residual_say_cause(&finding, t, in, branch);
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += t->broken - 1;
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    uint64_t inherited = 0;

    for (size_t i = 0; i < s->claimed->n_layers * SUMS; i++) {
        inherited += s->tallies[i].inherited;
        TXD_TRY(add_sum(result, s, (int)(i / SUMS), sums[i % SUMS]));
    }
    if (inherited > 0)
        snprintf(result->note, sizeof result->note,
                 "%" PRIu64 " sums that are not finite, or larger than any number of "
                 "the format, were not judged",
                 inherited);
    else if (s->lacks_operand)
        snprintf(result->note, sizeof result->note,
                 "some sums were not judged: an operand is not recorded");
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    free(s->tallies);
    free(s);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);

    if (s)
        s->tallies = calloc(context->claimed->n_layers * SUMS, sizeof *s->tallies);
    if (!s || !s->tallies) {
        free(s);
        return txd_fail(TXD_ERR_MEMORY, "residual_sum: no memory");
    }
    s->claimed = context->claimed;
    for (size_t i = 0; i < SUMS; i++) {
        txd_sublayer part = part_of(s->claimed, sums[i]);

        s->operands[i][0] = part.stream;
        s->operands[i][1] = part.branch;
        s->operands[i][2] = part.beside;
        s->operands[i][3] = TXD_POINT_COUNT;
    }
    *tap = (txd_tap){.name = "residual_sum",
                     .self = s,
                     .ask = ask,
                     .needs = needs,
                     .slot_bytes = sizeof(txd_residual_tally),
                     .reduce = reduce,
                     .merge = merge};
    *out = s;
    return TXD_OK;
}

#define VALUE(point)                                                                   \
    {                                                                                  \
        TXD_POINT_##point, TXD_ASK_VALUE                                               \
    }
#define OR                                                                             \
    {                                                                                  \
        TXD_POINT_COUNT, 0                                                             \
    }

/* All sums of a block; those around the MLP and the attention; single ones. */
static const struct txd_check_need wanted[] = {
    VALUE(RESID_MID),
    VALUE(RESID_PRE),
    VALUE(ATTN_BRANCH),
    VALUE(RESID_CROSS),
    VALUE(CROSS_BRANCH),
    VALUE(RESID_POST),
    VALUE(MLP_BRANCH),
    OR,
    VALUE(RESID_MID),
    VALUE(RESID_PRE),
    VALUE(ATTN_BRANCH),
    VALUE(RESID_POST),
    VALUE(MLP_BRANCH),
    OR,
    VALUE(RESID_MID),
    VALUE(RESID_PRE),
    VALUE(ATTN_BRANCH),
    OR,
    VALUE(RESID_CROSS),
    VALUE(RESID_MID),
    VALUE(CROSS_BRANCH),
    OR,
    VALUE(RESID_CROSS),
    VALUE(NORM1_OUT),
    VALUE(CROSS_BRANCH),
    OR,
    VALUE(RESID_POST),
    VALUE(RESID_PRE),
    VALUE(ATTN_BRANCH),
    VALUE(MLP_BRANCH),
    OR,
    VALUE(RESID_POST),
    VALUE(RESID_CROSS),
    VALUE(MLP_BRANCH),
    OR,
    VALUE(RESID_POST),
    VALUE(NORM_CROSS_OUT),
    VALUE(MLP_BRANCH),
    OR,
    VALUE(RESID_POST),
    VALUE(RESID_MID),
    VALUE(MLP_BRANCH),
    OR,
    VALUE(RESID_POST),
    VALUE(NORM1_OUT),
    VALUE(MLP_BRANCH),
    {TXD_POINT_COUNT, 1},
};

const txd_check txd_check_residual_sum = {
    .name = "residual_sum",
    .law = "the residual stream after a sublayer is what entered it plus the branch",
    .formula =
        "|resid.mid - (resid.pre + attn.branch)| <= (u_store + 2^-53) |sum|; "
        "resid.post = resid.mid + mlp.branch (post-norm: norm1.out + mlp.branch); with "
        "cross-attention resid.cross = resid.mid + cross.branch stands between them; "
        "parallel: resid.post = resid.pre + (attn.branch + mlp.branch), with the "
        "rounding of that allowed, too",
    .causes = "a residual connection that was forgotten (x = sublayer(x)), taken from "
              "the wrong place (the normed input), a branch that is dropped or scaled "
              "twice",
    .look_next =
        "the two operands of the sum at the same token: the one that it equals "
        "is the one that was kept",
    .unit = "elements",
    .exact = true,
    .faults = (const char *const[]){"residual_missing", "attention_dropped", NULL},
    .needs = wanted,
    .create = create,
    .finish = finish,
    .destroy = destroy,
};

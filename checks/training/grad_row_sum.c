/* SPDX-License-Identifier: MIT
 *
 * The gradient of every row of masked scores sums to 0: adding the same number to all
 * scores of a row changes nothing, so no gradient points that way.
 *
 * With w the weights, g their gradient, m = sum w g, s = sum w |g| and n keys, the
 * backward pass computes d_j = w_j (g_j - m). Each is off by at most
 * e_j = gamma_{n+3}(u_a) w_j (|g_j| + s) + n lost w_j, `lost` what an underflow can
 * lose in the sum, then stored: u_s (|d_j| + e_j) + tiny. The
 * exact d_j sum to m (1 - sum w), which is 0 as far as the weights sum to 1. So
 * |sum d| <= sum_j (e_j + u_s (|d_j| + e_j) + tiny) + |m (1 - sum w)|, and
 * gamma_n(2^-53) sum |d_j| for the law's own sum. Beside a sink the weights do not sum
 * to 1, and m (1 - sum w) is what the sum must be. Of many rows some of every head are
 * judged.
 */
#include "checks/kept.h"
#include "checks/sample.h"
#include "checks/rows/sinks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Cells of a layer that are judged per step; queries of a head at least; cells that are
 * read at once. */
#define CELLS_JUDGED 65536
#define QUERIES_LEAST 4
#define PIECE 128

/* Rows of one attention of a layer, or of a tile of it. All zero is none. */
typedef struct tally {
    txd_status status;
    bool without_loss; /* no token predicts another */
    uint64_t judged, broken, inherited;
    uint64_t products; /* broken rows of which d_j = w_j g_j explains every cell */
    double sum, size;  /* of the worst: its sum, and that of the magnitudes */
    double measured, allowed;
    txd_law_place at;
} tally;

typedef struct state {
    const txd_config *claimed;
    tally *tallies; /* two per layer */
    bool without_loss;
    size_t batches;
} state;

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_GRADIENT &&
                   txd_point_in_self(site->point) == TXD_POINT_ATTN_MASKED
               ? TXD_ASK_VALUE
               : 0;
}

static const txd_point *needs(void *self, txd_point point)
{
    static const txd_point own[] = {TXD_POINT_ATTN_WEIGHTS, TXD_POINT_COUNT};
    static const txd_point cross[] = {TXD_POINT_CROSS_WEIGHTS, TXD_POINT_COUNT};

    (void)self;
    if (txd_point_in_self(point) != TXD_POINT_ATTN_MASKED)
        return NULL;
    return txd_point_attention(point) == TXD_ATTENTION_CROSS ? cross : own;
}

/* ---- one row ---- */

typedef struct job {
    const txd_block *block;
    txd_tensor weights, gradient; /* of the weights */
    txd_roundoff u;
    bool has_sink;
} job;

/* Sums over the cells of a row that were computed. */
typedef struct row_sums {
    double d, size, w, wg, wg_size, keys;
    bool is_product;
} row_sums;

/* Some cells of a row. */
typedef struct piece {
    double d[PIECE], w[PIECE], g[PIECE];
    size_t count;
} piece;

static void read_piece(piece *out, const job *j, size_t first, size_t end)
{
    out->count = end - first < PIECE ? end - first : PIECE;
    txd_kept_read(out->d, &j->block->value, first, out->count);
    txd_kept_read(out->w, &j->weights, first, out->count);
    txd_kept_read(out->g, &j->gradient, first, out->count);
}

static void add_cell(row_sums *r, const job *j, double d, double w, double g)
{
    double wg = w != 0 ? w * g : 0;

    if (isnan(d) && !(w != 0)) /* not computed, and not recorded */
        return;
    r->d += d;
    r->size += fabs(d);
    r->w += w;
    r->wg += wg;
    r->wg_size += w != 0 ? w * fabs(g) : 0;
    r->keys += w != 0;
    r->is_product =
        r->is_product && fabs(d - wg) <= 4 * j->u.store * fabs(d) + j->u.tiny;
}

static row_sums sum_row(const job *j, size_t first, size_t keys)
{
    row_sums r = {.is_product = true};

    for (size_t k = 0; k < keys; k += PIECE) {
        piece p;

        read_piece(&p, j, first + k, first + keys);
        for (size_t i = 0; i < p.count; i++)
            add_cell(&r, j, p.d[i], p.w[i], p.g[i]);
    }
    return r;
}

static double allowed_for(const job *j, size_t first, size_t keys, const row_sums *r)
{
    double gamma = txd_law_gamma(r->keys + 3, j->u.accumulate), allowed = 0;

    for (size_t k = 0; k < keys; k += PIECE) {
        piece p;

        read_piece(&p, j, first + k, first + keys);
        for (size_t i = 0; i < p.count; i++) {
            double d = p.d[i], w = p.w[i], error;

            if (!(w != 0) || isnan(d))
                continue;
            error = gamma * w * (fabs(p.g[i]) + r->wg_size) + r->keys * j->u.lost * w;
            allowed += error + j->u.store * (fabs(d) + error) + j->u.tiny;
        }
    }
    if (!j->has_sink)
        allowed += fabs(r->wg * (1 - r->w));
    return allowed + txd_law_gamma(r->keys, 0x1p-53) * (r->size + r->wg_size);
}

static void judge_row(tally *t, const job *j, size_t i, const txd_law_place *at)
{
    size_t keys = j->block->value.dims[3];
    row_sums r = sum_row(j, i * keys, keys);
    double rest = j->has_sink ? r.wg * (1 - r.w) : 0; /* what the sink has of it */
    double measured = fabs(r.d - rest), allowed = allowed_for(j, i * keys, keys, &r);

    if (!isfinite(r.wg_size)) { /* what came in was not finite */
        t->inherited++;
        return;
    }
    if (!txd_within(measured, allowed)) {
        t->broken++;
        t->products += r.is_product;
    }
    if (t->judged++ > 0 && !txd_law_is_worse(txd_law_ratio(measured, allowed),
                                             txd_law_ratio(t->measured, t->allowed)))
        return;
    t->sum = r.d;
    t->size = r.size;
    t->measured = measured;
    t->allowed = allowed;
    t->at = *at;
}

static void reduce(void *slot, const void *self, const txd_block *block)
{
    txd_attention_kind kind = txd_point_attention(block->site->point);
    txd_point weights = txd_point_in(kind, TXD_POINT_ATTN_WEIGHTS);
    const txd_inputs *inputs = block->pass->inputs;
    const size_t *dims = block->value.dims;
    size_t wanted = txd_picks_queries(block, CELLS_JUDGED, QUERIES_LEAST);
    job j = {.block = block, .u = txd_roundoff_of_format(block->pass->format)};
    tally *t = slot;

    (void)self;
    j.has_sink = txd_sinks_are_in(block->pass->claimed, block->site->point);
    if (!block->value.data)
        return;
    t->without_loss = txd_inputs_pairs(inputs) == 0;
    if (t->without_loss) /* all gradients are 0 and say nothing */
        return;
    t->status = txd_block_earlier(&j.weights, block, weights);
    if (t->status == TXD_OK)
        t->status = txd_block_gradient(&j.gradient, block, weights);
    for (size_t i = 0; t->status == TXD_OK && i < dims[0] * dims[1]; i++) {
        txd_picks picks = txd_picks_of_head(block, i / dims[1], i % dims[1], wanted);
        size_t query;

        while (txd_picks_next(&query, &picks)) {
            const txd_law_place at = {
                block->site->step, (int64_t)(block->start[0] + i / dims[1]),
                (int64_t)(block->start[1] + i % dims[1]), (int64_t)query, -1};

            judge_row(t, &j, i * dims[2] + query - block->start[2], &at);
        }
    }
}

static double ratio(const tally *t)
{
    return txd_law_ratio(t->measured, t->allowed);
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;
    const tally *part = slot;
    tally *to = &s->tallies[txd_law_part(block->site)], sum;

    s->batches = block->pass->inputs->batch;
    s->without_loss |= part->without_loss;
    if (part->status != TXD_OK)
        return txd_fail(part->status,
                        "grad_row_sum: %s is judged by the weights and their gradient, "
                        "which are not at hand",
                        block->site->name);
    sum = part->judged > 0 &&
                  (to->judged == 0 || txd_law_is_worse(ratio(part), ratio(to)))
              ? *part
              : *to;
    sum.judged = to->judged + part->judged;
    sum.broken = to->broken + part->broken;
    sum.products = to->products + part->products;
    sum.inherited = to->inherited + part->inherited;
    *to = sum;
    return TXD_OK;
}

/* ---- the verdict ---- */

static txd_status add_attention(txd_result *result, const state *s, size_t i)
{
    const tally *t = &s->tallies[i];
    txd_attention_kind kind = i % 2 ? TXD_ATTENTION_CROSS : TXD_ATTENTION_SELF;
    char sum[32], size[32], allowed[32];
    txd_finding finding;

    if (t->broken == 0)
        return TXD_OK;
    finding = txd_law_finding(txd_point_in(kind, TXD_POINT_ATTN_MASKED), (int)(i / 2),
                              &t->at);
    txd_law_of_gradient(&finding);
    finding.measured = t->measured;
    finding.allowed = t->allowed;
    txd_law_say_place(&finding, s->batches);
    txd_law_say(
        &finding,
        "the gradient of the scores of query %lld sums to %s, its magnitudes to "
        "%s; a sum of %s is what rounding explains; %llu of %llu rows of this "
        "layer are off",
        (long long)t->at.query, txd_law_number(sum, t->sum),
        txd_law_number(size, t->size), txd_law_number(allowed, t->allowed),
        (unsigned long long)t->broken, (unsigned long long)t->judged);
    if (isnan(t->measured))
        txd_law_say(&finding, ": see the law `finite`");
    else if (t->products == t->broken)
        txd_law_say(&finding, ": it is weights times their gradient, without the mean "
                              "over the row");
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += t->broken - 1;
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    uint64_t inherited = 0;
    double worst = -1;

    for (size_t i = 0; i < 2 * s->claimed->n_layers; i++) {
        const tally *t = &s->tallies[i];

        inherited += t->inherited;
        result->evaluated += t->judged;
        if (t->judged > 0 && txd_law_is_worse(ratio(t), worst)) {
            worst = ratio(t);
            result->worst = t->measured;
            result->allowed = t->allowed;
        }
        TXD_TRY(add_attention(result, s, i));
    }
    if (result->evaluated == 0 && s->without_loss)
        snprintf(result->note, sizeof result->note,
                 "no token predicts another: there is no loss, and no gradient");
    if (result->verdict == TXD_VERDICT_PASS && result->evaluated == 0 && inherited > 0)
        return txd_fail(TXD_ERR_LIMIT,
                        "no gradient of the weights is finite: see `finite`");
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
        s->tallies = calloc(2 * context->claimed->n_layers, sizeof *s->tallies);
    if (!s || !s->tallies) {
        free(s);
        return txd_fail(TXD_ERR_MEMORY, "grad_row_sum: no memory");
    }
    s->claimed = context->claimed;
    *tap = (txd_tap){.name = "grad_row_sum",
                     .self = s,
                     .gradients = true,
                     .ask = ask,
                     .needs = needs,
                     .slot_bytes = sizeof(tally),
                     .reduce = reduce,
                     .merge = merge};
    *out = s;
    return TXD_OK;
}

#define ALL_OF(kind)                                                                   \
    {TXD_POINT_##kind##_MASKED, TXD_ASK_VALUE | TXD_NEED_GRADIENT},                    \
        {TXD_POINT_##kind##_WEIGHTS, TXD_ASK_VALUE | TXD_NEED_GRADIENT},               \
    {                                                                                  \
        TXD_POINT_##kind##_WEIGHTS, TXD_ASK_VALUE                                      \
    }

const txd_check txd_check_grad_row_sum = {
    .name = "grad_row_sum",
    .law = "the gradient of every row of masked scores sums to 0",
    .formula =
        "|sum_j d_j| <= sum_j (e_j + u_s (|d_j| + e_j)) + |m (1 - sum w)|, e_j = "
        "gamma_{n+3}(u_a) w_j (|g_j| + sum w |g|), d = attn.masked@grad, g = "
        "attn.weights@grad, m = sum w g",
    .causes = "a backward pass of the softmax without the mean over the row, or with "
              "the mean over another axis; weights that were changed (mask, dropout) "
              "between the softmax and its backward pass",
    .look_next = "the backward pass of the softmax: w (g - sum(w g)), row by row",
    .unit = "rows",
    .exact = true,
    .faults = (const char *const[]){"softmax_jacobian_wrong", NULL},
    .needs = (const struct txd_check_need[]){ALL_OF(ATTN),
                                             ALL_OF(CROSS),
                                             {TXD_POINT_COUNT, 0},
                                             ALL_OF(ATTN),
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};

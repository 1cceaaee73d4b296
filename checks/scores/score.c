/* SPDX-License-Identifier: MIT
 *
 * The cells of one head. The products are taken in double in one fixed order of
 * summation on every machine: by the kernel of float rows, else with four running sums.
 */
#include "checks/scores/score.h"
#include "checks/sample.h"

#include <math.h>

/* Cells of a layer that are judged per step; of a query; queries of a head at least. */
#define CELLS_JUDGED 8192
#define KEYS_JUDGED 256
#define QUERIES_LEAST 2
/* Broken cells of a tile for which other KV heads are tried. */
#define CELLS_TRIED 16
#define LANES 4

/* Of one cell: q.k and the sum of |q_i k_i|. */
typedef struct txd_products product;

/* The product over `n` contiguous elements. The lanes are written out so that the
 * compiler can keep them in one register. */
static product dot64(const double *a, const double *b, size_t n)
{
    double sum[LANES] = {0}, size[LANES] = {0};
    size_t whole = n - n % LANES;

    for (size_t i = 0; i < whole; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++) {
            double term = a[i + lane] * b[i + lane];

            sum[lane] += term;
            size[lane] += fabs(term);
        }
    for (size_t i = whole; i < n; i++) {
        double term = a[i] * b[i];

        sum[i - whole] += term;
        size[i - whole] += fabs(term);
    }
    return (product){(sum[0] + sum[1]) + (sum[2] + sum[3]),
                     (size[0] + size[1]) + (size[2] + size[3])};
}

static product dot(const txd_tensor *q, size_t q_row, const txd_tensor *k, size_t k_row)
{
    size_t n = q->dims[3];
    double sum = 0, size = 0;

    if (q->dtype == TXD_F64 && k->dtype == TXD_F64)
        return dot64((const double *)q->data + q_row * n,
                     (const double *)k->data + k_row * n, n);
    if (q->dtype == TXD_F32 && k->dtype == TXD_F32)
        return txd_kernels_here()->products((const float *)q->data + q_row * n,
                                            (const float *)k->data + k_row * n, n);
    for (size_t i = 0; i < n; i++) {
        double term =
            txd_tensor_get(q, q_row * n + i) * txd_tensor_get(k, k_row * n + i);

        sum += term;
        size += fabs(term);
    }
    return (product){sum, size};
}

/* What all cells of a block have in common. */
typedef struct job {
    const txd_block *block;
    txd_tensor q, k;
    double scale, relative, store, tiny, largest;
} job;

static txd_status prepare(job *out, const txd_block *block)
{
    const txd_pass *pass = block->pass;
    txd_roundoff u = txd_roundoff_of_format(pass->format);
    txd_attention_kind kind = txd_point_attention(block->site->point);
    double e;

    out->block = block;
    TXD_TRY(txd_block_earlier(&out->q, block, txd_point_in(kind, TXD_POINT_ATTN_Q)));
    TXD_TRY(txd_block_earlier(&out->k, block, txd_point_in(kind, TXD_POINT_ATTN_K)));
    e = (double)out->q.dims[3];
    out->scale = pass->claimed->layers[block->site->layer].score_scale;
    out->relative =
        (txd_law_gamma(e + 3, pass->u_accumulate) + txd_law_gamma(e + 1, 0x1p-53)) *
        fabs(out->scale);
    out->store = pass->u_store;
    out->tiny = u.tiny + e * u.lost;
    out->largest = pass->largest;
    return TXD_OK;
}

static double allowed_for(const job *j, product p)
{
    double sum = j->relative * p.size; /* before it is stored */

    return sum + j->store * (fabs(j->scale * p.sum) + sum) + j->tiny;
}

/* The same key of every KV head. */
static void try_groups(txd_score_tally *t, const job *j, size_t q_row, double score,
                       const txd_law_place *at)
{
    size_t groups = j->k.dims[1], keys = j->k.dims[2];

    if (t->tried >= CELLS_TRIED || groups < 2 || groups > TXD_SCORE_GROUPS)
        return;
    t->tried++;
    for (size_t g = 0; g < groups; g++) {
        size_t row = ((size_t)at->batch * groups + g) * keys + (size_t)at->key;
        product p = dot(&j->q, q_row, &j->k, row);

        t->group[g] += txd_within(fabs(score - j->scale * p.sum), allowed_for(j, p));
    }
}

/* A NaN beside a finite q.k was not computed, or `finite` names it, as it does an
 * infinity where the score is larger than any number of the format. */
static bool judge_cell(txd_score_tally *t, const job *j, product p, double score,
                       const txd_law_place *at)
{
    double expected = j->scale * p.sum, measured = fabs(score - expected);
    double allowed = allowed_for(j, p);
    bool is_broken = !txd_within(measured, allowed);

    if (!isfinite(p.sum) || isnan(score) ||
        (isinf(score) && fabs(expected) + allowed > j->largest))
        return false;
    t->broken += is_broken;
    t->rr += p.sum * p.sum;
    t->sr += score * p.sum;
    t->ss += score * score;
    if (t->judged++ > 0 && !txd_law_may_be_worse(measured, allowed, t->ratio))
        return is_broken;
    if (t->judged == 1 ||
        txd_law_is_worse(txd_law_ratio(measured, allowed), t->ratio)) {
        t->ratio = txd_law_ratio(measured, allowed);
        t->measured = measured;
        t->allowed = allowed;
        t->score = score;
        t->expected = expected;
        t->at = *at;
    }
    return is_broken;
}

/* Row `row` of the block: batch, head and query of `at` are set. Of many keys every
 * n-th before and after the query, so that not all rows show the same. */
static void judge_row(txd_score_tally *t, const job *j, txd_law_place *at, size_t row)
{
    const txd_block *block = j->block;
    const txd_config *claimed = block->pass->claimed;
    txd_mask_view mask = txd_mask_of_attention(txd_point_attention(block->site->point),
                                               &claimed->layers[block->site->layer],
                                               block->pass->inputs, (size_t)at->batch);
    size_t keys = block->value.dims[3], every = block->dims[3] / KEYS_JUDGED | 1;
    size_t group = (size_t)at->head / (claimed->n_heads / claimed->n_kv_heads);
    size_t q_row =
        ((size_t)at->batch * j->q.dims[1] + (size_t)at->head) * j->q.dims[2] +
        (size_t)at->query;
    size_t k_row = ((size_t)at->batch * j->k.dims[1] + group) * j->k.dims[2];
    size_t begin = block->start[3], shift = (size_t)at->query % every;

    for (size_t c = (shift + every - begin % every) % every; c < keys; c += every) {
        double score = txd_tensor_get(&block->value, row * keys + c);
        size_t key = begin + c;

        if (txd_mask_hides(&mask, (size_t)at->query, key) != TXD_SEEN)
            continue;

        at->key = (int64_t)key;
        if (judge_cell(t, j, dot(&j->q, q_row, &j->k, k_row + key), score, at))
            try_groups(t, j, q_row, score, at);
    }
}

void txd_score_judge(txd_score_tally *tally, const txd_block *block, size_t head)
{
    const size_t *dims = block->value.dims, *whole = block->dims;
    size_t keys = whole[3] < KEYS_JUDGED ? whole[3] : KEYS_JUDGED;
    size_t wanted =
        txd_picks_wanted(CELLS_JUDGED, whole[0] * whole[1] * keys, QUERIES_LEAST);
    job j;

    tally->status = prepare(&j, block);
    if (tally->status != TXD_OK || !block->value.data)
        return;
    for (size_t b = 0; b < dims[0]; b++) {
        txd_picks picks = txd_picks_of_head(block, b, head, wanted);
        size_t row = (b * dims[1] + head) * dims[2] - block->start[2], query;

        while (txd_picks_next(&query, &picks)) {
            txd_law_place at = {block->site->step, (int64_t)(block->start[0] + b),
                                (int64_t)(block->start[1] + head), (int64_t)query, -1};

            judge_row(tally, &j, &at, row + query);
        }
    }
}

void txd_score_join(txd_score_tally *to, const txd_score_tally *tally)
{
    bool is_worse = tally->judged > 0 &&
                    (to->judged == 0 ||
                     txd_law_is_worse(txd_score_ratio(tally), txd_score_ratio(to)));
    txd_score_tally sum = is_worse ? *tally : *to;

    sum.judged = to->judged + tally->judged;
    sum.broken = to->broken + tally->broken;
    sum.rr = to->rr + tally->rr;
    sum.sr = to->sr + tally->sr;
    sum.ss = to->ss + tally->ss;
    sum.tried = to->tried + tally->tried;
    for (size_t g = 0; g < TXD_SCORE_GROUPS; g++)
        sum.group[g] = to->group[g] + tally->group[g];
    *to = sum;
}

double txd_score_ratio(const txd_score_tally *tally)
{
    return tally->ratio;
}

int txd_score_source(const txd_score_tally *tally)
{
    for (int g = 0; g < TXD_SCORE_GROUPS && tally->tried > 0; g++)
        if (tally->group[g] == tally->tried)
            return g;
    return -1;
}

bool txd_score_is_line(const txd_score_tally *tally)
{
    return tally->rr > 0 && tally->ss > 0 &&
           tally->ss - tally->sr * tally->sr / tally->rr <= 1e-6 * tally->ss;
}

void txd_score_name(txd_finding *finding, const txd_config *config, double scale,
                    double slope)
{
    double e = (double)config->head_dim, d = (double)config->d_model;
    double h = (double)config->n_heads;
    const struct {
        double slope;
        const char *name;
    } candidates[] = {
        {1, "no scale at all"},
        {1 / e, "1/head_dim (the square root is missing)"},
        {1 / sqrt(d), "1/sqrt(d_model)"},
        {1 / d, "1/d_model"},
        {1 / sqrt(h), "1/sqrt(n_heads)"},
        {1 / sqrt(e), "1/sqrt(head_dim)"},
        {scale * scale, "the scale applied twice"},
        {1 / scale, "the scale divided by instead of multiplied with"},
        {-scale, "the scale with the wrong sign"},
    };
    const char *separator = ": ";

    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        if (!(fabs(slope - candidates[i].slope) <= 1e-4 * fabs(candidates[i].slope)))
            continue;
        txd_law_say(finding, "%s%s", separator, candidates[i].name);
        separator = ", or ";
    }
}

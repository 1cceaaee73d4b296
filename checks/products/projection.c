/* SPDX-License-Identifier: MIT
 *
 * Keeps rows of the parameters, recomputes what they should give, judges. With k
 * columns, S = sum |w x| + |bias| and y the exact value:
 *   |found - y| <= (gamma_{k+1}(u_acc) + gamma_{k+2}(2^-53) + u_store) S
 *                  + u_store |y| + tiny (sum |x| + 2) + k lost
 * (the products and sums of the pass; those here; a parameter that the backend stores
 * with fewer digits; the rounding of the result; underflow of what is stored, and of
 * products).
 */
#include "checks/products/projection.h"
#include "checks/sample.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS_LEAST 4

static size_t tally_index(const txd_projections *p, int layer, size_t map)
{
    return (size_t)layer * p->map_count + map;
}

void txd_projections_add(txd_projections *p, const txd_projection *map)
{
    p->needs[p->map_count][0] = map->in;
    p->needs[p->map_count][1] = TXD_POINT_COUNT;
    p->columns = map->columns > p->columns ? map->columns : p->columns;
    p->maps[p->map_count++] = *map;
}

static const txd_point *needs(void *self, txd_point out)
{
    const txd_projections *p = self;

    for (size_t m = 0; m < p->map_count; m++)
        if (p->maps[m].out == out)
            return p->needs[m];
    return NULL;
}

/* ---- parameters ---- */

static unsigned ask(void *self, const txd_site *site)
{
    const txd_projections *p = self;
    bool is_value = site->kind == TXD_SITE_VALUE;
    txd_param_id id = TXD_PARAM_COUNT;

    if ((!is_value && site->kind != TXD_SITE_PARAMETER) || site->layer < 0)
        return 0;
    if (!is_value)
        id = txd_law_param(site->name, site->layer);
    for (size_t m = 0; m < p->map_count; m++) {
        const txd_projection *map = &p->maps[m];

        if (is_value ? site->point == map->out
                     : id != TXD_PARAM_COUNT && (id == map->weight || id == map->bias))
            return TXD_ASK_VALUE;
    }
    return 0;
}

static size_t lanes_of(const txd_projection *map)
{
    size_t lanes = txd_picks_wanted(TXD_PROJECTION_ROWS, map->heads, 1);

    return lanes < map->width ? lanes : map->width;
}

size_t txd_projection_lane(const txd_projection *map, const txd_projection_rows *kept,
                           size_t j)
{
    return j * map->width / kept->lanes;
}

static txd_status keep_weight(txd_projections *p, size_t m, const txd_block *block)
{
    const txd_projection *map = &p->maps[m];
    txd_projection_rows *kept = &p->kept[tally_index(p, block->site->layer, m)];
    size_t bytes = map->columns * txd_dtype_bytes(block->value.dtype);

    kept->dtype = block->value.dtype;
    kept->lanes = lanes_of(map);
    free(kept->rows);
    kept->rows = calloc(map->heads * kept->lanes, bytes);
    if (!kept->rows)
        return txd_fail(TXD_ERR_MEMORY, "%s: no memory", p->law);
    for (size_t i = 0; i < map->heads * kept->lanes; i++) {
        size_t row = map->first + i / kept->lanes * map->width +
                     txd_projection_lane(map, kept, i % kept->lanes);

        memcpy((char *)kept->rows + i * bytes,
               (const char *)block->value.data + row * bytes, bytes);
    }
    return txd_projection_keep_misread(kept, p, map, &block->value);
}

static txd_status keep_bias(txd_projections *p, size_t m, const txd_block *block)
{
    const txd_projection *map = &p->maps[m];
    txd_projection_rows *kept = &p->kept[tally_index(p, block->site->layer, m)];

    kept->lanes = lanes_of(map);
    free(kept->bias);
    kept->bias = calloc(map->heads * kept->lanes, sizeof *kept->bias);
    if (!kept->bias)
        return txd_fail(TXD_ERR_MEMORY, "%s: no memory", p->law);
    for (size_t i = 0; i < map->heads * kept->lanes; i++)
        kept->bias[i] = txd_tensor_get(
            &block->value, map->first + i / kept->lanes * map->width +
                               txd_projection_lane(map, kept, i % kept->lanes));
    return TXD_OK;
}

static txd_status keep_parameter(txd_projections *p, const txd_block *block)
{
    txd_param_id id = txd_law_param(block->site->name, block->site->layer);

    for (size_t m = 0; m < p->map_count; m++) {
        if (id == p->maps[m].weight)
            TXD_TRY(keep_weight(p, m, block));
        if (id == p->maps[m].bias)
            TXD_TRY(keep_bias(p, m, block));
    }
    return TXD_OK;
}

/* ---- values ---- */

const txd_projection_rows *txd_projection_kept(const txd_projection_job *job,
                                               size_t map)
{
    return &job->p->kept[tally_index(job->p, job->block->site->layer, map)];
}

double txd_projection_found(const txd_projection_job *job, size_t i, size_t h, size_t j)
{
    const txd_projection *map = &job->p->maps[job->map];
    size_t batch = job->tokens[i] / job->length, token = job->tokens[i] % job->length;
    size_t row = (batch * map->heads + h) * job->length + token;

    return txd_tensor_get(
        &job->block->value,
        row * map->width +
            txd_projection_lane(map, txd_projection_kept(job, job->map), j));
}

/* A row times x, and the magnitudes of x. */
static struct txd_products multiply(double *inputs, const txd_projection_rows *kept,
                                    size_t row, const double *x, size_t n)
{
    struct txd_products products = {0, 0};

    *inputs = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_wide = kept->dtype == TXD_F64;
        double weight = is_wide ? ((const double *)kept->rows)[row * n + i]
                                : (double)((const float *)kept->rows)[row * n + i];
        double term = weight * x[i];

        products.sum += term;
        products.size += fabs(term);
        *inputs += fabs(x[i]);
    }
    return products;
}

txd_projection_value txd_projection_compute(const txd_projection_job *job, size_t map,
                                            size_t h, size_t j, const double *x)
{
    const txd_projection_rows *kept = txd_projection_kept(job, map);
    size_t row = h * kept->lanes + j, n = job->p->maps[map].columns;
    txd_roundoff u = txd_roundoff_of_format(job->block->pass->format);
    txd_projection_value value = {.bias = kept->bias ? kept->bias[row] : 0};
    struct txd_products products = {0, 0};
    double k = (double)n, size, inputs = job->size;

    if (job->narrow && kept->dtype == TXD_F32)
        products = txd_kernels_here()->products((const float *)kept->rows + row * n,
                                                job->narrow, n);
    else
        products = multiply(&inputs, kept, row, x, n);
    size = products.size + fabs(value.bias);
    value.exact = products.sum + value.bias;
    value.allowed =
        (txd_law_gamma(k + 1, u.accumulate) + txd_law_gamma(k + 2, 0x1p-53) + u.store) *
            size +
        u.store * fabs(value.exact) + u.tiny * (inputs + 2) + k * u.lost;
    return value;
}

static void choose_tokens(txd_projection_job *job, const txd_inputs *inputs)
{
    bool is_of_memory = txd_point_is_of_memory(job->p->maps[job->map].out);
    const int32_t *is_valid = is_of_memory ? inputs->memory_valid : inputs->valid;
    const txd_projection *map = &job->p->maps[job->map];
    size_t rows = map->heads * txd_projection_kept(job, job->map)->lanes;
    size_t wanted =
        txd_picks_wanted(TXD_PROJECTION_PRODUCTS, rows * map->columns, TOKENS_LEAST);
    txd_picks picks;
    size_t i;

    job->length = is_of_memory ? inputs->memory_length : inputs->length;
    wanted = wanted < TXD_PROJECTION_TOKENS ? wanted : TXD_PROJECTION_TOKENS;
    picks = txd_picks_of(is_valid, inputs->batch * job->length, wanted);
    while (txd_picks_next(&i, &picks))
        job->tokens[job->token_count++] = i;
}

static void judge_lane(txd_projection_tally *t, const txd_projection_job *job, size_t i,
                       size_t h, size_t j)
{
    const txd_projections *p = job->p;
    size_t token = job->tokens[i];
    const double *x = p->x + i * p->columns;
    txd_projection_value value = txd_projection_compute(job, job->map, h, j, x);
    double found = txd_projection_found(job, i, h, j);
    double measured = fabs(found - value.exact);

    if (!isfinite(value.exact)) {
        t->inherited++;
        return;
    }
    /* Of what is larger than any number of the format `finite` speaks. */
    if (isinf(found) && fabs(value.exact) + value.allowed > job->block->pass->largest)
        return;
    t->broken += !txd_within(measured, value.allowed);
    if (t->judged++ > 0 &&
        !txd_law_is_worse(txd_law_ratio(measured, value.allowed), t->ratio))
        return;
    t->ratio = txd_law_ratio(measured, value.allowed);
    t->measured = measured;
    t->allowed = value.allowed;
    t->value = found;
    t->expected = value.exact;
    t->lane =
        txd_projection_lane(&p->maps[job->map], txd_projection_kept(job, job->map), j);
    t->at = (txd_law_place){job->block->site->step, (int64_t)(token / job->length),
                            p->maps[job->map].heads > 1 ? (int64_t)h : -1,
                            (int64_t)(token % job->length), -1};
}

/* Puts an input at hand as floats, if it is of floats. */
static void narrow(txd_projections *p, txd_projection_job *job, const double *x)
{
    if (job->input.dtype != TXD_F32)
        return;
    job->narrow = p->narrow;
    job->size = 0;
    for (size_t i = 0; i < p->maps[job->map].columns; i++) {
        p->narrow[i] = (float)x[i];
        job->size += fabs(x[i]);
    }
}

static txd_status judge(txd_projections *p, size_t map, const txd_block *block)
{
    txd_projection_tally *t = &p->tallies[tally_index(p, block->site->layer, map)];
    txd_projection_job job = {.p = p, .block = block, .map = map};
    const txd_projection_rows *kept = txd_projection_kept(&job, map);
    uint64_t broken = t->broken;
    txd_status status;

    p->batches = block->pass->inputs->batch;
    if (!kept->rows || !block->value.data)
        return TXD_OK;
    status = txd_block_earlier(&job.input, block, p->maps[map].in);
    if (status == TXD_ERR_MISSING) { /* formed later than claimed: other laws fail */
        p->is_late = true;
        return TXD_OK;
    }
    TXD_TRY(status);
    choose_tokens(&job, block->pass->inputs);
    for (size_t i = 0; i < job.token_count; i++)
        txd_projection_input(p->x + i * p->columns, &job, job.tokens[i]);
    for (size_t i = 0; i < job.token_count; i++) {
        narrow(p, &job, p->x + i * p->columns);
        for (size_t h = 0; h < p->maps[map].heads; h++)
            for (size_t j = 0; j < kept->lanes; j++)
                judge_lane(t, &job, i, h, j);
    }
    job.narrow = NULL;
    /* The first step in which something is off says why. */
    return broken == 0 && t->broken > 0 ? txd_projection_explain(t, &job) : TXD_OK;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    txd_projections *p = self;

    (void)slot;
    if (block->site->kind == TXD_SITE_PARAMETER)
        return block->value.data ? keep_parameter(p, block) : TXD_OK;
    for (size_t m = 0; m < p->map_count; m++)
        if (block->site->point == p->maps[m].out)
            return judge(p, m, block);
    return TXD_OK;
}

/* ---- results ---- */

static txd_status add_map(txd_result *result, const txd_projections *p, int layer,
                          size_t map)
{
    const txd_projection_tally *t = &p->tallies[tally_index(p, layer, map)];
    char found[32], expected[32];
    txd_finding finding;

    result->evaluated += t->judged;
    if (t->judged > 0)
        txd_law_raise(result, t->measured, t->allowed);
    if (t->broken == 0)
        return TXD_OK;
    finding = txd_law_finding(p->maps[map].out, layer, &t->at);
    finding.measured = t->measured;
    finding.allowed = t->allowed;
    txd_law_say_place(&finding, p->batches);
    txd_law_numbers(found, t->value, expected, t->expected);
    txd_law_say(&finding,
                "token %" PRId64 ", lane %zu is %s, its parameters and its input give "
                "%s; %" PRIu64 " of %" PRIu64 " sampled values are off",
                t->at.query, t->lane, found, expected, t->broken, t->judged);
    txd_projection_say_cause(&finding, p, t);
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += t->broken - 1;
    return TXD_OK;
}

txd_status txd_projections_finish(void *self, txd_result *result)
{
    const txd_projections *p = self;
    size_t maps = p->claimed->n_layers * p->map_count, offered = 0;
    uint64_t inherited = 0;

    for (size_t i = 0; i < maps; i++) {
        offered += p->kept[i].rows != NULL;
        inherited += p->tallies[i].inherited;
        TXD_TRY(add_map(result, p, (int)(i / p->map_count), i % p->map_count));
    }
    if (offered == 0)
        snprintf(result->note, sizeof result->note,
                 "the parameters are not at hand: a recording holds their statistics "
                 "alone, `run` judges this law");
    else if (result->evaluated == 0 && p->is_late)
        snprintf(result->note, sizeof result->note,
                 "what the claimed configuration lets the projection read is formed "
                 "after it");
    if (result->verdict == TXD_VERDICT_PASS && isinf(result->allowed))
        return txd_fail(TXD_ERR_LIMIT, "no bound exists: the products are longer than "
                                       "the accumulation has digits (n u >= 1)");
    if (result->verdict == TXD_VERDICT_PASS && inherited > 0)
        return txd_fail(TXD_ERR_MISSING,
                        "%" PRIu64 " sampled values have inputs or parameters that "
                        "are not finite: whether they are right cannot be said",
                        inherited);
    return TXD_OK;
}

void txd_projections_destroy(void *self)
{
    txd_projections *p = self;

    for (size_t i = 0; p->kept && i < p->claimed->n_layers * p->map_count; i++) {
        free(p->kept[i].rows);
        free(p->kept[i].bias);
        free(p->kept[i].misread);
    }
    free(p->kept);
    free(p->tallies);
    free(p->x);
    free(p->narrow);
    free(p);
}

txd_status txd_projections_create(void **out, txd_tap *tap, const txd_projections *p)
{
    size_t all = p->claimed->n_layers * p->map_count;
    txd_projections *made = malloc(sizeof *made);

    if (made) {
        *made = *p;
        made->kept = calloc(all, sizeof *made->kept);
        made->tallies = calloc(all, sizeof *made->tallies);
        made->x = calloc(TXD_PROJECTION_TOKENS * p->columns, sizeof *made->x);
        made->narrow = calloc(p->columns, sizeof *made->narrow);
    }
    if (!made || !made->kept || !made->tallies || !made->x || !made->narrow) {
        if (made)
            txd_projections_destroy(made);
        return txd_fail(TXD_ERR_MEMORY, "%s: no memory", p->law);
    }
    *tap = (txd_tap){
        .name = p->law, .self = made, .ask = ask, .needs = needs, .merge = merge};
    *out = made;
    return TXD_OK;
}

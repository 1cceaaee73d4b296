/* SPDX-License-Identifier: MIT
 *
 * The gradient of one token's loss alone, in every row: nothing may come to a later
 * token, at any point, and something must come to an earlier one that it sees.
 */
#include <math.h>
#include <stdio.h>

#include "checks/experiments/rungs.h"

/* Below so many of the smallest number of the format little is left of a gradient. */
#define FEW_DIGITS 64

static const char *inapplicable(const txd_check_context *context)
{
    if (context->claimed->vocab == 1)
        return "of a vocabulary of one token there is no gradient";
    return txd_experiment_causal_layers(context->claimed) < context->claimed->n_layers
               ? "the claimed mask is not causal (mask.causal = false)"
               : NULL;
}

/* One token per row whose loss is kept; `length` where a row has none. */
typedef struct trial {
    const txd_experiment *e;
    txd_result *result;
    size_t kept[TXD_EXPERIMENT_ROWS];
    txd_point point; /* what the output head reads */
    int layer;
    txd_tap tap;
} trial;

/* The n-th part of the way through the tokens of a row that predict another. */
static size_t choose(const txd_inputs *inputs, size_t row, double part)
{
    size_t pairs = 0, seen = 0, first = row * inputs->length;

    for (size_t t = 0; t < inputs->length; t++)
        pairs += txd_inputs_is_pair(inputs, first + t);
    for (size_t t = 0; t < inputs->length; t++)
        if (txd_inputs_is_pair(inputs, first + t) &&
            (double)++seen > part * (double)(pairs - 1))
            return t;
    return inputs->length;
}

static unsigned ask(void *self, const txd_site *site)
{
    const trial *t = self;

    return site->kind == TXD_SITE_GRADIENT && site->point == t->point &&
                   site->layer == t->layer
               ? TXD_ASK_EDIT
               : 0;
}

/* Of all tokens but the kept ones there is no loss. */
static txd_status keep_one(void *self, txd_block *block)
{
    const trial *t = self;
    size_t length = block->value.dims[1], width = block->value.dims[2];
    size_t item = txd_dtype_bytes(block->value.dtype);

    for (size_t i = 0; i < block->value.dims[0] * length; i++)
        if (i % length != t->kept[i / length])
            for (size_t byte = 0; byte < width * item; byte++)
                ((char *)block->value.data)[i * width * item + byte] = 0;
    return TXD_OK;
}

static void prepare(trial *t, const txd_config *claimed)
{
    t->point = txd_head_reads(claimed, txd_head_out(claimed));
    t->layer = txd_point_per_layer(t->point) ? (int)claimed->n_layers - 1 : -1;
    t->tap = (txd_tap){.name = "gradient_causality",
                       .self = t,
                       .gradients = true,
                       .ask = ask,
                       .edit = keep_one};
}

/* ---- what came where ---- */

/* A row of one token (and head) of a gradient. */
typedef struct found_row {
    const txd_captured *site;
    size_t batch, token, lane;
    int64_t head;
    double value;
} found_row;

static size_t heads_of(const txd_tensor *value)
{
    return value->rank == 4 ? value->dims[1] : 1;
}

/* The first element that is not 0 of the rows of token `token`; false if all are. */
static bool look(found_row *out, const txd_captured *site, size_t batch, size_t token)
{
    const txd_tensor *value = &site->value;
    size_t heads = heads_of(value), width = value->dims[value->rank - 1];
    size_t length = value->dims[value->rank - 2];

    for (size_t h = 0; h < heads; h++) {
        size_t first = ((batch * heads + h) * length + token) * width;

        for (size_t i = 0; i < width; i++)
            if (txd_tensor_get(value, first + i) != 0) {
                *out = (found_row){site,
                                   batch,
                                   token,
                                   i,
                                   value->rank == 4 ? (int64_t)h : -1,
                                   txd_tensor_get(value, first + i)};
                return true;
            }
    }
    return false;
}

/* True if a later token of any row has something at a site. */
static bool leaks(found_row *out, const trial *t, const txd_captured *site)
{
    const txd_inputs *inputs = &t->e->inputs;

    for (size_t b = 0; b < inputs->batch; b++)
        for (size_t token = t->kept[b] + 1; token < inputs->length; token++) {
            t->result->evaluated += heads_of(&site->value);
            if (look(out, site, b, token))
                return true;
        }
    return false;
}

static const char *cause(txd_point point)
{
    switch (txd_point_in_self(point)) {
    case TXD_POINT_ATTN_K:
    case TXD_POINT_ATTN_V:
        return "its query gives weight to later keys";
    default:
        return "the way back takes in other tokens there";
    }
}

static txd_status report_leak(const trial *t, const found_row *found)
{
    txd_finding finding = txd_experiment_finding(t->e, &found->site->site, found->batch,
                                                 found->head, found->token);
    char number[32];

    finding.measured = fabs(found->value);
    t->result->worst = finding.measured;
    txd_law_say_place(&finding, t->e->inputs.batch);
    txd_law_say(&finding,
                "of the loss of token %zu alone, the later token %zu has a gradient, "
                "here first on the way back: element %zu is %s; %s",
                t->kept[found->batch] + t->e->first, found->token + t->e->first,
                found->lane, txd_law_number(number, found->value),
                cause(found->site->site.point));
    return txd_result_add(t->result, &finding);
}

/* ---- what must come ---- */

/* True if the kept token sees an earlier one in some layer. */
static bool sees_earlier(const trial *t, size_t b, size_t earlier)
{
    const txd_config *claimed = t->e->setup->claimed;

    for (size_t l = 0; l < claimed->n_layers; l++) {
        txd_mask_view mask = txd_mask_of(&claimed->layers[l], &t->e->inputs, b);

        if (txd_mask_hides(&mask, t->kept[b], earlier) == TXD_SEEN)
            return true;
    }
    return false;
}

/* Counts the rows whose kept token sees an earlier one, and those in which none has a
 * gradient at the embeddings. */
static void count_deaf(size_t *deaf, size_t *seeing, const trial *t,
                       const txd_captured *site)
{
    const txd_inputs *inputs = &t->e->inputs;

    for (size_t b = 0; b < inputs->batch; b++) {
        bool sees = false, has = false;
        found_row found;

        for (size_t i = 0; t->kept[b] < inputs->length && i < t->kept[b]; i++) {
            sees |= sees_earlier(t, b, i);
            has |= look(&found, site, b, i);
        }
        *seeing += sees;
        *deaf += sees && !has;
    }
}

static txd_status report_deaf(const trial *t, const txd_captured *site, size_t rows)
{
    txd_finding finding = txd_experiment_finding(t->e, &site->site, 0, -1, t->kept[0]);

    finding.query = -1;
    finding.batch = -1;
    finding.measured = t->result->worst = (double)rows; /* none may be so */
    txd_law_say(&finding,
                "in none of %zu batch rows does the loss of one token alone have a "
                "gradient at an earlier one, which it sees: attention passes nothing "
                "back",
                rows);
    return txd_result_add(t->result, &finding);
}

/* The largest element of tokens before the kept ones. */
static double largest_earlier(const trial *t, const txd_captured *site)
{
    const txd_tensor *value = &site->value;
    size_t width = value->dims[value->rank - 1], length = t->e->inputs.length;
    size_t heads = heads_of(value), count = txd_tensor_count(value) / width;
    double largest = 0;

    for (size_t row = 0; row < count; row++)
        for (size_t i = 0; row % length < t->kept[row / length / heads] && i < width;
             i++)
            largest = fmax(largest, fabs(txd_tensor_get(value, row * width + i)));
    return largest;
}

static double largest_at(const trial *t, const txd_capture *claim, txd_point point,
                         int layer)
{
    const txd_site site = {.kind = TXD_SITE_GRADIENT, .point = point, .layer = layer};
    const txd_captured *found = txd_capture_at(claim, &site);

    return found ? largest_earlier(t, found) : 0;
}

/* True if by the claim, in float64, something comes to earlier tokens through some
 * layer that the format can hold on its way: a gradient of 0 is else right, or lost. */
static bool is_due(const trial *t, const txd_capture *claim)
{
    const txd_config *claimed = t->e->setup->claimed;
    double least = FEW_DIGITS * txd_roundoff_of(t->e->setup->backend).tiny;
    txd_point input = txd_sublayer_of(claimed, TXD_SUBLAYER_ATTENTION).input;
    bool is_held = false;

    for (int l = 0; l < (int)claimed->n_layers; l++)
        is_held |= largest_at(t, claim, TXD_POINT_ATTN_V, l) > least &&
                   largest_at(t, claim, input, l) > least;
    return is_held && largest_at(t, claim, TXD_POINT_EMBED_OUT, -1) > least;
}

static txd_status judge_deaf(trial *t, const txd_captured *site, size_t rows)
{
    txd_tap *taps[1] = {&t->tap};
    const txd_experiment_how how = {.taps = taps, .tap_count = 1, .backward = true};
    txd_capture claim;
    txd_status status = txd_capture_init(&claim, t->e, TXD_CAPTURE_GRADIENTS);

    if (status == TXD_OK)
        status = txd_rung_pass(&claim, t->e, "ref64", &how, &t->e->inputs);
    if (status == TXD_OK && is_due(t, &claim))
        status = report_deaf(t, site, rows);
    else if (status == TXD_OK)
        snprintf(t->result->note, sizeof t->result->note,
                 "whether something comes to earlier tokens was not judged: by the "
                 "claim it is 0, or less than the format holds");
    txd_capture_finish(&claim);
    return status;
}

/* The last embeddings on the way back are the first of the forward pass. */
static txd_status judge_earlier(trial *t, const txd_capture *gradients)
{
    const txd_site embeddings = {
        .kind = TXD_SITE_GRADIENT, .point = TXD_POINT_EMBED_OUT, .layer = -1};
    const txd_captured *site = txd_capture_at(gradients, &embeddings);
    size_t deaf = 0, seeing = 0;

    if (!site)
        return TXD_OK;
    count_deaf(&deaf, &seeing, t, site);
    return seeing > 0 && deaf == seeing ? judge_deaf(t, site, deaf) : TXD_OK;
}

static bool all_finite(const txd_captured *site)
{
    size_t count = txd_tensor_count(&site->value);

    for (size_t i = 0; i < count; i++)
        if (!isfinite(txd_tensor_get(&site->value, i)))
            return false;
    return true;
}

static txd_status judge(trial *t, const txd_capture *gradients)
{
    found_row found;

    for (size_t i = 0; i < gradients->count; i++) {
        const txd_captured *site = &gradients->sites[i];

        if (site->value.rank < 3)
            continue;
        if (!all_finite(site)) {
            t->result->verdict = TXD_VERDICT_OPEN;
            snprintf(t->result->note, sizeof t->result->note,
                     "gradients are not finite: see `finite`");
            return TXD_OK;
        }
        if (leaks(&found, t, site))
            return report_leak(t, &found);
    }
    return judge_earlier(t, gradients);
}

static txd_status try_part(trial *t, double part)
{
    txd_tap *taps[1] = {&t->tap};
    const txd_experiment_how how = {.taps = taps, .tap_count = 1, .backward = true};
    txd_capture gradients;
    txd_status status;

    for (size_t b = 0; b < t->e->inputs.batch; b++)
        t->kept[b] = choose(&t->e->inputs, b, part);
    status = txd_capture_init(&gradients, t->e, TXD_CAPTURE_GRADIENTS);
    if (status == TXD_OK)
        status = txd_capture_pass(&gradients, t->e, &how, &t->e->inputs);
    if (status == TXD_OK)
        status = judge(t, &gradients);
    txd_capture_finish(&gradients);
    return status;
}

static txd_status examine(txd_experiment *e, txd_result *result)
{
    trial t = {.e = e, .result = result};

    if (txd_inputs_pairs(&e->inputs) == 0) {
        snprintf(result->note, sizeof result->note, "no token predicts another");
        return TXD_OK;
    }
    prepare(&t, e->setup->claimed);
    TXD_TRY(try_part(&t, 0.5));
    if (result->verdict != TXD_VERDICT_PASS)
        return TXD_OK;
    return try_part(&t, 0.25);
}

const txd_check txd_check_gradient_causality = {
    .name = "gradient_causality",
    .law = "the loss of one token has no gradient at a later one",
    .formula = "d loss_p / d x_s(t) = 0 exactly for every t > p at every point s, and "
               "not 0 at some t < p that p sees",
    .causes = "what breaks causality forward; a backward pass with another mask than "
              "the forward one; attention that is cut off the graph",
    .look_next = "the point named and those after it on the way back, of that token",
    .unit = "rows",
    .exact = true,
    .faults = (const char *const[]){"mask_missing", "mask_off_by_one", "block_means",
                                    "norm_axis_tokens", NULL},
    .inapplicable = inapplicable,
    .examine = examine,
};

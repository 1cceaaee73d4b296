/* SPDX-License-Identifier: MIT
 *
 * The heads are merged side by side: attn.merged (b, t, h f) is attn.heads (b, h, t, f)
 * with its axes h and t exchanged. A copy, so exactly, element by element; of many
 * tokens at some, as many as make up ELEMENTS_JUDGED elements of a layer. What other
 * order of the same elements explains it, is named.
 *
 * A NaN in attn.heads has no right copy: if nothing else is wrong the law is broken,
 * not passed, and `finite` says where the NaN is from.
 */
#include "checks/kept.h"
#include "checks/sample.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of a layer, per step; tokens at least. */
#define ELEMENTS_JUDGED 65536
#define TOKENS_LEAST 8

/* Other orders in which the elements can have been laid down. */
typedef enum order {
    ORDER_VIEW,    /* the memory of attn.heads as it is */
    ORDER_STRIDES, /* memory (t, h, f) read as if it were (h, t, f) */
    ORDER_LANES,   /* lane by lane, the heads of a lane side by side */
    ORDER_PLACE,   /* each place holds the head that the first wrong token names */
    ORDER_COUNT
} order;

typedef struct tally {
    uint64_t judged, broken, inherited;
    uint64_t fits[ORDER_COUNT]; /* of the elements judged while something was broken */
    uint64_t fitted;            /* these elements */
    txd_law_place at;           /* of the worst */
    size_t lane;                /* in its head */
    double merged, expected;
} tally;

typedef struct state {
    const txd_config *claimed;
    tally *tallies;   /* (layers, 2): self- and cross-attention */
    int64_t *sources; /* (layers, 2, heads): which head stands there; -1 = none, -2 =
                         not looked for yet */
    size_t batches;
} state;

/* The two values of a layer. */
typedef struct pair {
    const txd_tensor *merged;
    txd_tensor heads;
    size_t length, count, width; /* tokens, heads, lanes of a head */
} pair;

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE &&
                   txd_point_in_self(site->point) == TXD_POINT_ATTN_MERGED
               ? TXD_ASK_VALUE
               : 0;
}

static const txd_point *needs(void *self, txd_point point)
{
    static const txd_point heads[] = {TXD_POINT_ATTN_HEADS, TXD_POINT_COUNT};
    static const txd_point cross[] = {TXD_POINT_CROSS_HEADS, TXD_POINT_COUNT};

    (void)self;
    if (txd_point_in_self(point) != TXD_POINT_ATTN_MERGED)
        return NULL;
    return txd_point_attention(point) == TXD_ATTENTION_CROSS ? cross : heads;
}

static double merged_at(const pair *p, size_t b, size_t t, size_t h, size_t f)
{
    return txd_tensor_get(p->merged,
                          ((b * p->length + t) * p->count + h) * p->width + f);
}

static double heads_at(const pair *p, size_t b, size_t h, size_t t, size_t f)
{
    return txd_tensor_get(&p->heads,
                          ((b * p->count + h) * p->length + t) * p->width + f);
}

/* The head all lanes of which stand at place h of token (b, t); -1 if there is none. */
static int64_t find_source(const pair *p, size_t b, size_t t, size_t h)
{
    for (size_t source = 0; source < p->count; source++) {
        size_t same = 0;

        while (same < p->width &&
               merged_at(p, b, t, h, same) == heads_at(p, b, source, t, same))
            same++;
        if (same == p->width)
            return (int64_t)source;
    }
    return -1;
}

static void count_fits(tally *sum, const pair *p, const txd_law_place *at, size_t f,
                       int64_t source)
{
    size_t b = (size_t)at->batch, t = (size_t)at->query, h = (size_t)at->head;
    size_t place = h * p->width + f, packed = h * p->length + t;
    size_t start = b * p->length * p->count * p->width;
    double merged = merged_at(p, b, t, h, f);
    double lane = heads_at(p, b, place % p->count, t, place / p->count);

    sum->fits[ORDER_VIEW] +=
        merged == txd_tensor_get(&p->heads, start + t * p->count * p->width + place);
    sum->fits[ORDER_STRIDES] +=
        merged == heads_at(p, b, packed % p->count, packed / p->count, f);
    sum->fits[ORDER_LANES] += merged == lane;
    sum->fits[ORDER_PLACE] +=
        source >= 0 && merged == heads_at(p, b, (size_t)source, t, f);
}

/* Whether a head is copied to the bit, and no lane of it is NaN. */
static bool is_copy(const pair *p, size_t b, size_t t, size_t h)
{
    size_t bytes = txd_dtype_bytes(p->merged->dtype);
    size_t to = ((b * p->length + t) * p->count + h) * p->width;
    size_t from = ((b * p->count + h) * p->length + t) * p->width;
    const char *heads = (const char *)p->heads.data + from * bytes;

    return p->merged->dtype == p->heads.dtype &&
           memcmp((const char *)p->merged->data + to * bytes, heads,
                  p->width * bytes) == 0 &&
           (p->heads.dtype == TXD_F32
                ? txd_kernels_here()->finite((const float *)(const void *)heads,
                                             p->width)
                : p->heads.dtype == TXD_F64 &&
                      txd_kept_is_finite((const double *)(const void *)heads,
                                         p->width));
}

static void judge_head(tally *sum, const pair *p, const txd_law_place *at)
{
    size_t b = (size_t)at->batch, t = (size_t)at->query, h = (size_t)at->head;

    if (is_copy(p, b, t, h)) {
        sum->judged += p->width;
        return;
    }
    for (size_t f = 0; f < p->width; f++) {
        double merged = merged_at(p, b, t, h, f), expected = heads_at(p, b, h, t, f);

        if (isnan(expected)) {
            sum->inherited++;
            continue;
        }
        sum->judged++;
        if (merged == expected)
            continue;
        if (sum->broken++ == 0 || txd_law_is_worse(fabs(merged - expected),
                                                   fabs(sum->merged - sum->expected))) {
            sum->at = *at;
            sum->lane = f;
            sum->merged = merged;
            sum->expected = expected;
        }
    }
}

static txd_picks pick_tokens(const pair *p, const txd_block *block)
{
    const txd_inputs *inputs = block->pass->inputs;

    return txd_picks_of(
        inputs->valid, inputs->batch * inputs->length,
        txd_picks_wanted(ELEMENTS_JUDGED, p->count * p->width, TOKENS_LEAST));
}

static txd_law_place place_at(const pair *p, const txd_block *block, size_t i, size_t h)
{
    return (txd_law_place){block->site->step, (int64_t)(i / p->length), (int64_t)h,
                           (int64_t)(i % p->length), -1};
}

static void judge_tokens(tally *sum, const pair *p, const txd_block *block)
{
    txd_picks picks = pick_tokens(p, block);
    size_t i;

    while (txd_picks_next(&i, &picks))
        for (size_t h = 0; h < p->count; h++) {
            const txd_law_place at = place_at(p, block, i, h);

            judge_head(sum, p, &at);
        }
}

/* What the same elements are instead, once some are wrong. */
static void look_for_order(tally *sum, const pair *p, const txd_block *block,
                           int64_t *sources)
{
    txd_picks picks = pick_tokens(p, block);
    size_t i;

    while (txd_picks_next(&i, &picks))
        for (size_t h = 0; h < p->count; h++) {
            const txd_law_place at = place_at(p, block, i, h);

            if (sources[h] == -2)
                sources[h] = find_source(p, i / p->length, i % p->length, h);
            for (size_t f = 0; f < p->width; f++)
                if (!isnan(heads_at(p, i / p->length, h, i % p->length, f))) {
                    count_fits(sum, p, &at, f, sources[h]);
                    sum->fitted++;
                }
        }
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;
    const txd_inputs *inputs = block->pass->inputs;
    txd_attention_kind kind = txd_point_attention(block->site->point);
    size_t place = txd_law_part(block->site), heads = s->claimed->n_heads;
    uint64_t broken = s->tallies[place].broken;
    pair p = {&block->value, .length = inputs->length, .count = heads};

    (void)slot;
    if (!block->value.data)
        return TXD_OK;
    p.width = s->claimed->value_dim;
    s->batches = inputs->batch;
    TXD_TRY(
        txd_block_earlier(&p.heads, block, txd_point_in(kind, TXD_POINT_ATTN_HEADS)));
    judge_tokens(&s->tallies[place], &p, block);
    if (s->tallies[place].broken > broken)
        look_for_order(&s->tallies[place], &p, block, &s->sources[place * heads]);
    return TXD_OK;
}

static void say_order(txd_finding *finding, const state *s, const tally *t)
{
    size_t place = (size_t)(t - s->tallies) * s->claimed->n_heads;
    int64_t source = s->sources[place + (size_t)t->at.head];

    if (t->fits[ORDER_VIEW] == t->fitted)
        txd_law_say(finding, ": it is the memory of the heads as it lies, (h, t, f) "
                             "taken for (t, h f): the transpose is missing");
    else if (t->fits[ORDER_STRIDES] == t->fitted)
        txd_law_say(finding, ": memory that holds (t, h, f) was read as (h, t, f): a "
                             "transposed view whose strides were ignored");
    else if (t->fits[ORDER_PLACE] == t->fitted)
        txd_law_say(finding,
                    ": the heads are in another order: head %" PRId64
                    " stands in this place",
                    source);
    else if (t->fits[ORDER_LANES] == t->fitted)
        txd_law_say(finding, ": the lanes of all heads are interleaved, (t, f h) "
                             "instead of (t, h f)");
}

static txd_status add_attention(txd_result *result, const state *s, int layer,
                                txd_attention_kind kind)
{
    const tally *t = &s->tallies[2 * (size_t)layer + kind];
    double measured = fabs(t->merged - t->expected);
    char merged[32], expected[32];
    txd_finding finding;

    result->evaluated += t->judged;
    if (t->broken == 0)
        return TXD_OK;
    if (txd_law_is_worse(measured, result->worst))
        result->worst = measured;
    finding = txd_law_finding(txd_point_in(kind, TXD_POINT_ATTN_MERGED), layer, &t->at);
    finding.measured = measured;
    txd_law_say_place(&finding, s->batches);
    txd_law_numbers(merged, t->merged, expected, t->expected);
    txd_law_say(&finding,
                "token %" PRId64 ", lane %zu of the head is %s, the heads have %s; "
                "%" PRIu64 " of %" PRIu64 " elements are off",
                t->at.query, t->lane, merged, expected, t->broken, t->judged);
    say_order(&finding, s, t);
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += t->broken - 1;
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    uint64_t inherited = 0;

    for (size_t l = 0; l < s->claimed->n_layers; l++) {
        inherited += s->tallies[2 * l].inherited + s->tallies[2 * l + 1].inherited;
        TXD_TRY(add_attention(result, s, (int)l, TXD_ATTENTION_SELF));
        TXD_TRY(add_attention(result, s, (int)l, TXD_ATTENTION_CROSS));
    }
    if (inherited > 0 && result->verdict == TXD_VERDICT_PASS)
        return txd_fail(TXD_ERR_MISSING,
                        "%" PRIu64 " elements of the heads are NaN: whether they "
                        "were merged rightly cannot be said",
                        inherited);
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    free(s->tallies);
    free(s->sources);
    free(s);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    size_t layers = context->claimed->n_layers, heads = context->claimed->n_heads;
    state *s = calloc(1, sizeof *s);

    if (s) {
        s->tallies = calloc(layers * 2, sizeof *s->tallies);
        s->sources = calloc(layers * 2 * heads, sizeof *s->sources);
    }
    if (!s || !s->tallies || !s->sources) {
        if (s)
            destroy(s);
        return txd_fail(TXD_ERR_MEMORY, "head_merge: no memory");
    }
    for (size_t i = 0; i < layers * 2 * heads; i++)
        s->sources[i] = -2;
    s->claimed = context->claimed;
    *tap = (txd_tap){
        .name = "head_merge", .self = s, .ask = ask, .needs = needs, .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_head_merge = {
    .name = "head_merge",
    .law = "the merged heads are the heads side by side, each token with its own",
    .formula = "attn.merged[b, t, h f_count + f] = attn.heads[b, h, t, f], exactly; "
               "cross.* alike",
    .causes = "a view or reshape of (b, h, t, f) to (b, t, h f) without the transpose "
              "before it; a transposed tensor whose memory is read as if it were "
              "contiguous; lanes before heads; heads in another order",
    .look_next = "attn.heads and attn.merged of the layer: the transpose, and the copy "
                 "that makes it contiguous",
    .unit = "elements",
    .faults = (const char *const[]){"head_merge_view", "strides_ignored", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_MERGED, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_HEADS, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_MERGED, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_HEADS, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_MERGED, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_HEADS, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};

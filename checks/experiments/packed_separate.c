/* SPDX-License-Identifier: MIT
 *
 * Texts packed into one row, as documents of their own whose positions begin anew, have
 * what they have in rows of their own, within rounding.
 */
#include "checks/experiments/derive.h"
#include "checks/experiments/versus.h"

static const char *inapplicable(const txd_check_context *context)
{
    return context->claimed->cross ? "a packed row has one memory, texts of their own "
                                     "have one each"
                                   : NULL;
}

static const char *cause(txd_point point, bool is_exact)
{
    (void)is_exact;
    switch (txd_point_in_self(point)) {
    case TXD_POINT_EMBED_POS:
    case TXD_POINT_EMBED_OUT:
        return "positions go on from one document to the next";
    case TXD_POINT_ATTN_HEADS:
        return "keys of another document get weight, or own ones get none";
    default:
        return "what forms it takes in another document, and all that it reads had not "
               "moved";
    }
}

/* What is packed: rows of one text each. */
typedef struct packing {
    txd_inputs separate, packed;
    size_t *origin; /* of each of the separate tokens */
} packing;

static txd_status make(packing *p, txd_experiment *e)
{
    TXD_TRY(txd_derive_separate(&p->separate, &p->origin, e->arena, &e->inputs));
    return txd_derive_packed(&p->packed, e->arena, &p->separate);
}

/* Real tokens follow one another in the packed row. */
static void pair_packed(txd_versus *v)
{
    for (size_t i = 0; i < v->count; i++)
        v->pairs[i].b = i;
}

static txd_status run(txd_versus *v, const packing *p)
{
    v->origin = p->origin;
    TXD_TRY(txd_versus_begin(v, &p->separate, true));
    pair_packed(v);
    return txd_versus_try(v, &p->packed, false);
}

static txd_status examine(txd_experiment *e, txd_result *result)
{
    txd_versus v = {.e = e,
                    .result = result,
                    .how = "packed into one row with other documents",
                    .cause = cause};
    packing p = {0};
    txd_status status;

    TXD_TRY(make(&p, e));
    status = run(&v, &p);
    txd_versus_finish(&v);
    return status;
}

const txd_check txd_check_packed_separate = {
    .name = "packed_separate",
    .law = "texts packed into one row as documents have what each has alone",
    .formula = "|x_s(t) packed - x_s(t) in a row of its own| <= 16 noise_s |x_s(t)| at "
               "every point s, with positions that begin anew in each document",
    .causes =
        "a mask that does not keep documents apart; positions that go on counting; "
        "an operation over tokens that knows nothing of documents",
    .look_next = "the point named and what it reads, of that token, packed and alone",
    .unit = "rows",
    .allowance = "16 times the measured noise of rounding",
    .exact = true,
    .faults = (const char *const[]){"documents_ignored", "positions_not_reset",
                                    "norm_axis_tokens", NULL},
    .inapplicable = inapplicable,
    .examine = examine,
};

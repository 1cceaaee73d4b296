/* SPDX-License-Identifier: MIT
 *
 * What a run and its recording must say alike.
 */
#include "alike.h"

#include <math.h>
#include <string.h>

static void expect_same_number(double a, double b)
{
    ck_assert_msg(a == b || (isnan(a) && isnan(b)), "%.17g is not %.17g", a, b);
}

static void expect_same_finding(const txd_finding *a, const txd_finding *b)
{
    ck_assert_int_eq(a->verdict, b->verdict);
    ck_assert_str_eq(a->site, b->site);
    ck_assert_int_eq(a->step, b->step);
    ck_assert_int_eq(a->layer, b->layer);
    ck_assert_int_eq(a->batch, b->batch);
    ck_assert_int_eq(a->head, b->head);
    ck_assert_int_eq(a->query, b->query);
    ck_assert_int_eq(a->key, b->key);
    ck_assert_str_eq(a->message, b->message);
    expect_same_number(a->measured, b->measured);
    expect_same_number(a->allowed, b->allowed);
}

bool alike_by_parameters(const char *law)
{
    return txd_glob_list(
        "head_split,output_projection,norm_output,norm_moments,mlp_linear,head_logits",
        law);
}

static const txd_finding *finding_at(const txd_result *r, const char *site)
{
    for (size_t i = 0; i < r->finding_count; i++)
        if (strcmp(r->findings[i].site, site) == 0)
            return &r->findings[i];
    return NULL;
}

void alike_expect_numbers(const txd_result *a, const txd_result *b)
{
    ck_assert_msg(a->verdict == b->verdict, "%s: run says %s, check says %s (%s)",
                  a->check, txd_verdict_name(a->verdict), txd_verdict_name(b->verdict),
                  b->note);
    ck_assert_uint_eq(a->finding_count, b->finding_count);
    ck_assert_uint_eq(a->finding_total, b->finding_total);
    /* Laws that look at the parameters too: other numbers, the same verdict. */
    if (strcmp(a->check, "qkv_distinct") == 0)
        return;
    for (size_t i = 0; i < a->finding_count; i++)
        expect_same_finding(&a->findings[i], &b->findings[i]);
    if (strcmp(a->check, "heads_distinct") == 0)
        return;
    ck_assert_msg(a->evaluated == b->evaluated, "%s: %zu and %zu evaluated", a->check,
                  (size_t)a->evaluated, (size_t)b->evaluated);
    ck_assert_uint_eq(a->not_computed, b->not_computed);
    expect_same_number(a->worst, b->worst);
    expect_same_number(a->allowed, b->allowed);
}

/* Those of a run hold rows to the tables too. A recording holds those of equal tokens
 * and positions to each other: it finds no other places, and of these every one. */
static void expect_part(const txd_result *a, const txd_result *b)
{
    ck_assert_uint_gt(b->evaluated, 0);
    ck_assert_uint_le(b->evaluated, a->evaluated);
    ck_assert_msg(b->verdict ==
                      (b->finding_count ? TXD_VERDICT_FAIL : TXD_VERDICT_PASS),
                  "%s: %s %s", b->check, txd_verdict_name(b->verdict), b->note);
    for (size_t i = 0; i < b->finding_count; i++)
        ck_assert_msg(finding_at(a, b->findings[i].site) != NULL, "%s: %s", b->check,
                      b->findings[i].message);
    for (size_t i = 0; i < a->finding_count; i++) {
        const txd_finding *found = &a->findings[i];
        const txd_finding *again = finding_at(b, found->site);

        if (!strstr(found->message, "another token of the same"))
            continue;
        ck_assert_msg(again != NULL, "%s: %s", a->check, found->message);
        ck_assert_int_eq(found->batch, again->batch);
        ck_assert_int_eq(found->query, again->query);
        expect_same_number(found->measured, again->measured);
    }
}

void alike_expect(const txd_result *a, const txd_result *b)
{
    ck_assert_str_eq(a->check, b->check);
    if (alike_by_parameters(a->check)) {
        ck_assert_int_eq(b->verdict, TXD_VERDICT_SKIP);
        ck_assert_ptr_nonnull(strstr(b->note, "the parameters are not at hand"));
        return;
    }
    if (strcmp(a->check, "embedding_rows") == 0)
        expect_part(a, b);
    else
        alike_expect_numbers(a, b);
}

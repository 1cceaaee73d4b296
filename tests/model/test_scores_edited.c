/* SPDX-License-Identifier: MIT
 *
 * Edits of what scores become before the mask: whole matrices with the same bits, and
 * what follows from them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "observe.h"
#include "suite.h"

static const double *values(observed *o, const char *site)
{
    const struct observed_site *s = observe_site(o, site);

    ck_assert_msg(s != NULL, "%s was not offered", site);
    return s->values;
}

/* Multiplies the value at a point of layer 0. */
struct edit {
    txd_point point;
    double factor;
};

static unsigned ask_to_edit(void *self, const txd_site *site)
{
    const struct edit *e = self;

    return site->kind == TXD_SITE_VALUE && site->point == e->point && site->layer == 0
               ? TXD_ASK_EDIT
               : 0;
}

static txd_status edit(void *self, txd_block *block)
{
    const struct edit *e = self;
    float *x = block->value.data;

    for (size_t i = 0; i < txd_tensor_count(&block->value); i++)
        x[i] *= (float)e->factor;
    return TXD_OK;
}

static void run_edited(observed *o, struct edit *e, txd_tap *tap)
{
    *tap = (txd_tap){.name = "edit", .self = e, .ask = ask_to_edit, .edit = edit};
    o->before = e ? tap : NULL;
    o->backward = true;
    OK(observe_cfg(
        o,
        "model : { preset = \"mini\"; vocab = 17; d_model = 24; n_heads = 6; "
        "n_layers = 2; d_ff = 8; max_seq_len = 160; positions = \"alibi\"; "
        "layers = ( { range = \"1\"; score_softcap = 0.5; } ); };",
        "cpu32"));
    OK(observe_random(o, 2, 140)); /* two tiles of rows */
    OK(observe_pass(o));
}

/* Backward, sums over spans and over whole rows are other sums. */
static void same_but_for_rounding(const struct observed_site *a,
                                  const struct observed_site *b)
{
    double largest = 0;

    for (size_t i = 0; i < a->count; i++)
        largest = fmax(largest, fabs(a->values[i]));
    for (size_t i = 0; i < a->count; i++)
        if (!(isnan(a->values[i]) && isnan(b->values[i])) &&
            !txd_close(a->values[i], b->values[i], 1e-5 * largest))
            ck_abort_msg("%s", a->name); /* an assertion that holds is a write */
}

START_TEST(an_edit_of_capped_scores_or_of_a_bias_that_changes_nothing_changes_no_bit)
{
    const txd_point points[] = {TXD_POINT_ATTN_CAPPED, TXD_POINT_ATTN_BIAS,
                                TXD_POINT_ATTN_SCORES};
    observed plain = {0};
    txd_tap tap;

    run_edited(&plain, NULL, &tap);
    for (int p = 0; p < 3; p++) {
        struct edit e = {points[p], 1};
        observed o = {0};

        run_edited(&o, &e, &tap);
        for (size_t i = 0; i < plain.sites; i++) {
            const struct observed_site *a = &plain.site[i];
            const struct observed_site *b = observe_site(&o, a->name);

            if (strstr(a->name, "@grad") == NULL)
                ck_assert_msg(memcmp(a->values, b->values, a->count * sizeof(double)) ==
                                  0,
                              "%s", a->name);
            else
                same_but_for_rounding(a, b);
        }
        observe_finish(&o);
    }
    observe_finish(&plain);
}
END_TEST

START_TEST(an_edited_bias_is_what_is_added)
{
    struct edit e = {TXD_POINT_ATTN_BIAS, -3};
    const double *scores, *bias, *masked;
    observed o = {0};
    txd_tap tap;
    size_t moved = 0;

    run_edited(&o, &e, &tap);
    scores = values(&o, "layers.0.attn.scores");
    bias = values(&o, "layers.0.attn.bias");
    masked = values(&o, "layers.0.attn.masked");
    for (size_t i = 0; i < (size_t)2 * 6 * 140 * 140; i++) {
        if (isinf(masked[i]))
            continue;
        if (!(masked[i] == (double)(float)(scores[i] + bias[i])))
            ck_abort_msg("element %zu", i);
        moved += bias[i] > 0;
    }
    ck_assert_uint_gt(moved, 1000);
    observe_finish(&o);
}
END_TEST

TEST_MAIN(an_edit_of_capped_scores_or_of_a_bias_that_changes_nothing_changes_no_bit,
          an_edited_bias_is_what_is_added)

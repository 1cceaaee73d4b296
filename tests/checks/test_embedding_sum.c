/* SPDX-License-Identifier: MIT
 *
 * The law embedding_sum on hand-made embeddings, and on models from their recordings.
 */
#include "driver.h"
#include "recorded.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { D = HEADS * WIDTH, COUNT = LENGTH * D };

/* embed.out = scale tok + pos + type; what is not as it should be. */
typedef struct made {
    double claimed;          /* scale; 1 = none */
    double scale, pos, type; /* factors that were used; 0 of scale = the claimed one */
    size_t element;          /* of the sum, `steps` numbers away */
    int steps;
    double put;             /* instead, where it is not 0 */
    bool is_scaled_missing; /* not offered */
    bool nan_token;
} made;

static const made healthy = {.claimed = 5.65, .pos = 1, .type = 1};

static unsigned all_but_scaled(const void *self, txd_site_kind kind, txd_point point,
                               int layer)
{
    (void)self;
    (void)kind;
    (void)layer;
    return point == TXD_POINT_EMBED_SCALED ? 0 : TXD_ASK_VALUE | TXD_ASK_STATS;
}

static const txd_result *run(driver *d, const made *m)
{
    double *tok, *pos, *type, *scaled, *out;

    d->config.embed_scale = m->claimed;
    d->config.token_types = 2;
    d->offers = m->is_scaled_missing ? all_but_scaled : NULL;
    driver_start(d, "embedding_sum");
    tok = driver_random(d, TXD_POINT_EMBED_TOK, 1);
    pos = driver_random(d, TXD_POINT_EMBED_POS, 2);
    type = driver_random(d, TXD_POINT_EMBED_TYPE, 3);
    scaled = txd_arena_alloc(d->arena, COUNT, sizeof *scaled);
    out = txd_arena_alloc(d->arena, COUNT, sizeof *out);
    if (m->nan_token)
        tok[5] = NAN;
    for (size_t i = 0; i < COUNT; i++) {
        scaled[i] = (m->scale == 0 ? m->claimed : m->scale) * tok[i];
        out[i] = scaled[i] + m->pos * pos[i] + m->type * type[i];
    }
    for (int step = 0; step < m->steps; step++)
        out[m->element] = nextafter(out[m->element], INFINITY);
    if (m->put != 0)
        out[m->element] = m->put;
    driver_offer(d, TXD_POINT_EMBED_TOK, -1, tok);
    if (m->claimed != 1 && !m->is_scaled_missing)
        driver_offer(d, TXD_POINT_EMBED_SCALED, -1, scaled);
    driver_offer(d, TXD_POINT_EMBED_POS, -1, pos);
    driver_offer(d, TXD_POINT_EMBED_TYPE, -1, type);
    driver_offer(d, TXD_POINT_EMBED_OUT, -1, out);
    return driver_result(d);
}

static void expect(const made *m, txd_verdict verdict, const char *site,
                   const char *words)
{
    const txd_result *r;
    driver d;

    driver_init(&d);
    r = run(&d, m);
    ck_assert_msg(r->verdict == verdict, "%s: %s %s", txd_verdict_name(r->verdict),
                  r->note, r->finding_count ? r->findings[0].message : "");
    if (verdict == TXD_VERDICT_FAIL) {
        ck_assert_uint_eq(r->finding_count, 1);
        ck_assert_str_eq(r->findings[0].site, site);
        ck_assert_msg(strstr(r->findings[0].message, words) != NULL, "%s",
                      r->findings[0].message);
    }
    driver_finish(&d);
}

START_TEST(healthy_sums_pass_and_all_of_a_small_input_is_judged)
{
    const double scales[] = {5.65, 1, -2, 0.1};

    for (size_t i = 0; i < 8; i++) {
        made m = healthy;
        const txd_result *r;
        driver d;

        m.claimed = scales[i % 4];
        m.is_scaled_missing = i >= 4;
        driver_init(&d);
        r = run(&d, &m);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
        ck_assert_uint_eq(r->evaluated,
                          m.claimed == 1 || m.is_scaled_missing ? COUNT : 2 * COUNT);
        driver_finish(&d);
    }
}
END_TEST

START_TEST(the_factor_that_was_used_is_named)
{
    const struct {
        double scale;
        const char *words;
    } cases[] = {
        {1, "embed.tok is not scaled, by 5.65"},
        {5.65 * 5.65, "scaled twice, by 5.65"},
        {5.65625,
         "multiplied by 5.66, not by 5.65: the factor was rounded to bfloat16"},
        {5.6484375, "the factor was rounded to float16"},
        {sqrt(D), ", sqrt(d_model), not by 5.65"},
        {3, "embed.tok is multiplied by 3, not by 5.65"},
        {1e-9, "embed.tok is missing"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made m = healthy;

        m.scale = cases[i].scale;
        expect(&m, TXD_VERDICT_FAIL, "embed.scaled", cases[i].words);
        m.is_scaled_missing = true;
        expect(&m, TXD_VERDICT_FAIL, "embed.out", cases[i].words);
    }
}
END_TEST

START_TEST(terms_that_are_missing_or_scaled_are_named)
{
    made m = healthy;

    m.pos = 0;
    expect(&m, TXD_VERDICT_FAIL, "embed.out", ": embed.pos is missing");
    m.pos = 5.65;
    expect(&m, TXD_VERDICT_FAIL, "embed.out", ": embed.pos is multiplied by 5.65");
    m.pos = 1;
    m.type = 0;
    expect(&m, TXD_VERDICT_FAIL, "embed.out", ": embed.type is missing");
}
END_TEST

START_TEST(one_element_is_found_as_soon_as_it_is_beyond_its_roundings)
{
    made m = healthy;

    m.element = 3 * D + 7;
    m.steps = 1;
    expect(&m, TXD_VERDICT_PASS, NULL, NULL);
    m.steps = 16; /* of a sum no smaller than half of its terms */
    expect(&m, TXD_VERDICT_FAIL, "embed.out", "token 3, channel 7 is");
    m.put = NAN;
    expect(&m, TXD_VERDICT_FAIL, "embed.out", "token 3, channel 7 is NaN");
}
END_TEST

START_TEST(embeddings_that_are_not_finite_leave_it_open)
{
    made m = healthy;

    m.nan_token = true;
    expect(&m, TXD_VERDICT_OPEN, NULL, NULL);
    m.pos = 0;
    expect(&m, TXD_VERDICT_FAIL, "embed.out", "embed.pos is missing");
}
END_TEST

START_TEST(padded_tokens_are_not_judged)
{
    const int lengths[1] = {6};
    made m = healthy;
    driver d;

    m.element = 7 * D;
    m.put = 9;
    driver_init(&d);
    driver_inputs(&d, 1, lengths, false);
    ck_assert_int_eq(run(&d, &m)->verdict, TXD_VERDICT_PASS);
    driver_finish(&d);
}
END_TEST

#define CFG(model, points, fault)                                                      \
    "model : { preset = \"gpt2\"; vocab = 23; d_model = 16; n_heads = 2; n_layers = "  \
    "1; d_ff = 8; max_seq_len = 16; " model " }; input : { tokens = ([1, 5, 9, 2], "   \
    "[4, 8]); }; " fault " record : ( { probe = \"full\"; points = \"" points          \
    "\"; } );"
#define FAULT(name) "faults = ( { name = \"" name "\"; } );"

START_TEST(a_recording_tells_what_the_run_tells)
{
    const struct {
        const char *cfg, *words; /* NULL: healthy */
    } cases[] = {
        {CFG("", "embed.*", ""), NULL},
        {CFG("embed_scale = 3.3;", "embed.*", ""), NULL},
        {CFG("embed_scale = 3.3; embed_dim = 8; embed_norm = true;", "embed.*", ""),
         NULL},
        {CFG("embed_scale = 3.3;", "embed.*", FAULT("embedding_scale_missing")),
         "is not scaled, by 3.3"},
        {CFG("embed_scale = 3.3;", "embed.*", FAULT("embedding_scale_rounded")),
         "rounded to bfloat16"},
        {CFG("embed_scale = 3.3; embed_dim = 8;", "embed.*",
             FAULT("embedding_scale_rounded")),
         "embed.in is multiplied by 3.297"},
        {CFG("embed_scale = 3.3; positions = \"none\";", "embed.tok,embed.out",
             FAULT("embedding_scale_missing")),
         "embed.tok is not scaled, by 3.3"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        recorded_expect(cases[i].cfg, "embedding_sum",
                        cases[i].words ? TXD_VERDICT_FAIL : TXD_VERDICT_PASS,
                        cases[i].words);
}
END_TEST

TEST_MAIN(healthy_sums_pass_and_all_of_a_small_input_is_judged,
          the_factor_that_was_used_is_named, terms_that_are_missing_or_scaled_are_named,
          one_element_is_found_as_soon_as_it_is_beyond_its_roundings,
          embeddings_that_are_not_finite_leave_it_open, padded_tokens_are_not_judged,
          a_recording_tells_what_the_run_tells)

/* SPDX-License-Identifier: MIT
 *
 * The law mask_fill on scores that are capped or have a bias before the mask: what the
 * mask reads is what the claim makes of them.
 */
#include "driver.h"

#include <math.h>

static bool is_seen(driver *d, int layer, size_t b, size_t q, size_t k)
{
    txd_mask_view mask = txd_mask_of(&d->config.layers[layer], &d->inputs, b);

    return txd_mask_hides(&mask, q, k) == TXD_SEEN;
}

/* The cells that are masked: fill where hidden. */
static double *masked_of(driver *d, int layer, const double *scores)
{
    size_t n = LENGTH, count = driver_count(d, TXD_POINT_ATTN_MASKED);
    double *masked = txd_arena_alloc(d->arena, count, sizeof *masked);

    for (size_t i = 0; i < count; i++)
        masked[i] = is_seen(d, layer, i / (HEADS * n * n), i / n % n, i % n)
                        ? scores[i]
                        : d->config.layers[layer].fill;
    return masked;
}

/* What a layer does to its scores: cap, slopes of ALiBi as if for so many heads. */
struct way {
    double cap;
    int heads;
};

static double on_its_way(const struct way *way, double score, size_t head, size_t q,
                         size_t k)
{
    double distance = fabs((double)q - (double)k);

    if (way->cap != 0)
        score = way->cap * tanh(score / way->cap);
    if (way->heads != 0)
        score -= pow(2, -8.0 * (double)(head + 1) / way->heads) * distance;
    return score;
}

/* Every layer goes the claimed way, layer 1 this one. */
static const txd_result *run_way(driver *d, const struct way *claimed,
                                 const struct way *way)
{
    size_t n = LENGTH;

    for (int l = 0; l < LAYERS; l++)
        d->config.layers[l].score_softcap = claimed->cap;
    if (claimed->heads != 0)
        d->config.positions = TXD_POSITIONS_ALIBI;
    driver_start(d, "mask_fill");
    for (int l = 0; l < LAYERS; l++) {
        double *scores = driver_random(d, TXD_POINT_ATTN_SCORES, 5 + (uint64_t)l);
        double *masked = masked_of(d, l, scores);

        for (size_t i = 0; i < driver_count(d, TXD_POINT_ATTN_MASKED); i++)
            if (isfinite(masked[i]))
                masked[i] = on_its_way(l == 1 ? way : claimed, scores[i],
                                       i / (n * n) % HEADS, i / n % n, i % n);
        driver_offer(d, TXD_POINT_ATTN_SCORES, l, scores);
        driver_offer(d, TXD_POINT_ATTN_MASKED, l, masked);
    }
    return driver_result(d);
}

START_TEST(scores_that_are_not_capped_or_biased_as_claimed_are_found)
{
    static const struct {
        struct way claimed, way;
        bool holds;
    } cases[] = {
        {{0.8, 0}, {0.8, 0}, true},    {{0.8, 0}, {0, 0}, false},
        {{0.8, 0}, {0.801, 0}, false}, {{0, 4}, {0, 4}, true},
        {{0, 4}, {0, 8}, false},       {{0, 4}, {0, 0}, false},
        {{0.8, 4}, {0.8, 4}, true},    {{0.8, 4}, {0.8, 0}, false},
        {{0.8, 4}, {0, 4}, false},     {{0, 0}, {0.8, 0}, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const txd_result *r;
        driver d;

        driver_init(&d);
        r = run_way(&d, &cases[i].claimed, &cases[i].way);
        ck_assert_msg((r->verdict == TXD_VERDICT_PASS) == cases[i].holds,
                      "case %zu: %s", i, txd_verdict_name(r->verdict));
        if (!cases[i].holds) {
            ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
            ck_assert_int_eq(r->findings[0].layer, 1);
        }
        driver_finish(&d);
    }
}
END_TEST

TEST_MAIN(scores_that_are_not_capped_or_biased_as_claimed_are_found)

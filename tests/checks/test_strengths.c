/* SPDX-License-Identifier: MIT
 *
 * How small a fault can be and is found all the same: at what strength a law that names
 * it, with all others disabled, first fails, told by what the fault then changes, in
 * units of the noise floor: of what float32 changes in the healthy model by rounding.
 * The table is printed at the end of the tests.
 */
#include "planting.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults/fault.h"

/* ---- what a pass computes ---- */

enum { SITES = 512 };

/* Every value of a pass in the order in which it comes, one thread. */
typedef struct film {
    double *values;
    size_t *sites; /* of each value */
    size_t count, room;
} film;

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE ? TXD_ASK_VALUE : 0;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    film *f = self;
    size_t count = txd_tensor_count(&block->value);

    (void)slot;
    if (f->count + count > f->room) {
        f->room = 2 * (f->count + count);
        f->values = realloc(f->values, f->room * sizeof *f->values);
        f->sites = realloc(f->sites, f->room * sizeof *f->sites);
        ck_assert(f->values && f->sites);
    }
    for (size_t i = 0; i < count; i++) {
        f->values[f->count] = txd_tensor_get(&block->value, i);
        f->sites[f->count++] = block->site->index;
    }
    return TXD_OK;
}

static void shoot(film *out, const trial *t, const char *backend)
{
    txd_tap tap = {.name = "film", .self = out, .ask = ask, .merge = merge};
    const live_plant planted = {.watch = &tap};
    live l;

    *out = (film){0};
    ck_assert(trial_run_planted(&l, t, backend, "row_sum", &planted));
    live_finish(&l);
}

static void forget(film *f)
{
    free(f->values);
    free(f->sites);
}

/* The largest difference at each site; of what is finite in both. */
static void differences(double out[SITES], const film *a, const film *b)
{
    ck_assert_uint_eq(a->count, b->count);
    for (size_t s = 0; s < SITES; s++)
        out[s] = 0;
    for (size_t i = 0; i < a->count; i++) {
        double difference = fabs(a->values[i] - b->values[i]);

        ck_assert_uint_lt(a->sites[i], SITES);
        if (difference > out[a->sites[i]] && isfinite(difference))
            out[a->sites[i]] = difference;
    }
}

typedef struct floors {
    film exact; /* healthy, in double */
    double noise[SITES];
} floors;

static void measure_floors(floors *out, int subject)
{
    trial healthy = {.subject = subject, .layer = ALL_LAYERS};
    film rounded;

    shoot(&out->exact, &healthy, "ref64");
    shoot(&rounded, &healthy, "cpu32");
    differences(out->noise, &out->exact, &rounded);
    forget(&rounded);
}

/* What a fault changes, in units of the noise floor, where that is most. */
static double effect(const floors *f, const trial *t)
{
    double changed[SITES], most = 0;
    film faulty;

    shoot(&faulty, t, "ref64");
    differences(changed, &f->exact, &faulty);
    for (size_t s = 0; s < SITES; s++)
        if (f->noise[s] > 0 && changed[s] / f->noise[s] > most)
            most = changed[s] / f->noise[s];
    forget(&faulty);
    return most;
}

/* ---- strengths ---- */

static const char worst_case[] = "allowed is the worst case of all roundings together";
static const char threshold[] = "judged by a threshold of the field, not by rounding";

static const char whole_site[] = "3 times the error of all elements of a site together";
static const char angles[] = "an angle in float32 is right; worst case of roundings";

/* At `none` a fault would change nothing; between it and its own strength it grows.
 * `most` is what may be needed, in units of the noise floor: 4, or as `why` says. */
static const struct strength {
    const char *fault, *law;
    int subject;
    double none, most;
    const char *why;
} strengths[] = {
    {"mask_fill_too_weak", "causality", SUBJECT_MINI, -1000, 4, ""},
    {"mask_fill_too_weak", "mask_fill", SUBJECT_MINI, -1000, 4, ""},
    {"norm_eps_huge", "norm_output", SUBJECT_STORIES, 1e-5, 20, worst_case},
    {"rope_wrong_base", "rotation_angle", SUBJECT_STORIES, 1, 40, angles},
    {"position_offset", "rotation_angle", SUBJECT_STORIES, 1e-9, 40, angles},
    {"scores_vanish", "score_scale", SUBJECT_STORIES, 1, 4, ""},
    {"tying_lost", "tied_head", SUBJECT_STORIES, 1e-9, 32, worst_case},
    {"tying_lost", "precision_ladder", SUBJECT_STORIES, 1e-9, 16, whole_site},
    {"sinusoid_exponent", "embedding_rows", SUBJECT_BRANCH, 1, 4, ""},
    {"norm_eps_huge", "precision_ladder", SUBJECT_STORIES, 1e-5, 16, whole_site},
    {"position_offset", "precision_ladder", SUBJECT_STORIES, 1e-9, 16, whole_site},
};

/* Faults that have a strength which no law measures against rounding. */
static const struct {
    const char *fault, *why;
} others[] = {
    {"mask_fill_finite", "a row without keys is the same at any finite number"},
    {"norm_eps_tiny", "below float32's rounding: found in float64"},
    {"window_off_by_one", "positions are whole numbers"},
    {"mask_added", "hidden keys are seen at any strength"},
    {"sentinel_above_scores", "above all scores it leaves nothing of a row, else all"},
    {"dropout_in_eval", "a weight that is dropped is missing whole"},
    {"gradient_scale_wrong", "forward is right; from 1.001 on: test_gradcheck"},
    {"random_dropout", "a weight that is dropped is missing whole"},
    {"init_too_large", threshold},
    {"stream_overflows", threshold},
    {"head_init_too_large", threshold},
    {"units_dead", threshold},
    {"embedding_too_large", threshold},
    {"position_too_small", threshold},
};

static trial trial_of(const struct strength *s, double part, char rest[64])
{
    const txd_fault *fault = txd_fault_find(s->fault);
    double full = fault->strength;
    double strength = s->none * pow(full / s->none, part);
    bool layers = (txd_fault_selectors(fault) & TXD_FAULT_LAYERS) != 0;
    trial t = {s->subject, s->fault,
               layers ? subjects[s->subject].layers / 2 : ALL_LAYERS, rest, NULL};

    snprintf(rest, 64, "strength = %.17g;", strength);
    return t;
}

static bool is_found(const struct strength *s, double part)
{
    char rest[64];
    trial t = trial_of(s, part, rest);
    bool found = false;
    live l;

    if (trial_run(&l, &t, s->law))
        found = trial_trips(&l, &t, s->law);
    live_finish(&l);
    return found;
}

/* The smallest part that the law finds, within 1/1024, and within a sixteenth of
 * itself. */
static double smallest(const struct strength *s)
{
    double low = 0, high = 1;

    ck_assert_msg(is_found(s, 1), "%s does not find %s at its own strength", s->law,
                  s->fault);
    while (high - low > fmin(1.0 / 1024, high / 16)) {
        double middle = (low + high) / 2;

        if (is_found(s, middle))
            high = middle;
        else
            low = middle;
    }
    return high;
}

START_TEST(a_fault_of_four_times_the_noise_is_found)
{
    FILE *out = fopen(test_table("strengths.txt"), "w");

    ck_assert_ptr_nonnull(out);
    fprintf(out,
            "The smallest faults that are found, by what they change, in units of "
            "float32's noise\n\n%-24s %-18s %-14s %10s %10s\n",
            "fault", "law", "model", "strength", "noise x");
    for (size_t i = 0; i < sizeof strengths / sizeof *strengths; i++) {
        const struct strength *s = &strengths[i];
        char rest[64];
        floors f;
        double least;
        trial t;

        if (!has_subject(s->subject))
            continue;
        measure_floors(&f, s->subject);
        t = trial_of(s, smallest(s), rest);
        least = effect(&f, &t);
        ck_assert_msg(least <= s->most && (s->most <= 4 || s->why[0]),
                      "%s by %s in %s: %s changes %.3g of the noise floor", s->fault,
                      s->law, subjects[s->subject].name, rest, least);
        fprintf(out, "%-24s %-18s %-14s %10.3g %10.2g  %s\n", s->fault, s->law,
                subjects[s->subject].name, strtod(rest + strlen("strength = "), NULL),
                least, s->why);
        forget(&f.exact);
    }
    ck_assert_int_eq(fclose(out), 0);
}
END_TEST

/* None is forgotten. */
START_TEST(every_fault_with_a_strength_is_measured_or_excused)
{
    for (size_t f = 0; txd_fault_at(f); f++) {
        const char *name = txd_fault_name(txd_fault_at(f));
        bool known = !(txd_fault_selectors(txd_fault_at(f)) & TXD_FAULT_STRENGTH);

        for (size_t i = 0; i < sizeof strengths / sizeof *strengths; i++)
            known |= strcmp(strengths[i].fault, name) == 0;
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            known |= strcmp(others[i].fault, name) == 0;
        ck_assert_msg(known, "%s: how small may it be?", name);
    }
}
END_TEST

TEST_MAIN(a_fault_of_four_times_the_noise_is_found,
          every_fault_with_a_strength_is_measured_or_excused)

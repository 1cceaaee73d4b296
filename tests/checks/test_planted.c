/* SPDX-License-Identifier: MIT
 *
 * Every fault once, until one law finds it: test_matrix has all of them under all laws
 * in all layers and models. This is little enough to be run on a device that is
 * emulated, too (tests/suites).
 */
#include "planting.h"

#include <stdlib.h>
#include <string.h>

/* What float32 has no digits or no numbers for. */
static bool is_of_another_format(const char *fault)
{
    return txd_glob_list("norm_eps_tiny,norm_eps_outside", fault) ||
           strcmp(trial_backend(fault), "cpu32") != 0;
}

/* A device that is emulated. */
static bool is_slow(void)
{
    const char *few = getenv("TXD_FEW");

    return few != NULL && *few != '\0';
}

static bool is_found_in(int subject, const char *fault)
{
    bool found = false;
    int layers[3];

    layers_for(layers, subject, fault);
    for (size_t c = 0; txd_check_at(c) && !found; c++) {
        trial t = {subject, fault, layers[0], NULL, NULL};
        live l;

        if (!law_names(txd_check_at(c), fault))
            continue;
        found = trial_run(&l, &t, txd_check_at(c)->name) &&
                trial_trips(&l, &t, txd_check_at(c)->name);
        live_finish(&l);
    }
    return found;
}

START_TEST(every_fault_is_found_by_a_law_that_names_it)
{
    size_t tried = 0, step = is_slow() ? 4 : 1;

    if (!has_subject(SUBJECT_STORIES) || !has_subject(SUBJECT_SORT))
        test_skip(TEST_NO_MODEL);
    for (size_t f = 0; txd_fault_at(f); f += step) {
        const char *name = txd_fault_name(txd_fault_at(f));
        bool found = is_of_another_format(name);

        tried += !found;
        /* Drawn models first: they are smaller. */
        for (int i = 0; i < SUBJECTS && !found; i++)
            found = is_found_in((SUBJECT_MINI + i) % SUBJECTS, name);
        ck_assert_msg(found, "%s is not found", name);
    }
    ck_assert_uint_gt(tried, 80 / step);
}
END_TEST

/* Or a law that always fails would find them all. */
START_TEST(without_a_fault_the_same_laws_find_nothing)
{
    for (int subject = SUBJECT_MINI; subject < SUBJECTS;
         subject += is_slow() ? SUBJECTS : 4) {
        trial t = {subject, NULL, ALL_LAYERS, NULL, NULL};
        live l;

        ck_assert(trial_run(&l, &t, NULL));
        for (size_t i = 0; i < l.count; i++)
            ck_assert_msg(l.results[i].verdict != TXD_VERDICT_FAIL, "%s: %s",
                          subjects[subject].name, l.results[i].check);
        live_finish(&l);
    }
}
END_TEST

TEST_MAIN(every_fault_is_found_by_a_law_that_names_it,
          without_a_fault_the_same_laws_find_nothing)

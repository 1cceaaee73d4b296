/* SPDX-License-Identifier: MIT
 *
 * A fault of one head: every law that names it, with all others disabled, finds it in
 * the first, a middle and the last head, and says in which.
 */
#include "planting.h"

#include <stdio.h>
#include <string.h>

static bool takes_heads(const char *fault)
{
    return (txd_fault_selectors(txd_fault_find(fault)) & TXD_FAULT_HEADS) != 0;
}

static void expect_head(const live *l, const trial *t, const char *law, int head)
{
    const txd_result *r = live_result(l, law);

    expect_trip(l, t, law);
    ck_assert_msg(r->findings[0].head == head,
                  "%s in %s, head %d: %s names head %d: %s", t->fault,
                  subjects[t->subject].name, head, law, (int)r->findings[0].head,
                  r->findings[0].message);
}

static int heads_of(int subject)
{
    if (subject == SUBJECT_STORIES)
        return 8;
    return subject == SUBJECT_SORT ? 3 : 4; /* drawn ones: planting.c */
}

/* False if the fault cannot act in one of these heads. */
static bool try_subject(int subject, const txd_check *law, const char *fault)
{
    int last = heads_of(subject) - 1, layers[3];
    const int heads[] = {0, last / 2, last};
    char rest[64];
    bool acted = true;

    (void)layers_for(layers, subject, fault);
    for (size_t i = 0; i < 3 && acted; i++) {
        trial t = {subject, fault, layers[1], rest, NULL};
        live l;

        snprintf(rest, sizeof rest, "heads = \"%d\";", heads[i]);
        acted = trial_run(&l, &t, law->name);
        if (acted)
            expect_head(&l, &t, law->name, heads[i]);
        live_finish(&l);
    }
    return acted;
}

START_TEST(every_law_alone_names_the_head_of_each_of_its_faults)
{
    for (size_t c = 0; txd_check_at(c); c++)
        for (const char *const *fault = txd_check_at(c)->faults; *fault; fault++) {
            bool acted = !takes_heads(*fault);

            for (int s = 0; s < SUBJECTS && !acted; s++)
                acted = has_subject(s) && try_subject(s, txd_check_at(c), *fault);
            ck_assert_msg(acted, "%s: %s acts in single heads of no model",
                          txd_check_at(c)->name, *fault);
        }
}
END_TEST

TEST_MAIN(every_law_alone_names_the_head_of_each_of_its_faults)

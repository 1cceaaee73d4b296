/* SPDX-License-Identifier: MIT
 *
 * A fault of one head: every law that names it, with all others disabled, finds it in
 * the first, a middle and the last head, and says in which (a law that compares whole
 * passes may not).
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
    /* What passes come to at their end has no head. */
    ck_assert_msg(r->findings[0].head == head ||
                      (txd_check_find(law)->examine && r->findings[0].head == -1),
                  "%s in %s, head %d: %s names head %d: %s", t->fault,
                  subjects[t->subject].name, head, law, (int)r->findings[0].head,
                  r->findings[0].message);
}

static int heads_of(int subject)
{
    if (subject == SUBJECT_STORIES)
        return 8;
    if (subject == SUBJECT_SLOPES)
        return 6;
    return subject == SUBJECT_SORT ? 3 : 4; /* drawn ones: planting.c */
}

/* False if the fault cannot act in this head: some heads read their own KV head under
 * any rule. */
static bool try_head(int subject, const txd_check *law, const char *fault, int head)
{
    int layers[3];
    char rest[64];
    trial t = {subject, fault, 0, rest, NULL};
    bool acted;
    live l;

    (void)layers_for(layers, subject, fault);
    t.layer = layers[1];
    snprintf(rest, sizeof rest, "heads = \"%d\";", head);
    acted = trial_run(&l, &t, law->name);
    if (acted)
        expect_head(&l, &t, law->name, head);
    live_finish(&l);
    return acted;
}

/* In the first head where it acts, one behind the middle, and the last. */
static bool try_subject(int subject, const txd_check *law, const char *fault)
{
    int last = heads_of(subject) - 1;
    const int from[] = {0, last / 2, last}, step[] = {1, 1, -1};
    bool acted = true;

    for (size_t i = 0; i < 3 && acted; i++) {
        acted = false;
        for (int h = from[i]; h >= 0 && h <= last && !acted; h += step[i])
            acted = try_head(subject, law, fault, h);
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

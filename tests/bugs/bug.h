/* SPDX-License-Identifier: MIT
 *
 * Public bug reports, rebuilt from small numbers: a model of a few parameters, what its
 * decoder must compute, what it computes with the bug, and the law that says so. Of a
 * report that was a false alarm, that nothing speaks.
 */
#ifndef TXD_TESTS_BUGS_BUG_H
#define TXD_TESTS_BUGS_BUG_H

#include "../checks/live.h"
#include "faults/faults.h"

/* A parameter of a toy. The text holds its values in order; or "row,column=value" and
 * "*,column=value", the rest being 0; or "diagonal=value"; or "all=value". Others are
 * as drawn. */
typedef struct toy_param {
    const char *name, *text;
} toy_param;

enum { TOY_PARAMS = 14, BUG_SHOWN = 4 };

typedef struct toy {
    const char *cfg; /* groups of model.cfg, without faults and precision */
    toy_param params[TOY_PARAMS];
    bool uniform; /* all attention is uniform, which attention_collapse may say */
    size_t chunk; /* tokens per pass into a cache; 0 = all in one pass, without one */
} toy;

/* What is looked at: "layers.0.attn.heads", perhaps with one place per axis behind it,
 * "[0,1,3,*]"; "sums of " before it: over the last axis. Values as they are printed,
 * judged to half a unit of their last digit: "1 1.5 2.333333 NaN". */
typedef struct bug_shown {
    const char *what, *expected, *wrong;
} bug_shown;

typedef struct bug {
    int entry;          /* "B05": the number of the tests' names, b05_... */
    const char *report; /* where it was reported */
    const toy *toy;
    /* What goes wrong: a fault of the catalogue ("name = \"mask_missing\";"), or
     * something of the test's own; without either a false alarm, or what is right. */
    const char *fault;
    txd_status (*plant)(txd_plan *plan);
    /* The law that fails, evaluated alone; a word that its finding has, or NULL. NULL:
     * nothing speaks, whatever was planted. */
    const char *law, *word;
    bool informs;          /* it does not fail but informs: no weight is wrong here */
    const char *backend;   /* of both; NULL = ref64 and cpu32, one after the other */
    const char *elsewhere; /* the healthy one's backend, where it is another */
    bug_shown shown[BUG_SHOWN];
} bug;

/* Runs all rows of the entry that the test's name begins with. */
void bugs_try(const bug *rows, size_t count, const char *test);

/* Writes the table of these rows, and fails if one of them is of no test. */
void bugs_table(const char *file, const bug *rows, size_t count,
                const TTest *const *tests, size_t test_count);

/* ---- what a test plants of its own ---- */

/* Edits the value of a point of a layer (-1: not of one) by this function. */
txd_status bug_edit(txd_plan *plan, txd_point point, int layer,
                    void (*change)(txd_block *block));
/* The same by an earlier value, which txd_block_earlier gives. */
txd_status bug_edit_by(txd_plan *plan, txd_point point, int layer, txd_point reads,
                       void (*change)(txd_block *block));
/* Element of a block, in the order of its axes. */
double bug_get(const txd_block *block, size_t i);
void bug_set(txd_block *block, size_t i, double value);

/* For what faults share (faults/wrap.h): all layers, heads, queries and batch rows. */
extern const txd_fault_use bug_everywhere;

/* The softmax of all cells, of which hidden ones become 0; the rest is divided by its
 * sum. */
txd_status bug_mask_then_renormalise(txd_plan *plan);
/* A kernel of attention writes zeros where the query is padding. */
txd_status bug_zero_padding(txd_plan *plan);

#define BUG_TEST(name)                                                                 \
    START_TEST(name)                                                                   \
    {                                                                                  \
        bugs_try(rows, sizeof rows / sizeof *rows, #name);                             \
    }                                                                                  \
    END_TEST
#define BUG_NAME(name) name,

/* The tests of a list, and one that prints its table. */
#define BUGS_MAIN(LIST, file)                                                          \
    LIST(BUG_TEST)                                                                     \
    START_TEST(the_table_is_printed)                                                   \
    {                                                                                  \
        const TTest *const tests[] = {LIST(BUG_NAME)};                                 \
                                                                                       \
        bugs_table(file, rows, sizeof rows / sizeof *rows, tests,                      \
                   sizeof tests / sizeof *tests);                                      \
    }                                                                                  \
    END_TEST                                                                           \
    TEST_MAIN(LIST(BUG_NAME) the_table_is_printed)

#endif

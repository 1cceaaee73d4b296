/* SPDX-License-Identifier: MIT
 *
 * Faults planted in real and in drawn models, to be found by laws: the subjects of the
 * matrix of faults and laws.
 */
#ifndef TXD_TESTS_CHECKS_PLANTING_H
#define TXD_TESTS_CHECKS_PLANTING_H

#include "live.h"

/* Ragged batches, so that faults of padding can act; unequal rows, so that a mistaken
 * batch row would show. */
typedef struct planted_model {
    const char *name;
    const char *model; /* the group, of drawn ones; NULL: a real model of this name */
    const char *input; /* the group */
    int layers;
} planted_model;

enum {
    SUBJECT_STORIES,
    SUBJECT_SORT,
    SUBJECT_REAL, /* how many are real */
    SUBJECT_MINI = SUBJECT_REAL,
    SUBJECT_GPT2,
    SUBJECT_LLAMA,
    SUBJECT_POST,
    SUBJECT_CROSS,
    SUBJECT_SANDWICH,
    SUBJECT_BRANCH,
    SUBJECT_PARALLEL,
    SUBJECT_SLOPES,
    SUBJECT_RANGES,
    SUBJECT_PACKED,
    SUBJECT_LEFT, /* padded on the left, and packed */
    SUBJECTS
};

extern const planted_model subjects[SUBJECTS];

enum { ALL_LAYERS = -1 };

typedef struct trial {
    int subject;
    const char *fault; /* NULL = none */
    int layer;         /* ALL_LAYERS: no selector */
    const char *rest;  /* other selectors; NULL = none */
    const char *mask;  /* keys of the group mask; NULL = none */
} trial;

/* The backend in which a fault is tried: cpu32, but float16 for what only overflows it.
 */
const char *trial_backend(const char *fault);

/* Runs it there, or in `backend`, under the laws `only` (NULL = all). False if the
 * fault cannot act. */
bool trial_run(live *l, const trial *t, const char *only);
bool trial_run_in(live *l, const trial *t, const char *backend, const char *only);
/* The same with something more planted. */
bool trial_run_planted(live *l, const trial *t, const char *backend, const char *only,
                       const live_plant *planted);

/* False if a subject is a real model that is not there. */
bool has_subject(int number);

/* The layers in which a fault is tried: the first, a middle and the last, or
 * ALL_LAYERS; returns how many. */
int layers_for(int out[3], int subject, const char *fault);

/* True if the law names the fault among those that must trip it. */
bool law_names(const txd_check *law, const char *fault);

/* What the law says when it trips: FAIL, or WARN or INFO if it never fails. Whether all
 * laws that name a fault are such. */
txd_verdict tripped_verdict(const char *law);
bool only_informs(const char *fault);

/* Whether the law says that, and in which layer. */
bool trial_trips(const live *l, const trial *t, const char *law);
/* The same, or the test fails. */
void expect_trip(const live *l, const trial *t, const char *law);

#endif

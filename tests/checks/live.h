/* SPDX-License-Identifier: MIT
 *
 * Real passes under the laws: a model.cfg as text, a model, faults, verdicts.
 */
#ifndef TXD_TESTS_CHECKS_LIVE_H
#define TXD_TESTS_CHECKS_LIVE_H

#include "checks/check.h"
#include "model/cache.h"
#include "model/plan.h"
#include "probes/recorder.h"
#include "suite.h"

/* What a test plants beside the faults of the cfg; all may be NULL or 0. */
typedef struct live_plant {
    const txd_tap *tap; /* that edits */
    const struct txd_override *override;
    const char *record; /* where to record */
    int threads;        /* 0 = 1 */
    txd_tap *watch;     /* that reads, beside the laws' */
    /* Gives the parameters their values, which then are no drawn ones. */
    void (*fill)(txd_params *params, const void *self);
    txd_status (*plan)(txd_plan *plan, const void *self); /* plants more */
    const void *self;                                     /* of these two */
    size_t chunk; /* tokens per pass into a cache, whose steps they are; 0 = no cache */
} live_plant;

typedef struct live {
    txd_arena *arena;
    txd_setting *root;
    txd_checkpoint *checkpoint;
    txd_config claimed;
    txd_input_source *source;
    txd_fault_use *faults;
    size_t fault_count;
    txd_plan *plan;
    txd_params *params;
    txd_model *model;
    txd_cache *cache; /* where the sequence comes in chunks */
    txd_checks *checks;
    const txd_result *results;
    size_t count;
    const char *inapplicable; /* why the faults cannot act; NULL = they did */
    const char *record;       /* where to record; NULL = not at all */
    const live_plant *planted;
} live;

/* Reads, runs and judges `cfg`, laws `only` (NULL = all). Anything that goes wrong,
 * except a fault that cannot act, fails the test. */
void live_run(live *l, const char *cfg, const char *only);
/* The same with a tap that changes values on their way. */
void live_edit(live *l, const char *cfg, const char *only, txd_tap *edit);
/* The same, and records what `record` of the cfg says. */
void live_record(live *l, const char *cfg, const char *path);
/* The same with something planted. */
void live_run_planted(live *l, const char *cfg, const char *only,
                      const live_plant *planted);
void live_finish(live *l);

/* With commas: the laws that judge the pass at hand and make none of their own, which
 * would cost as much again as all of them. */
const char *live_watching(void);
/* The others. */
const char *live_examining(void);

/* The result of a law that was selected. */
const txd_result *live_result(const live *l, const char *law);

/* The law says of the configuration itself that it has nothing to judge there. */
bool live_is_inapplicable(const live *l, const char *law);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Checks: laws that attention obeys, judged by the claimed configuration, measured on
 * actual values. Each law is one file plus one line of registry.def. A law is a tap, so
 * the same code judges a live run and a recording.
 */
#ifndef TXD_CHECKS_CHECK_H
#define TXD_CHECKS_CHECK_H

#include "txd.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum txd_verdict {
    TXD_VERDICT_PASS,
    TXD_VERDICT_INFO,
    TXD_VERDICT_WARN,
    TXD_VERDICT_FAIL,
    TXD_VERDICT_SKIP, /* with the reason */
    TXD_VERDICT_OPEN, /* it could not be decided: no bound, or nothing finite */
} txd_verdict;

/* "pass", "info", "warn", "fail", "skip", "open". */
const char *txd_verdict_name(txd_verdict verdict);

/* One broken (or noteworthy) place. Coordinates are -1 where there are none. */
typedef struct txd_finding {
    txd_verdict verdict; /* FAIL, WARN or INFO */
    char site[96];       /* "layers.2.attn.weights" */
    int step, layer;
    int64_t batch, head, query, key;
    double measured, allowed;
    char message[640]; /* a sentence: what, where, what it should be */
    const char *
        waived; /* how a waiver covers it (checks/reports/waiver.h); NULL = none does */
    txd_verdict bare; /* the verdict without that waiver */
} txd_finding;

/* A law's outcome. */
typedef struct txd_result {
    const char *check;
    txd_verdict verdict;
    txd_finding *findings; /* the worst of each layer first found, at most 64 */
    size_t finding_count;
    size_t finding_total;  /* places that broke the law, listed or not */
    double worst, allowed; /* the largest measured value and its allowance */
    uint64_t evaluated;    /* cells, rows or values that were judged */
    uint64_t not_computed; /* cells that the pass never computed */
    char note[240];        /* reason of a skip; where the allowance comes from */
    const char *look_next; /* where to look next; NULL = nowhere */
    const char *allowance; /* where `allowed` comes from: "checks.row_sum.atol", "a
                              derived bound", "exact"; NULL = nobody knows */
} txd_result;

typedef struct txd_checks txd_checks; /* the laws of one run, under evaluation */

/* What a law is told before evaluation. */
typedef struct txd_check_context {
    const txd_config *claimed;
    const txd_setting *settings; /* its own group of `checks`; NULL = defaults */
    const txd_setting *rules;    /* its group of a rules file, which wins; or NULL */
    txd_dtype format;            /* of stored values: txd_roundoff_of_format */
    const char *coarse; /* why a recording's values have fewer digits; NULL = they have
                           not. Only valid in set-up. */
    bool dropped;       /* a recording says that its attention weights are those behind
                           dropout, as in training */
    const char *budget; /* what a recording left out to stay small, in words; or NULL */
    bool is_drawn; /* the parameters are known to be drawn: nothing is trained yet */
    const txd_setting *weights; /* the group `weights`, by which they were; NULL = the
                                   default rules. Only valid in create. */
    const txd_run_options *run; /* live: the run it is part of; NULL on a recording */
    bool has_past; /* some step of a recording has keys of earlier calls: more keys than
                      queries */
} txd_check_context;

typedef struct txd_check txd_check;

/* Beside the TXD_ASK_* bits of a need. */
#define TXD_NEED_GRADIENT 0x100u

/* The TXD_ASK_* bits that sites of this kind can have, at a point of a layer (-1: not
 * per layer), or those of parameters at TXD_POINT_COUNT. */
typedef unsigned (*txd_offers)(const void *self, txd_site_kind kind, txd_point point,
                               int layer);

/* One law's passes (checks/experiments/experiment.h). */
typedef struct txd_experiment txd_experiment;

/* Descriptor, last thing in each law's file. */
struct txd_check {
    const char *name;
    const char *law;       /* the law in one sentence: `list checks` */
    const char *formula;   /* for `explain` */
    const char *causes;    /* for `explain`: what typically breaks it */
    const char *look_next; /* for findings */
    const char *unit;      /* of what it counts: "rows", "cells", "values" */
    const char
        *allowance; /* where what it allows comes from, if that is neither one of
                       its thresholds, nor 0, nor a bound derived from rounding */
    /* It holds one value against others within the roundoff of their format: not to be
     * judged of values that were recorded with fewer digits. */
    bool exact;
    /* It reads rows of attention weights as the softmax leaves them: not to be judged
     * behind dropout. */
    bool softmax_rows;
    /* Its findings are information and it never fails: INFO is how it trips. */
    bool informs;
    /* It never fails either: of trained models WARN is how it trips. */
    bool warns;
    const char *const *faults; /* that must trip it; ended by NULL */
    const txd_key *keys;       /* of `checks.<name>`; ended by NULL path; may be NULL */
    /* What it must be given: point and TXD_ASK_* bits, alternatives in order of
     * preference separated by {TXD_POINT_COUNT, 0}, ended by {TXD_POINT_COUNT, 1}.
     * The first alternative of which everything is offered is taken, layer by layer.
     * {TXD_POINT_COUNT, bits other than 0 and 1} means any point that offers bits, and
     * its gradient. With TXD_NEED_GRADIENT the gradient of the point is meant, at
     * TXD_POINT_COUNT those of the parameters. */
    const struct txd_check_need {
        txd_point point;
        unsigned ask;
    } * needs;
    /* Returns a reason to skip in this configuration, or NULL. */
    const char *(*inapplicable)(const txd_check_context *context);
    txd_status (*create)(void **state, txd_tap *tap, const txd_check_context *context);
    /* Fills verdict, findings (through txd_result_add), measured values, note. */
    txd_status (*finish)(void *state, txd_result *result);
    void (*destroy)(void *state);
    /* Not NULL: beside the run's passes the law's tap also watches some that the law
     * makes itself, where experiments are made; `tap` is to be handed to these. */
    txd_status (*watch)(void *state, txd_experiment *experiment, txd_tap *tap);
    /* Not NULL: an experiment, which makes passes of its own instead of watching those
     * of the run; needs, create, finish and destroy are NULL. Fills what finish does.
     */
    txd_status (*examine)(txd_experiment *experiment, txd_result *result);
};

/* The i-th law, NULL past the end; by name, NULL if there is none. */
const txd_check *txd_check_at(size_t i);
const txd_check *txd_check_find(const char *name);

/* Fails unless every one of these comma-separated globs matches a law: a misspelt law
 * that is silently left out would look like one that holds. `option` gave them. */
txd_status txd_checks_globs(const char *option, const char *globs);

/* Adds a finding (keeps the first 64, counts all) and raises the verdict. */
txd_status txd_result_add(txd_result *result, const txd_finding *finding);

/* Which laws to evaluate. */
typedef struct txd_check_select {
    const char *only, *skip; /* comma-separated globs; NULL = all / none */
    bool strict;             /* warnings count as failures in the exit status */
    int threads;             /* of a replay, 0 = all; nothing else depends on it */
} txd_check_select;

/* Makes the key tables of all laws for validation: *count tables in `arena`. */
txd_status txd_checks_keys(const txd_key *const **out, size_t *count, txd_arena *arena);

/* Sets up the selected laws for a live run. `root` is the validated tree (its group
 * `checks` overrides thresholds); `offers` NULL = all that the run has. The caller owns
 * *out. */
txd_status txd_checks_create(txd_checks **out, const txd_check_context *context,
                             const txd_setting *root, const txd_check_select *select,
                             txd_offers offers, const void *offers_self);
void txd_checks_destroy(txd_checks *checks); /* NULL is allowed */

/* The taps to hand to a run or a replay; owned by the checks. */
txd_tap *const *txd_checks_taps(const txd_checks *checks, size_t *count);

/* What experiments run. Everything must outlive the call. */
typedef struct txd_experiment_setup {
    const txd_backend *backend;
    const txd_config *claimed, *actual;
    const txd_model *model; /* bound to `actual` */
    txd_params *params;
    const txd_plan *plan;     /* NULL = no faults */
    const txd_inputs *inputs; /* of a step, with the memory that an encoder makes */
    int threads;              /* 0 = all */
    double memory;            /* bytes that one pass may take; 0 = any */
    /* Called now and then, with the number of the experiment and 0 of 1; non-zero stops
     * with ERR_INTERRUPTED. NULL = never. */
    int (*progress)(void *self, int number, size_t done, size_t total);
    void *progress_self;
} txd_experiment_setup;

/* How many of the selected laws are experiments that apply. */
size_t txd_checks_experiments(const txd_checks *checks);

/* Makes the experiments, one after another, after the passes of a live run and before
 * the evaluation ends. Where this is not called they are skipped, with the reason. */
txd_status txd_checks_experiment(txd_checks *checks, const txd_experiment_setup *setup);

/* Ends the evaluation: *count results, owned by the checks. A law that was set up but
 * saw nothing gives skip with the reason, never pass. */
txd_status txd_checks_finish(const txd_result **out, size_t *count, txd_checks *checks);

/* Evaluates every law that the recording can answer; the others are skipped by name
 * ("not recorded: attn.branch"). Results are owned by *out, which the caller owns. */
txd_status txd_checks_recording(txd_checks **out, const txd_trace *recording,
                                const txd_setting *root,
                                const txd_check_select *select);

/* How many datasets of that recording no part of a recording has the name of, and the
 * first of them (NULL if there is none): nobody reads these. */
size_t txd_checks_unread(const char **first, const txd_checks *checks);

/* 1 if any fails; else 2 if any is open; else 77 if nothing was evaluated; else 0.
 * `strict` counts a warning as a failure. */
int txd_checks_exit(const txd_result *results, size_t count, bool strict);

/* How verdicts are written for people. `quote` appends what the tokens of a finding
 * stand for, if that is known; may be NULL. */
typedef struct txd_report_style {
    bool verbose;
    bool brief; /* what held or was skipped is only counted, unless verbose */
    void (*quote)(txd_text *out, void *self, const txd_finding *finding);
    void *self;
} txd_report_style;

/* Reports: one line per law and per finding, and a summary; or JSON (schema in
 * docs/checks.md). `source` is the file or cfg that was judged; NULL is the style of
 * zeros. */
void txd_report_text(txd_text *out, const char *source, const txd_result *results,
                     size_t count, const txd_report_style *style);
void txd_report_json(txd_json *json, const char *source, const txd_result *results,
                     size_t count, bool strict);

/* Stores the results as /checks/... columns of a recording. */
txd_status txd_report_record(txd_recording *recording, const txd_result *results,
                             size_t count);

#ifdef __cplusplus
}
#endif

#endif

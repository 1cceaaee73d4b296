/* SPDX-License-Identifier: MIT
 *
 * The inside of the runner: one entry per selected law, and which of its alternatives
 * it is given in each layer. For the files of this folder only.
 */
#ifndef TXD_CHECKS_RUNNER_H
#define TXD_CHECKS_RUNNER_H

#include "checks/law.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a law is given. */
typedef struct txd_choice {
    const txd_check *check;
    const txd_config *claimed;
    txd_offers offers; /* NULL = everything, gradients if `backward` */
    const void *offers_self;
    const txd_run_options *run;           /* NULL on a recording */
    const struct txd_check_need **layers; /* its alternative per layer; NULL = none */
    size_t layers_given;
} txd_choice;

/* Chooses the first alternative that is offered, layer by layer, in `arena`. */
txd_status txd_choice_make(txd_choice *out, txd_arena *arena);
/* Of `bits`, those that the law is given at a site. */
unsigned txd_choice_allows(const txd_choice *choice, const txd_site *site,
                           unsigned bits);
/* "not recorded: attn.branch": what the nearest alternative lacks, if no layer has
 * any. */
void txd_choice_lacks(const txd_choice *choice, char *text, size_t bytes);
/* "recording.max_bytes: logits: every 4th step": what of `budget` (NULL = none), as the
 * recording tells it, concerns what the law was given, or could have been; or "". */
void txd_choice_thinned(const txd_choice *choice, const char *budget, char *text,
                        size_t bytes);

/* The thresholds of a law, with where each comes from. */
typedef struct txd_allowances {
    struct txd_allowance {
        double value;
        const char *words; /* "checks.row_sum.atol of rules.cfg:3" */
    } * items;
    size_t count;
} txd_allowances;

txd_status txd_allowances_read(txd_allowances *out, const char *law,
                               const txd_check_context *context, txd_arena *arena);
/* Where an allowance of the law comes from; NULL if that cannot be said. */
const char *txd_allowance_of(const txd_allowances *allowances, const txd_check *check,
                             double allowed);

/* One selected law. */
typedef struct txd_entry {
    txd_choice choice;
    txd_check_context context;
    void *state;
    bool is_set_up;  /* state and tap are valid */
    bool is_waiting; /* an experiment that has not been made */
    bool has_failed; /* the law's own passes: the note says why */
    txd_tap tap;     /* the law's own */
    txd_tap outer;   /* what the pass sees */
    uint64_t shown;  /* blocks */
    bool is_lacking; /* of some blocks not all was recorded that the law reads */
    txd_allowances allowances;
    txd_result result;
} txd_entry;

struct txd_checks {
    txd_arena *arena;
    txd_entry *entries;
    size_t count;
    txd_tap **taps;
    size_t tap_count;
    txd_result *results; /* copies in order; findings stay with the entries */
    bool is_finished;
    txd_replay *replay; /* holds the configuration; NULL in a live run */
};

/* Makes it a skip with this reason. */
void txd_entry_skip(txd_entry *entry, const char *reason);

/* Reasons: of experiments that nobody made; of laws that saw nothing they judge. */
extern const char txd_not_examined[], txd_nothing_judged[];

/* What txd_checks_create is given, and the rules that win over `root`. */
typedef struct txd_checks_setup {
    const txd_check_context *context;
    const txd_setting *root, *rules;
    const txd_check_select *select;
    txd_offers offers;
    const void *offers_self;
} txd_checks_setup;

txd_status txd_checks_set_up(txd_checks **out, const txd_checks_setup *setup);

/* Lets a law look next at cross.*, if all that it found is there. */
txd_status txd_result_name_cross(txd_result *result, txd_arena *arena);

/* Gives the checks the replay whose configuration they judge by. */
void txd_checks_keep(txd_checks *checks, txd_replay *replay);

#ifdef __cplusplus
}
#endif

#endif

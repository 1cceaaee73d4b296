/* SPDX-License-Identifier: MIT
 *
 * The runner: sets up the selected laws, stands between them and the pass, and ends
 * them. It gives a law only what its chosen alternative names, counts what the law was
 * shown, and turns "saw nothing" into a skip: silence is never a pass.
 */
#include "checks/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef txd_entry entry;

static unsigned outer_ask(void *self, const txd_site *site)
{
    entry *e = self;

    return txd_choice_allows(&e->choice, site, e->tap.ask(e->tap.self, site));
}

static const txd_point *outer_needs(void *self, txd_point point)
{
    entry *e = self;

    return e->tap.needs(e->tap.self, point);
}

static void outer_reduce(void *slot, const void *self, const txd_block *block)
{
    const entry *e = self;

    e->tap.reduce(slot, e->tap.self, block);
}

static txd_status outer_merge(void *self, const txd_block *block, const void *slot)
{
    entry *e = self;
    txd_status status = e->tap.merge(e->tap.self, block, slot);

    /* Points may have been recorded in different steps or heads. A live pass has all
     * that was promised. */
    if (status == TXD_ERR_MISSING && !e->choice.run) {
        e->is_lacking = true;
        return TXD_OK;
    }
    e->shown++;
    return status;
}

static txd_status outer_step_end(void *self, const txd_pass *pass)
{
    entry *e = self;

    return e->tap.step_end(e->tap.self, pass);
}

static void wrap(entry *e)
{
    e->outer = e->tap;
    e->outer.name = e->choice.check->name;
    e->outer.self = e;
    e->outer.ask = outer_ask;
    e->outer.needs = e->tap.needs ? outer_needs : NULL;
    e->outer.reduce = e->tap.reduce ? outer_reduce : NULL;
    e->outer.merge = outer_merge;
    e->outer.independent = true; /* laws share nothing */
    e->outer.step_end = e->tap.step_end ? outer_step_end : NULL;
}

static void add_note(entry *e, const char *note)
{
    size_t used = strlen(e->result.note);

    snprintf(e->result.note + used, sizeof e->result.note - used, "%s%s",
             used ? "; " : "", note);
}

static void note_left_out_by_budget(entry *e)
{
    char text[200];

    txd_choice_thinned(&e->choice, e->context.budget, text, sizeof text);
    if (text[0])
        add_note(e, text);
}

static txd_status set_up(entry *e, txd_arena *arena)
{
    const txd_check *check = e->choice.check;
    const char *reason = check->inapplicable ? check->inapplicable(&e->context) : NULL;

    e->result.check = check->name;
    e->result.look_next = check->look_next;
    TXD_TRY(txd_choice_make(&e->choice, arena));
    if (reason) {
        txd_entry_skip(e, reason);
        return TXD_OK;
    }
    if (check->examine) {
        txd_entry_skip(e, txd_not_examined);
        e->is_waiting = true;
        return TXD_OK;
    }
    if (e->choice.layers_given == 0) {
        e->result.verdict = TXD_VERDICT_SKIP;
        txd_choice_lacks(&e->choice, e->result.note, sizeof e->result.note);
        note_left_out_by_budget(e);
        return TXD_OK;
    }
    if (check->exact && e->context.coarse) {
        txd_entry_skip(e, e->context.coarse);
        return TXD_OK;
    }
    if (check->softmax_rows && e->context.dropped) {
        txd_entry_skip(e, "the weights were recorded behind dropout (attribute "
                          "`dropout`); record them before it to have them judged");
        return TXD_OK;
    }
    TXD_TRY(check->create(&e->state, &e->tap, &e->context));
    e->is_set_up = true;
    e->is_waiting = check->watch != NULL && e->context.run != NULL;
    wrap(e);
    return TXD_OK;
}

static bool is_selected(const txd_check_select *select, const char *name)
{
    if (!select)
        return true;
    if (select->only && !txd_glob_list(select->only, name))
        return false;
    return !(select->skip && txd_glob_list(select->skip, name));
}

static const txd_setting *group_of(const txd_setting *root, const txd_check *check)
{
    char path[96];

    snprintf(path, sizeof path, "checks.%s", check->name);
    return root ? txd_setting_find(root, path) : NULL;
}

static txd_status add_entry(txd_checks *checks, const txd_checks_setup *s,
                            const txd_check *check)
{
    entry *e = &checks->entries[checks->count++];

    e->context = *s->context;
    e->context.settings = group_of(s->root, check);
    e->context.rules = group_of(s->rules, check);
    e->context.weights = s->root ? txd_setting_find(s->root, "weights") : NULL;
    e->choice.check = check;
    e->choice.claimed = s->context->claimed;
    e->choice.offers = s->offers;
    e->choice.offers_self = s->offers_self;
    e->choice.run = s->context->run;
    TXD_TRY(set_up(e, checks->arena));
    if (e->is_set_up || e->is_waiting)
        TXD_TRY(txd_allowances_read(&e->allowances, check->name, &e->context,
                                    checks->arena));
    if (e->is_set_up)
        checks->taps[checks->tap_count++] = &e->outer;
    return TXD_OK;
}

static txd_status fill(txd_checks *checks, const txd_checks_setup *s)
{
    size_t all = 0;

    while (txd_check_at(all))
        all++;
    checks->entries = txd_arena_alloc(checks->arena, all, sizeof *checks->entries);
    checks->taps = txd_arena_alloc(checks->arena, all, sizeof *checks->taps);
    checks->results = txd_arena_alloc(checks->arena, all, sizeof *checks->results);
    if (!checks->entries || !checks->taps || !checks->results)
        return TXD_ERR_MEMORY;
    if (s->select) {
        TXD_TRY(txd_checks_globs("--only", s->select->only));
        TXD_TRY(txd_checks_globs("--skip", s->select->skip));
    }
    for (size_t i = 0; i < all; i++)
        if (is_selected(s->select, txd_check_at(i)->name))
            TXD_TRY(add_entry(checks, s, txd_check_at(i)));
    return TXD_OK;
}

txd_status txd_checks_set_up(txd_checks **out, const txd_checks_setup *s)
{
    txd_checks *checks = calloc(1, sizeof *checks);
    txd_status status;

    if (!checks)
        return txd_fail(TXD_ERR_MEMORY, "no memory for the checks");
    status = txd_arena_create(&checks->arena);
    if (status == TXD_OK)
        status = fill(checks, s);
    if (status != TXD_OK) {
        txd_checks_destroy(checks);
        return status;
    }
    *out = checks;
    return TXD_OK;
}

txd_status txd_checks_keys(const txd_key *const **out, size_t *count, txd_arena *arena)
{
    const txd_key **tables;
    size_t all = 0, used = 0;

    while (txd_check_at(all))
        all++;
    tables = txd_arena_alloc(arena, all + 1, sizeof *tables);
    if (!tables)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < all; i++)
        if (txd_check_at(i)->keys)
            tables[used++] = txd_check_at(i)->keys;
    *out = tables;
    *count = used;
    return TXD_OK;
}

txd_status txd_checks_create(txd_checks **out, const txd_check_context *context,
                             const txd_setting *root, const txd_check_select *select,
                             txd_offers offers, const void *offers_self)
{
    txd_checks_setup s = {context, root, NULL, select, offers, offers_self};

    return txd_checks_set_up(out, &s);
}

void txd_checks_destroy(txd_checks *checks)
{
    if (!checks)
        return;
    for (size_t i = 0; i < checks->count; i++) {
        entry *e = &checks->entries[i];

        if (e->is_set_up)
            e->choice.check->destroy(e->state);
        free(e->result.findings);
    }
    txd_arena_destroy(checks->arena);
    txd_replay_destroy(checks->replay);
    free(checks);
}

void txd_checks_keep(txd_checks *checks, txd_replay *replay)
{
    checks->replay = replay;
}

size_t txd_checks_unread(const char **first, const txd_checks *checks)
{
    *first = NULL;
    return checks->replay ? txd_replay_strangers(first, checks->replay) : 0;
}

txd_tap *const *txd_checks_taps(const txd_checks *checks, size_t *count)
{
    *count = checks->tap_count;
    return checks->taps;
}

static const char not_together[] =
    "not judged in steps and heads of which not all that it reads is recorded";
static const char never_together[] =
    "no step (or head) of which all that it reads is recorded";

static void note_gaps(entry *e)
{
    size_t given = e->choice.layers_given, all = e->choice.claimed->n_layers;
    char text[96];

    snprintf(text, sizeof text,
             "judged in %zu of %zu layers: the others are not recorded", given, all);
    if (given < all)
        add_note(e, text);
    if (e->is_lacking)
        add_note(e, not_together);
    note_left_out_by_budget(e);
}

/* Values that are not finite are the usual reason for having nothing to judge. */
static void point_to_finite(txd_checks *checks)
{
    bool is_finite = true;

    for (size_t i = 0; i < checks->count; i++)
        if (strcmp(checks->entries[i].choice.check->name, "finite") == 0)
            is_finite = checks->entries[i].result.verdict != TXD_VERDICT_FAIL;
    for (size_t i = 0; i < checks->count && !is_finite; i++)
        if (strcmp(checks->entries[i].result.note, txd_nothing_judged) == 0)
            txd_entry_skip(&checks->entries[i],
                           "there was nothing finite to judge: see `finite`");
}

static const char nothing_offered[] = "the pass offered nothing that this law reads";
static const char nothing_recorded[] = "not recorded: all that this law reads";

static txd_status finish_entry(entry *e)
{
    txd_result *result = &e->result;
    txd_status status;

    if (!e->is_set_up || e->has_failed)
        return TXD_OK;
    status = e->choice.check->finish(e->state, result);
    if (status == TXD_ERR_MEMORY)
        return status;
    if (e->shown == 0) { /* what the law says it lacks is the better reason */
        if (e->is_lacking)
            txd_entry_skip(e, never_together);
        else if (e->is_waiting)
            txd_entry_skip(e, txd_not_examined);
        else if (strncmp(result->note, "not recorded", 12) != 0)
            txd_entry_skip(e, e->choice.run ? nothing_offered : nothing_recorded);
        result->verdict = TXD_VERDICT_SKIP;
        return TXD_OK;
    }
    if (status != TXD_OK) {
        result->verdict = TXD_VERDICT_OPEN;
        snprintf(result->note, sizeof result->note, "%s", txd_message());
    }
    if (result->verdict == TXD_VERDICT_PASS && result->evaluated == 0) {
        result->verdict = TXD_VERDICT_SKIP;
        if (e->is_lacking)
            txd_entry_skip(e, never_together);
        else if (!result->note[0])
            txd_entry_skip(e, txd_nothing_judged);
    }
    if (result->verdict != TXD_VERDICT_SKIP)
        note_gaps(e);
    return TXD_OK;
}

static void name_allowance(txd_entry *e)
{
    if (e->result.verdict != TXD_VERDICT_SKIP)
        e->result.allowance =
            txd_allowance_of(&e->allowances, e->choice.check, e->result.allowed);
}

static txd_status finish_all(txd_checks *checks)
{
    for (size_t i = 0; i < checks->count; i++) {
        TXD_TRY(finish_entry(&checks->entries[i]));
        TXD_TRY(txd_result_name_cross(&checks->entries[i].result, checks->arena));
        name_allowance(&checks->entries[i]);
    }
    point_to_finite(checks);
    for (size_t i = 0; i < checks->count; i++)
        checks->results[i] = checks->entries[i].result;
    checks->is_finished = true;
    return TXD_OK;
}

txd_status txd_checks_finish(const txd_result **out, size_t *count, txd_checks *checks)
{
    if (!checks->is_finished)
        TXD_TRY(finish_all(checks));
    *out = checks->results;
    *count = checks->count;
    return TXD_OK;
}

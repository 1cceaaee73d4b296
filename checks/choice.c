/* SPDX-License-Identifier: MIT
 *
 * Which evidence a law gets. A recording may hold some points in some layers only: the
 * law then judges those layers, and the runner says how many.
 */
#include "checks/runner.h"

#include <stdio.h>
#include <string.h>

typedef struct txd_check_need need;

static bool is_end(const need *n)
{
    return n->point == TXD_POINT_COUNT && n->ask == 1;
}

static bool is_stop(const need *n)
{
    return n->point == TXD_POINT_COUNT && n->ask <= 1;
}

static unsigned offered(const txd_choice *choice, txd_site_kind kind, txd_point point,
                        int layer)
{
    bool is_gradient = txd_site_is_gradient(kind);

    if (point != TXD_POINT_COUNT && !txd_point_exists(choice->claimed, point))
        return 0;
    if (kind == TXD_SITE_GRADIENT && txd_point_get(point)->place == TXD_PLACE_INPUT)
        return 0;
    if (choice->offers)
        return choice->offers(
            choice->offers_self, kind, point,
            point != TXD_POINT_COUNT && txd_point_per_layer(point) ? layer : -1);
    if (is_gradient && choice->run && !choice->run->backward)
        return 0;
    return is_gradient ? TXD_ASK_VALUE | TXD_ASK_STATS
                       : TXD_ASK_VALUE | TXD_ASK_ROWS | TXD_ASK_STATS;
}

static bool any_offers(const txd_choice *choice, unsigned ask, int layer)
{
    for (int point = 0; point < TXD_POINT_COUNT; point++)
        if (offered(choice, TXD_SITE_VALUE, (txd_point)point, layer) & ask)
            return true;
    return false;
}

static bool has_need(const txd_choice *choice, const need *n, int layer)
{
    unsigned ask = n->ask & ~TXD_NEED_GRADIENT;
    txd_site_kind kind = TXD_SITE_VALUE;

    if (n->ask & TXD_NEED_GRADIENT)
        kind = n->point == TXD_POINT_COUNT ? TXD_SITE_PARAMETER_GRADIENT
                                           : TXD_SITE_GRADIENT;
    else if (n->point == TXD_POINT_COUNT)
        return any_offers(choice, ask, layer);
    return (offered(choice, kind, n->point, layer) & ask) == ask;
}

static const need *next_alternative(const need *n)
{
    while (!is_stop(n))
        n++;
    return is_end(n) ? NULL : n + 1;
}

/* What scores become on the way to the mask is needed where the model has it and the
 * claim alone does not tell. */
static bool is_void(const txd_choice *choice, const need *n)
{
    const txd_config *c = choice->claimed;
    txd_point own =
        n->point == TXD_POINT_COUNT ? n->point : txd_point_in_self(n->point);

    if (own == TXD_POINT_ATTN_BIAS && c->positions == TXD_POSITIONS_ALIBI)
        return true;
    return (own == TXD_POINT_ATTN_CAPPED || own == TXD_POINT_ATTN_BIAS) &&
           !txd_point_exists(c, n->point);
}

static size_t count_lacking(const txd_choice *choice, const need *n, int layer)
{
    size_t lacking = 0;

    for (; !is_stop(n); n++)
        lacking += !is_void(choice, n) && !has_need(choice, n, layer);
    return lacking;
}

txd_status txd_choice_make(txd_choice *out, txd_arena *arena)
{
    size_t layers = out->claimed->n_layers;

    out->layers = txd_arena_alloc(arena, layers, sizeof(need *));
    if (!out->layers)
        return TXD_ERR_MEMORY;
    for (size_t l = 0; l < layers; l++) {
        const need *n = out->check->needs;

        while (n && count_lacking(out, n, (int)l) > 0)
            n = next_alternative(n);
        out->layers[l] = n;
        out->layers_given += n != NULL;
    }
    return TXD_OK;
}

/* True if a need speaks of sites of this kind at this point. */
static bool is_meant(const need *n, const txd_site *site)
{
    bool of_gradient = (n->ask & TXD_NEED_GRADIENT) != 0;

    if (n->point == TXD_POINT_COUNT && !of_gradient)
        return true;
    return of_gradient == txd_site_is_gradient(site->kind) && n->point == site->point;
}

unsigned txd_choice_allows(const txd_choice *choice, const txd_site *site,
                           unsigned bits)
{
    const need *n = choice->layers[site->layer < 0 ? 0 : site->layer];

    if (site->kind == TXD_SITE_PARAMETER)
        return bits;
    for (; n && !is_stop(n); n++)
        if (is_meant(n, site))
            return bits & (n->point == TXD_POINT_COUNT
                               ? offered(choice, site->kind, site->point, site->layer)
                               : n->ask);
    return 0;
}

static const char *ask_words(unsigned ask)
{
    if (ask & TXD_ASK_ROWS)
        return " (rows)";
    return ask & TXD_ASK_STATS ? " (stats)" : "";
}

/* A run without a backward half can have one: the note says how. */
static bool lacks_backward(const txd_choice *choice, const need *n)
{
    return (n->ask & TXD_NEED_GRADIENT) && choice->run && !choice->run->backward;
}

static const char *need_word(const need *n)
{
    if (n->point != TXD_POINT_COUNT)
        return txd_point_get(n->point)->name;
    return n->ask & TXD_NEED_GRADIENT ? "parameters" : "any point";
}

/* True if the model has all that an alternative names. */
static bool is_possible(const txd_choice *choice, const need *n)
{
    for (; !is_stop(n); n++)
        if (n->point != TXD_POINT_COUNT && !is_void(choice, n) &&
            !txd_point_exists(choice->claimed, n->point))
            return false;
    return true;
}

static const need *first_possible(const txd_choice *choice)
{
    for (const need *n = choice->check->needs; n; n = next_alternative(n))
        if (is_possible(choice, n))
            return n;
    return choice->check->needs;
}

void txd_choice_lacks(const txd_choice *choice, char *text, size_t bytes)
{
    const need *nearest = first_possible(choice);
    const char *separator = "not recorded: ";
    size_t used = 0;

    for (const need *n = nearest; n; n = next_alternative(n))
        if (is_possible(choice, n) &&
            count_lacking(choice, n, 0) < count_lacking(choice, nearest, 0))
            nearest = n;
    text[0] = '\0';
    for (const need *n = nearest; !is_stop(n) && used < bytes; n++) {
        if (is_void(choice, n) || has_need(choice, n, 0))
            continue;
        if (lacks_backward(choice, n)) {
            snprintf(text, bytes,
                     "the run has no gradients: `record` asks for none, as "
                     "{ probe = \"grad_norm\"; } would");
            return;
        }
        snprintf(text + used, bytes - used, "%s%s%s%s", separator, need_word(n),
                 n->ask & TXD_NEED_GRADIENT ? TXD_GRADIENT_SUFFIX : "",
                 ask_words(n->ask));
        used += strlen(text + used);
        separator = ", ";
    }
}

/* ---- what a budget thinned ---- */

/* `group` names points as the budget does: "layers.*.attn.weights", "logits@grad". */
static bool is_of_group(const need *n, const char *group)
{
    bool is_gradient = (n->ask & TXD_NEED_GRADIENT) != 0;
    char name[96];
    size_t used;

    if (n->point == TXD_POINT_COUNT)
        return is_gradient == (strchr(group, '@') != NULL);
    txd_point_name(name, sizeof name, n->point, 0);
    used = strlen(name);
    snprintf(name + used, sizeof name - used, "%s",
             is_gradient ? TXD_GRADIENT_SUFFIX : "");
    return txd_glob(group, name);
}

/* A need that was met out of values, as which alone a budget thins anything; or one
 * that was not met. */
static bool is_concerned(const txd_choice *choice, const need *n, int layer)
{
    need values = *n;

    values.ask = (n->ask & TXD_NEED_GRADIENT) | TXD_ASK_VALUE;
    return choice->layers_given == 0 ? !has_need(choice, n, layer)
                                     : has_need(choice, &values, layer);
}

static bool names_group(const txd_choice *choice, const need *alternative, int layer,
                        const char *group)
{
    for (const need *n = alternative; n && !is_stop(n); n++)
        if (is_of_group(n, group) && is_concerned(choice, n, layer))
            return true;
    return false;
}

/* What it was given; what it could have been given, if that is nothing. */
static bool reads_group(const txd_choice *choice, const char *group)
{
    if (choice->layers_given > 0) {
        for (size_t l = 0; l < choice->claimed->n_layers; l++)
            if (names_group(choice, choice->layers[l], (int)l, group))
                return true;
        return false;
    }
    for (const need *n = choice->check->needs; n; n = next_alternative(n))
        if (names_group(choice, n, 0, group))
            return true;
    return false;
}

void txd_choice_thinned(const txd_choice *choice, const char *budget, char *text,
                        size_t bytes)
{
    const char *separator = "recording.max_bytes: ";
    size_t used = 0;

    text[0] = '\0';
    while (budget && *budget && used < bytes) {
        size_t length = strcspn(budget, ";"), name = strcspn(budget, ":;");
        char group[96];

        snprintf(group, sizeof group, "%.*s", (int)name, budget);
        if (reads_group(choice, group)) {
            snprintf(text + used, bytes - used, "%s%.*s", separator, (int)length,
                     budget);
            used += strlen(text + used);
            separator = "; ";
        }
        budget += length;
        budget += strspn(budget, "; ");
    }
}

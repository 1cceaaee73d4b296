/* SPDX-License-Identifier: MIT
 *
 * Nothing about a law is written twice: a law that is added is in the page.
 */
#include "cli/laws.h"

#include <string.h>

#include "txd.h"

typedef struct txd_check_need need;

/* Alternatives end in {TXD_POINT_COUNT, 0}, the last of them in {..., 1}. */
static bool is_end(const need *n)
{
    return n->point == TXD_POINT_COUNT && n->ask == 1;
}

static bool is_stop(const need *n)
{
    return n->point == TXD_POINT_COUNT && n->ask <= 1;
}

static const char *suffix_of(const need *n)
{
    if (n->ask & TXD_ASK_ROWS)
        return " (row statistics)";
    if ((n->ask & TXD_ASK_STATS) && !(n->ask & TXD_ASK_VALUE))
        return " (statistics)";
    return "";
}

/* Where two alternatives ask for more or less of a point, it is the same in words. */
static bool was_named(const need *first, const need *n)
{
    for (; first < n; first++)
        if (first->point == n->point &&
            (first->ask & TXD_NEED_GRADIENT) == (n->ask & TXD_NEED_GRADIENT) &&
            strcmp(suffix_of(first), suffix_of(n)) == 0)
            return true;
    return false;
}

static void add_need(txd_text *out, const need *n, const char *quote)
{
    bool is_gradient = (n->ask & TXD_NEED_GRADIENT) != 0;

    if (n->point == TXD_POINT_COUNT)
        txd_text_addf(out, "%s%s",
                      is_gradient ? "gradients of parameters" : "any point",
                      suffix_of(n));
    else
        txd_text_addf(out, "%s%s%s%s%s", quote, txd_point_get(n->point)->name,
                      is_gradient ? TXD_GRADIENT_SUFFIX : "", quote, suffix_of(n));
}

void txd_laws_needs(txd_text *out, const txd_check *law, const char *quote)
{
    const char *separator = "";

    for (const need *n = law->needs; n && !is_end(n); n++) {
        if (is_stop(n) || was_named(law->needs, n))
            continue;
        txd_text_add(out, separator);
        add_need(out, n, quote);
        separator = ", ";
    }
    if (!law->needs)
        txd_text_add(out, "the model and its input");
}

const char *txd_laws_kind(const txd_check *law)
{
    if (law->examine)
        return "a live model (`txdiag check MODEL.cfg`): it makes passes of its own";
    if (law->watch)
        return "a recording, or a live pass, beside which it makes passes of its own";
    return "a recording, or a live pass";
}

void txd_laws_allowance(txd_text *out, const txd_check *law, const char *quote)
{
    const txd_key *key = law->keys;

    if (law->allowance)
        txd_text_add(out, law->allowance);
    else if (!key || !key->path)
        txd_text_add(out,
                     "exactly what it says, or a bound derived from the roundings");
    for (; key && key->path; key++)
        txd_text_addf(out, "%s%s%s%s = %s",
                      key != law->keys || law->allowance ? "; " : "", quote, key->path,
                      quote, key->fallback);
}

/* ---- the page ---- */

static const char about[] =
    "# Laws\n"
    "\n"
    "What is true of every pass of a transformer that does what its configuration "
    "claims.\n"
    "`txdiag check` and `txdiag run` judge them, `docs/checks.md` says how they are "
    "judged, which\n"
    "bounds are derived and how, and what verdicts mean. The output of `txdiag explain "
    "LAW` is\n"
    "this page's section, for a terminal.\n"
    "\n"
    "A law that is named with a fault notices it alone, with all others switched off, "
    "in\n"
    "the first, a middle and the last layer: tests hold it to that.\n"
    "\n"
    "This page is made by `txdiag list checks --markdown`.\n"
    "\n"
    "| law | what it says |\n"
    "|---|---|\n";

/* Text in which nothing is markup. */
static void add_plain(txd_text *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("*_<|", *text))
            txd_text_add(out, "\\");
        txd_text_add_bytes(out, text, 1);
    }
}

static void add_paragraph(txd_text *out, const char *title, const char *text)
{
    if (!text || !*text)
        return;
    txd_text_addf(out, "\n%s: ", title);
    add_plain(out, text);
    txd_text_add(out, ".\n");
}

static void add_faults(txd_text *out, const txd_check *law)
{
    const char *const *fault = law->faults;

    if (!fault || !*fault)
        return;
    txd_text_add(out, "\nFaults that it notices alone: ");
    for (; *fault; fault++)
        txd_text_addf(out, "%s`%s`", fault == law->faults ? "" : ", ", *fault);
    txd_text_add(out, ".\n");
}

static void add_law(txd_text *out, const txd_check *law)
{
    txd_text_addf(out, "\n## %s\n\n", law->name);
    add_plain(out, law->law);
    txd_text_addf(out, ".%s\n\n```\n%s\n```\n\n",
                  law->informs ? " It informs, and never fails." : "", law->formula);
    txd_text_addf(out, "Judged on: %s. It reads ", txd_laws_kind(law));
    txd_laws_needs(out, law, "`");
    txd_text_add(out, ".\n\nAllowed: ");
    txd_laws_allowance(out, law, "`");
    txd_text_add(out, ".\n");
    add_paragraph(out, "What typically breaks it", law->causes);
    add_paragraph(out, "Where to look next", law->look_next);
    add_faults(out, law);
}

void txd_laws_add(txd_text *out)
{
    txd_text_add(out, about);
    for (size_t i = 0; txd_check_at(i); i++) {
        txd_text_addf(out, "| [`%s`](#%s) | ", txd_check_at(i)->name,
                      txd_check_at(i)->name);
        add_plain(out, txd_check_at(i)->law);
        txd_text_add(out, " |\n");
    }
    for (size_t i = 0; txd_check_at(i); i++)
        add_law(out, txd_check_at(i));
}

/* SPDX-License-Identifier: MIT
 *
 * A date is compared as the text that it is. Days are not counted here: the clock is
 * the program's, so that a verdict follows from what it was given alone.
 */
#include "checks/reports/waiver.h"

#include <string.h>

#include "checks/law.h"

const txd_key txd_waivers_keys[] = {
    {"waivers[].law", "string", "required", NULL, NULL, "the law that found it"},
    {"waivers[].site", "string", "\"*\"", NULL, NULL,
     "globs over sites: layers.2.attn.weights"},
    {"waivers[].reason", "string", "required", NULL, NULL,
     "why it may stay: reports print it"},
    {"waivers[].expires", "string", "required", NULL, NULL,
     "the last day on which it may (UTC), as \"2027-03-31\""},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};

/* ---- reading ---- */

static int number_at(const char *digits, int count)
{
    int value = 0;

    for (int i = 0; i < count; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return -1;
        value = 10 * value + (digits[i] - '0');
    }
    return value;
}

static bool is_date(const char *text)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year, month, day, most;

    if (strlen(text) != 10 || text[4] != '-' || text[7] != '-')
        return false;
    year = number_at(text, 4);
    month = number_at(text + 5, 2);
    day = number_at(text + 8, 2);
    if (year < 1 || month < 1 || month > 12)
        return false;
    most = days[month - 1];
    if (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0))
        most++;
    return day >= 1 && day <= most;
}

static txd_status fail_at(const txd_setting *setting, const char *what)
{
    char place[512];

    return txd_fail(TXD_ERR_CONFIG, "%s: %s",
                    txd_setting_place(place, sizeof place, setting), what);
}

/* A text that must be there and say something. */
static txd_status read_words(const char **out, const txd_setting *waiver,
                             const char *key, const char *missing)
{
    *out = "";
    TXD_TRY(txd_setting_string(out, waiver, key));
    return (*out)[strspn(*out, " \t\n")] ? TXD_OK : fail_at(waiver, missing);
}

static txd_status read_law(txd_waiver *out, const txd_setting *waiver)
{
    char place[512];
    txd_status status;

    TXD_TRY(read_words(&out->law, waiver, "law",
                       "a waiver names the `law` whose finding it covers"));
    if (txd_check_find(out->law))
        return TXD_OK;
    if (strchr(out->law, '*'))
        return fail_at(txd_setting_find(waiver, "law"),
                       "a waiver covers one law, by its name");
    status = txd_checks_globs("law", out->law);
    return txd_fail_prefix(status, "%s",
                           txd_setting_place(place, sizeof place, waiver));
}

static txd_status add_words(txd_waiver *waiver, txd_arena *arena)
{
    txd_text text;

    txd_text_init(&text);
    txd_text_addf(&text,
                  waiver->is_expired ? "its waiver expired on %s: %s"
                                     : "waived until %s: %s",
                  waiver->expires, waiver->reason);
    if (waiver->line > 0)
        txd_text_addf(&text, " (%s:%d)", waiver->file, waiver->line);
    waiver->words = txd_arena_string(arena, txd_text_get(&text));
    txd_text_finish(&text);
    return waiver->words ? TXD_OK : TXD_ERR_MEMORY;
}

static txd_status read_one(txd_waiver *out, const txd_setting *waiver,
                           const char *today, txd_arena *arena)
{
    *out = (txd_waiver){.site = "*", .file = waiver->file, .line = waiver->line};
    TXD_TRY(read_law(out, waiver));
    TXD_TRY(txd_setting_string(&out->site, waiver, "site"));
    if (!out->site[strspn(out->site, " \t\n,")])
        return fail_at(waiver, "its `site` is empty: `site = \"*\"` covers all sites");
    TXD_TRY(read_words(&out->reason, waiver, "reason",
                       "a waiver gives its `reason`, for whoever reads the report"));
    TXD_TRY(read_words(&out->expires, waiver, "expires",
                       "a waiver `expires`: the last day on which it holds, as "
                       "\"2027-03-31\""));
    if (!is_date(out->expires))
        return fail_at(txd_setting_find(waiver, "expires"),
                       "expected a day as \"2027-03-31\"");
    out->is_expired = strcmp(today, out->expires) > 0;
    return add_words(out, arena);
}

txd_status txd_waivers_read(txd_waivers *out, const txd_setting *root,
                            const char *today, txd_arena *arena)
{
    const txd_setting *list = root ? txd_setting_find(root, "waivers") : NULL;
    const txd_setting *one;

    *out = (txd_waivers){NULL, 0};
    if (!list || list->count == 0)
        return TXD_OK;
    out->items = txd_arena_alloc(arena, list->count, sizeof *out->items);
    if (!out->items)
        return TXD_ERR_MEMORY;
    for (one = list->child; one; one = one->next)
        TXD_TRY(read_one(&out->items[out->count++], one, today, arena));
    return TXD_OK;
}

/* ---- covering ---- */

/* One that holds, before one that has expired. */
static txd_waiver *find(const txd_waivers *waivers, const char *law, const char *site)
{
    txd_waiver *expired = NULL;

    for (size_t i = 0; i < waivers->count; i++) {
        txd_waiver *waiver = &waivers->items[i];

        if (strcmp(waiver->law, law) != 0 || !txd_glob_list(waiver->site, site))
            continue;
        if (!waiver->is_expired)
            return waiver;
        expired = expired ? expired : waiver;
    }
    return expired;
}

static bool cover(txd_finding *finding, const txd_waivers *waivers, const char *law)
{
    txd_waiver *waiver =
        finding->verdict == TXD_VERDICT_WARN || finding->verdict == TXD_VERDICT_FAIL
            ? find(waivers, law, finding->site)
            : NULL;

    if (!waiver)
        return false;
    waiver->covered++;
    finding->bare = finding->verdict;
    finding->waived = waiver->words;
    finding->verdict = waiver->is_expired ? TXD_VERDICT_FAIL : TXD_VERDICT_INFO;
    return true;
}

/* A waiver of all sites answers for what is not listed, too. */
static bool is_all_waived(const txd_waivers *waivers, const char *law)
{
    for (size_t i = 0; i < waivers->count; i++)
        if (!waivers->items[i].is_expired && strcmp(waivers->items[i].law, law) == 0 &&
            strcmp(waivers->items[i].site, "*") == 0)
            return true;
    return false;
}

static void judge_again(txd_result *result, const txd_waivers *waivers)
{
    bool is_cut = result->finding_count >= TXD_FINDINGS_KEPT &&
                  result->finding_total > result->finding_count;
    txd_verdict worst = is_cut && !is_all_waived(waivers, result->check)
                            ? result->verdict
                            : TXD_VERDICT_INFO;

    for (size_t i = 0; i < result->finding_count; i++)
        if (result->findings[i].verdict > worst)
            worst = result->findings[i].verdict;
    if (result->verdict == TXD_VERDICT_WARN || result->verdict == TXD_VERDICT_FAIL)
        result->verdict = worst;
}

static txd_status apply(txd_result *result, const txd_waivers *waivers,
                        txd_arena *arena)
{
    txd_finding *findings;
    bool is_covered = false;

    for (size_t i = 0; i < waivers->count; i++)
        if (strcmp(waivers->items[i].law, result->check) == 0)
            waivers->items[i].is_judged |= result->verdict != TXD_VERDICT_SKIP;
    if (result->finding_count == 0)
        return TXD_OK;
    findings = txd_arena_alloc(arena, result->finding_count, sizeof *findings);
    if (!findings)
        return TXD_ERR_MEMORY;
    memcpy(findings, result->findings, result->finding_count * sizeof *findings);
    result->findings = findings;
    for (size_t i = 0; i < result->finding_count; i++)
        is_covered |= cover(&findings[i], waivers, result->check);
    if (is_covered)
        judge_again(result, waivers);
    return TXD_OK;
}

txd_status txd_waivers_apply(const txd_result **results, size_t count,
                             txd_waivers *waivers, txd_arena *arena)
{
    txd_result *copies;

    if (waivers->count == 0 || count == 0)
        return TXD_OK;
    copies = txd_arena_alloc(arena, count, sizeof *copies);
    if (!copies)
        return TXD_ERR_MEMORY;
    memcpy(copies, *results, count * sizeof *copies);
    for (size_t i = 0; i < count; i++)
        TXD_TRY(apply(&copies[i], waivers, arena));
    *results = copies;
    return TXD_OK;
}

/* SPDX-License-Identifier: MIT
 *
 * A glob that matches no law is an error: `--only rowsum` must not look like a run in
 * which nothing was wrong.
 */
#include "cli/judge.h"

#include <string.h>
#include <time.h>

#include "cli/keys.h"

/* Days change at midnight UTC, wherever a CI runs. */
static txd_status read_waivers(txd_judge *judge)
{
    time_t now = time(NULL);
    struct tm day;
    char today[16];

    if (!gmtime_r(&now, &day) || !strftime(today, sizeof today, "%Y-%m-%d", &day))
        return txd_fail(TXD_ERR_IO, "the clock cannot be read");
    return txd_waivers_read(&judge->waivers, judge->rules, today, judge->arena);
}

static txd_status read_rules(txd_judge *judge, const char *path)
{
    const txd_key *const *tables;
    txd_setting *root;

    TXD_TRY(txd_cfg_load(&root, judge->arena, path));
    TXD_TRY(txd_keys_rules(&tables, judge->arena));
    TXD_TRY(txd_settings_validate(root, tables));
    judge->rules = root;
    return read_waivers(judge);
}

txd_status txd_judge_init(txd_judge *out, const txd_options *options)
{
    const char *rules = txd_options_value(options, "rules");

    *out = (txd_judge){.select = {.strict = txd_options_has(options, "strict"),
                                  .threads = options->threads}};
    TXD_TRY(txd_arena_create(&out->arena));
    TXD_TRY(txd_options_joined(&out->select.only, options, "only", out->arena));
    TXD_TRY(txd_options_joined(&out->select.skip, options, "skip", out->arena));
    TXD_TRY(txd_checks_globs("--only", out->select.only));
    TXD_TRY(txd_checks_globs("--skip", out->select.skip));
    return rules ? read_rules(out, rules) : TXD_OK;
}

void txd_judge_finish(txd_judge *judge)
{
    txd_arena_destroy(judge->arena);
    *judge = (txd_judge){0};
}

static txd_setting *child_named(const txd_setting *group, const char *name)
{
    txd_setting *child = group->kind == TXD_SETTING_GROUP ? group->child : NULL;

    while (child && name && strcmp(child->name, name) != 0)
        child = child->next;
    return name ? child : NULL;
}

/* Takes the value of `from` and where it was written. */
static void take_value(txd_setting *to, const txd_setting *from)
{
    txd_setting kept = *to;

    *to = *from;
    to->name = kept.name;
    to->parent = kept.parent;
    to->next = kept.next;
    to->child = to->last = NULL;
    to->count = 0;
}

static txd_status merge(txd_setting *to, const txd_setting *from, txd_arena *arena)
{
    const txd_setting *child;

    for (child = from->child; child; child = child->next) {
        txd_setting *target = child_named(to, child->name);
        bool both = target && target->kind == TXD_SETTING_GROUP &&
                    child->kind == TXD_SETTING_GROUP;

        if (!target)
            target = txd_setting_add(arena, to, child->name, child->kind);
        if (!target)
            return TXD_ERR_MEMORY;
        if (!both)
            take_value(target, child);
        TXD_TRY(merge(target, child, arena));
    }
    return TXD_OK;
}

txd_status txd_judge_waive(txd_judge *judge, const txd_result **results, size_t count)
{
    return txd_waivers_apply(results, count, &judge->waivers, judge->arena);
}

txd_status txd_judge_apply(const txd_judge *judge, txd_setting *root, txd_arena *arena)
{
    const txd_setting *rules =
        judge->rules ? txd_setting_find(judge->rules, "checks") : NULL;
    txd_setting *checks;

    if (!rules)
        return TXD_OK;
    checks = child_named(root, "checks");
    if (!checks)
        checks = txd_setting_add(arena, root, "checks", TXD_SETTING_GROUP);
    return checks ? merge(checks, rules, arena) : TXD_ERR_MEMORY;
}

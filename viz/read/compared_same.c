/* SPDX-License-Identifier: MIT
 *
 * Whether two recordings are of one model and the same tokens. Configurations are
 * compared setting by setting, inputs number by number, and parameters by their
 * statistics, so that a checkpoint may have been read from another place.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/read/compared.h"
#include "viz/read/curves.h"

static bool same_scalar(const txd_setting *a, const txd_setting *b)
{
    bool numbers = (a->kind == TXD_SETTING_INT || a->kind == TXD_SETTING_REAL) &&
                   (b->kind == TXD_SETTING_INT || b->kind == TXD_SETTING_REAL);

    if (numbers)
        return a->real == b->real;
    if (a->kind != b->kind)
        return false;
    if (a->kind == TXD_SETTING_BOOL)
        return a->boolean == b->boolean;
    if (a->kind == TXD_SETTING_STRING)
        return strcmp(a->string, b->string) == 0;
    return true;
}

static void add_value(txd_text *text, const txd_setting *setting)
{
    if (!setting)
        txd_text_add(text, "nothing");
    else if (setting->kind == TXD_SETTING_BOOL)
        txd_text_add(text, setting->boolean ? "true" : "false");
    else if (setting->kind == TXD_SETTING_STRING)
        txd_clean(text, setting->string, 80);
    else if (setting->kind == TXD_SETTING_INT)
        txd_text_addf(text, "%lld", (long long)setting->integer);
    else if (setting->kind == TXD_SETTING_REAL)
        txd_text_add_real(text, setting->real);
    else
        txd_text_addf(text, "%zu settings", setting->count);
}

static txd_status differ(const char *path, const txd_setting *a, const txd_setting *b)
{
    txd_text text;
    txd_status status;

    txd_text_init(&text);
    txd_text_addf(&text, "the models differ: %s is ", path);
    add_value(&text, a);
    txd_text_add(&text, " in the first recording and ");
    add_value(&text, b);
    txd_text_add(&text, " in the second");
    status = txd_fail(TXD_ERR_CONFIG, "%s", txd_text_get(&text));
    txd_text_finish(&text);
    return status;
}

/* What says how something is computed or looked at, and not what. */
static bool is_free(const char *path)
{
    static const char *const free_paths[] = {"mask.evaluate_hidden"};

    for (size_t i = 0; i < sizeof free_paths / sizeof *free_paths; i++)
        if (strcmp(path, free_paths[i]) == 0)
            return true;
    return false;
}

static const txd_setting *child_of(const txd_setting *group, const txd_setting *like,
                                   size_t index)
{
    const txd_setting *child = group->child;

    if (!like->name)
        while (child && index-- != 0)
            child = child->next;
    else
        while (child && (!child->name || strcmp(child->name, like->name) != 0))
            child = child->next;
    return child;
}

enum { PATH_BYTES = 256, DEEPEST = 8 };

static txd_status same_settings(const txd_setting *a, const txd_setting *b,
                                const char *path, int depth);

/* Everything that is in `a` is in `b`, and the same there. */
static txd_status same_children(const txd_setting *a, const txd_setting *b,
                                const char *path, int depth)
{
    size_t index = 0;

    for (const txd_setting *child = a->child; child; child = child->next, index++) {
        char below[PATH_BYTES];

        if (child->name)
            snprintf(below, sizeof below, "%.150s.%.80s", path, child->name);
        else
            snprintf(below, sizeof below, "%.200s.%zu", path, index);
        if (!is_free(below) && depth < DEEPEST)
            TXD_TRY(same_settings(child, child_of(b, child, index), below, depth + 1));
    }
    return TXD_OK;
}

static txd_status same_settings(const txd_setting *a, const txd_setting *b,
                                const char *path, int depth)
{
    if (!a && !b)
        return TXD_OK;
    if (!a || !b || !same_scalar(a, b) || a->count != b->count)
        if (!a || !b || (a->count == 0 && b->count == 0) || a->kind != b->kind)
            return differ(path, a, b);
    TXD_TRY(same_children(a, b, path, depth));
    if (a->count == b->count)
        return TXD_OK;
    for (const txd_setting *child = b->child; child; child = child->next)
        if (!child->name || !child_of(a, child, 0)) {
            char below[PATH_BYTES];

            snprintf(below, sizeof below, "%.150s.%.80s", path,
                     child->name ? child->name : "(more)");
            return differ(below, NULL, child);
        }
    return TXD_OK;
}

static txd_status same_configs(txd_arena *arena, const txd_trace *a, const txd_trace *b)
{
    const char *texts[2] = {txd_trace_meta(a, "config"), txd_trace_meta(b, "config")};
    const char *sources[2] = {txd_trace_meta(a, "weights"),
                              txd_trace_meta(b, "weights")};
    static const char *const parts[] = {"model", "mask", "weights", "seed"};
    bool drawn = sources[0] && strcmp(sources[0], "drawn") == 0;
    txd_setting *roots[2];

    if (sources[0] && sources[1] && strcmp(sources[0], sources[1]) != 0)
        return txd_fail(TXD_ERR_CONFIG,
                        "the models differ: weights %.40s in the first recording, "
                        "%.40s in the second",
                        sources[0], sources[1]);
    for (int i = 0; i < 2; i++)
        if (!texts[i] ||
            txd_cfg_parse(&roots[i], arena, "recorded config", texts[i]) != TXD_OK)
            return txd_fail(TXD_ERR_CONFIG,
                            "the %s recording has no configuration that can be read: "
                            "whether the models are the same is not known",
                            i == 0 ? "first" : "second");
    for (size_t i = 0; i < (drawn ? 4 : 2); i++)
        TXD_TRY(same_settings(txd_setting_find(roots[0], parts[i]),
                              txd_setting_find(roots[1], parts[i]), parts[i], 0));
    return TXD_OK;
}

/* --- parameters --- */

static const char *faults_of(const txd_curves *curves)
{
    const char *faults = txd_trace_meta(curves->recording, "faults");

    return faults && *faults ? faults : "none";
}

static txd_status find_param(const txd_curves curves[2], double *const norms[2],
                             double *const counts[2], double roundoff)
{
    for (size_t i = 0; i < curves[0].site_count; i++) {
        double a = norms[0][i], b, allowed;
        size_t j;

        if (!txd_curves_find(&j, &curves[1], curves[0].sites[i]))
            continue;
        b = norms[1][j];
        allowed = roundoff * fmax(fabs(a), fabs(b)) + 6e-8 * sqrt(fabs(counts[0][i]));
        if (counts[0][i] == counts[1][j] &&
            (txd_close(a, b, allowed) || (isnan(a) && isnan(b))))
            continue;
        return txd_fail(TXD_ERR_CONFIG,
                        "the models differ: the norm of %.120s is %.6g (%.0f elements) "
                        "in the first recording and %.6g (%.0f) in the second; faults "
                        "planted: %.200s; %.200s",
                        curves[0].sites[i], a, counts[0][i], b, counts[1][j],
                        faults_of(&curves[0]), faults_of(&curves[1]));
    }
    return TXD_OK;
}

static double roundoff_of(const txd_trace *recording)
{
    const char *dtype = txd_trace_meta(recording, "dtype");

    return txd_roundoff_of_format(txd_recording_format(dtype)).store;
}

/* By their norms, which rounding changes by no more than its own unit. */
static txd_status same_params(txd_arena *arena, const txd_trace *a, const txd_trace *b)
{
    const char *paths[2] = {txd_trace_meta(a, "model"), txd_trace_meta(b, "model")};
    const txd_trace *const both[2] = {a, b};
    txd_curves curves[2];
    double *norms[2], *counts[2];

    for (int i = 0; i < 2; i++) {
        if (txd_curves_open(&curves[i], arena, both[i], "series/param") == TXD_OK &&
            txd_curves_read(&norms[i], &curves[i], "l2") == TXD_OK &&
            txd_curves_read(&counts[i], &curves[i], "count") == TXD_OK)
            continue;
        if (!paths[0] || !paths[1] || strcmp(paths[0], paths[1]) == 0)
            return TXD_OK;
        return txd_fail(TXD_ERR_CONFIG,
                        "the models may differ: they were read from %.200s and %.200s, "
                        "and statistics of their parameters (probe norms) were not "
                        "recorded in both",
                        paths[0], paths[1]);
    }
    return find_param(curves, norms, counts, 2 * (roundoff_of(a) + roundoff_of(b)));
}

/* --- inputs --- */

/* The rows of the common steps. */
static txd_status read_input(int64_t **out, txd_arena *arena, const txd_trace *trace,
                             size_t entry, const size_t count[3])
{
    const size_t start[3] = {0, 0, 0};

    *out = txd_arena_alloc(arena, count[0] * count[1] * count[2], sizeof **out);
    return *out ? txd_trace_read(trace, *out, entry, start, count, TXD_I64)
                : TXD_ERR_MEMORY;
}

static txd_status same_input(txd_arena *arena, const txd_trace *a, const txd_trace *b,
                             const char *name)
{
    const txd_trace *const both[2] = {a, b};
    const char *what = "tokens";
    txd_trace_info infos[2];
    int64_t *values[2];
    size_t entries[2], count[3];

    for (int i = 0; i < 2; i++)
        if (txd_trace_find(both[i], &entries[i], name) != TXD_OK ||
            txd_trace_get(both[i], &infos[i], entries[i]) != TXD_OK ||
            infos[i].rank != 3)
            return TXD_OK;
    memcpy(count, infos[0].dims, sizeof count);
    if (strcmp(name, "input/memory_valid") == 0)
        what = "memories";
    if (infos[0].dims[1] != infos[1].dims[1] || infos[0].dims[2] != infos[1].dims[2])
        return txd_fail(TXD_ERR_CONFIG,
                        "the %s differ: %s is %zu x %zu in the first recording and "
                        "%zu x %zu in the second",
                        what, name, infos[0].dims[1], infos[0].dims[2],
                        infos[1].dims[1], infos[1].dims[2]);
    if (infos[1].dims[0] < count[0])
        count[0] = infos[1].dims[0];
    for (int i = 0; i < 2; i++)
        TXD_TRY(read_input(&values[i], arena, both[i], entries[i], count));
    for (size_t i = 0; i < count[0] * count[1] * count[2]; i++)
        if (values[0][i] != values[1][i])
            return txd_fail(TXD_ERR_CONFIG,
                            "the %s differ: %s at step %zu, batch %zu, position "
                            "%zu is %lld in the first recording and %lld in the second",
                            what, name, i / count[2] / count[1],
                            i / count[2] % count[1], i % count[2],
                            (long long)values[0][i], (long long)values[1][i]);
    return TXD_OK;
}

/* What cross-attention attends to. An encoder may have made it, in either format: it
 * must be alike, not the same. */
static txd_status same_memory(txd_arena *arena, const txd_trace *a, const txd_trace *b)
{
    const txd_trace *const both[2] = {a, b};
    double *values[2], difference = 0, reference = 0, allowed;
    size_t entries[2], total = 1;
    txd_trace_info infos[2];

    for (int i = 0; i < 2; i++)
        if (txd_trace_find(both[i], &entries[i], "input/memory") != TXD_OK ||
            txd_trace_get(both[i], &infos[i], entries[i]) != TXD_OK ||
            infos[i].rank != 4)
            return TXD_OK;
    if (infos[0].dims[0] > infos[1].dims[0])
        infos[0].dims[0] = infos[1].dims[0];
    for (int axis = 0; axis < 4; axis++) {
        if (axis > 0 && infos[0].dims[axis] != infos[1].dims[axis])
            return txd_fail(TXD_ERR_CONFIG,
                            "the memories differ: input/memory has other extents");
        total *= infos[0].dims[axis];
    }
    for (int i = 0; i < 2 && total != 0; i++) {
        values[i] = txd_arena_alloc(arena, total, sizeof **values);
        if (!values[i])
            return TXD_ERR_MEMORY;
        TXD_TRY(txd_trace_read(both[i], values[i], entries[i],
                               (const size_t[4]){0, 0, 0, 0}, infos[0].dims, TXD_F64));
    }
    for (size_t i = 0; i < total; i++) {
        if (!isfinite(values[0][i]) || !isfinite(values[1][i]))
            continue; /* past the end of a short step, or broken in itself */
        difference += (values[0][i] - values[1][i]) * (values[0][i] - values[1][i]);
        reference += values[0][i] * values[0][i];
    }
    allowed = 64 * (roundoff_of(a) + roundoff_of(b));
    if (txd_within(sqrt(difference), allowed * sqrt(reference)))
        return TXD_OK;
    return txd_fail(TXD_ERR_CONFIG,
                    "the memories differ: input/memory by %.3g of its norm, more than "
                    "rounding explains (%.3g)",
                    sqrt(difference / reference), allowed);
}

static txd_status same_inputs(txd_arena *arena, const txd_trace *a, const txd_trace *b)
{
    static const char *const inputs[] = {"input/tokens",       "input/valid",
                                         "input/positions",    "input/document",
                                         "input/memory_valid", "input/types"};

    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        TXD_TRY(same_input(arena, a, b, inputs[i]));
    return same_memory(arena, a, b);
}

txd_status txd_compared_tokens(const txd_trace *a, const txd_trace *b)
{
    txd_arena *arena;
    txd_status status;

    TXD_TRY(txd_arena_create(&arena));
    status = same_inputs(arena, a, b);
    txd_arena_destroy(arena);
    return status;
}

txd_status txd_compared_same(const txd_trace *a, const txd_trace *b)
{
    txd_arena *arena;
    txd_status status;

    TXD_TRY(txd_arena_create(&arena));
    status = same_configs(arena, a, b);
    if (status == TXD_OK)
        status = same_params(arena, a, b);
    if (status == TXD_OK)
        status = same_inputs(arena, a, b);
    txd_arena_destroy(arena);
    return status;
}

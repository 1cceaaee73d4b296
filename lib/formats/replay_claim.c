/* SPDX-License-Identifier: MIT
 *
 * What a recording says of itself: its configuration, the format of its numbers, and
 * values of the shapes that follow from these. Other programs write recordings too, so
 * that what does not fit is told with what is missing.
 */
#include <stdio.h>
#include <string.h>

#include "formats/cfg.h"
#include "formats/recording.h"
#include "formats/replay_internal.h"

/* Of the groups that say what the model is, no key may be misspelt: it would be as if
 * it had not been set. The others belong to whoever reads them. */
static txd_status validate_model(const txd_setting *root)
{
    static const char *const groups[] = {"model", "mask", "precision"};
    static const txd_key *const tables[] = {txd_config_keys, NULL};
    txd_setting alone = *root;

    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        const txd_setting *group = txd_setting_find(root, groups[i]);
        txd_setting copy;

        if (!group)
            continue;
        copy = *group;
        copy.next = NULL;
        alone.child = &copy;
        TXD_TRY(txd_settings_validate(&alone, tables));
    }
    return TXD_OK;
}

/* A recording is judged without the file that a cfg gets its sizes from. */
static txd_status refuse_unresolved(const txd_setting *root)
{
    static const char *const sizes[] = {"model.vocab", "model.d_model", "model.n_heads",
                                        "model.n_layers"};
    bool is_whole = true;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        is_whole = is_whole && txd_setting_find(root, sizes[i]);
    if (is_whole || !txd_setting_find(root, "model.from"))
        return TXD_OK;
    return txd_fail(TXD_ERR_FORMAT,
                    "attribute \"config\": model.from is not followed: a recording's "
                    "config has to be resolved; write what `txdiag info MODEL.cfg` "
                    "prints under \"configuration\" (vocab, d_model, n_heads, "
                    "n_layers, conventions)");
}

static txd_status read_format(txd_replay *replay)
{
    const char *dtype = txd_trace_meta(replay->trace, "dtype");
    txd_storage storage = txd_storage_find(txd_trace_meta(replay->trace, "storage"));
    txd_dtype stored;

    stored = replay->format = txd_recording_format(dtype);
    replay->storage = txd_storage_apply(&stored, storage) ? storage : TXD_STORAGE_EXACT;
    if (!dtype || strcmp(dtype, txd_recording_dtype(replay->format)) == 0 ||
        strcmp(dtype, txd_dtype_name(replay->format)) == 0)
        return TXD_OK;
    return txd_fail(
        TXD_ERR_FORMAT,
        "attribute \"dtype\": expected float64, float32, bf16 or float16, to "
        "which the values were rounded, found \"%.40s\"",
        dtype);
}

txd_status txd_replay_read_claim(txd_replay *replay)
{
    const char *text = txd_trace_meta(replay->trace, "config");
    txd_setting *root;
    txd_status status;

    if (!text)
        return txd_fail(TXD_ERR_FORMAT,
                        "no attribute \"config\": the model's configuration is needed "
                        "to judge a recording");
    status = txd_cfg_parse(&root, replay->arena, "the recorded config", text);
    if (status == TXD_OK)
        status = validate_model(root);
    if (status == TXD_OK)
        status = refuse_unresolved(root);
    if (status == TXD_OK)
        status = txd_config_read(&replay->config, replay->arena, root, NULL);
    if (status != TXD_OK)
        return txd_fail(status == TXD_ERR_MEMORY ? status : TXD_ERR_FORMAT, "%s",
                        txd_message());
    return read_format(replay);
}

/* ---- values ---- */

static const char *axis_word(char axis)
{
    static const char letters[] = "btqkhgefdmvrc";
    static const char *const words[] = {
        "batch",      "token",      "query",       "key",         "head",
        "KV head",    "head width", "value width", "model width", "MLP width",
        "vocabulary", "row",        "column"};
    const char *found = strchr(letters, axis);

    return found && *found ? words[found - letters] : "?";
}

static txd_status fail_rank(const txd_trace_info *info, const char *axes, int rank)
{
    char shape[128], words[160] = "step";
    size_t used = strlen(words);

    for (int axis = 0; axis < rank; axis++)
        used += (size_t)snprintf(words + used, sizeof words - used, ", %s",
                                 axis_word(axes[axis]));
    return txd_fail(TXD_ERR_FORMAT, "%s: expected %d axes (%s), found %d: %s%s",
                    info->name, rank + 1, words, info->rank,
                    txd_shape_text(shape, sizeof shape, info->dims, info->rank),
                    info->rank == rank ? "; is that of the step missing (value[None])?"
                                       : "");
}

/* Numbers of fewer digits than the values are said to have: what is missing would look
 * like errors of the model. */
static txd_status check_digits(const txd_replay *replay, const txd_trace_info *info,
                               const txd_site *site)
{
    /* Gradients of parameters are recorded in float32 by every backend. */
    bool is_parameter = txd_site_is_parameter(site->kind);
    txd_dtype stored = replay->format;
    bool is_coarser = txd_storage_apply(&stored, replay->storage);
    bool is_half = info->dtype == TXD_F16 && stored != TXD_F16;
    bool is_single = info->dtype == TXD_F32 && replay->format == TXD_F64 &&
                     !is_coarser && !is_parameter;
    bool is_float = info->dtype == TXD_F64 || info->dtype == TXD_F32 ||
                    info->dtype == TXD_BF16 || info->dtype == TXD_F16;

    if (is_half || is_single)
        return txd_fail(
            TXD_ERR_FORMAT,
            "%s: its numbers are %s, but the attribute \"dtype\" %s %s: "
            "store them so, or set dtype = \"%s\"",
            info->name, txd_dtype_name(info->dtype),
            txd_trace_meta(replay->trace, "dtype") ? "says" : "is missing, that is",
            txd_recording_dtype(replay->format), txd_dtype_name(info->dtype));
    if (!is_float &&
        (is_parameter || txd_point_get(site->point)->place != TXD_PLACE_INPUT))
        return txd_fail(TXD_ERR_FORMAT, "%s: expected floating-point numbers, found %s",
                        info->name, txd_dtype_name(info->dtype));
    return TXD_OK;
}

/* Axes after the step must be those of the point; token axes may only be longer. */
txd_status txd_replay_check_value(const txd_replay *replay, const txd_trace_info *info,
                                  size_t stop)
{
    const txd_site *site = &replay->stops[stop].site;
    const txd_extent extent = {replay->batch, replay->length, replay->memory,
                               replay->keys - replay->length};
    const char *axes =
        txd_site_is_parameter(site->kind) ? "rc" : txd_point_get(site->point)->axes;
    size_t dims[TXD_MAX_RANK + 1] = {0};
    char shape[128], expected[200];
    bool fits = true;
    int rank = txd_replay_dims(dims + 1, replay, stop, &extent);

    if (info->rank != rank + 1)
        return fail_rank(info, axes, rank);
    dims[0] = info->dims[0];
    for (int axis = 0; axis < rank && fits; axis++)
        fits = strchr("btqk", axes[axis]) ? info->dims[axis + 1] <= dims[axis + 1]
                                          : info->dims[axis + 1] == dims[axis + 1];
    if (fits)
        return check_digits(replay, info, site);
    snprintf(expected, sizeof expected, "s%.*s of %s", rank, axes,
             txd_shape_text(shape, sizeof shape, dims, rank + 1));
    return txd_replay_no_fit(info, expected);
}

/* A point, but none of the claimed model. */
txd_status txd_replay_no_value(const txd_replay *replay, const char *name)
{
    const txd_config *c = &replay->config;
    const char *reason = "";
    char layers[64];
    txd_point point;
    int layer;

    if (!txd_point_of_name(&point, &layer, name) &&
        !txd_point_of_gradient(&point, &layer, name))
        layer = -1;
    else if (!c->cross && txd_point_attention(point) == TXD_ATTENTION_CROSS)
        reason = "; set model.cross = true";
    if (layer >= 0 && (size_t)layer >= c->n_layers) {
        snprintf(layers, sizeof layers, "; it has n_layers = %zu", c->n_layers);
        reason = layers;
    }
    return txd_fail(TXD_ERR_FORMAT,
                    "%s: a pass of the recorded configuration has no such value%s",
                    name, reason);
}

/* ---- names ---- */

static bool is_ours(const txd_replay *replay, const char *name)
{
    static const char *const folders[] = {
        "input/",  "steps/",  "rows/",   "cross_rows/", "pooled/", "cross_pooled/",
        "series/", "events/", "checks/", "dims/",       "tile/"};

    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strncmp(name, folders[i], strlen(folders[i])) == 0)
            return true;
    return txd_replay_parse(replay, name) != TXD_REPLAY_NONE;
}

size_t txd_replay_strangers(const char **first, const txd_replay *replay)
{
    size_t count = txd_trace_count(replay->trace), strangers = 0;
    txd_trace_info info;

    *first = NULL;
    for (size_t i = 0; i < count; i++) {
        if (txd_trace_get(replay->trace, &info, i) != TXD_OK ||
            is_ours(replay, info.name))
            continue;
        if (strangers++ == 0)
            *first = info.name;
    }
    return strangers;
}

/* SPDX-License-Identifier: MIT
 *
 * Memory for whole (b, h, q, k) values, where a tap edits scores, masked scores or
 * weights: a plane for each value of the tiles. Forward alone needs them for one
 * attention at a time; a backward half needs what was edited in every layer until it
 * comes back there.
 */
#include "model/images.h"

static bool has(const txd_run *run, txd_attention_kind kind, int which)
{
    return txd_point_exists(run->model->config, txd_point_of_tile(kind, which));
}

size_t txd_run_plane(const txd_run *run, txd_attention_kind kind, int which)
{
    size_t before = 0;

    for (int w = 0; w < which; w++)
        before += has(run, kind, w);
    return before;
}

/* The planes of one attention, if somebody edits one of them in this step. */
static txd_status planes_bytes(size_t *out, const txd_run *run,
                               const txd_extent *extent, size_t i)
{
    txd_attention_kind kind = (txd_attention_kind)(i % 2);
    size_t planes = txd_run_plane(run, kind, TXD_TILE_POINTS);
    size_t keys =
        kind == TXD_ATTENTION_CROSS ? extent->memory : extent->past + extent->length;
    unsigned wants = 0;

    *out = 0;
    for (int w = 0; w < TXD_TILE_POINTS; w++)
        if (has(run, kind, w))
            wants |= txd_run_wants(run, txd_point_of_tile(kind, w), (int)(i / 2));
    if (!(wants & TXD_ASK_EDIT))
        return TXD_OK;
    TXD_TRY(
        txd_size_mul(out, extent->batch * run->model->config->n_heads, extent->length));
    TXD_TRY(txd_size_mul(out, *out, keys));
    return txd_size_mul(out, *out,
                        planes * txd_dtype_bytes(run->model->backend->dtype));
}

static txd_status check_limit(const txd_run *run, size_t bytes)
{
    size_t limit =
        run->options.form_limit > 0 ? run->options.form_limit : (size_t)1 << 30;

    if (bytes <= limit)
        return TXD_OK;
    return txd_fail(
        TXD_ERR_LIMIT,
        "editing attention forms whole (b, h, q, k) values: %zu bytes%s, "
        "more than the limit of %zu; use a shorter sequence%s",
        bytes, run->options.backward ? " in all edited layers" : "", limit,
        run->options.backward ? ", edit fewer layers, or ask for no gradient" : "");
}

txd_status txd_run_form_measure(size_t *out, const txd_run *run,
                                const txd_extent *extent)
{
    size_t total = 0, bytes;

    for (size_t i = 0; i < 2 * run->model->config->n_layers; i++) {
        TXD_TRY(planes_bytes(&bytes, run, extent, i));
        if (run->options.backward)
            TXD_TRY(txd_size_add(&total, total, bytes));
        else if (bytes > total)
            total = bytes;
    }
    TXD_TRY(check_limit(run, total));
    *out = total;
    return TXD_OK;
}

static txd_status reserve(txd_run *run, size_t bytes)
{
    if (bytes <= run->formed_bytes)
        return TXD_OK;
    if (run->formed != NULL)
        run->model->backend->free(run->formed);
    run->formed = run->model->backend->alloc(bytes);
    run->formed_bytes = run->formed == NULL ? 0 : bytes;
    return run->formed == NULL ? TXD_ERR_MEMORY : txd_images_reserve(run);
}

txd_status txd_run_form(txd_run *run)
{
    const txd_extent extent = txd_run_extent(run);
    size_t total, bytes, offset = 0;

    TXD_TRY(txd_run_form_measure(&total, run, &extent));
    TXD_TRY(reserve(run, total));
    for (size_t i = 0; i < 2 * run->model->config->n_layers; i++) {
        TXD_TRY(planes_bytes(&bytes, run, &extent, i));
        run->planes[i] = bytes > 0 ? (char *)run->formed + offset : NULL;
        if (run->options.backward)
            offset += bytes;
    }
    return TXD_OK;
}

/* SPDX-License-Identifier: MIT
 *
 * txdiag mask: who may see whom, by the configuration alone.
 */
#include <stdio.h>
#include <string.h>

#include "cli/mask_text.h"
#include "cli/output.h"
#include "cli/session.h"
#include "viz/mask.h"

/* The masks of one step. */
static txd_status find(txd_masks *out, const txd_session *session)
{
    txd_mask_request request = {.layer = -1, .batch = -1};
    const txd_options *options = session->options;
    txd_inputs inputs, encoder;
    int step = 0;

    TXD_TRY(txd_options_int(&request.layer, options, "layer"));
    TXD_TRY(txd_options_int(&request.batch, options, "batch"));
    TXD_TRY(txd_options_int(&step, options, "step"));
    TXD_TRY(txd_options_range(&request.query, options, "query"));
    TXD_TRY(txd_options_range(&request.key, options, "key"));
    if ((size_t)step >= session->steps)
        return txd_fail(TXD_ERR_CONFIG, "--step %d: there are %zu, from 0 to %zu", step,
                        session->steps, session->steps - 1);
    TXD_TRY(
        txd_input_source_step(&inputs, session->source, session->arena, (size_t)step));
    if (session->claimed.encoder)
        TXD_TRY(txd_input_source_encoder(&encoder, session->source, session->arena,
                                         (size_t)step));
    return txd_masks_find(out, session->arena, &session->claimed, &inputs,
                          session->claimed.encoder ? &encoder : NULL, &request);
}

static txd_status draw(txd_masks *masks, const txd_session *session, const char *path)
{
    const char *slash = strrchr(session->path, '/');
    char title[300];

    snprintf(title, sizeof title, "Mask of %.250s", slash ? slash + 1 : session->path);
    TXD_TRY(txd_masks_plot(masks, title, path));
    txd_output_say(session->options, "drew %s", path);
    return TXD_OK;
}

static txd_status show(txd_text *out, const txd_session *session)
{
    const char *path = txd_options_value(session->options, "output");
    txd_terminal terminal = txd_terminal_of_stdout();
    txd_masks masks;

    if (session->fault_count != 0)
        txd_output_say(session->options,
                       "the mask as the configuration claims it, without the faults");
    if (path) {
        TXD_TRY(txd_session_spares(session, path));
        TXD_TRY(txd_output_check(path, TXD_OUTPUT_PICTURE, session->options->force));
    }
    TXD_TRY(find(&masks, session));
    return path ? draw(&masks, session, path)
                : txd_masks_print(out, session->arena, &masks, &terminal);
}

static int mask(const txd_options *options)
{
    txd_session session;
    txd_status status;
    txd_text out;

    txd_text_init(&out);
    status = txd_session_open(&session, options, options->operands[0]);
    if (status == TXD_OK)
        status = show(&out, &session);
    txd_session_close(&session);
    if (status == TXD_OK)
        return txd_output_result(&out, TXD_EXIT_HELD);
    txd_text_finish(&out);
    return txd_output_complain();
}

static const txd_option options[] = {
    {"output", 'o', "FILE", "a picture; its ending says the format: .png, .svg, .pdf"},
    {"layer", 0, "N", "only this layer; default: all, those that are alike once"},
    {"batch", 0, "N", "only this batch row; default: all, those that are alike once"},
    {"step", 0, "N", "the step; default: 0"},
    {"query", 0, "RANGE", "only these queries: \"5\", \"0:10\" (10 excluded), \"3:\""},
    {"key", 0, "RANGE", "only these keys"},
    {"set", 0, "PATH=VALUE", "overrides one setting of the cfg; may be repeated"},
    {NULL, 0, NULL, NULL},
};

const txd_command txd_command_mask = {
    .name = "mask",
    .sentence = "draw who may attend to whom, without weights",
    .usage = "MODEL.cfg [--layer N] [--batch N] [--step N] [--query RANGE]\n"
             "                   [--key RANGE] [--set PATH=VALUE]... "
             "[-o FILE.png|svg|pdf]",
    .help =
        "Draws which keys each query may see, by the configuration and the tokens\n"
        "alone: causal mask, window, padding, documents, sinks, the memory of\n"
        "cross-attention. No weights are read and nothing is computed. In the "
        "terminal\n"
        "each character is a pair of query and key, or, in longer sequences, several;\n"
        "with -o a picture is drawn. Layers and batch rows with the same mask are "
        "drawn\n"
        "once. Planted faults are not drawn: it is the mask that is claimed.\n"
        "\n"
        "  txdiag mask examples/mini.cfg\n"
        "  txdiag mask examples/mini.cfg --set mask.window=4 --batch 0\n"
        "  txdiag mask examples/cross.cfg -o mask.png",
    .exits =
        "  0  drawn\n"
        "  2  not drawn (bad configuration, no such layer, gnuplot missing, ...)\n",
    .options = options,
    .least = 1,
    .most = 1,
    .run = mask,
};

/* SPDX-License-Identifier: MIT
 *
 * txdiag plot: a picture of one site of a recording.
 */
#include <stdio.h>
#include <string.h>

#include "cli/guard.h"
#include "cli/output.h"
#include "viz/viz.h"

static txd_status read_request(txd_figure_request *request, const txd_options *options,
                               txd_arena *arena)
{
    static const char *const scales[] = {"auto", "linear", "log"};
    static const char *const pools[] = {"max", "mean"};
    const char *site = options->operand_count > 1 ? options->operands[1] : "";
    int scale = TXD_SCALE_AUTO, pool = TXD_POOL_MAX, point;

    *request = (txd_figure_request){.layer = -1, .head = -1, .step = -1, .batch = -1};
    request->site = site;
    for (point = 0; point < TXD_POINT_COUNT; point++)
        if (txd_point_per_layer((txd_point)point) &&
            strcmp(txd_point_get((txd_point)point)->name, site) == 0) {
            char *full = txd_arena_alloc(arena, strlen(site) + 10, 1);

            if (!full)
                return TXD_ERR_MEMORY;
            strcat(strcpy(full, "layers.*."), site);
            request->site = full;
        }
    TXD_TRY(txd_options_int(&request->layer, options, "layer"));
    TXD_TRY(txd_options_int(&request->head, options, "head"));
    TXD_TRY(txd_options_int(&request->step, options, "step"));
    TXD_TRY(txd_options_int(&request->batch, options, "batch"));
    TXD_TRY(txd_options_range(&request->query, options, "query"));
    TXD_TRY(txd_options_range(&request->key, options, "key"));
    TXD_TRY(txd_options_choice(&scale, options, "scale", scales, 3));
    TXD_TRY(txd_options_choice(&pool, options, "pool", pools, 2));
    request->scale = (txd_scale)scale;
    request->pool = (txd_pool)pool;
    request->path = txd_options_value(options, "output");
    request->keep = txd_options_value(options, "gp");
    if (!request->path && !request->keep)
        return txd_fail(TXD_ERR_ARGUMENT,
                        "plot needs -o FILE.png, FILE.svg or FILE.pdf: where to draw "
                        "(or --gp DIR, for a script that draws)");
    return TXD_OK;
}

/* Opens a recording, or what is left of one that was not completed. */
static txd_status open_recording(txd_trace **out, const txd_options *options,
                                 const char *path)
{
    bool partial = false;
    txd_status status = txd_guard_open(out, path, &partial);

    if (partial)
        txd_output_say(options, "%s is not there; reading %s.part", path, path);
    return status;
}

static txd_status draw_recordings(const txd_options *options,
                                  txd_figure_request *request)
{
    const char *other_path = txd_options_value(options, "other");
    txd_trace *recording = NULL, *other = NULL;
    txd_status status = open_recording(&recording, options, options->operands[0]);

    if (status == TXD_OK && other_path)
        status = open_recording(&other, options, other_path);
    request->other = other;
    if (status == TXD_OK)
        status = txd_plot(recording, request);
    txd_trace_destroy(other);
    txd_trace_destroy(recording);
    txd_guard_end();
    return status;
}

static txd_status plot_recording(const txd_options *options, txd_arena *arena)
{
    const char *path = options->operands[0];
    txd_figure_request request;
    const char *other = txd_options_value(options, "other");
    txd_status status;

    TXD_TRY(read_request(&request, options, arena));
    if (request.path) {
        TXD_TRY(txd_output_differs(request.path, path));
        if (other)
            TXD_TRY(txd_output_differs(request.path, other));
        TXD_TRY(txd_output_check(request.path, TXD_OUTPUT_PICTURE, options->force));
    }
    if (request.keep)
        TXD_TRY(txd_output_kept(request.keep, options->force));
    status = draw_recordings(options, &request);
    if (status == TXD_OK && request.path)
        txd_output_say(options, "drew %s", request.path);
    if (status == TXD_OK && request.keep)
        txd_output_say(options, "kept %s/picture.gp and its data", request.keep);
    return status;
}

static int plot(const txd_options *options)
{
    txd_arena *arena = NULL;
    txd_status status = txd_arena_create(&arena);

    if (status == TXD_OK)
        status = plot_recording(options, arena);
    txd_arena_destroy(arena);
    return status == TXD_OK ? TXD_EXIT_HELD : txd_output_complain();
}

static const txd_option options[] = {
    {"output", 'o', "FILE",
     "the picture; its ending says the format: .png, .svg, .pdf"},
    {"layer", 0, "N", "the layer, if SITE leaves it open (layers.*.attn.weights)"},
    {"head", 0, "N", "one head; without it all layers and heads at a glance"},
    {"step", 0, "N", "the step; default: the first, or all in a chart of steps"},
    {"batch", 0, "N", "the batch row; default: 0"},
    {"query", 0, "RANGE", "only these queries: \"5\", \"0:10\" (10 excluded), \"3:\""},
    {"key", 0, "RANGE", "only these keys"},
    {"scale", 0, "SCALE", "auto (default: log where linear is dark), linear or log"},
    {"pool", 0, "POOL", "of long sequences a cell shows: max (default) or mean"},
    {"other", 0, "REC.h5", "a recording of the same tokens: both, and the difference"},
    {"gp", 0, "DIR", "keep gnuplot's script and its data as text, to restyle them"},
    {NULL, 0, NULL, NULL},
};

const txd_command txd_command_plot = {
    .name = "plot",
    .sentence = "draw one site of a recording",
    .usage =
        "REC.h5 SITE [--layer N] [--head N] [--step N] [--batch N]\n"
        "                   [--query RANGE] [--key RANGE] [--pool max|mean]\n"
        "                   [--scale auto|linear|log] [--other REC.h5] [--gp DIR]\n"
        "                   -o FILE.png|svg|pdf",
    .help =
        "Draws the values at a site: one head as a matrix of queries (rows, the first\n"
        "on top) and keys, or all layers and heads side by side. The half that the\n"
        "mask hides is blank; what is there nevertheless shows. Keys of cross.* are\n"
        "rows of the memory. Norms of gradients are drawn by layer, steps/loss is the\n"
        "loss (and the gradient's norm) over steps, series/norms the norms of\n"
        "embeddings and of the residual stream. In place of SITE stands also the\n"
        "name of a figure of the whole recording (`txdiag list figures`): entropy,\n"
        "leaks, profiles, distance, similarity, activations, norm_output, gradients,\n"
        "gradient_map, nonfinite, norms, steps; an option that one does not heed is\n"
        "refused. Characters of labels that fonts may lack are written as their\n"
        "codes, <U+65E5>, but for SVG.\n"
        "\n"
        "--other sets a second recording of the same model and tokens beside the "
        "first:\n"
        "what a fault, a format or an edit changed. Without a head it shows which "
        "layers\n"
        "and heads differ most.\n"
        "\n"
        "Of long sequences a cell shows the largest of many weights (with --pool\n"
        "mean their mean), and arrows point at the weight that stands out most. The\n"
        "scale is logarithmic where a linear one would be all dark; the picture says\n"
        "which. --query and --key zoom in, to every weight where these were recorded,\n"
        "in full or as a block by the probe tile.\n"
        "\n"
        "--gp keeps what gnuplot was given, commented, and its data as text: restyle\n"
        "it, and draw again with `cd DIR && gnuplot picture.gp`.\n"
        "\n"
        "  txdiag plot mini.h5 layers.0.attn.weights --head 1 -o head.png\n"
        "  txdiag plot mini.h5 'layers.*.attn.weights' -o overview.png\n"
        "  txdiag plot mini.h5 attn.weights --layer 0 --head 1 --query 8: -o zoom.png\n"
        "  txdiag plot mini.h5 'layers.*@grad' -o gradients.png\n"
        "  txdiag plot mini.h5 entropy -o entropy.png\n"
        "  txdiag plot mini.h5 attn.weights --layer 1 --head 0 --scale log -o head.svg",
    .exits = "  0  drawn\n"
             "  2  not drawn (no such site, gnuplot or its fonts missing, ...); an\n"
             "     earlier FILE is untouched\n",
    .options = options,
    .least = 1,
    .most = 2,
    .run = plot,
};

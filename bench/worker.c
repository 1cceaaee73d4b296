/* SPDX-License-Identifier: MIT
 *
 * One measured thing in a process of its own: a model.cfg is bound once, then every
 * line on the standard input makes one pass and prints its seconds and the most memory
 * that the process ever held, in kB. bench/run.py starts two of them, this one and its
 * peer, and takes turns.
 *
 *   worker [--taps none|record|checks|all] [--backward] [--attention] [-o REC.h5] CFG
 *
 * --attention prints the seconds between the values and the heads of layer 0 instead:
 * what scores, mask, softmax, all that looks at them, and the product with the values
 * take.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/output.h"
#include "cli/passes.h"
#include "cli/record.h"

typedef struct worker {
    const txd_options *options;
    txd_session session;
    txd_recorder *recorder;
    txd_passes passes;
    txd_tap stopwatch;
    txd_tap **taps; /* of the passes, and the stopwatch */
    double begun, attended;
    const char *path;
} worker;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static long peak_kilobytes(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    long peak = 0;
    char line[256];

    while (status && peak == 0 && fgets(line, sizeof line, status))
        (void)sscanf(line, "VmHWM: %ld kB", &peak);
    if (status)
        fclose(status);
    return peak;
}

/* ---- the stopwatch: a tap at both ends of the attention of layer 0 ---- */

static bool is_end(const txd_site *site)
{
    return site->kind == TXD_SITE_VALUE && site->layer == 0 &&
           (site->point == TXD_POINT_ATTN_V || site->point == TXD_POINT_ATTN_HEADS);
}

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    return is_end(site) ? TXD_ASK_VALUE : 0;
}

static txd_status stop(void *self, const txd_block *block, const void *slot)
{
    worker *w = self;

    (void)slot;
    if (block->site->point == TXD_POINT_ATTN_V)
        w->begun = now();
    else
        w->attended = now() - w->begun;
    return TXD_OK;
}

static txd_status add_stopwatch(worker *w)
{
    size_t count = w->passes.run.tap_count;

    w->stopwatch = (txd_tap){.name = "stopwatch", .self = w, .ask = ask, .merge = stop};
    w->taps = malloc((count + 1) * sizeof *w->taps);
    if (!w->taps)
        return txd_fail(TXD_ERR_MEMORY, "no memory for the taps");
    if (count > 0)
        memcpy(w->taps, w->passes.run.taps, count * sizeof *w->taps);
    w->taps[count] = &w->stopwatch;
    w->passes.run.taps = w->taps;
    w->passes.run.tap_count = count + 1;
    return TXD_OK;
}

/* ---- what is measured ---- */

static bool wants(const worker *w, const char *taps)
{
    const char *given = txd_options_value(w->options, "taps");

    return strcmp(given ? given : "all", taps) == 0 || !given ||
           strcmp(given, "all") == 0;
}

static txd_status prepare(worker *w)
{
    txd_check_select select = {.skip = wants(w, "checks") ? NULL : "*"};

    TXD_TRY(txd_session_open(&w->session, w->options, w->options->operands[0]));
    TXD_TRY(txd_session_bind(&w->session));
    TXD_TRY(txd_session_record(&w->session));
    w->path = txd_options_value(w->options, "output");
    if (w->path && wants(w, "record"))
        TXD_TRY(txd_session_recorder(&w->recorder, &w->session, w->options, w->path));
    w->session.backward |= txd_options_has(w->options, "backward");
    TXD_TRY(txd_passes_init(&w->passes, &w->session, w->options, w->recorder, &select));
    if (txd_options_has(w->options, "attention"))
        TXD_TRY(add_stopwatch(w));
    return txd_passes_open(&w->passes, w->options);
}

static txd_status measure(worker *w)
{
    char line[64];
    size_t step = 0;

    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) && step < w->session.steps) {
        double begin = now();

        TXD_TRY(txd_passes_step(&w->passes, step++));
        printf("%.9f %ld\n", w->taps ? w->attended : now() - begin, peak_kilobytes());
        fflush(stdout);
    }
    return TXD_OK;
}

static int run_worker(const txd_options *options)
{
    worker w = {.options = options};
    txd_status status = prepare(&w);

    if (status == TXD_OK)
        status = measure(&w);
    txd_passes_finish(&w.passes);
    txd_recorder_discard(w.recorder);
    txd_session_close(&w.session);
    free(w.taps);
    return status == TXD_OK ? TXD_EXIT_HELD : txd_output_complain();
}

static const txd_option options[] = {
    {"taps", 0, "WHICH", "none, record, checks, or all (default)"},
    {"backward", 0, NULL, "passes have a backward half, whatever is recorded"},
    {"attention", 0, NULL, "measure the attention of layer 0 alone"},
    {"output", 'o', "REC.h5", "where `record` writes"},
    {"set", 0, "PATH=VALUE", "overrides one setting of the cfg; may be repeated"},
    {NULL, 0, NULL, NULL},
};

static const txd_command command = {
    .name = "worker",
    .sentence = "one measured thing",
    .usage = "[--taps WHICH] [--backward] [--attention] [-o REC.h5] CFG",
    .help = "See bench/worker.c.",
    .exits = "",
    .options = options,
    .least = 1,
    .most = 1,
    .run = run_worker,
};

int main(int argc, char **argv)
{
    char **words = calloc((size_t)argc + 2, sizeof *words);
    txd_options given = {0};
    int status = TXD_EXIT_NO_ANSWER;

    if (!words)
        return status;
    words[0] = argv[0];
    words[1] = (char *)"worker"; /* where the subcommand stands */
    memcpy(words + 2, argv + 1, (size_t)(argc - 1) * sizeof *words);
    if (txd_options_parse(&given, &command, argc + 1, words) == TXD_OK)
        status = run_worker(&given);
    else
        status = txd_output_complain();
    txd_options_finish(&given);
    free(words);
    return status;
}

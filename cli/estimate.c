/* SPDX-License-Identifier: MIT
 *
 * Memory is predicted from where it goes: what the process holds already (libraries
 * and the bound model, as the system counts it), what the pass will allocate, and what
 * writing the recording takes.
 */
#include "cli/estimate.h"

#include <stdio.h>
#include <sys/resource.h>

#include "cli/encode.h"
#include "cli/output.h"
#include "cli/passes.h"

/* Measured with OpenBLAS 0.3.21: packing buffers, touched at the first product. */
#define BLAS_BYTES 2000000u

/* The high-water mark of this program. (getrusage would tell that of the program that
 * started it, if that was larger.) */
static size_t peak_now(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    struct rusage usage;
    unsigned long long peak = 0;
    char line[256];

    while (status != NULL && peak == 0 && fgets(line, sizeof line, status) != NULL)
        (void)sscanf(line, "VmHWM: %llu kB", &peak);
    if (status != NULL)
        fclose(status);
    if (peak > 0)
        return (size_t)peak * 1024;
    getrusage(RUSAGE_SELF, &usage);
    return (size_t)usage.ru_maxrss * 1024;
}

/* What the pass allocates, with the laws watching. */
static txd_status pass_bytes(size_t *out, txd_session *session,
                             const txd_options *options)
{
    const txd_extent extent = {session->batch, session->length, session->memory, 0};
    size_t encoder = 0;
    txd_passes passes;
    txd_status status =
        txd_passes_init(&passes, session, options, NULL, &(txd_check_select){0});

    if (status == TXD_OK)
        status = txd_run_bytes(out, session->model, &passes.run, &extent);
    if (status == TXD_OK)
        status = txd_session_encoder_bytes(&encoder, session, options);
    if (status == TXD_OK)
        *out += encoder;
    txd_passes_finish(&passes);
    return status;
}

int txd_estimate_print(txd_session *session, const txd_options *options)
{
    txd_probe_context context = txd_session_context(session);
    txd_recorder_cost cost = {0};
    size_t pass = 0, memory;
    char text[2][32];
    txd_text out;
    txd_status status;

    txd_text_init(&out);
    status =
        txd_recorder_plan(&out, &cost, &context, session->uses, session->use_count);
    if (status == TXD_OK)
        status = pass_bytes(&pass, session, options);
    if (status != TXD_OK) {
        txd_text_finish(&out);
        return txd_output_complain();
    }
    memory = peak_now() + pass + cost.memory + BLAS_BYTES;
    txd_text_addf(&out, "on disk      %zu bytes (%s)%s\n", cost.disk,
                  txd_output_bytes(text[0], sizeof text[0], (double)cost.disk),
                  context.how.deflate ? " before compression" : "");
    if (cost.wrong > 0)
        txd_text_addf(&out, "if wrong     up to %zu bytes (%s) more\n", cost.wrong,
                      txd_output_bytes(text[0], sizeof text[0], (double)cost.wrong));
    txd_text_addf(&out, "peak memory  %zu bytes (%s)\n", memory,
                  txd_output_bytes(text[1], sizeof text[1], (double)memory));
    return txd_output_result(&out, TXD_EXIT_HELD);
}

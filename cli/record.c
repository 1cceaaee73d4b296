/* SPDX-License-Identifier: MIT
 *
 * What a recording says of the run that made it.
 */
#include "cli/record.h"

#include <string.h>

#include "cli/output.h"

/* A message per thinned point. */
static void say_budget(const txd_session *session, const txd_options *options)
{
    for (const char *rest = session->budget; *rest;) {
        size_t length = strcspn(rest, ";");

        txd_output_say(options, "recording.max_bytes: %.*s", (int)length, rest);
        rest += length;
        rest += strspn(rest, "; ");
    }
}

txd_status txd_session_fit(txd_session *session, const txd_options *options)
{
    const txd_probe_context context = txd_session_context(session);
    txd_text said;
    txd_status status;

    txd_text_init(&said);
    status = txd_record_fit(&session->uses, &session->use_count, session->arena,
                            &context, &said);
    if (status == TXD_OK) {
        session->budget = txd_arena_string(session->arena, txd_text_get(&said));
        status = session->budget ? TXD_OK : TXD_ERR_MEMORY;
    }
    txd_text_finish(&said);
    if (status == TXD_OK)
        say_budget(session, options);
    return status;
}

static txd_status say_weights(txd_recorder *recorder, const txd_session *session)
{
    txd_recording *recording = txd_recorder_recording(recorder);
    const char *from = session->from;

    if (from)
        TXD_TRY(txd_recording_meta(recording, "model", from));
    return txd_recording_meta(recording, "weights", from ? "loaded" : "drawn");
}

static txd_status create(txd_recorder **out, const txd_session *session,
                         const txd_options *options, const char *path,
                         const txd_recorder_info *texts)
{
    txd_probe_context context = txd_session_context(session);
    txd_recorder_info info = *texts;

    info.backend = txd_backend_name(session->backend);
    info.simd = txd_backend_simd(session->backend);
    info.blas = txd_backend_blas(session->backend);
    info.seed = (int64_t)session->seed;
    info.budget = session->budget;
    TXD_TRY(txd_recorder_create(out, path, options->force, &context, &info,
                                session->uses, session->use_count));
    return say_weights(*out, session);
}

txd_status txd_session_recorder(txd_recorder **out, const txd_session *session,
                                const txd_options *options, const char *path)
{
    txd_text command, config, faults;
    txd_status status;

    *out = NULL;
    txd_text_init(&command);
    txd_text_init(&config);
    txd_text_init(&faults);
    txd_options_line(&command, options);
    txd_session_print(&config, session);
    txd_session_print_faults(&faults, session);
    status = txd_text_status(&command);
    if (status == TXD_OK)
        status = txd_text_status(&config);
    if (status == TXD_OK)
        status = txd_text_status(&faults);
    if (status == TXD_OK) {
        txd_recorder_info texts = {.command = txd_text_get(&command),
                                   .config = txd_text_get(&config),
                                   .faults = txd_text_get(&faults)};

        status = create(out, session, options, path, &texts);
    }
    txd_text_finish(&command);
    txd_text_finish(&config);
    txd_text_finish(&faults);
    return status;
}

/* SPDX-License-Identifier: MIT
 *
 * The files that a configuration reads: none of them may be its output, not even with
 * --force, which is meant for files that nobody needs any more.
 */

#include "cli/output.h"
#include "cli/session.h"

/* The cfg, and what it includes. Long lists come from one file, which is asked once. */
static txd_status differs_from_cfgs(const char *output, const txd_setting *setting,
                                    const char **last)
{
    if (setting->file && setting->file != *last) {
        *last = setting->file;
        TXD_TRY(txd_output_differs(output, setting->file));
    }
    for (const txd_setting *child = setting->child; child; child = child->next)
        TXD_TRY(differs_from_cfgs(output, child, last));
    return TXD_OK;
}

static txd_status differs_from_checkpoint(const char *output,
                                          const txd_session *session)
{
    static const char *const files[] = {"", "/config.json", "/model.safetensors"};
    txd_text path;
    txd_status status = TXD_OK;

    for (size_t i = 0; i < sizeof files / sizeof *files && status == TXD_OK; i++) {
        txd_text_init(&path);
        txd_text_addf(&path, "%s%s", session->from, files[i]);
        status = txd_text_status(&path);
        if (status == TXD_OK)
            status = txd_output_differs(output, txd_text_get(&path));
        txd_text_finish(&path);
    }
    return status;
}

/* A file that the configuration names at this path, if it does. */
static txd_status differs_from_named(const char *output, const txd_session *session,
                                     const char *setting)
{
    const txd_setting *file = txd_setting_find(session->root, setting);
    const char *path;

    if (!file)
        return TXD_OK;
    path = txd_output_beside(session->arena, file->file, file->string);
    return path ? txd_output_differs(output, path) : TXD_ERR_MEMORY;
}

txd_status txd_session_spares(const txd_session *session, const char *output)
{
    const char *last = NULL;

    TXD_TRY(txd_output_differs(output, session->path));
    TXD_TRY(differs_from_cfgs(output, session->root, &last));
    if (session->from)
        TXD_TRY(differs_from_checkpoint(output, session));
    TXD_TRY(differs_from_named(output, session, "input.file"));
    TXD_TRY(differs_from_named(output, session, "input.tokenizer"));
    return differs_from_named(output, session, "input.memory.file");
}

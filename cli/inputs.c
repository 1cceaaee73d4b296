/* SPDX-License-Identifier: MIT
 *
 * The files that a configuration reads: none of them may be its output, not even with
 * --force, which is meant for files that nobody needs any more. And those that it only
 * seems to read.
 */
#include <string.h>
#include <sys/stat.h>

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

static txd_status differs_beside(const char *output, const txd_session *session,
                                 const char *name)
{
    const char *model = txd_checkpoint_path(session->checkpoint);
    const char *path = txd_output_beside(session->arena, model, name);

    return path ? txd_output_differs(output, path) : TXD_ERR_MEMORY;
}

/* The weights, and what is read with them. */
static txd_status differs_from_checkpoint(const char *output,
                                          const txd_session *session)
{
    static const char *const files[] = {"config.json", "tokenizer.json",
                                        "tokenizer_config.json", "vocab.json",
                                        "merges.txt"};
    const char *const *parts = NULL;
    size_t count = 0;

    TXD_TRY(txd_output_differs(output, txd_checkpoint_path(session->checkpoint)));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        TXD_TRY(differs_beside(output, session, files[i]));
    if (txd_trace_strings(txd_checkpoint_tensors(session->checkpoint), &parts, &count,
                          "files") != TXD_OK)
        return TXD_OK; /* not in several files */
    for (size_t i = 0; i < count; i++)
        TXD_TRY(differs_beside(output, session, parts[i]));
    return TXD_OK;
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
    if (session->checkpoint)
        TXD_TRY(differs_from_checkpoint(output, session));
    TXD_TRY(differs_from_named(output, session, "input.file"));
    TXD_TRY(differs_from_named(output, session, "input.tokenizer"));
    return differs_from_named(output, session, "input.memory.file");
}

/* "@FILE" is how arguments name files; in a cfg it is a text like any other. */
static void say_literal(const txd_session *session, const txd_setting *text,
                        const char *group)
{
    const char *path;
    struct stat about;
    char place[512];

    if (text->kind != TXD_SETTING_STRING || text->string[0] != '@')
        return;
    path = txd_output_beside(session->arena, text->file, text->string + 1);
    if (!path || stat(path, &about) != 0 || !S_ISREG(about.st_mode))
        return;
    txd_output_say(session->options,
                   "%s: \"%s\" is the text itself, not what the file holds; %s.file = "
                   "\"%s\" reads it",
                   txd_setting_place(place, sizeof place, text), text->string, group,
                   text->string + 1);
}

void txd_session_say_texts(const txd_session *session)
{
    static const char *const groups[] = {"input", "input.memory"};

    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        const txd_setting *group = txd_setting_find(session->root, groups[i]);
        const txd_setting *text = group ? txd_setting_find(group, "text") : NULL;

        if (!text)
            continue;
        say_literal(session, text, groups[i]);
        for (text = text->child; text; text = text->next)
            say_literal(session, text, groups[i]);
    }
}

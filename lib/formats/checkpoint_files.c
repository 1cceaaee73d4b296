/* SPDX-License-Identifier: MIT
 *
 * What a path leads to: one of the files that hold a model, or a folder of them. The
 * result is always the same: the tensors, and the settings that say what they are for.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/checkpoint_internal.h"
#include "formats/gguf.h"
#include "formats/json_read.h"
#include "formats/kind.h"
#include "formats/llama2c.h"
#include "formats/npz.h"
#include "formats/safetensors.h"
#include "formats/sharded.h"

#define CONFIG "config.json"
#define TENSORS "model.safetensors"
#define INDEX ".index.json"

static char *join(txd_arena *arena, const char *folder, size_t length, const char *name)
{
    char *path = txd_arena_alloc(arena, length + strlen(name) + 2, 1);

    if (!path)
        return NULL;
    memcpy(path, folder, length);
    if (length != 0 && folder[length - 1] != '/')
        path[length++] = '/';
    strcpy(path + length, name);
    return path;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static bool exists(const char *path)
{
    struct stat file;

    return stat(path, &file) == 0;
}

/* ---- one file ---- */

static txd_status check_whole(const txd_checkpoint *checkpoint, const txd_gguf *gguf)
{
    const txd_gguf_value *split = txd_gguf_find(gguf, "split.count");

    if (split && split->type != TXD_GGUF_STRING && txd_gguf_integer(split, 0) > 1)
        return txd_fail(TXD_ERR_UNSUPPORTED,
                        "%s: a model split into %lld GGUF files; join them first "
                        "(llama-gguf-split --merge)",
                        checkpoint->path, (long long)txd_gguf_integer(split, 0));
    if (txd_trace_count(checkpoint->trace) == 0)
        return txd_fail(TXD_ERR_UNSUPPORTED,
                        "%s: this GGUF file holds a vocabulary and no weights; it can "
                        "tokenize text, but a model needs its weights",
                        checkpoint->path);
    return TXD_OK;
}

txd_status txd_checkpoint_take_gguf(txd_setting **root, txd_checkpoint *checkpoint,
                                    const txd_gguf *gguf)
{
    TXD_TRY(check_whole(checkpoint, gguf));
    return txd_gguf_settings(root, checkpoint->arena, gguf);
}

static txd_status open_gguf(txd_setting **root, txd_checkpoint *checkpoint)
{
    const txd_gguf *gguf = NULL;

    TXD_TRY(txd_gguf_open(&checkpoint->trace, &gguf, checkpoint->path));
    return txd_checkpoint_take_gguf(root, checkpoint, gguf);
}

/* The config.json beside a file; an .npz may go without. */
static txd_status load_beside(txd_setting **root, txd_checkpoint *checkpoint,
                              bool needed)
{
    const char *path = checkpoint->path, *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    char *config = join(checkpoint->arena, path, folder, CONFIG);

    if (!config)
        return TXD_ERR_MEMORY;
    if (!needed && !exists(config))
        return TXD_OK;
    return txd_json_load(root, checkpoint->arena, config);
}

static txd_status fail_kind(const char *path, txd_file_kind kind)
{
    if (kind == TXD_FILE_TORCH)
        return txd_fail(TXD_ERR_UNSUPPORTED,
                        "%s: what torch.save writes is not read; save the model with "
                        "save_pretrained(folder, safe_serialization=True)",
                        path);
    return txd_fail(
        TXD_ERR_UNSUPPORTED,
        "%s: found %s; a model is read from a folder with " CONFIG " and " TENSORS
        " (or " TENSORS INDEX
        "), or from a .gguf file, a .safetensors or .npz file beside its " CONFIG
        ", or a .bin file of llama2.c",
        path, txd_file_kind_name(kind));
}

/* "model-00002-of-00005.safetensors": tensors would be missing. */
static txd_status check_part(txd_checkpoint *checkpoint)
{
    const char *path = checkpoint->path, *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    char *index = join(checkpoint->arena, path, folder, TENSORS INDEX);

    if (!index || !strstr(path + folder, "-of-") || !exists(index))
        return TXD_OK;
    return txd_fail(TXD_ERR_UNSUPPORTED,
                    "%s: one of several files of a model; name their folder, or %s",
                    path, index);
}

static txd_status open_file(txd_setting **root, bool *is_gguf,
                            txd_checkpoint *checkpoint)
{
    const char *path = checkpoint->path;
    txd_file_kind kind = txd_file_kind_at(path);

    *is_gguf = false;
    if (ends_with(path, INDEX)) {
        TXD_TRY(load_beside(root, checkpoint, true));
        return txd_sharded_open(&checkpoint->trace, path);
    }
    if (kind == TXD_FILE_SAFETENSORS || ends_with(path, ".safetensors")) {
        TXD_TRY(check_part(checkpoint));
        TXD_TRY(load_beside(root, checkpoint, true));
        return txd_safetensors_open(&checkpoint->trace, path);
    }
    if (kind == TXD_FILE_NPZ || ends_with(path, ".npz")) {
        TXD_TRY(load_beside(root, checkpoint, false));
        return txd_npz_open(&checkpoint->trace, path);
    }
    if (kind == TXD_FILE_GGUF || ends_with(path, ".gguf")) {
        *is_gguf = true;
        return open_gguf(root, checkpoint);
    }
    if (kind == TXD_FILE_LLAMA2C ||
        (kind == TXD_FILE_OTHER && ends_with(path, ".bin"))) {
        *is_gguf = true;
        return txd_llama2c_open(&checkpoint->trace, root, checkpoint->arena, path);
    }
    return fail_kind(path, kind);
}

/* ---- a folder ---- */

/* How many files of a folder end so; the name of one of them. */
static size_t count_files(const char **name, txd_arena *arena, const char *folder,
                          const char *end)
{
    DIR *entries = opendir(folder);
    struct dirent *entry;
    size_t count = 0;

    while (entries && (entry = readdir(entries)))
        if (entry->d_name[0] != '.' && ends_with(entry->d_name, end) && count++ == 0)
            *name = txd_arena_string(arena, entry->d_name);
    if (entries)
        closedir(entries);
    return *name || count == 0 ? count : 0;
}

static txd_status fail_folder(const char *folder, bool stated, size_t ggufs)
{
    if (ggufs > 1)
        return txd_fail(TXD_ERR_UNSUPPORTED,
                        "%s: %zu .gguf files are in this folder; name one of them",
                        folder, ggufs);
    return txd_fail(TXD_ERR_IO,
                    "%s: no %s in this folder; of a model's folder " CONFIG
                    " and " TENSORS " (or " TENSORS INDEX
                    ") are read, or its only .gguf file: save it with "
                    "save_pretrained(folder, safe_serialization=True)",
                    folder, stated ? TENSORS : CONFIG);
}

/* The file of a folder that holds the weights: under its usual name, or the only one of
 * its kind. */
static txd_status choose_file(const char **out, txd_arena *arena, const char *folder)
{
    static const struct {
        const char *end;
        bool needs_config;
    } kinds[] = {{".safetensors", true}, {".gguf", false}, {".npz", true}};
    size_t length = strlen(folder), count, ggufs = 0;
    const char *config = join(arena, folder, length, CONFIG), *name;
    bool stated = config && exists(config);

    for (int i = 0; stated && i < 2; i++) {
        *out = join(arena, folder, length, i == 0 ? TENSORS : TENSORS INDEX);
        if (!*out || exists(*out))
            return *out ? TXD_OK : TXD_ERR_MEMORY;
    }
    for (size_t i = 0; i < TXD_COUNT_OF(kinds); i++) {
        name = NULL;
        count = count_files(&name, arena, folder, kinds[i].end);
        ggufs = i == 1 ? count : ggufs;
        if (count != 1 || (kinds[i].needs_config && !stated))
            continue;
        *out = join(arena, folder, length, name);
        return *out ? TXD_OK : TXD_ERR_MEMORY;
    }
    return fail_folder(folder, stated, ggufs);
}

/* What names no file by its ending may be meant as other programs take it. */
static bool may_be_hub_name(const char *path)
{
    static const char *const ends[] = {".gguf", ".safetensors", ".npz", ".bin",
                                       ".json", ".pt",          ".pth", "/"};

    for (size_t i = 0; i < TXD_COUNT_OF(ends); i++)
        if (ends_with(path, ends[i]))
            return false;
    return true;
}

static txd_status fail_absent(const char *path)
{
    return txd_fail(TXD_ERR_IO,
                    "%s: %s; expected a folder with " CONFIG " and " TENSORS
                    ", or a file that holds a model%s",
                    path, strerror(errno),
                    may_be_hub_name(path)
                        ? "; names of the Hugging Face Hub are not looked up: `hf "
                          "download OWNER/NAME --local-dir FOLDER` makes a folder, "
                          "which can be named"
                        : "");
}

txd_status txd_checkpoint_files(txd_setting **root, bool *is_gguf,
                                txd_checkpoint *checkpoint, const char *path)
{
    struct stat file;

    if (stat(path, &file) != 0)
        return fail_absent(path);
    if (S_ISDIR(file.st_mode))
        TXD_TRY(choose_file(&checkpoint->path, checkpoint->arena, path));
    else
        checkpoint->path = txd_arena_string(checkpoint->arena, path);
    if (!checkpoint->path)
        return TXD_ERR_MEMORY;
    return open_file(root, is_gguf, checkpoint);
}

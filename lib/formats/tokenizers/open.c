/* SPDX-License-Identifier: MIT
 *
 * Which file a tokenizer comes from: the one that is given, or what lies in a folder,
 * or beside a file of weights.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/file.h"
#include "formats/kind.h"
#include "formats/tokenizers/tokenizer_internal.h"

#define PATH_BYTES 4096

/* Vocabularies and their merges. */
static const char *const pairs[][2] = {{"vocab.json", "merges.txt"},
                                       {"encoder.json", "vocab.bpe"}};

/* "folder/name" for a name in the folder of a file. */
static bool beside(char out[PATH_BYTES], const char *file, const char *name)
{
    const char *slash = strrchr(file, '/');
    int folder = slash ? (int)(slash + 1 - file) : 0;
    int length = snprintf(out, PATH_BYTES, "%.*s%s", folder, file, name);

    return length > 0 && length < PATH_BYTES && access(out, F_OK) == 0;
}

/* tokenizer_config.json, if it is there, says which tokens begin and end a text. */
static txd_status read_names(txd_tokenizer *tokenizer, const char *path, bool frame)
{
    char config[PATH_BYTES];

    return beside(config, path, "tokenizer_config.json")
               ? txd_tokenizer_read_names(tokenizer, config, frame)
               : TXD_OK;
}

static txd_status open_pair(txd_tokenizer **out, const char *vocab, const char *merges)
{
    txd_mapped v, m;
    txd_status status;

    TXD_TRY(txd_file_map(&v, vocab));
    status = txd_file_map(&m, merges);
    if (status == TXD_OK) {
        const txd_merges_files files = {(const char *)v.bytes, (const char *)m.bytes,
                                        v.count, m.count, merges};

        status = txd_tokenizer_parse_merges(out, vocab, &files);
        txd_file_unmap(&m);
    }
    txd_file_unmap(&v);
    return status == TXD_OK ? read_names(*out, vocab, true) : status;
}

static txd_status open_json(txd_tokenizer **out, const char *path)
{
    txd_mapped mapped;
    txd_status status;

    TXD_TRY(txd_file_map(&mapped, path));
    status =
        txd_tokenizer_parse_json(out, path, (const char *)mapped.bytes, mapped.count);
    txd_file_unmap(&mapped);
    return status == TXD_OK ? read_names(*out, path, false) : status;
}

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);

    return length >= tail && strcmp(text + length - tail, ending) == 0;
}

/* The name of the only GGUF file in the folder of a file. */
static bool find_gguf(char out[PATH_BYTES], const char *file)
{
    const char *slash = strrchr(file, '/');
    char folder[PATH_BYTES], name[PATH_BYTES] = "";
    struct dirent *entry;
    size_t count = 0;
    DIR *entries;

    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash + 1 - file) : 2,
             slash ? file : "./");
    entries = opendir(folder);
    while (entries && (entry = readdir(entries)))
        if (entry->d_name[0] != '.' && ends_with(entry->d_name, ".gguf") &&
            count++ == 0)
            snprintf(name, sizeof name, "%s", entry->d_name);
    if (entries)
        closedir(entries);
    return count == 1 && beside(out, file, name);
}

static txd_status open_gguf(txd_tokenizer **out, const char *path)
{
    txd_mapped mapped;
    txd_status status;

    TXD_TRY(txd_file_map(&mapped, path));
    status = txd_tokenizer_parse_gguf(out, path, mapped.bytes, mapped.count);
    txd_file_unmap(&mapped);
    return status;
}

/* `path` is any file of the folder, there or not. */
static txd_status open_beside(txd_tokenizer **out, const char *path)
{
    char vocab[PATH_BYTES], merges[PATH_BYTES];
    const char *slash = strrchr(path, '/');

    if (beside(vocab, path, "tokenizer.json"))
        return open_json(out, vocab);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (beside(vocab, path, pairs[i][0]) && beside(merges, path, pairs[i][1]))
            return open_pair(out, vocab, merges);
    if (find_gguf(vocab, path))
        return open_gguf(out, vocab);
    if (beside(vocab, path, "tokenizer.model") || beside(vocab, path, "spiece.model"))
        return txd_fail(TXD_ERR_UNSUPPORTED,
                        "%s: SentencePiece's own format is not supported; expected a "
                        "tokenizer.json beside it. input.tokens takes ids instead",
                        vocab);
    return txd_fail(TXD_ERR_MISSING,
                    "%.*s: no tokenizer: expected tokenizer.json, or vocab.json and "
                    "merges.txt, or encoder.json and vocab.bpe, or one GGUF file",
                    slash ? (int)(slash - path) : 1, slash ? path : ".");
}

static txd_status open_bin(txd_tokenizer **out, const char *path)
{
    txd_mapped mapped;
    txd_status status;

    TXD_TRY(txd_file_map(&mapped, path));
    status = txd_tokenizer_parse_bin(out, path, mapped.bytes, mapped.count);
    txd_file_unmap(&mapped);
    return status;
}

static txd_status open_file(txd_tokenizer **out, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    txd_file_kind kind = txd_file_kind_at(path);

    if (kind == TXD_FILE_SAFETENSORS || kind == TXD_FILE_NPZ ||
        ends_with(name, ".safetensors") || ends_with(name, ".safetensors.index.json") ||
        strcmp(name, "config.json") == 0)
        return open_beside(out, path);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(name, pairs[i][0]) == 0 || strcmp(name, pairs[i][1]) == 0)
            return open_beside(out, path);
    if (kind == TXD_FILE_JSON || ends_with(name, ".json"))
        return open_json(out, path);
    if (kind == TXD_FILE_TEXT)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: expected a tokenizer or a model with one, found a text",
                        path);
    if (kind == TXD_FILE_GGUF || ends_with(name, ".gguf"))
        return open_gguf(out, path);
    if (kind == TXD_FILE_LLAMA2C)
        return txd_fail(TXD_ERR_MISSING,
                        "%s: a llama2.c model has no tokenizer in it: name the file, "
                        "with --tokenizer or as input.tokenizer",
                        path);
    return open_bin(out, path);
}

txd_status txd_tokenizer_open(txd_tokenizer **out, const char *path)
{
    char inside[PATH_BYTES];
    txd_tokenizer *tokenizer = NULL;
    struct stat about;
    txd_status status;

    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
        snprintf(inside, sizeof inside, "%s/tokenizer.json", path);
        status = open_beside(&tokenizer, inside);
    } else {
        status = open_file(&tokenizer, path);
    }
    if (status != TXD_OK) {
        txd_tokenizer_destroy(tokenizer);
        return status;
    }
    *out = tokenizer;
    return TXD_OK;
}

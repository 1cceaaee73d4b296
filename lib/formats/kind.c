/* SPDX-License-Identifier: MIT
 *
 * Kinds of files. An archive is told by its first member, which torch.save and
 * numpy.savez name differently.
 */
#include "formats/kind.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/llama2c.h"

#define ZIP_NAME_LENGTH 26
#define ZIP_NAME 30

static bool begins(const unsigned char *bytes, size_t count, const char *magic,
                   size_t length)
{
    return count >= length && memcmp(bytes, magic, length) == 0;
}

static bool holds(const unsigned char *bytes, size_t count, const char *word)
{
    size_t length = strlen(word);

    for (size_t i = 0; i + length <= count; i++)
        if (memcmp(bytes + i, word, length) == 0)
            return true;
    return false;
}

static txd_file_kind kind_of_archive(const unsigned char *bytes, size_t count)
{
    const unsigned char *name = bytes + ZIP_NAME;
    size_t length;

    if (count < ZIP_NAME)
        return TXD_FILE_ZIP;
    length = bytes[ZIP_NAME_LENGTH] + 256u * bytes[ZIP_NAME_LENGTH + 1];
    if (length > count - ZIP_NAME)
        length = count - ZIP_NAME;
    if (length > 4 && memcmp(name + length - 4, ".npy", 4) == 0)
        return TXD_FILE_NPZ;
    return holds(name, length, ".pkl") || holds(name, length, "/version")
               ? TXD_FILE_TORCH
               : TXD_FILE_ZIP;
}

/* Bytes that a character of UTF-8 goes on for after the first; 4 if none begins so. */
static size_t continuation(unsigned char first)
{
    if (first < 0x80)
        return 0;
    if (first < 0xc2 || first > 0xf4)
        return 4;
    return first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
}

/* UTF-8 without control characters; the last character may be cut. */
static bool is_text(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t more = continuation(bytes[i]);

        if (more == 4 || bytes[i] == 0x7f)
            return false;
        if (bytes[i] < 0x20 && !memchr("\t\n\r\f", bytes[i], 4))
            return false;
        for (; more > 0 && i + 1 < count; more--)
            if ((bytes[++i] & 0xc0) != 0x80)
                return false;
    }
    return true;
}

static bool opens_object(const unsigned char *bytes, size_t count)
{
    size_t i = 0;

    while (i < count && memchr(" \t\r\n", bytes[i], 4))
        i++;
    return i < count && bytes[i] == '{';
}

txd_file_kind txd_file_kind_of(const void *data, size_t count)
{
    const unsigned char *bytes = data;

    if (count == 0)
        return TXD_FILE_EMPTY;
    if (begins(bytes, count, "\x89HDF\r\n\x1a\n", 8))
        return TXD_FILE_HDF5;
    if (begins(bytes, count, "\x93NUMPY", 6))
        return TXD_FILE_NPY;
    if (begins(bytes, count, "PK\x03\x04", 4))
        return kind_of_archive(bytes, count);
    if (begins(bytes, count, "PK\x05\x06", 4))
        return TXD_FILE_ZIP;
    if (begins(bytes, count, "\x80\x02", 2) || begins(bytes, count, "\x80\x04", 2))
        return TXD_FILE_TORCH;
    if (begins(bytes, count, "GGUF", 4))
        return TXD_FILE_GGUF;
    if (begins(bytes, count, "\x89PNG", 4) || begins(bytes, count, "%PDF", 4))
        return TXD_FILE_PICTURE;
    /* The length of the header in 8 bytes, the last of them 0, then the header. A cfg
     * that begins with "model : {" has its bracket there, too. */
    if (count > 8 && bytes[7] == 0 && bytes[8] == '{')
        return TXD_FILE_SAFETENSORS;
    if (count > TXD_KIND_BYTES)
        count = TXD_KIND_BYTES;
    if (!is_text(bytes, count))
        return TXD_FILE_OTHER;
    return opens_object(bytes, count) ? TXD_FILE_JSON : TXD_FILE_TEXT;
}

txd_file_kind txd_file_kind_at(const char *path)
{
    unsigned char bytes[TXD_KIND_BYTES];
    struct stat about;
    size_t count;
    FILE *file;

    /* Opening a named pipe would wait. */
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode) ||
        !(file = fopen(path, "rb")))
        return TXD_FILE_OTHER;
    count = fread(bytes, 1, sizeof bytes, file);
    if (ferror(file)) {
        fclose(file);
        return TXD_FILE_OTHER;
    }
    fclose(file);
    if (txd_llama2c_is(bytes, count, (size_t)about.st_size))
        return TXD_FILE_LLAMA2C;
    return txd_file_kind_of(bytes, count);
}

const char *txd_file_kind_name(txd_file_kind kind)
{
    static const char *const names[] = {
        [TXD_FILE_OTHER] = "a file of another kind",
        [TXD_FILE_EMPTY] = "an empty file",
        [TXD_FILE_TEXT] = "a text",
        [TXD_FILE_JSON] = "JSON",
        [TXD_FILE_HDF5] = "an HDF5 file",
        [TXD_FILE_NPY] = "a .npy array",
        [TXD_FILE_NPZ] = "a .npz archive",
        [TXD_FILE_ZIP] = "a ZIP archive",
        [TXD_FILE_TORCH] = "what torch.save writes",
        [TXD_FILE_SAFETENSORS] = "safetensors",
        [TXD_FILE_GGUF] = "a GGUF model",
        [TXD_FILE_LLAMA2C] = "a model of llama2.c",
        [TXD_FILE_PICTURE] = "a picture",
    };

    return names[kind];
}

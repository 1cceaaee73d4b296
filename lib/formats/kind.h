/* SPDX-License-Identifier: MIT
 *
 * What a file is, by its first bytes: for choosing a reader, and for saying what was
 * found where another kind was expected.
 */
#ifndef TXD_FORMATS_KIND_H
#define TXD_FORMATS_KIND_H

#include <stddef.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum txd_file_kind {
    TXD_FILE_OTHER, /* nothing that is known, or not readable */
    TXD_FILE_EMPTY,
    TXD_FILE_TEXT,
    TXD_FILE_JSON,
    TXD_FILE_HDF5,
    TXD_FILE_NPY,
    TXD_FILE_NPZ,
    TXD_FILE_ZIP,
    TXD_FILE_TORCH, /* what torch.save writes: a pickle, or an archive of one */
    TXD_FILE_SAFETENSORS,
    TXD_FILE_GGUF,
    TXD_FILE_LLAMA2C, /* weights of llama2.c: told by its length, too */
    TXD_FILE_PICTURE,
} txd_file_kind;

/* So many first bytes tell all kinds apart. */
#define TXD_KIND_BYTES 256

/* The kind of a file that begins with these bytes; `count` less than TXD_KIND_BYTES
 * only if it has no more. */
txd_file_kind txd_file_kind_of(const void *bytes, size_t count);

/* The kind of a regular file; OTHER if there is none, or if it cannot be read. */
txd_file_kind txd_file_kind_at(const char *path);

/* "an HDF5 file"; "a file of another kind" for OTHER. */
const char *txd_file_kind_name(txd_file_kind kind);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT
 *
 * A model in several safetensors files, held together by model.safetensors.index.json,
 * as one trace.
 */
#ifndef TXD_FORMATS_SHARDED_H
#define TXD_FORMATS_SHARDED_H

#include "base/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens an index and the files beside it that it names. Every tensor must be in the
 * file that the index gives it, and in no other. The order is by file, as the index
 * first names them, then by data. The strings "files" are the names of the files. */
txd_status txd_sharded_open(txd_trace **out, const char *path);

/* The same with an index in memory, where `open` opens a file of this name. */
typedef struct txd_sharded_index {
    const char *name; /* for messages */
    const char *bytes;
    size_t count;
    txd_status (*open)(txd_trace **out, void *self, const char *file);
    void *self;
} txd_sharded_index;
txd_status txd_sharded_join(txd_trace **out, const txd_sharded_index *index);

#ifdef __cplusplus
}
#endif

#endif

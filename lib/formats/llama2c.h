/* SPDX-License-Identifier: MIT
 *
 * The .bin files of llama2.c, version 0: seven integers, then float32 weights without
 * names. As a trace they have the names that GGUF gives the tensors of a Llama model,
 * and its metadata: the rotary pairs are adjacent lanes in both.
 */
#ifndef TXD_FORMATS_LLAMA2C_H
#define TXD_FORMATS_LLAMA2C_H

#include "base/settings.h"
#include "base/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a file. The sizes at its beginning must need exactly the bytes that it has: the
 * format has no other mark. Later versions are ERR_UNSUPPORTED. *settings (in `arena`)
 * has general.architecture, llama.block_count and so on. A negative vocabulary means
 * that the head, output.weight, is its own. */
txd_status txd_llama2c_open(txd_trace **out, txd_setting **settings, txd_arena *arena,
                            const char *path);

/* The same over bytes in memory, which must outlive the trace (fuzzing, tests). */
txd_status txd_llama2c_parse(txd_trace **out, txd_setting **settings, txd_arena *arena,
                             const char *name, const void *bytes, size_t count);

/* Whether a file of `size` bytes that begins with these is one, by the law above. */
bool txd_llama2c_is(const void *bytes, size_t count, size_t size);

#ifdef __cplusplus
}
#endif

#endif

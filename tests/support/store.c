/* SPDX-License-Identifier: MIT
 *
 * Writes float32 numbers from the standard input as attention weights of a recording,
 * so that another language can say what must be in it.
 *
 *   store OUT.h5 STORAGE none|deflate zero|nan THREADS HEADS ROWS COLUMNS BLOCK
 *
 * Every head is written in blocks of BLOCK rows, in order; the values of the one step
 * are (1, HEADS, ROWS, COLUMNS).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/recording.h"

enum { STORAGE = 2, COMPRESSION, FILL, THREADS, HEADS, ROWS, COLUMNS, BLOCK, WORDS };

static txd_dataset_spec spec_of(char **words)
{
    txd_dataset_spec spec = {.path = "value/layers/0/attn/weights/full",
                             .axes = "sbhqk",
                             .point = "layers.0.attn.weights",
                             .unit = "",
                             .dtype = TXD_F32,
                             .per_step = true,
                             .rank = 4,
                             .steps = 1,
                             .fill_zero = strcmp(words[FILL], "zero") == 0};
    txd_storage storage = txd_storage_find(words[STORAGE]);

    if (txd_storage_apply(&spec.dtype, storage))
        spec.storage = storage;
    spec.dims[0] = 1;
    for (int axis = 1; axis < 4; axis++)
        spec.dims[axis] = strtoul(words[HEADS + axis - 1], NULL, 10);
    return spec;
}

static txd_status write_heads(txd_recording *recording, size_t id,
                              const txd_dataset_spec *spec, size_t block)
{
    size_t rows = spec->dims[2], columns = spec->dims[3];
    float *values = malloc(block * columns * sizeof *values);
    txd_status status = values ? TXD_OK : TXD_ERR_MEMORY;

    for (size_t i = 0; status == TXD_OK && i < spec->dims[1] * rows;) {
        size_t row = i % rows, more = rows - row < block ? rows - row : block;
        const size_t start[] = {0, i / rows, row, 0}, count[] = {1, 1, more, columns};

        if (fread(values, sizeof *values, more * columns, stdin) != more * columns)
            status = txd_fail(TXD_ERR_IO, "too few numbers");
        if (status == TXD_OK)
            status =
                txd_recording_write(recording, id, 0, start, count, values, TXD_F32);
        i += more;
    }
    free(values);
    return status;
}

static txd_status write_all(char **words)
{
    const txd_dataset_spec spec = spec_of(words);
    txd_recording *recording;
    txd_status status;
    size_t id;

    TXD_TRY(txd_recording_create(&recording, words[1], true));
    status = txd_recording_pack(recording, strcmp(words[COMPRESSION], "deflate") == 0,
                                (int)strtol(words[THREADS], NULL, 10));
    if (status == TXD_OK)
        status = txd_recording_dataset(recording, &id, &spec);
    if (status == TXD_OK)
        status = write_heads(recording, id, &spec, strtoul(words[BLOCK], NULL, 10));
    if (status == TXD_OK)
        status = txd_recording_flush(recording);
    if (status == TXD_OK)
        return txd_recording_close(recording, true);
    txd_recording_discard(recording);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != WORDS) {
        fprintf(stderr, "store: %d words, expected %d\n", argc - 1, WORDS - 1);
        return 2;
    }
    if (write_all(argv) == TXD_OK)
        return 0;
    fprintf(stderr, "store: %s\n", txd_message());
    return 1;
}

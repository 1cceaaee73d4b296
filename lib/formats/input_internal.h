/* SPDX-License-Identifier: MIT
 *
 * The parts of `input`: rows of numbers, batches of tokens made from them, and the
 * memory that cross-attention attends to.
 */
#ifndef TXD_FORMATS_INPUT_INTERNAL_H
#define TXD_FORMATS_INPUT_INTERNAL_H

#include "base/settings.h"
#include "formats/tokenizer.h"
#include "model/inputs.h"

struct txd_id_row {
    size_t count;
    int32_t *ids;
};

struct txd_id_rows {
    size_t count;
    struct txd_id_row *rows;
};

/* The setting at `path` of a group, which may be NULL; NULL where there is none. */
const txd_setting *txd_input_find(const txd_setting *group, const char *path);

/* ERR_CONFIG: the text, and before it the place of a setting. */
txd_status txd_input_fail(const txd_setting *setting, const char *text);

/* Reads a list of numbers, or a list of such lists, none of them empty, each number
 * from 0 to `high`. `what` is one of them in messages ("a token id"). */
txd_status txd_ids_from_list(struct txd_id_rows *out, txd_arena *arena,
                             const txd_setting *list, const char *what, size_t high);

/* Reads a .npy file of integers of rank 1 or 2; the path is relative to the file in
 * which the setting stands. */
txd_status txd_ids_from_file(struct txd_id_rows *out, txd_arena *arena,
                             const txd_setting *file, size_t high);

/* The path of a file named in a cfg: relative to the cfg's folder, or, if it was given
 * on the command line ("--set"), to the current one. NULL without memory. */
const char *txd_input_path(txd_arena *arena, const txd_setting *setting);

/* Opens what reads texts: input.tokenizer of a root, or what lies with model.from; *out
 * stays NULL if neither a text nor the key asks for one. */
txd_status txd_input_tokenizer(txd_tokenizer **out, txd_arena *arena,
                               const txd_setting *root, const txd_config *config);

/* True if a file is text to be tokenized: it looks like text, or is called .txt. */
bool txd_input_is_text(txd_arena *arena, const txd_setting *file);

/* What texts become ids by, which are below `vocab`; rows are made in the arena. */
struct txd_text_source {
    txd_arena *arena;
    const txd_tokenizer *tokenizer;
    size_t vocab;
};

/* A text, or a list of them, as rows of ids; a file of text as one row. */
txd_status txd_ids_from_text(struct txd_id_rows *out, const txd_setting *text,
                             const struct txd_text_source *source);
txd_status txd_ids_from_text_file(struct txd_id_rows *out, const txd_setting *file,
                                  const struct txd_text_source *source);

/* Gives a batch the pieces of its tokens, in `arena`. */
txd_status txd_input_pieces(txd_inputs *inputs, txd_arena *arena,
                            const txd_tokenizer *tokenizer);

/* Batches of tokens: input_tokens.c. */
struct txd_token_source {
    txd_arena *arena;
    const txd_config *config;
    uint64_t seed;
    const char *stream; /* name of its random numbers */
    size_t batch;       /* before reading: rows of random tokens, unless it says so */
    const txd_tokenizer *tokenizer; /* NULL: none was asked for */
    struct txd_id_rows tokens, positions, documents, types; /* no rows: default */
    bool random, pad_left;
    int32_t pad_id;
    size_t length, steps; /* length: of a window */
};

/* Reads a group that stands at `path` ("input"); arena to batch are set. */
txd_status txd_tokens_read(struct txd_token_source *source, const txd_setting *group,
                           const char *path);

/* The batch of a step, not yet checked against the configuration. */
txd_status txd_tokens_step(txd_inputs *out, const struct txd_token_source *source,
                           txd_arena *arena, size_t step);

/* The memory of every step: input_memory.c. */
struct txd_memory_source {
    txd_arena *arena;
    const txd_config *config;
    uint64_t seed;
    const txd_tokenizer *tokenizer; /* of the encoder's texts; may be NULL */
    size_t batch;                   /* rows of the decoder's batch */
    size_t length;                  /* rows of memory; 0 = there is none */
    double std;                     /* of random numbers */
    txd_tensor values;              /* of a file; data NULL otherwise */
    int32_t *valid;                 /* (batch, length) */
    bool encodes;                   /* the memory is what the encoder makes of: */
    struct txd_token_source tokens; /* these */
};

/* Reads input.memory of a root; arena to batch are set. ERR_CONFIG where it does not
 * fit the configuration, or is missing. */
txd_status txd_memory_read(struct txd_memory_source *source, const txd_setting *root);

/* Gives the batch of a step its memory: zeros where the encoder is to fill it in. */
txd_status txd_memory_step(txd_inputs *inputs, const struct txd_memory_source *source,
                           txd_arena *arena, size_t step);

/* Values and validity from the file at `path`. `counted`: the configuration says how
 * many rows are real, so that the file must not. */
txd_status txd_memory_from_file(struct txd_memory_source *source, const char *path,
                                bool counted);

/* A gigabyte as float32; true if a memory of so many rows has not more. */
#define TXD_MEMORY_ELEMENTS ((size_t)1 << 28)
bool txd_memory_fits(const struct txd_memory_source *source, size_t length);

/* Makes source->valid, all real. */
txd_status txd_memory_make_valid(struct txd_memory_source *source);

/* What the encoder reads in a step. */
txd_status txd_memory_tokens(txd_inputs *out, const struct txd_memory_source *source,
                             txd_arena *arena, size_t step);

#endif

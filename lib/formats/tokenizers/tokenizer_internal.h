/* SPDX-License-Identifier: MIT
 *
 * A tokenizer is data: what is done to a text before it is cut (normal), how it is cut
 * into words (cuts), and how words become tokens (model). Readers fill it in, whatever
 * file it came from; one encoder goes by it.
 */
#ifndef TXD_FORMATS_TOKENIZER_INTERNAL_H
#define TXD_FORMATS_TOKENIZER_INTERNAL_H

#include "base/arena.h"
#include "base/settings.h"
#include "formats/tokenizers/json_cursor_internal.h"
#include "formats/tokenizers/pattern_internal.h"
#include "formats/tokenizer.h"

/* A text in the tokenizer's arena, of any bytes, or NULL. */
typedef struct txd_bytes {
    const char *at;
    size_t length;
} txd_bytes;

/* Pieces by id and ids by piece: vocab.c. */
typedef struct txd_vocab {
    txd_bytes *pieces; /* `at` NULL: no piece under this id */
    float *scores;     /* NULL = none */
    size_t count, capacity, used;
    size_t longest;
    uint32_t *slots; /* id + 1; 0 = free */
    size_t slot_count;
    char *pool; /* where the next texts go */
    size_t pool_left;
} txd_vocab;

/* Gives `id` a copy of a text. `most` is what the file justifies: a larger id, or one
 * that has a piece, is ERR_FORMAT. */
txd_status txd_vocab_add(txd_tokenizer *tokenizer, int64_t id, const char *text,
                         size_t length, size_t most);
/* After the last piece; a text that stands twice means its last id. */
txd_status txd_vocab_index(txd_tokenizer *tokenizer);
int32_t txd_vocab_find(const txd_vocab *vocab, const char *text, size_t length);

/* Which pairs of tokens merge, the lowest rank first. */
typedef struct txd_merge {
    uint32_t left, right, rank, made;
} txd_merge;

typedef struct txd_merges {
    txd_merge *slots; /* `made` TXD_NO_MERGE = free */
    size_t slot_count, count;
} txd_merges;
#define TXD_NO_MERGE UINT32_MAX

/* Room for so many merges; then each, after txd_vocab_index. ERR_FORMAT for pieces that
 * are not in the vocabulary, naming the merge. */
txd_status txd_merges_make(txd_tokenizer *tokenizer, size_t count);
txd_status txd_merges_add(txd_tokenizer *tokenizer, txd_bytes left, txd_bytes right);
/* "left right", at the first blank behind its first character. */
txd_status txd_merges_add_line(txd_tokenizer *tokenizer, const char *line,
                               size_t length);
const txd_merge *txd_merges_find(const txd_merges *merges, int32_t left, int32_t right);

typedef enum txd_step_kind {
    /* of texts */
    TXD_STEP_PREPEND,
    TXD_STEP_REPLACE, /* every match by `text`; with `keep` within `text`, `after` */
    TXD_STEP_NFC,
    TXD_STEP_NFD,
    TXD_STEP_LOWER,
    TXD_STEP_STRIP,
    /* of words */
    TXD_STEP_CUT,      /* at matches */
    TXD_STEP_PREFIX,   /* a blank in front of every word that has none */
    TXD_STEP_MAP,      /* bytes as characters, as byte-level BPE has them */
    TXD_STEP_METASPACE /* blanks as `text`, in front of words too */
} txd_step_kind;

/* What becomes of the matches of a cut. */
typedef enum txd_cut {
    TXD_CUT_ISOLATED,
    TXD_CUT_REMOVED,
    TXD_CUT_CONTIGUOUS,
    TXD_CUT_WITH_PREVIOUS,
    TXD_CUT_WITH_NEXT,
} txd_cut;

/* When a METASPACE step puts its text in front. */
typedef enum txd_prepend {
    TXD_PREPEND_ALWAYS,
    TXD_PREPEND_FIRST,
    TXD_PREPEND_NEVER,
} txd_prepend;

typedef struct txd_text_step {
    txd_step_kind kind;
    txd_pattern *pattern; /* NULL: `find`, if it is not empty */
    txd_bytes find, text, after;
    bool keep, invert, left, right; /* STRIP: left, right; METASPACE: left = cuts */
    txd_cut cut;
    txd_prepend prepend;
} txd_text_step;

/* One list of steps, in order. */
typedef struct txd_text_steps {
    txd_text_step *at;
    size_t count, capacity;
} txd_text_steps;

/* Room for a step, zeros; NULL with a message. */
txd_text_step *txd_steps_add(txd_text_steps *steps, txd_step_kind kind);
/* The same of a cut at a pattern. */
txd_status txd_steps_cut(txd_tokenizer *tokenizer, const char *regex, txd_cut cut,
                         bool invert);
/* The same of a replacement. */
txd_status txd_steps_replace(txd_tokenizer *tokenizer, const char *regex,
                             const char *by, const char *after);

/* A token that is found in the text before anything else is done to it. */
typedef struct txd_added {
    txd_bytes text; /* of the second list: normalized */
    int32_t id;
    bool single_word, lstrip, rstrip, normalized, special;
} txd_added;

/* Sorted by text. */
typedef struct txd_added_list {
    txd_added *at;
    size_t count, capacity;
    bool starts[256]; /* by first bytes */
    txd_pattern *words;
} txd_added_list;

typedef enum txd_token_model {
    TXD_TOKENS_RANKS,  /* BPE by the rank of merges */
    TXD_TOKENS_SCORES, /* BPE by the score of what a merge gives */
    TXD_TOKENS_WORDS,  /* WordPiece */
} txd_token_model;

struct txd_tokenizer {
    txd_arena *arena;
    const char *name; /* of the file, in messages */
    txd_token_model model;
    txd_vocab vocab;
    txd_merges merges;
    txd_text_steps normal, cuts;
    txd_added_list raw, normalized; /* found before and after normalization */
    bool *special;                  /* by id, as many as vocab.count; NULL = none */
    bool *verbatim;                 /* by id: the piece is text as it stands */
    int32_t byte_ids[256];          /* -1: no fallback */
    bool bytes_at_once;             /* SCORES: what has no token never merges */
    int32_t unknown;
    bool fuse_unknown, ignore_merges;
    txd_bytes continuing; /* WordPiece: "##" */
    size_t longest_word;  /* WordPiece: in characters */
    txd_ids before, after;
    bool byte_level, strip_first;
    txd_bytes blank; /* what stands for a blank in pieces; NULL = itself */
    int32_t bos, eos;
};

/* Begins and ends what a reader fills in. */
txd_status txd_tokenizer_create(txd_tokenizer **out, const char *name);
/* After the last piece: byte tokens "<0x0A>", if they stand for bytes. */
void txd_tokenizer_find_bytes(txd_tokenizer *tokenizer);
/* A copy in the arena; `at` NULL with a message. */
txd_bytes txd_tokenizer_keep(txd_tokenizer *tokenizer, const char *text, size_t length);
txd_status txd_ids_add(txd_ids *ids, int32_t id);

/* Marks a token as added; finish sorts, after the normal steps are known. */
txd_status txd_added_put(txd_tokenizer *tokenizer, const txd_added *added);
txd_status txd_added_finish(txd_tokenizer *tokenizer);
/* The next added token at or after place->begin, which becomes where it begins;
 * place->end where the rest does. *out is NULL, and both the end, if there is none. */
txd_status txd_added_next(const txd_added **out, txd_span *place,
                          const txd_added_list *list, txd_bytes text);

/* Steps of tokenizer.json, and of what other files imply. */
txd_status txd_tokenizer_read_normalizer(txd_tokenizer *tokenizer,
                                         const txd_setting *setting);
txd_status txd_tokenizer_read_cuts(txd_tokenizer *tokenizer,
                                   const txd_setting *setting);
txd_status txd_tokenizer_read_frame(txd_tokenizer *tokenizer,
                                    const txd_setting *setting);
txd_status txd_tokenizer_read_decoder(txd_tokenizer *tokenizer,
                                      const txd_setting *setting);
/* "file: normalizer.type: WHAT is not supported", ERR_UNSUPPORTED. */
txd_status txd_tokenizer_refuse(const txd_setting *setting, const char *what);
/* The cuts that GGUF calls by name ("llama-bpe"), MAP included. */
txd_status txd_tokenizer_named_cuts(txd_tokenizer *tokenizer, const char *name);
/* What BERT does to texts and words. */
txd_status txd_tokenizer_bert_normal(txd_tokenizer *tokenizer, bool clean, bool chinese,
                                     bool accents, bool lower);
txd_status txd_tokenizer_bert_cuts(txd_tokenizer *tokenizer);

/* Reading the files. */
txd_status txd_tokenizer_read_json(txd_tokenizer *tokenizer, const char *bytes,
                                   size_t count);
txd_status txd_tokenizer_read_vocab(txd_tokenizer *tokenizer,
                                    struct txd_json_cursor *cursor);
txd_status txd_tokenizer_read_gguf(txd_tokenizer *tokenizer, const void *bytes,
                                   size_t count);
txd_status txd_tokenizer_read_bin(txd_tokenizer *tokenizer, const void *bytes,
                                  size_t count);
txd_status txd_tokenizer_read_merges(txd_tokenizer *tokenizer,
                                     const txd_merges_files *files);
/* tokenizer_config.json: bos_token, eos_token; with `frame` add_bos_token too. */
txd_status txd_tokenizer_read_names(txd_tokenizer *tokenizer, const char *path,
                                    bool frame);

/* A text as it goes through the steps: words are spans of it. */
typedef struct txd_words {
    txd_text text;
    txd_spans spans;
} txd_words;

/* The normal steps; *out is an empty text. */
txd_status txd_normalize(txd_text *out, const txd_tokenizer *tokenizer,
                         const char *text, size_t count);
/* Unicode's canonical forms: normalize.c. */
txd_status txd_unicode_compose(txd_text *out, const char *text, size_t count,
                               bool compose);
/* The cuts of a text that is `words` with one span; `first`: it begins the whole. */
txd_status txd_cut_words(txd_words *words, const txd_tokenizer *tokenizer, bool first);
txd_status txd_cut_step(txd_words *words, const txd_text_step *step);

/* The tokens of a word. */
struct txd_bpe_room; /* memory for words, kept from one to the next */
txd_status txd_bpe_encode(txd_ids *out, const txd_tokenizer *tokenizer,
                          struct txd_bpe_room **room, const char *word, size_t length);
void txd_bpe_room_destroy(struct txd_bpe_room *room);
txd_status txd_wordpiece_encode(txd_ids *out, const txd_tokenizer *tokenizer,
                                const char *word, size_t length);

/* Byte-level BPE: a byte as the character that stands for it, and back (-1: none). */
uint32_t txd_byte_letter(unsigned char byte);
int txd_byte_of_letter(uint32_t code);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Text to ids and back. Added tokens are found first; what is between them is
 * normalized, searched once more, cut into words, and these become tokens.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/tokenizers/tokenizer_internal.h"
#include "formats/utf8_internal.h"

struct job {
    const txd_tokenizer *tokenizer;
    txd_ids *out;
    struct txd_bpe_room *room;
};

static txd_status encode_words(struct job *job, const txd_words *words)
{
    for (size_t i = 0; i < words->spans.count; i++) {
        const txd_span *span = &words->spans.at[i];
        const char *word = txd_text_get(&words->text) + span->begin;
        size_t length = span->end - span->begin;

        TXD_TRY(
            job->tokenizer->model == TXD_TOKENS_WORDS
                ? txd_wordpiece_encode(job->out, job->tokenizer, word, length)
                : txd_bpe_encode(job->out, job->tokenizer, &job->room, word, length));
    }
    return TXD_OK;
}

/* Normalized text without added tokens. */
static txd_status encode_plain(struct job *job, const char *text, size_t count,
                               bool first)
{
    txd_words words = {{0}, {0}};
    txd_status status;

    if (count == 0)
        return TXD_OK;
    txd_text_init(&words.text);
    txd_text_add_bytes(&words.text, text, count);
    status = txd_text_status(&words.text);
    if (status == TXD_OK)
        status = txd_spans_add(&words.spans, 0, count);
    if (status == TXD_OK)
        status = txd_cut_words(&words, job->tokenizer, first);
    if (status == TXD_OK)
        status = encode_words(job, &words);
    txd_text_finish(&words.text);
    free(words.spans.at);
    return status;
}

typedef txd_status (*encoder)(struct job *job, const char *text, size_t count,
                              bool first);

/* What is between the tokens of a list goes to `rest`. */
static txd_status encode_added(struct job *job, const txd_added_list *list,
                               txd_bytes text, bool first, encoder rest)
{
    size_t at = 0;

    while (at < text.length) {
        const txd_added *added;
        txd_span place = {at, at};

        TXD_TRY(txd_added_next(&added, &place, list, text));
        if (place.begin > at)
            TXD_TRY(rest(job, text.at + at, place.begin - at, first && at == 0));
        if (added)
            TXD_TRY(txd_ids_add(job->out, added->id));
        at = place.end;
    }
    return TXD_OK;
}

static txd_status encode_between(struct job *job, const char *text, size_t count,
                                 bool first)
{
    txd_text normal;
    txd_status status;

    txd_text_init(&normal);
    status = txd_normalize(&normal, job->tokenizer, text, count);
    if (status == TXD_OK)
        status = encode_added(job, &job->tokenizer->normalized,
                              (txd_bytes){txd_text_get(&normal), normal.length}, first,
                              encode_plain);
    txd_text_finish(&normal);
    return status;
}

static txd_status add_all(txd_ids *out, const txd_ids *ids)
{
    for (size_t i = 0; i < ids->count; i++)
        TXD_TRY(txd_ids_add(out, ids->ids[i]));
    return TXD_OK;
}

txd_status txd_tokenizer_encode(txd_ids *out, const txd_tokenizer *tokenizer,
                                const char *text, size_t bytes, bool special)
{
    struct job job = {tokenizer, out, NULL};
    txd_status status = special ? add_all(out, &tokenizer->before) : TXD_OK;

    if (status == TXD_OK)
        status = encode_added(&job, &tokenizer->raw, (txd_bytes){text, bytes}, true,
                              encode_between);
    if (status == TXD_OK && special)
        status = add_all(out, &tokenizer->after);
    txd_bpe_room_destroy(job.room);
    return status;
}

/* The byte of "<0x0A>"; -1 for other pieces. */
static int byte_of(const txd_tokenizer *t, int32_t id)
{
    const txd_bytes *piece = &t->vocab.pieces[id];
    char hex[3] = "", *end;
    long byte;

    if (piece->length != 6 || memcmp(piece->at, "<0x", 3) != 0 || piece->at[5] != '>')
        return -1;
    memcpy(hex, piece->at + 3, 2);
    byte = strtol(hex, &end, 16);
    return end == hex + 2 && t->byte_ids[byte] == id ? (int)byte : -1;
}

/* Letters back to bytes. */
static void add_letters(txd_text *out, txd_bytes piece)
{
    uint32_t code;

    for (size_t at = 0, bytes; at < piece.length; at += bytes) {
        int byte = -1;
        char c;

        bytes = txd_utf8_decode(&code, piece.at + at, piece.length - at);
        if (bytes > 0)
            byte = txd_byte_of_letter(code);
        bytes = bytes ? bytes : 1;
        c = (char)byte;
        if (byte >= 0)
            txd_text_add_bytes(out, &c, 1);
        else
            txd_text_add_bytes(out, piece.at + at, bytes);
    }
}

/* Marks back to blanks. */
static void add_blanks(txd_text *out, txd_bytes piece, txd_bytes mark)
{
    size_t at = 0;

    while (at < piece.length) {
        bool is_mark = mark.length > 0 && piece.length - at >= mark.length &&
                       memcmp(piece.at + at, mark.at, mark.length) == 0;

        txd_text_add_bytes(out, is_mark ? " " : piece.at + at, 1);
        at += is_mark ? mark.length : 1;
    }
}

/* What a token stands for, as bytes. */
static void add_piece(txd_text *out, const txd_tokenizer *t, int32_t id)
{
    txd_bytes piece = t->vocab.pieces[id];
    int byte = byte_of(t, id);
    char c = (char)byte;

    if (t->byte_level && t->verbatim[id])
        txd_text_add_bytes(out, piece.at, piece.length);
    else if (byte >= 0)
        txd_text_add_bytes(out, &c, 1);
    else if (t->byte_level)
        add_letters(out, piece);
    else
        add_blanks(out, piece, t->blank);
}

static bool continues(const txd_tokenizer *t, int32_t id)
{
    const txd_bytes *piece = &t->vocab.pieces[id], *with = &t->continuing;

    return with->length > 0 && piece->length > with->length &&
           memcmp(piece->at, with->at, with->length) == 0;
}

/* Words with blanks between them, but for what goes on. */
static void add_word(txd_text *out, const txd_tokenizer *t, int32_t id, bool first)
{
    const txd_bytes *piece = &t->vocab.pieces[id];
    size_t cut = continues(t, id) ? t->continuing.length : 0;

    if (cut == 0 && !first)
        txd_text_add(out, " ");
    txd_text_add_bytes(out, piece->at + cut, piece->length - cut);
}

txd_status txd_tokenizer_decode(txd_text *out, const txd_tokenizer *tokenizer,
                                const int32_t *ids, size_t count)
{
    size_t begin = out->length;
    bool first = true;

    for (size_t i = 0; i < count; i++) {
        int32_t id = ids[i];

        if (id < 0 || (size_t)id >= tokenizer->vocab.count ||
            !tokenizer->vocab.pieces[id].at)
            return txd_fail(TXD_ERR_ARGUMENT, "%s: there is no token %d",
                            tokenizer->name, (int)id);
        if (tokenizer->special[id])
            continue;
        if (tokenizer->model == TXD_TOKENS_WORDS)
            add_word(out, tokenizer, id, first);
        else
            add_piece(out, tokenizer, id);
        if (first && tokenizer->strip_first && out->length > begin &&
            out->data[begin] == ' ') {
            memmove(out->data + begin, out->data + begin + 1, out->length - begin);
            out->length--;
        }
        first = false;
    }
    return txd_text_status(out);
}

void txd_tokenizer_piece(txd_text *out, const txd_tokenizer *tokenizer, int32_t id)
{
    const char *at;
    txd_text bytes;

    if (id < 0 || (size_t)id >= tokenizer->vocab.count ||
        !tokenizer->vocab.pieces[id].at)
        return;
    txd_text_init(&bytes);
    if (tokenizer->model == TXD_TOKENS_WORDS)
        txd_text_add_bytes(&bytes, tokenizer->vocab.pieces[id].at,
                           tokenizer->vocab.pieces[id].length);
    else
        add_piece(&bytes, tokenizer, id);
    at = txd_text_get(&bytes);
    for (size_t i = 0; i < bytes.length;) {
        size_t valid = txd_utf8_valid(at + i, bytes.length - i);
        const char *zero = memchr(at + i, 0, valid);

        valid = zero ? (size_t)(zero - at) - i : valid; /* which would end a string */
        txd_text_add_bytes(out, at + i, valid);
        i += valid;
        if (i < bytes.length)
            txd_text_addf(out, "<0x%02X>", (unsigned)(unsigned char)at[i++]);
    }
    txd_text_finish(&bytes);
}

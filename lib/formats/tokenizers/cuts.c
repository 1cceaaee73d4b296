/* SPDX-License-Identifier: MIT
 *
 * How a text is cut into words. A word is a span of the text; steps divide spans, or
 * make a new text with new ones.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/tokenizers/tokenizer_internal.h"
#include "formats/utf8_internal.h"

uint32_t txd_byte_letter(unsigned char byte)
{
    /* what is printed stands for itself, the rest follows U+0100 in order */
    if ((byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD))
        return byte;
    if (byte <= 0x20)
        return 0x100u + byte;
    return byte == 0xAD ? 0x143u : 0x121u + (byte - 0x7Fu);
}

int txd_byte_of_letter(uint32_t code)
{
    if ((code >= 0x21 && code <= 0x7E) ||
        (code >= 0xA1 && code <= 0xFF && code != 0xAD))
        return (int)code;
    if (code >= 0x100 && code <= 0x120)
        return (int)(code - 0x100);
    if (code >= 0x121 && code <= 0x142)
        return (int)(code - 0x121 + 0x7F);
    return code == 0x143 ? 0xAD : -1;
}

/* Matches and what is between them, in order: places from `begin` on, flagged. */
struct parts {
    txd_spans spans;
    bool *matched; /* by span */
};

static txd_status find_parts(struct parts *out, const txd_spans *matches, size_t count,
                             bool invert)
{
    size_t at = 0;

    out->matched = malloc(2 * matches->count + 1);
    if (!out->matched)
        return txd_fail(TXD_ERR_MEMORY, "no memory for the pieces of a text");
    for (size_t i = 0; i < matches->count; i++) {
        const txd_span *match = &matches->at[i];

        if (match->begin > at) {
            out->matched[out->spans.count] = invert;
            TXD_TRY(txd_spans_add(&out->spans, at, match->begin));
        }
        if (match->end > match->begin) {
            out->matched[out->spans.count] = !invert;
            TXD_TRY(txd_spans_add(&out->spans, match->begin, match->end));
        }
        at = match->end > at ? match->end : at;
    }
    if (count > at) {
        out->matched[out->spans.count] = invert;
        TXD_TRY(txd_spans_add(&out->spans, at, count));
    }
    return TXD_OK;
}

/* Whether a part belongs to the word of the part before it. */
static bool joins(const struct parts *parts, size_t i, txd_cut cut)
{
    bool now = parts->matched[i], before = i > 0 && parts->matched[i - 1];

    if (i == 0)
        return false;
    if (cut == TXD_CUT_CONTIGUOUS)
        return now == before;
    if (cut == TXD_CUT_WITH_PREVIOUS)
        return now && !before;
    return cut == TXD_CUT_WITH_NEXT && before && !now;
}

static txd_status put_parts(txd_spans *out, const struct parts *parts, txd_cut cut,
                            size_t base)
{
    size_t first = out->count;

    for (size_t i = 0; i < parts->spans.count; i++) {
        const txd_span *part = &parts->spans.at[i];

        if (cut == TXD_CUT_REMOVED && parts->matched[i])
            continue;
        if (out->count > first && joins(parts, i, cut))
            out->at[out->count - 1].end = base + part->end;
        else
            TXD_TRY(txd_spans_add(out, base + part->begin, base + part->end));
    }
    return TXD_OK;
}

/* Every byte or character of a fixed text is found by a pattern too. */
static txd_status cut_span(txd_spans *out, const txd_words *words,
                           const txd_text_step *step, txd_span span)
{
    const char *text = txd_text_get(&words->text) + span.begin;
    struct parts parts = {{0}, NULL};
    txd_spans matches = {0};
    txd_status status =
        txd_pattern_find(&matches, step->pattern, text, span.end - span.begin);

    if (status == TXD_OK)
        status = find_parts(&parts, &matches, span.end - span.begin, step->invert);
    if (status == TXD_OK)
        status = put_parts(out, &parts, step->cut, span.begin);
    free(parts.matched);
    free(parts.spans.at);
    free(matches.at);
    return status;
}

txd_status txd_cut_step(txd_words *words, const txd_text_step *step)
{
    txd_spans spans = {0};
    txd_status status = TXD_OK;

    for (size_t i = 0; i < words->spans.count && status == TXD_OK; i++)
        status = cut_span(&spans, words, step, words->spans.at[i]);
    if (status != TXD_OK) {
        free(spans.at);
        return status;
    }
    free(words->spans.at);
    words->spans = spans;
    return TXD_OK;
}

static void map_bytes(txd_text *out, const char *text, size_t count)
{
    char letter[4];

    for (size_t i = 0; i < count; i++)
        txd_text_add_bytes(
            out, letter,
            txd_utf8_encode(letter, txd_byte_letter((unsigned char)text[i])));
}

static bool begins_with(const char *text, size_t count, txd_bytes with)
{
    return count >= with.length && memcmp(text, with.at, with.length) == 0;
}

/* Blanks become the text of the step, which may be put in front. */
static txd_status put_metaspace(txd_words *out, const txd_text_step *step,
                                const char *text, size_t count, bool first)
{
    bool wanted = step->prepend == TXD_PREPEND_ALWAYS ||
                  (step->prepend == TXD_PREPEND_FIRST && first);
    size_t begin = out->text.length;

    if (wanted && count > 0 && text[0] != ' ' && !begins_with(text, count, step->text))
        txd_text_add_bytes(&out->text, step->text.at, step->text.length);
    for (size_t i = 0; i < count; i++) {
        bool mark = text[i] == ' ' || begins_with(text + i, count - i, step->text);

        if (step->left && mark && out->text.length > begin) {
            TXD_TRY(txd_spans_add(&out->spans, begin, out->text.length));
            begin = out->text.length;
        }
        if (text[i] == ' ')
            txd_text_add_bytes(&out->text, step->text.at, step->text.length);
        else
            txd_text_add_bytes(&out->text, text + i, 1);
    }
    return out->text.length > begin
               ? txd_spans_add(&out->spans, begin, out->text.length)
               : TXD_OK;
}

static txd_status put_word(txd_words *out, const txd_text_step *step, const char *text,
                           size_t count, bool first)
{
    size_t begin = out->text.length;

    if (step->kind == TXD_STEP_METASPACE)
        return put_metaspace(out, step, text, count, first);
    if (step->kind == TXD_STEP_PREFIX) {
        if (count > 0 && text[0] != ' ')
            txd_text_add(&out->text, " ");
        txd_text_add_bytes(&out->text, text, count);
    } else {
        map_bytes(&out->text, text, count);
    }
    return txd_spans_add(&out->spans, begin, out->text.length);
}

/* Steps that make another text. */
static txd_status rewrite(txd_words *words, const txd_text_step *step, bool first)
{
    txd_words next = {{0}, {0}};
    txd_status status = TXD_OK;

    txd_text_init(&next.text);
    for (size_t i = 0; i < words->spans.count && status == TXD_OK; i++) {
        const txd_span *span = &words->spans.at[i];

        status = put_word(&next, step, txd_text_get(&words->text) + span->begin,
                          span->end - span->begin, first && span->begin == 0);
    }
    if (status == TXD_OK)
        status = txd_text_status(&next.text);
    txd_text_finish(&words->text);
    free(words->spans.at);
    *words = next;
    return status;
}

txd_status txd_cut_words(txd_words *words, const txd_tokenizer *tokenizer, bool first)
{
    for (size_t i = 0; i < tokenizer->cuts.count; i++) {
        const txd_text_step *step = &tokenizer->cuts.at[i];

        TXD_TRY(step->kind == TXD_STEP_CUT ? txd_cut_step(words, step)
                                           : rewrite(words, step, first));
    }
    return TXD_OK;
}

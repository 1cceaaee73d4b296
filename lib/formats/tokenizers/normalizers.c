/* SPDX-License-Identifier: MIT
 *
 * What is done to a text before it is cut. Each step makes a new text of the last one.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/tokenizers/tokenizer_internal.h"
#include "formats/utf8_internal.h"

/* Real tokenizers make a text at most a few times longer; a file that makes
 * gigabytes of it is damaged or means harm. */
#define LONGEST ((size_t)1 << 20)
#define TIMES_LONGER 32

static bool is_too_long(const txd_text *made, size_t from)
{
    return made->length > LONGEST && made->length / TIMES_LONGER > from;
}

static txd_status too_long(size_t from)
{
    return txd_fail(TXD_ERR_UNSUPPORTED,
                    "the tokenizer's normalizer makes a text of %zu bytes more than "
                    "%d times longer: is `normalizer` in its file damaged?",
                    from, TIMES_LONGER);
}

/* The places of a fixed text, or of a pattern. */
static txd_status find_places(txd_spans *out, const txd_text_step *step,
                              const char *text, size_t count)
{
    size_t length = step->find.length;

    if (step->pattern)
        return txd_pattern_find(out, step->pattern, text, count);
    for (size_t at = 0; length > 0 && at + length <= count;) {
        const char *found =
            memchr(text + at, step->find.at[0], count - length - at + 1);

        if (!found)
            break;
        at = (size_t)(found - text);
        if (memcmp(found, step->find.at, length) != 0) {
            at++;
            continue;
        }
        TXD_TRY(txd_spans_add(out, at, at + length));
        at += length;
    }
    return TXD_OK;
}

static txd_status replace(txd_text *out, const txd_text_step *step, const char *text,
                          size_t count)
{
    txd_spans places = {0};
    txd_status status = find_places(&places, step, text, count);
    size_t at = 0;

    for (size_t i = 0; i < places.count && status == TXD_OK; i++) {
        const txd_span *place = &places.at[i];

        txd_text_add_bytes(out, text + at, place->begin - at);
        txd_text_add_bytes(out, step->text.at, step->text.length);
        if (step->keep) {
            txd_text_add_bytes(out, text + place->begin, place->end - place->begin);
            txd_text_add_bytes(out, step->after.at, step->after.length);
        }
        at = place->end;
        if (is_too_long(out, count))
            status = too_long(count);
    }
    txd_text_add_bytes(out, text + at, count - at);
    free(places.at);
    return status;
}

static void strip(txd_text *out, const txd_text_step *step, const char *text,
                  size_t count)
{
    size_t begin = 0, end = 0;
    uint32_t code;

    if (!step->right)
        end = count;
    for (size_t at = 0, bytes; at < count; at += bytes) {
        bytes = txd_utf8_decode(&code, text + at, count - at);
        if (bytes > 0 && txd_utf8_is_space(code)) {
            if (step->left && begin == at)
                begin = at + bytes;
            continue;
        }
        bytes = bytes ? bytes : 1;
        if (step->right)
            end = at + bytes;
    }
    if (end > begin)
        txd_text_add_bytes(out, text + begin, end - begin);
}

static txd_status apply(txd_text *out, const txd_text_step *step, const char *text,
                        size_t count)
{
    switch (step->kind) {
    case TXD_STEP_PREPEND:
        if (count > 0)
            txd_text_add_bytes(out, step->text.at, step->text.length);
        txd_text_add_bytes(out, text, count);
        break;
    case TXD_STEP_REPLACE:
        TXD_TRY(replace(out, step, text, count));
        break;
    case TXD_STEP_NFC:
    case TXD_STEP_NFD:
        TXD_TRY(txd_unicode_compose(out, text, count, step->kind == TXD_STEP_NFC));
        break;
    case TXD_STEP_LOWER:
        TXD_TRY(txd_pattern_lower(out, text, count));
        break;
    case TXD_STEP_STRIP:
        strip(out, step, text, count);
        break;
    default:
        return txd_fail(TXD_ERR_ARGUMENT, "a cut among the normal steps");
    }
    return txd_text_status(out);
}

txd_status txd_normalize(txd_text *out, const txd_tokenizer *tokenizer,
                         const char *text, size_t count)
{
    txd_text next;

    txd_text_add_bytes(out, text, count);
    TXD_TRY(txd_text_status(out));
    for (size_t i = 0; i < tokenizer->normal.count; i++) {
        txd_status status;

        txd_text_init(&next);
        status = apply(&next, &tokenizer->normal.at[i], txd_text_get(out), out->length);
        if (status == TXD_OK && is_too_long(&next, count))
            status = too_long(count);
        if (status != TXD_OK) {
            txd_text_finish(&next);
            return status;
        }
        txd_text_finish(out);
        *out = next;
    }
    return TXD_OK;
}

/* SPDX-License-Identifier: MIT
 *
 * Strings of the explorer's numbers: JSON inside of HTML, and the labels of tokens.
 */
#include <string.h>

#include "viz/report/explorer.h"

#define MOST_LABELS 1.0e6 /* bytes */

void txd_explorer_comma(txd_text *out)
{
    if (out->length)
        txd_text_add(out, ",");
}

/* JSON in HTML: nothing in it may end the element. */
static void add_safe(txd_text *out, const txd_text *json)
{
    const char *at = txd_text_get(json), *next;

    for (; (next = strchr(at, '<')); at = next + 1) {
        txd_text_add_bytes(out, at, (size_t)(next - at));
        txd_text_add(out, "\\u003c");
    }
    txd_text_add(out, at);
    if (txd_text_status(json) != TXD_OK)
        out->status = txd_text_status(json);
}

void txd_explorer_string(txd_text *out, const char *words)
{
    txd_text cleaned, quoted;
    txd_json json;

    txd_text_init(&cleaned);
    txd_text_init(&quoted);
    txd_clean(&cleaned, words, 200);
    txd_json_init(&json, &quoted, 0);
    txd_json_string(&json, txd_text_get(&cleaned));
    add_safe(out, &quoted);
    txd_text_finish(&quoted);
    txd_text_finish(&cleaned);
}

/* "5 \u2423once" without its place. */
static void add_label(txd_text *out, const txd_claim *claim, size_t batch, size_t place,
                      bool of_memory)
{
    txd_text label;
    const char *words;

    txd_text_init(&label);
    if (of_memory)
        txd_claim_memory(&label, claim, batch, place);
    else
        txd_claim_token(&label, claim, batch, place);
    words = strchr(txd_text_get(&label), ' ');
    txd_explorer_string(out, words ? words + 1 : "");
    txd_text_finish(&label);
}

/* The number of a list with the labels of a row; -1 = there are none, or no room. */
long txd_explorer_tokens(txd_explorer *e, const txd_claim *claim, size_t batch,
                         size_t count, bool of_memory)
{
    txd_text list;

    if (!(of_memory ? claim->memory_pieces != NULL : claim->has_tokens) ||
        e->label_bytes > MOST_LABELS)
        return -1;
    txd_text_init(&list);
    txd_text_add(&list, "[");
    for (size_t i = 0; i < count; i++) {
        if (i)
            txd_text_add(&list, ",");
        add_label(&list, claim, batch, i, of_memory);
    }
    txd_text_add(&list, "]");
    e->label_bytes += (double)list.length;
    txd_explorer_comma(&e->tokens);
    txd_text_add(&e->tokens, txd_text_get(&list));
    txd_text_finish(&list);
    return (long)e->token_lists++;
}

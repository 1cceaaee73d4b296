/* SPDX-License-Identifier: MIT
 *
 * Two renderings of the same facts.
 */
#include "cli/facts.h"

#include <math.h>
#include <string.h>

#include "cli/printable.h"

void txd_facts_text(txd_facts *facts, const char *name, const char *text)
{
    if (!text || facts->count == TXD_FACTS_MAX)
        return;
    facts->list[facts->count++] =
        (txd_fact){name, txd_arena_string(facts->arena, text), 0};
}

void txd_facts_number(txd_facts *facts, const char *name, double number)
{
    if (facts->count < TXD_FACTS_MAX)
        facts->list[facts->count++] = (txd_fact){name, NULL, number};
}

void txd_facts_tokenizer(txd_facts *facts, const txd_tokenizer *tokenizer)
{
    static const char *const words[] = {", begin ", ", end "};
    const int32_t ids[] = {txd_tokenizer_bos(tokenizer), txd_tokenizer_eos(tokenizer)};
    txd_text text, piece;

    txd_text_init(&text);
    txd_text_addf(&text, "%s, %zu tokens", txd_tokenizer_kind(tokenizer),
                  txd_tokenizer_count(tokenizer));
    for (size_t i = 0; i < 2; i++) {
        if (ids[i] < 0)
            continue;
        txd_text_add(&text, words[i]);
        txd_text_init(&piece);
        txd_tokenizer_piece(&piece, tokenizer, ids[i]);
        txd_printable_piece(&text, txd_text_get(&piece));
        txd_text_finish(&piece);
    }
    txd_facts_text(facts, "tokenizer", txd_text_get(&text));
    txd_text_finish(&text);
}

static double entry_bytes(const txd_trace_info *info)
{
    double bytes = (double)txd_dtype_bytes(info->dtype);
    int axis;

    if (info->bytes > 0)
        return (double)info->bytes;
    for (axis = 0; axis < info->rank; axis++)
        bytes *= (double)info->dims[axis];
    return bytes;
}

/* As the file has it: a name, or a sentence of what it is. */
static const char *dtype_of(const txd_trace_info *info)
{
    if (info->stored)
        return info->stored;
    if (info->foreign)
        return strlen(info->foreign) < 16 ? info->foreign : "not read";
    return txd_dtype_name(info->dtype);
}

double txd_facts_bytes(const txd_trace *trace)
{
    size_t i, count = txd_trace_count(trace);
    txd_trace_info info;
    double bytes = 0;

    for (i = 0; i < count; i++)
        if (txd_trace_get(trace, &info, i) == TXD_OK)
            bytes += entry_bytes(&info);
    return bytes;
}

/* Tensors stand in a file as they are; datasets are packed. */
static bool is_file(const txd_facts *facts)
{
    return facts->entry_word && strcmp(facts->entry_word, "tensors") == 0;
}

static void print_entries(txd_text *out, const txd_facts *facts)
{
    const char *word = facts->entry_word ? facts->entry_word : "entries";
    size_t i, count = txd_trace_count(facts->entries), width = 0;
    txd_trace_info info;
    char shape[160];

    for (i = 0; i < count; i++)
        if (txd_trace_get(facts->entries, &info, i) == TXD_OK &&
            strlen(info.name) > width)
            width = strlen(info.name);
    txd_text_addf(out, "\n%zu %.*s:\n", count, (int)strlen(word) - (count == 1), word);
    for (i = 0; i < count; i++) {
        if (txd_trace_get(facts->entries, &info, i) != TXD_OK)
            continue;
        txd_shape_text(shape, sizeof shape, info.dims, info.rank);
        txd_text_addf(out, "  %-*s  %-8s  %s%s%s", (int)width, info.name,
                      dtype_of(&info), shape, *info.axes ? "  " : "", info.axes);
        if (is_file(facts))
            txd_text_addf(out, "  %.0f bytes", entry_bytes(&info));
        txd_text_add(out, "\n");
    }
}

static void print_config(txd_text *out, const char *config)
{
    txd_text_add(out, "\nconfiguration:\n");
    while (*config) {
        size_t length = strcspn(config, "\n");

        txd_text_add(out, "  ");
        txd_text_add_bytes(out, config, length);
        txd_text_add(out, "\n");
        config += length + (config[length] == '\n');
    }
}

void txd_facts_print(txd_text *out, const txd_facts *facts)
{
    size_t i, width = 0;

    for (i = 0; i < facts->verdict_count; i++)
        if (strlen(facts->laws[i]) > width)
            width = strlen(facts->laws[i]);
    for (i = 0; i < facts->count; i++) {
        txd_text_addf(out, "%-14s  ", facts->list[i].name);
        if (facts->list[i].text)
            txd_text_addf(out, "%s\n", facts->list[i].text);
        else {
            txd_text_add_real(out, facts->list[i].number);
            txd_text_add(out, "\n");
        }
    }
    for (i = 0; i < facts->verdict_count; i++) {
        txd_text_add(out, i ? "" : "\nverdicts:\n");
        txd_text_addf(out, "  %-*s  %s\n", (int)width, facts->laws[i],
                      facts->verdicts[i]);
    }
    if (facts->config)
        print_config(out, facts->config);
    if (facts->entries)
        print_entries(out, facts);
}

static void json_entries(txd_json *json, const txd_facts *facts)
{
    size_t i, count = txd_trace_count(facts->entries);
    txd_trace_info info;
    int axis;

    txd_json_key(json, facts->entry_word);
    txd_json_open_array(json);
    for (i = 0; i < count; i++) {
        if (txd_trace_get(facts->entries, &info, i) != TXD_OK)
            continue;
        txd_json_open_object(json);
        txd_json_key(json, "name");
        txd_json_string(json, info.name);
        txd_json_key(json, "dtype");
        txd_json_string(json, dtype_of(&info));
        txd_json_key(json, "axes");
        txd_json_string(json, info.axes);
        txd_json_key(json, "shape");
        txd_json_open_array(json);
        for (axis = 0; axis < info.rank; axis++)
            txd_json_int(json, (int64_t)info.dims[axis]);
        txd_json_close_array(json);
        if (is_file(facts)) {
            txd_json_key(json, "bytes");
            txd_json_number(json, entry_bytes(&info));
        }
        txd_json_close_object(json);
    }
    txd_json_close_array(json);
}

static void json_fact(txd_json *json, const txd_fact *fact)
{
    txd_json_key(json, fact->name);
    if (fact->text)
        txd_json_string(json, fact->text);
    else if (fact->number == floor(fact->number) && fabs(fact->number) < 0x1p53)
        txd_json_int(json, (int64_t)fact->number);
    else
        txd_json_number(json, fact->number);
}

void txd_facts_json(txd_text *out, const txd_facts *facts)
{
    txd_json json;
    size_t i;

    txd_json_init(&json, out, 2);
    txd_json_open_object(&json);
    for (i = 0; i < facts->count; i++)
        json_fact(&json, &facts->list[i]);
    if (facts->verdict_count) {
        txd_json_key(&json, "verdicts");
        txd_json_open_object(&json);
        for (i = 0; i < facts->verdict_count; i++) {
            txd_json_key(&json, facts->laws[i]);
            txd_json_string(&json, facts->verdicts[i]);
        }
        txd_json_close_object(&json);
    }
    if (facts->config) {
        txd_json_key(&json, "config");
        txd_json_string(&json, facts->config);
    }
    if (facts->entries)
        json_entries(&json, facts);
    txd_json_close_object(&json);
    txd_text_add(out, "\n");
}

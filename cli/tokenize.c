/* SPDX-License-Identifier: MIT
 *
 * txdiag tokenize: a text as the ids and pieces of a model's tokenizer.
 */
#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "cli/printable.h"
#include "cli/text_operand.h"

static void print_plain(txd_text *out, const txd_tokenizer *tokenizer,
                        const txd_ids *ids)
{
    for (size_t i = 0; i < ids->count; i++)
        txd_text_addf(out, "%s%d", i ? " " : "", (int)ids->ids[i]);
    txd_text_add(out, "\n");
    for (size_t i = 0; i < ids->count; i++) {
        txd_text piece;

        txd_text_init(&piece);
        txd_tokenizer_piece(&piece, tokenizer, ids->ids[i]);
        txd_printable_piece(out, txd_text_get(&piece));
        txd_text_add(out, "\n");
        txd_text_finish(&piece);
    }
}

static void print_json(txd_text *out, const txd_tokenizer *tokenizer,
                       const txd_ids *ids)
{
    txd_json json;

    txd_json_init(&json, out, 0);
    txd_json_open_object(&json);
    txd_json_key(&json, "ids");
    txd_json_open_array(&json);
    for (size_t i = 0; i < ids->count; i++)
        txd_json_int(&json, ids->ids[i]);
    txd_json_close_array(&json);
    txd_json_key(&json, "pieces");
    txd_json_open_array(&json);
    for (size_t i = 0; i < ids->count; i++) {
        txd_text piece;

        txd_text_init(&piece);
        txd_tokenizer_piece(&piece, tokenizer, ids->ids[i]);
        txd_json_string(&json, txd_text_get(&piece));
        txd_text_finish(&piece);
    }
    txd_json_close_array(&json);
    txd_json_close_object(&json);
    txd_text_add(out, "\n");
}

static txd_status encode(txd_text *out, const txd_options *options,
                         const txd_tokenizer *tokenizer)
{
    bool special = !txd_options_has(options, "no-special");
    txd_ids ids = {0};
    txd_status status;
    txd_text text;

    txd_text_init(&text);
    status = txd_text_operand(&text, options->operands[1]);
    if (status == TXD_OK)
        status = txd_tokenizer_encode(&ids, tokenizer, txd_text_get(&text), text.length,
                                      special);
    if (status == TXD_OK && txd_options_has(options, "json"))
        print_json(out, tokenizer, &ids);
    else if (status == TXD_OK)
        print_plain(out, tokenizer, &ids);
    txd_ids_finish(&ids);
    txd_text_finish(&text);
    return status;
}

static int tokenize(const txd_options *options)
{
    const char *file = txd_options_value(options, "tokenizer");
    txd_tokenizer *tokenizer = NULL;
    txd_status status;
    txd_text out;

    txd_text_init(&out);
    status = txd_tokenizer_open(&tokenizer, file ? file : options->operands[0]);
    if (status == TXD_OK)
        status = encode(&out, options, tokenizer);
    txd_tokenizer_destroy(tokenizer);
    if (status != TXD_OK) {
        txd_text_finish(&out);
        return txd_output_complain();
    }
    return txd_output_result(&out, TXD_EXIT_HELD);
}

static const txd_option options[] = {
    {"tokenizer", 0, "FILE", "the tokenizer, for models that have none with them"},
    {"no-special", 0, NULL, "without what the model puts around texts (BOS)"},
    {"json", 0, NULL, "as one JSON object: ids and pieces"},
    {NULL, 0, NULL, NULL},
};

const txd_command txd_command_tokenize = {
    .name = "tokenize",
    .sentence = "print the token ids and pieces of a text",
    .usage = "MODEL TEXT [--tokenizer FILE] [--no-special] [--json]",
    .help =
        "Prints the ids of a text on one line, then its pieces, one per line, control\n"
        "characters and backslashes escaped, bytes that are no character as <0xE4>. "
        "MODEL\n"
        "is a folder (tokenizer.json; vocab.json and merges.txt), a GGUF file (its\n"
        "vocabulary is enough), one of these files alone, llama2.c's tokenizer.bin, "
        "or\n"
        "a llama2.c model with --tokenizer. TEXT is the text itself, @FILE for the "
        "bytes\n"
        "of a file, or - for those of standard input. Special tokens in the text are\n"
        "found, with --no-special too.\n"
        "\n"
        "  txdiag tokenize path/to/hf-folder 'Once upon a time'\n"
        "  txdiag tokenize model.gguf @story.txt --no-special\n"
        "  txdiag tokenize stories.bin --tokenizer tokenizer.bin Hello",
    .exits = "  0  encoded\n"
             "  2  no tokenizer, or one that is not supported: the message names the "
             "field\n",
    .options = options,
    .least = 2,
    .most = 2,
    .run = tokenize,
};

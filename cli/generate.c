/* SPDX-License-Identifier: MIT
 *
 * txdiag generate: the most likely continuation of a text, token by token. Text goes to
 * standard output as it comes; messages do not mix with it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/backends.h"
#include "cli/interrupt.h"
#include "cli/memory.h"
#include "cli/output.h"
#include "cli/text_operand.h"

#define DEFAULT_COUNT 64

typedef struct generate_job {
    const txd_options *options;
    txd_arena *arena;
    const txd_backend *backend;
    txd_checkpoint *checkpoint;
    txd_tokenizer *tokenizer; /* NULL with --ids */
    txd_config config;
    txd_params *params;
    txd_model *model;
    txd_generator *generator;
    txd_ids ids;    /* of the prompt, then of all */
    size_t printed; /* bytes of their text, or ids */
    bool ended;     /* the model said so */
} generate_job;

/* ---- the model ---- */

static txd_status open_model(generate_job *job)
{
    const txd_options *options = job->options;
    const char *name = options->backend ? options->backend : "cpu32";
    const char *path = options->operands[0];
    const txd_config *stated;

    TXD_TRY(txd_backends_find(&job->backend, name));
    TXD_TRY(txd_checkpoint_open(&job->checkpoint, path));
    stated = txd_checkpoint_config(job->checkpoint);
    if (!stated)
        return txd_fail(TXD_ERR_CONFIG,
                        "%s: no config.json says what these arrays are for; put it "
                        "beside them",
                        path);
    TXD_TRY(txd_config_copy(&job->config, job->arena, stated));
    TXD_TRY(txd_memory_allows(txd_params_bytes(&job->config, TXD_F32),
                              "the parameters of the model", "take a smaller model"));
    TXD_TRY(txd_checkpoint_params(&job->params, job->checkpoint, &job->config,
                                  options->threads));
    return txd_model_create(&job->model, job->backend, &job->config, job->params,
                            options->threads);
}

static txd_status open_tokenizer(generate_job *job)
{
    const char *path = txd_options_value(job->options, "tokenizer");
    txd_status status;

    if (txd_options_has(job->options, "ids"))
        return TXD_OK;
    status =
        txd_tokenizer_open(&job->tokenizer, path ? path : job->options->operands[0]);
    if (status == TXD_ERR_MISSING && !path)
        return txd_fail(status, "%s; name one with --tokenizer, or give ids with --ids",
                        txd_message());
    return status;
}

/* ---- the prompt ---- */

static txd_status add_id(txd_ids *ids, long id)
{
    if (ids->count == ids->capacity) {
        size_t room = ids->capacity ? 2 * ids->capacity : 256;
        int32_t *more = realloc(ids->ids, room * sizeof *more);

        if (!more)
            return txd_fail(TXD_ERR_MEMORY, "no memory for %zu tokens", room);
        ids->ids = more;
        ids->capacity = room;
    }
    ids->ids[ids->count++] = (int32_t)id;
    return TXD_OK;
}

static txd_status read_ids(generate_job *job, const char *text)
{
    static const char between[] = " \t\r\n,";
    size_t vocab = job->config.vocab;

    for (text += strspn(text, between); *text; text += strspn(text, between)) {
        char *end;
        long id;

        errno = 0;
        id = strtol(text, &end, 10);
        if (end == text || (*end && !strchr(between, *end)))
            return txd_fail(TXD_ERR_ARGUMENT,
                            "with --ids the prompt is a list of token ids, not "
                            "\"%.60s\"",
                            text);
        if (errno || id < 0 || (size_t)id >= vocab)
            return txd_fail(TXD_ERR_ARGUMENT,
                            "token id %.30s is not in the vocabulary, which has ids 0 "
                            "to %zu",
                            text, vocab - 1);
        TXD_TRY(add_id(&job->ids, id));
        text = end;
    }
    return TXD_OK;
}

/* Said before anything is printed. A tokenizer may have fewer tokens than its model,
 * whose vocabulary is often padded; ids that the model has not are of another one. */
static txd_status hold_ids(const generate_job *job)
{
    for (size_t i = 0; i < job->ids.count; i++)
        if ((size_t)job->ids.ids[i] >= job->config.vocab)
            return txd_fail(TXD_ERR_ARGUMENT,
                            "the tokenizer makes token id %d of the prompt, but the "
                            "model has ids 0 to %zu: this tokenizer (%zu tokens) is "
                            "not the model's; name the right one with --tokenizer",
                            (int)job->ids.ids[i], job->config.vocab - 1,
                            txd_tokenizer_count(job->tokenizer));
    return TXD_OK;
}

static txd_status take_prompt(generate_job *job, const txd_text *prompt)
{
    const char *text = txd_text_get(prompt);

    if (!job->tokenizer)
        return read_ids(job, text);
    TXD_TRY(txd_tokenizer_encode(&job->ids, job->tokenizer, text, prompt->length,
                                 !txd_options_has(job->options, "no-special")));
    return hold_ids(job);
}

static txd_status read_prompt(generate_job *job)
{
    txd_text prompt;
    txd_status status;

    txd_text_init(&prompt);
    status = txd_text_operand(&prompt, job->options->operands[1]);
    if (status == TXD_OK)
        status = take_prompt(job, &prompt);
    txd_text_finish(&prompt);
    if (status != TXD_OK || job->ids.count > 0)
        return status;
    if (job->tokenizer && txd_tokenizer_bos(job->tokenizer) >= 0)
        return add_id(&job->ids, txd_tokenizer_bos(job->tokenizer));
    return txd_fail(TXD_ERR_ARGUMENT,
                    "the prompt has no token, and the model names none to begin with; "
                    "give a longer prompt");
}

/* ---- the text ---- */

static txd_status write_out(const char *text, size_t bytes)
{
    if (fwrite(text, 1, bytes, stdout) == bytes && fflush(stdout) == 0)
        return TXD_OK;
    return txd_fail(TXD_ERR_IO, "standard output: %s", strerror(errno));
}

/* The text of all tokens so far, as far as it is not yet there: what a token adds
 * depends on those before it. */
static txd_status print_text(generate_job *job)
{
    txd_text text;
    txd_status status;

    txd_text_init(&text);
    status = txd_tokenizer_decode(&text, job->tokenizer, job->ids.ids, job->ids.count);
    if (status == TXD_OK)
        status = txd_text_status(&text);
    if (status == TXD_OK && text.length > job->printed) {
        status =
            write_out(txd_text_get(&text) + job->printed, text.length - job->printed);
        job->printed = text.length;
    }
    txd_text_finish(&text);
    return status;
}

static txd_status print_ids(generate_job *job)
{
    char word[16];

    for (; job->printed < job->ids.count; job->printed++) {
        int length = snprintf(word, sizeof word, "%s%d", job->printed ? " " : "",
                              (int)job->ids.ids[job->printed]);

        TXD_TRY(write_out(word, (size_t)length));
    }
    return TXD_OK;
}

static txd_status print_new(generate_job *job)
{
    return job->tokenizer ? print_text(job) : print_ids(job);
}

/* ---- the loop ---- */

static int asked_to_stop(void *self, int step, size_t done, size_t total)
{
    (void)self;
    (void)step;
    (void)done;
    (void)total;
    return txd_interrupt_count() > 1;
}

/* How many tokens may follow: what was asked for, as far as the model has positions. */
static txd_status room_for(size_t *out, const generate_job *job)
{
    size_t limit = job->config.max_seq_len, prompt = job->ids.count;
    int count = DEFAULT_COUNT;

    TXD_TRY(txd_options_int(&count, job->options, "count"));
    *out = (size_t)count;
    if (limit == 0 || prompt + *out <= limit)
        return TXD_OK;
    if (prompt > limit)
        return txd_fail(TXD_ERR_CONFIG,
                        "the prompt has %zu tokens, the model %zu positions; shorten "
                        "it",
                        prompt, limit);
    *out = limit - prompt;
    txd_output_say(job->options,
                   "the model has %zu positions: %zu tokens follow the prompt instead "
                   "of %d",
                   limit, *out, count);
    return TXD_OK;
}

static txd_status create_generator(generate_job *job, size_t follow)
{
    txd_generate_options how = {
        .capacity = job->ids.count + follow,
        .from_start = txd_options_has(job->options, "no-cache"),
        .threads = job->options->threads,
        .progress = asked_to_stop,
    };
    size_t bytes = 0;
    int chunk = 0;

    TXD_TRY(txd_options_int(&chunk, job->options, "chunk"));
    how.chunk = (size_t)chunk;
    TXD_TRY(txd_cache_bytes(&bytes, job->model, 1, how.capacity));
    TXD_TRY(txd_memory_allows((double)bytes, "the keys and values of the sequence",
                              "generate fewer tokens"));
    return txd_generator_create(&job->generator, job->model, &job->config, &how);
}

/* The end of this text, or the beginning of another. */
static bool ends_text(const generate_job *job, int32_t token)
{
    return job->tokenizer && (token == txd_tokenizer_eos(job->tokenizer) ||
                              token == txd_tokenizer_bos(job->tokenizer));
}

static txd_status next_token(generate_job *job)
{
    int32_t token;

    TXD_TRY(txd_generator_next(&token, job->generator));
    if (ends_text(job, token)) {
        job->ended = true;
        return TXD_OK;
    }
    TXD_TRY(add_id(&job->ids, token));
    return print_new(job);
}

static txd_status generate(generate_job *job)
{
    size_t follow, fed = 0;

    TXD_TRY(read_prompt(job));
    TXD_TRY(room_for(&follow, job));
    TXD_TRY(create_generator(job, follow));
    TXD_TRY(print_new(job));
    for (; follow > 0 && !job->ended; follow--) {
        TXD_TRY(txd_generator_feed(job->generator, job->ids.ids + fed,
                                   job->ids.count - fed));
        fed = job->ids.count;
        TXD_TRY(next_token(job));
        if (txd_interrupt_count() > 0)
            return txd_fail(TXD_ERR_INTERRUPTED, "interrupted after %zu tokens",
                            job->ids.count);
    }
    return TXD_OK;
}

static void finish(generate_job *job)
{
    txd_generator_destroy(job->generator);
    txd_model_destroy(job->model);
    txd_params_destroy(job->params);
    txd_tokenizer_destroy(job->tokenizer);
    txd_checkpoint_destroy(job->checkpoint);
    txd_ids_finish(&job->ids);
    txd_arena_destroy(job->arena);
}

static int run(const txd_options *options)
{
    generate_job job = {.options = options};
    txd_status status = txd_arena_create(&job.arena);
    int exit_status = TXD_EXIT_HELD;

    txd_interrupt_watch();
    if (status == TXD_OK)
        status = open_tokenizer(&job);
    if (status == TXD_OK)
        status = open_model(&job);
    if (status == TXD_OK)
        status = generate(&job);
    if (job.printed > 0 && (!job.tokenizer || isatty(STDOUT_FILENO)))
        write_out("\n", 1);
    if (status != TXD_OK)
        exit_status = txd_output_complain();
    if (status == TXD_ERR_INTERRUPTED)
        exit_status = TXD_EXIT_INTERRUPTED;
    finish(&job);
    return exit_status;
}

static const txd_option own_options[] = {
    {"count", 'n', "N", "tokens that follow the prompt; 64 without"},
    {"tokenizer", 0, "FILE", "where the model has none: tokenizer.json, .bin, ..."},
    {"no-special", 0, NULL, "do not begin with what the model puts before a text"},
    {"ids", 0, NULL, "PROMPT and output are token ids; none of them ends the text"},
    {"chunk", 0, "N", "run the prompt N tokens at a time; 0 = at once"},
    {"no-cache", 0, NULL, "run the whole sequence anew for each token"},
    {0},
};

const txd_command txd_command_generate = {
    .name = "generate",
    .sentence = "continue a text by a model",
    .usage = "MODEL PROMPT [-n N]",
    .help =
        "Prints the prompt and the most likely token after it, again and again, until\n"
        "the model ends the text or N tokens have followed. MODEL is what model.from\n"
        "takes: a folder with config.json, a .gguf, or a .bin of llama2.c with\n"
        "--tokenizer. PROMPT is the text itself, @FILE, or - for standard input; if "
        "it\n"
        "is empty, the token with which the model begins texts.\n"
        "\n"
        "Keys and values of earlier tokens are kept (a KV cache). --no-cache prints "
        "the\n"
        "same text slowly, and so does --chunk with any number. A file or a pipe gets\n"
        "the text and nothing else, a terminal an end of the line after it. Nothing "
        "is\n"
        "drawn at random, and no chat template is put around the prompt.\n"
        "\n"
        "  txdiag generate path/to/model 'Once upon a time' -n 100\n"
        "  txdiag generate model.gguf --ids '1 403 407' -n 5\n",
    .exits = "  0    the text is complete\n"
             "  2    the question could not be asked\n"
             "  130  interrupted; what was generated is printed\n",
    .options = own_options,
    .least = 2,
    .most = 2,
    .run = run,
};

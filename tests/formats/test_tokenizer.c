/* SPDX-License-Identifier: MIT
 *
 * Tokenizers of real models against the ids that other programs gave: llama.cpp's test
 * vectors, llama2.c's cases, and those of stories260K.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "encoded.h"
#include "formats/file.h"
#include "formats/json_read.h"
#include "suite.h"

#define BETWEEN "\n__ggml_vocab_test__\n"

/* The end of the text that begins at `at`. */
static size_t end_of_text(const txd_mapped *texts, size_t at)
{
    size_t mark = strlen(BETWEEN);

    while (at + mark <= texts->count && memcmp(texts->bytes + at, BETWEEN, mark) != 0)
        at++;
    return at + mark <= texts->count ? at : texts->count;
}

/* The numbers of a line; returns how many. *at goes to the next line. */
static size_t take_line(int32_t *ids, const char **at, const char *end)
{
    size_t count = 0;

    while (*at < end && **at != '\n') {
        char *after;

        ids[count++] = (int32_t)strtol(*at, &after, 10);
        ck_assert_ptr_ne(after, *at);
        *at = after;
    }
    *at += *at < end;
    return count;
}

/* All texts of a vocabulary's vectors; returns how many there are. */
static size_t hold_vectors(const txd_tokenizer *tokenizer, const char *vectors)
{
    char path[200];
    txd_mapped texts, lines;
    const char *line, *end;
    size_t at = 0, cases = 0;

    snprintf(path, sizeof path, "%s.inp", vectors);
    OK(txd_file_map(&texts, test_model(path)));
    snprintf(path, sizeof path, "%s.out", vectors);
    OK(txd_file_map(&lines, test_model(path)));
    line = (const char *)lines.bytes;
    end = line + lines.count;
    for (; line < end; cases++) {
        size_t stop = end_of_text(&texts, at), count;
        int32_t ids[4096];

        count = take_line(ids, &line, end);
        ck_assert_msg(encoded_is(tokenizer, (const char *)texts.bytes + at, stop - at,
                                 false, ids, count),
                      "%s: case %zu differs", vectors, cases);
        at = stop + strlen(BETWEEN);
    }
    txd_file_unmap(&texts);
    txd_file_unmap(&lines);
    return cases;
}

static void hold_model(const char *model, const char *vectors)
{
    txd_tokenizer *tokenizer = encoded_open(test_model(model));

    ck_assert_uint_eq(hold_vectors(tokenizer, vectors), 46);
    txd_tokenizer_destroy(tokenizer);
}

START_TEST(vocabularies_give_the_vectors_of_llama_cpp)
{
    static const char *const names[] = {"gpt-2", "starcoder", "llama-spm"};

    if (!test_model("llama.cpp-vocab"))
        test_skip(TEST_NO_MODEL);
    for (size_t i = 0; i < 3; i++) {
        char path[100];

        snprintf(path, sizeof path, "llama.cpp-vocab/ggml-vocab-%s.gguf", names[i]);
        hold_model(path, path);
    }
}
END_TEST

START_TEST(other_files_of_the_same_vocabularies_give_them_too)
{
    if (!test_model("llama.cpp-vocab") || !test_model("gpt2-bpe") ||
        !test_model("llama2c-tokenizer"))
        test_skip(TEST_NO_MODEL);
    hold_model("gpt2-bpe", "llama.cpp-vocab/ggml-vocab-gpt-2.gguf");
    hold_model("gpt2-bpe/vocab.bpe", "llama.cpp-vocab/ggml-vocab-gpt-2.gguf");
    hold_model("llama2c-tokenizer/tokenizer.bin",
               "llama.cpp-vocab/ggml-vocab-llama-spm.gguf");
}
END_TEST

/* Cases of a file: lists of { text, ids } with BOS. `but` is the text of the one that
 * differs by design, or NULL. Returns how many are the same. */
static size_t hold_cases(const char *model, const char *cases, const char *but)
{
    txd_tokenizer *tokenizer = encoded_open(test_model(model));
    txd_setting *root = NULL;
    txd_arena *arena = NULL;
    size_t same = 0;

    OK(txd_arena_create(&arena));
    OK(txd_json_load(&root, arena, test_model(cases)));
    for (const txd_setting *one = root->child; one; one = one->next) {
        const txd_setting *text = txd_setting_find(one, "text");

        if (but && strcmp(text->string, but) == 0)
            continue;
        encoded_same(tokenizer, text->string, text->string_length, true,
                     txd_setting_find(one, "ids"), cases);
        same++;
    }
    txd_arena_destroy(arena);
    txd_tokenizer_destroy(tokenizer);
    return same;
}

START_TEST(llama2c_gives_its_own_cases_with_bos)
{
    if (!test_model("llama2c-tokenizer"))
        test_skip(TEST_NO_MODEL);
    ck_assert_uint_eq(hold_cases("llama2c-tokenizer/tokenizer.bin",
                                 "llama2c-tokenizer/cases.json", NULL),
                      5);
}
END_TEST

/* A literal U+2581 is bytes to llama2.c, and a blank to the others. */
START_TEST(stories_are_the_same_in_all_files_but_for_the_mark_itself)
{
    static const char cases[] = "stories260K/golden/tokenizer_cases.json";
    static const char *const others[] = {"stories260K", "stories260K/model.safetensors",
                                         "stories260K/stories260K-q4_0.gguf"};
    static const int32_t bytes[] = {1, 410, 229, 153, 132}, blanks[] = {1, 410, 410};
    static const char mark[] = "\xE2\x96\x81";
    txd_tokenizer *tokenizer;

    if (!test_model("stories260K"))
        test_skip(TEST_NO_MODEL);
    ck_assert_uint_eq(hold_cases("stories260K/tok512.bin", cases, NULL), 29);
    tokenizer = encoded_open(test_model("stories260K/tok512.bin"));
    ck_assert(encoded_is(tokenizer, mark, 3, true, bytes, 5));
    txd_tokenizer_destroy(tokenizer);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(hold_cases(others[i], cases, mark), 28);
        tokenizer = encoded_open(test_model(others[i]));
        ck_assert(encoded_is(tokenizer, mark, 3, true, blanks, 3));
        txd_tokenizer_destroy(tokenizer);
    }
}
END_TEST

/* Text, its ids and their text again; then without the first blank, if one is put in
 * front of texts. */
static void returns(const txd_tokenizer *tokenizer, const char *text, size_t bytes)
{
    txd_ids ids = {0};
    txd_text again;

    txd_text_init(&again);
    OK(txd_tokenizer_encode(&ids, tokenizer, text, bytes, true));
    OK(txd_tokenizer_decode(&again, tokenizer, ids.ids, ids.count));
    ck_assert_uint_eq(again.length, bytes);
    ck_assert(bytes == 0 || memcmp(again.data, text, bytes) == 0);
    txd_text_finish(&again);
    txd_ids_finish(&ids);
}

START_TEST(any_bytes_come_back_from_their_ids)
{
    static const char *const models[] = {"gpt2-bpe",
                                         "llama.cpp-vocab/ggml-vocab-llama-spm.gguf",
                                         "stories260K", "stories260K/tok512.bin"};
    unsigned char bytes[1024];
    uint32_t state = 1;

    if (!test_model("gpt2-bpe") || !test_model("llama.cpp-vocab") ||
        !test_model("stories260K"))
        test_skip(TEST_NO_MODEL);
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        txd_tokenizer *tokenizer = encoded_open(test_model(models[m]));

        for (int round = 0; round < 50; round++) {
            for (size_t i = 0; i < sizeof bytes; i++) {
                state = state * 1664525u + 1013904223u;
                bytes[i] = (unsigned char)(state >> 24);
                if (round % 2 && bytes[i] >= 0x80)
                    bytes[i] &= 0x3F;
                if (bytes[i] == '<')
                    bytes[i] = '>'; /* special tokens are not text again */
            }
            returns(tokenizer, (const char *)bytes, sizeof bytes);
        }
        returns(tokenizer, "", 0);
        returns(tokenizer, " two  blanks \n", 14);
        txd_tokenizer_destroy(tokenizer);
    }
}
END_TEST

/* This vocabulary lacks bytes that UTF-8 never has. */
START_TEST(a_byte_without_a_token_is_an_error)
{
    txd_tokenizer *tokenizer;
    txd_ids ids = {0};

    if (!test_model("llama.cpp-vocab"))
        test_skip(TEST_NO_MODEL);
    tokenizer = encoded_open(test_model("llama.cpp-vocab/ggml-vocab-starcoder.gguf"));
    returns(tokenizer, "caf\xC3\xA9 \x80\x00\xE4", 9);
    ck_assert_int_eq(txd_tokenizer_encode(&ids, tokenizer, "a\xC1", 2, false),
                     TXD_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(txd_message(), "byte 0xc1"));
    txd_ids_finish(&ids);
    txd_tokenizer_destroy(tokenizer);
}
END_TEST

static void shows(const char *model, int32_t id, const char *piece)
{
    txd_tokenizer *tokenizer = encoded_open(test_model(model));
    txd_text text;

    txd_text_init(&text);
    txd_tokenizer_piece(&text, tokenizer, id);
    ck_assert_str_eq(txd_text_get(&text), piece);
    txd_text_finish(&text);
    txd_tokenizer_destroy(tokenizer);
}

START_TEST(pieces_are_text_to_look_at)
{
    if (!test_model("gpt2-bpe") || !test_model("stories260K"))
        test_skip(TEST_NO_MODEL);
    shows("gpt2-bpe", 995, " world");
    shows("gpt2-bpe", 50256, "<|endoftext|>");
    shows("gpt2-bpe", 50169, " <0xF0><0x9F><0x91>");
    shows("gpt2-bpe", 50257, "");
    shows("stories260K", 1, "<s>");
    shows("stories260K", 13, "\n");
    shows("stories260K", 131, "<0x80>");
    shows("stories260K", 410, " ");
    shows("stories260K/stories260K-f32.gguf", 410, " ");
    shows("stories260K/tok512.bin", 410, " ");
}
END_TEST

/* llama2.c makes bytes of a character that has no piece before it merges anything: a
 * longer piece with it is never found. */
START_TEST(llama2c_makes_bytes_first)
{
    static const int32_t expected[] = {1, 259, 3 + 0xC3, 3 + 0xA9, 260};
    static const char *const more[] = {" ", "a",
                                       "\xC3\xA9"
                                       "a",
                                       " a"};
    txd_tokenizer *tokenizer = NULL;
    txd_text file;

    txd_text_init(&file);
    txd_text_add_bytes(&file, "\x08\0\0\0", 4);
    for (int id = 0; id < 263; id++) {
        const char *piece = id < 259 ? "-" : more[id - 259];
        const char head[8] = {[4] = (char)strlen(piece)};

        txd_text_add_bytes(&file, head, sizeof head);
        txd_text_add(&file, piece);
    }
    OK(txd_tokenizer_parse_bin(&tokenizer, "made", file.data, file.length));
    ck_assert(encoded_is(tokenizer,
                         "\xC3\xA9"
                         "a",
                         3, true, expected, 5));
    txd_tokenizer_destroy(tokenizer);
    txd_text_finish(&file);
}
END_TEST

static double seconds_for(const txd_tokenizer *tokenizer, const char *text,
                          size_t count)
{
    struct timespec begun, ended;
    txd_ids ids = {0};

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
    OK(txd_tokenizer_encode(&ids, tokenizer, text, count, false));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
    ck_assert_uint_gt(ids.count, 0);
    txd_ids_finish(&ids);
    return (double)(ended.tv_sec - begun.tv_sec) +
           1e-9 * (double)(ended.tv_nsec - begun.tv_nsec);
}

/* What has no place to be cut is one word of megabytes: eight times the text may take
 * some ten times as long, not sixty-four. */
START_TEST(a_long_text_takes_no_square_of_time)
{
    static const char *const models[] = {"stories260K", "stories260K/tok512.bin",
                                         "gpt2-bpe"};
    size_t count = (size_t)1 << 21;
    char *text = malloc(count);

    ck_assert_ptr_nonnull(text);
    if (!test_model("gpt2-bpe") || !test_model("stories260K")) {
        free(text);
        test_skip(TEST_NO_MODEL);
    }
    memset(text, 'a', count);
    for (size_t m = 0; m < 3; m++) {
        txd_tokenizer *tokenizer = encoded_open(test_model(models[m]));
        double part = seconds_for(tokenizer, text, count / 8);
        double whole = seconds_for(tokenizer, text, count);

        ck_assert_msg(whole < 30 * part + 0.1, "%s: %g s for all, %g s for an eighth",
                      models[m], whole, part);
        txd_tokenizer_destroy(tokenizer);
    }
    free(text);
}
END_TEST

TEST_MAIN(vocabularies_give_the_vectors_of_llama_cpp,
          other_files_of_the_same_vocabularies_give_them_too,
          llama2c_gives_its_own_cases_with_bos,
          stories_are_the_same_in_all_files_but_for_the_mark_itself,
          any_bytes_come_back_from_their_ids, a_byte_without_a_token_is_an_error,
          pieces_are_text_to_look_at, llama2c_makes_bytes_first,
          a_long_text_takes_no_square_of_time)

/* SPDX-License-Identifier: MIT
 *
 * Tokenizers in the style of every family, small, against what PyPI's `tokenizers`
 * makes of texts that are hard to cut: tests/fixtures/tokenizers, by its make.py.
 */
#include <stdio.h>
#include <string.h>

#include "encoded.h"
#include "formats/json_read.h"
#include "suite.h"

#define FOLDER "tests/fixtures/tokenizers/"

static void hold_decoded(const txd_tokenizer *tokenizer, const txd_setting *one,
                         const char *style)
{
    const txd_setting *expected = txd_setting_find(one, "decoded");
    const txd_setting *text = txd_setting_find(one, "text");
    txd_ids ids = {0};
    txd_text decoded;

    if (!expected)
        return;
    txd_text_init(&decoded);
    OK(txd_tokenizer_encode(&ids, tokenizer, text->string, text->string_length, false));
    OK(txd_tokenizer_decode(&decoded, tokenizer, ids.ids, ids.count));
    ck_assert_msg(decoded.length == expected->string_length &&
                      memcmp(txd_text_get(&decoded), expected->string,
                             expected->string_length) == 0,
                  "%s: \"%s\" is decoded to \"%s\", expected \"%s\"", style,
                  text->string, txd_text_get(&decoded), expected->string);
    txd_text_finish(&decoded);
    txd_ids_finish(&ids);
}

/* Returns how many cases there are; *decoded those whose text is held, too. */
static size_t hold_style(const char *style, size_t *decoded)
{
    txd_tokenizer *tokenizer;
    txd_setting *root = NULL;
    txd_arena *arena = NULL;
    char path[200];
    size_t count;

    snprintf(path, sizeof path, FOLDER "%s.json", style);
    tokenizer = encoded_open(test_source(path));
    snprintf(path, sizeof path, FOLDER "%s.cases.json", style);
    OK(txd_arena_create(&arena));
    OK(txd_json_load(&root, arena, test_source(path)));
    for (const txd_setting *one = root->child; one; one = one->next) {
        const txd_setting *text = txd_setting_find(one, "text");

        encoded_same(tokenizer, text->string, text->string_length, true,
                     txd_setting_find(one, "ids"), style);
        encoded_same(tokenizer, text->string, text->string_length, false,
                     txd_setting_find(one, "bare"), style);
        hold_decoded(tokenizer, one, style);
        *decoded += txd_setting_find(one, "decoded") != NULL;
    }
    count = root->count;
    txd_arena_destroy(arena);
    txd_tokenizer_destroy(tokenizer);
    return count;
}

START_TEST(every_style_gives_the_ids_of_tokenizers)
{
    static const char *const styles[] = {
        "gpt2",      "gpt2_prefix",     "llama3", "qwen2", "starcoder",  "o200k",
        "bloom",     "falcon",          "added",  "cuts",  "cuts_words", "llama2",
        "metaspace", "metaspace_words", "gemma",  "bert"};
    size_t decoded = 0;

    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++) {
        size_t count = hold_style(styles[i], &decoded);

        ck_assert_msg(count > 100, "%s: %zu cases", styles[i], count);
    }
    ck_assert_uint_gt(decoded, 1000);
}
END_TEST

static void is_id(const char *style, const char *text, size_t bytes, int32_t id)
{
    char path[200];
    txd_tokenizer *tokenizer;

    snprintf(path, sizeof path, FOLDER "%s.json", style);
    tokenizer = encoded_open(test_source(path));
    ck_assert_msg(encoded_is(tokenizer, text, bytes, false, &id, 1), "%s: \"%s\"",
                  style, text);
    txd_tokenizer_destroy(tokenizer);
}

/* What the fixtures are for is in them: a word that no merges make is one token with
 * ignore_merges, and is not without. */
START_TEST(whole_words_are_found_where_merges_are_ignored)
{
    static const char word[] = " otherworldly";
    txd_tokenizer *tokenizer = encoded_open(test_source(FOLDER "gpt2.json"));
    txd_ids ids = {0};

    is_id("llama3", word, sizeof word - 1, 420);
    OK(txd_tokenizer_encode(&ids, tokenizer, word, sizeof word - 1, false));
    ck_assert_uint_gt(ids.count, 1);
    txd_ids_finish(&ids);
    txd_tokenizer_destroy(tokenizer);
}
END_TEST

TEST_MAIN(every_style_gives_the_ids_of_tokenizers,
          whole_words_are_found_where_merges_are_ignored)

/* SPDX-License-Identifier: MIT
 *
 * The cuts that GGUF has by name only, `tokenizer.ggml.pre`: names and patterns as
 * llama.cpp knows them, patterns as the models' own tokenizer.json state them.
 */
#include <stdio.h>
#include <string.h>

#include "formats/tokenizers/tokenizer_internal.h"

#define SHORT "'s|'t|'re|'ve|'m|'ll|'d"
#define GPT2 SHORT "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define REST "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define LLAMA3 "(?i:" SHORT ")|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}" REST
#define QWEN2 "(?i:" SHORT ")|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}" REST
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASES(behind)                                                                  \
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" behind                                \
    "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*" behind
#define CASES_REST "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define GPT4O CASES("(?i:" SHORT ")?") "|\\p{N}{1,3}" CASES_REST
#define TEKKEN CASES("") "|\\p{N}" CASES_REST
#define BLOOM                                                                          \
    " ?[^(\\s|.,!?\xE2\x80\xA6\xE3\x80\x82\xEF\xBC\x8C\xE3\x80\x81\xE0\xA5\xA4"        \
    "\xDB\x94\xD8\x8C)]+"

/* Several cut one after the other, each what the one before has left whole. */
struct named {
    const char *names; /* each between blanks */
    bool ignore_merges, bos;
    const char *cuts[4];
};

static const struct named all[] = {
    {" gpt-2 phi-2 mpt olmo jais trillion jina-es jina-de jina-v1-en jina-v2-es "
     "jina-v2-de gigachat mellum modern-bert a.x-4.0 exaone4 granite-docling ",
     false,
     false,
     {GPT2}},
    {" roberta-bpe ", false, true, {GPT2}},
    {" starcoder refact command-r smollm codeshell exaone minerva-7b ",
     false,
     false,
     {"\\p{N}", GPT2}},
    {" llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 ",
     true,
     true,
     {LLAMA3}},
    {" dbrx smaug-bpe chatglm-bpe glm4 ", false, false, {LLAMA3}},
    {" qwen2 deepseek-r1-qwen stablelm2 megrez hunyuan ", false, false, {QWEN2}},
    {" gpt-4o llama4 ", false, false, {GPT4O}},
    {" tekken ", true, true, {TEKKEN}},
    {" bloom poro-chat gpt3-finnish ", false, false, {BLOOM}},
    {" viking ", false, false, {BLOOM, "\\p{N}"}},
    {" falcon ", false, false, {"[\\p{P}\\$\\+<=>\\^~\\|`]+", GPT2, "[0-9][0-9][0-9]"}},
    {" default ",
     false,
     false,
     {"[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]"}},
};

static const struct named *find(const char *name)
{
    char wanted[80];

    snprintf(wanted, sizeof wanted, " %.60s ", name);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strchr(name, ' ') && strstr(all[i].names, wanted))
            return &all[i];
    return NULL;
}

txd_status txd_tokenizer_named_cuts(txd_tokenizer *tokenizer, const char *name)
{
    const struct named *named = find(name);

    if (!named)
        return txd_fail(TXD_ERR_UNSUPPORTED,
                        "%s: tokenizer.ggml.pre: \"%.60s\" is not supported; "
                        "input.tokens takes ids instead of a text",
                        tokenizer->name, name);
    for (size_t i = 0; i < 4 && named->cuts[i]; i++)
        TXD_TRY(txd_steps_cut(tokenizer, named->cuts[i], TXD_CUT_ISOLATED, false));
    tokenizer->ignore_merges = named->ignore_merges;
    tokenizer->byte_level = true;
    if (named->bos && tokenizer->bos >= 0)
        TXD_TRY(txd_ids_add(&tokenizer->before, tokenizer->bos));
    return txd_steps_add(&tokenizer->cuts, TXD_STEP_MAP) ? TXD_OK : TXD_ERR_MEMORY;
}

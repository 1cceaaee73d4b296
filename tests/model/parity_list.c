/* SPDX-License-Identifier: MIT
 *
 * The fixtures of parity that are read.
 */
#include "parity.h"

/* Folders of tests/fixtures/parity whose config.json and safetensors are read, and
 * those whose model.gguf is. */
static const char *const library[] = {
    "gpt2",         "gpt_neox",      "gpt_neox_serial",
    "falcon",       "falcon_groups", "starcoder2",
    "llama",        "llama_biases",  "llama3",
    "llama_linear", "llama_yarn",    "mistral",
    "qwen2",        "phi3",          "smollm2",
    "smollm3",      "gemma",         "bloom",
    "opt",          "qwen3",         "olmo2",
    "opt_post",     "phi",           "gemma2",
    "gemma3",       "bert",          "gpt_oss",
    "t5",           "t5_gated",
};
static const char *const gguf[] = {
    "gpt2",       "gpt_neox",   "falcon",     "llama",       "llama3", "falcon_groups",
    "llama_yarn", "phi3",       "gemma",      "bloom",       "qwen3",  "olmo2",
    "phi",        "gguf_qwen2", "gguf_mixed", "gguf_gemma2",
};
enum {
    LIBRARY = sizeof library / sizeof *library,
    CASES = LIBRARY + sizeof gguf / sizeof *gguf
};

size_t parity_count(void)
{
    return CASES;
}

parity_case parity_at(size_t i)
{
    return i < LIBRARY
               ? (parity_case){.folder = library[i]}
               : (parity_case){.folder = gguf[i - LIBRARY], .file = "model.gguf"};
}

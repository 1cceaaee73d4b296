/* SPDX-License-Identifier: MIT
 *
 * What the tests of tokenizers share: texts encoded and held against ids.
 */
#ifndef TXD_TESTS_ENCODED_H
#define TXD_TESTS_ENCODED_H

#include "base/settings.h"
#include "formats/tokenizer.h"

/* Fails, naming the case and the first difference. `ids` are a list of integers. */
void encoded_same(const txd_tokenizer *tokenizer, const char *text, size_t bytes,
                  bool special, const txd_setting *ids, const char *what);

/* The same; true if the ids are these. */
bool encoded_is(const txd_tokenizer *tokenizer, const char *text, size_t bytes,
                bool special, const int32_t *ids, size_t count);

/* A tokenizer that opens, or the test fails. */
txd_tokenizer *encoded_open(const char *path);

#endif

/* SPDX-License-Identifier: MIT */
#include "encoded.h"

#include <string.h>

#include "suite.h"

txd_tokenizer *encoded_open(const char *path)
{
    txd_tokenizer *tokenizer = NULL;

    OK(txd_tokenizer_open(&tokenizer, path));
    return tokenizer;
}

bool encoded_is(const txd_tokenizer *tokenizer, const char *text, size_t bytes,
                bool special, const int32_t *ids, size_t count)
{
    txd_ids found = {0};
    bool same;

    OK(txd_tokenizer_encode(&found, tokenizer, text, bytes, special));
    same = found.count == count &&
           (count == 0 || memcmp(found.ids, ids, count * sizeof *ids) == 0);
    txd_ids_finish(&found);
    return same;
}

void encoded_same(const txd_tokenizer *tokenizer, const char *text, size_t bytes,
                  bool special, const txd_setting *ids, const char *what)
{
    const txd_setting *id = ids->child;
    txd_ids found = {0};

    ck_assert_msg(txd_tokenizer_encode(&found, tokenizer, text, bytes, special) ==
                      TXD_OK,
                  "%s: %s", what, txd_message());
    for (size_t i = 0; i < found.count; i++, id = id->next)
        ck_assert_msg(id && id->kind == TXD_SETTING_INT && id->integer == found.ids[i],
                      "%s: id %zu of \"%s\": found %d, expected %lld", what, i, text,
                      (int)found.ids[i], id ? (long long)id->integer : -1LL);
    ck_assert_msg(id == NULL, "%s: \"%s\": only %zu ids", what, text, found.count);
    txd_ids_finish(&found);
}

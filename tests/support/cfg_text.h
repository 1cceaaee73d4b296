/* SPDX-License-Identifier: MIT */
/*
 * cfg_text.h: model.cfg text in tests, read, validated and resolved. Everything lives
 * in one arena until cfg_text_finish.
 */
#ifndef TXD_TESTS_CFG_TEXT_H
#define TXD_TESTS_CFG_TEXT_H

#include <string.h>

#include "formats/cfg.h"
#include "formats/input_source.h"
#include "model/params.h"
#include "suite.h"

static txd_arena *cfg_text_arena;

static inline txd_arena *cfg_text_memory(void)
{
    if (!cfg_text_arena)
        ck_assert_int_eq(txd_arena_create(&cfg_text_arena), TXD_OK);
    return cfg_text_arena;
}

static inline void cfg_text_finish(void)
{
    txd_arena_destroy(cfg_text_arena);
    cfg_text_arena = NULL;
}

/* The tree of a text; messages call it m.cfg. */
static inline txd_setting *cfg_text_unchecked(const char *text)
{
    txd_setting *root = NULL;

    ck_assert_msg(txd_cfg_parse(&root, cfg_text_memory(), "m.cfg", text) == TXD_OK,
                  "%s", txd_message());
    return root;
}

/* The same of a text whose every key is known. */
static inline txd_setting *cfg_text_tree(const char *text)
{
    const txd_key *const tables[] = {txd_config_keys, txd_input_keys, txd_weights_keys,
                                     NULL};
    txd_setting *root = cfg_text_unchecked(text);

    ck_assert_msg(txd_settings_validate(root, tables) == TXD_OK, "%s", txd_message());
    return root;
}

static inline txd_config cfg_text_config(const char *text)
{
    txd_config config;

    ck_assert_msg(txd_config_read(&config, cfg_text_memory(), cfg_text_tree(text),
                                  NULL) == TXD_OK,
                  "%s", txd_message());
    return config;
}

static inline void ck_message_has(const char *part)
{
    ck_assert_msg(strstr(txd_message(), part) != NULL, "\"%s\" lacks \"%s\"",
                  txd_message(), part);
}

#endif

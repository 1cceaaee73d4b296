/* SPDX-License-Identifier: MIT
 *
 * Any text as model.cfg. What is read must print, and the print must read back.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cfg.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);
const char *__lsan_default_suppressions(void);

/* libconfig 1.5 leaks the strings it has read when a syntax error follows. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libconfig";
}

static void print_and_parse(const txd_setting *root, txd_arena *arena)
{
    txd_setting *again = NULL;
    txd_text first, second;

    txd_text_init(&first);
    txd_text_init(&second);
    txd_settings_print(&first, root);
    if (txd_cfg_parse(&again, arena, "again", txd_text_get(&first)) != TXD_OK)
        abort();
    txd_settings_print(&second, again);
    if (strcmp(txd_text_get(&first), txd_text_get(&second)) != 0)
        abort();
    txd_text_finish(&first);
    txd_text_finish(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    char *text = malloc(count + 1);
    txd_setting *root = NULL;
    txd_arena *arena = NULL;

    if (!text || txd_arena_create(&arena) != TXD_OK)
        abort();
    if (count)
        memcpy(text, bytes, count);
    text[count] = '\0';
    if (txd_cfg_parse(&root, arena, "fuzz", text) == TXD_OK)
        print_and_parse(root, arena);
    txd_arena_destroy(arena);
    free(text);
    return 0;
}

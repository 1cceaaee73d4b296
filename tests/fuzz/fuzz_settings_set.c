/* SPDX-License-Identifier: MIT
 *
 * Any lines as --set assignments to one small tree, one after the other. A refused
 * one must leave the tree as it was.
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

static void assign(txd_setting *root, txd_arena *arena, const char *line)
{
    txd_text before, after;
    txd_status status;

    txd_text_init(&before);
    txd_text_init(&after);
    txd_settings_print(&before, root);
    status = txd_cfg_set(root, arena, line);
    txd_settings_print(&after, root);
    if (status != TXD_OK && strcmp(txd_text_get(&before), txd_text_get(&after)) != 0)
        abort();
    txd_text_finish(&before);
    txd_text_finish(&after);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    char *text = malloc(count + 1), *rest = NULL;
    txd_setting *root = NULL;
    txd_arena *arena = NULL;

    if (!text || txd_arena_create(&arena) != TXD_OK ||
        txd_cfg_parse(&root, arena, "tree", "a = 1; g : { b = ( 1, { c = 2; } ); };") !=
            TXD_OK)
        abort();
    if (count)
        memcpy(text, bytes, count);
    text[count] = '\0';
    for (char *line = strtok_r(text, "\r", &rest); line;
         line = strtok_r(NULL, "\r", &rest))
        assign(root, arena, line);
    txd_arena_destroy(arena);
    free(text);
    return 0;
}

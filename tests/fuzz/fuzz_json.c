/* SPDX-License-Identifier: MIT
 *
 * Any bytes as JSON. What is read must print, and every setting must have a place.
 */
#include <stdint.h>
#include <stdlib.h>

#include "formats/json_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void visit(const txd_setting *setting)
{
    char place[64];

    txd_setting_place(place, sizeof place, setting);
    for (const txd_setting *s = setting->child; s; s = s->next)
        visit(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    txd_setting *root = NULL;
    txd_arena *arena = NULL;
    txd_text text;

    if (txd_arena_create(&arena) != TXD_OK)
        abort();
    if (txd_json_parse(&root, arena, "fuzz", (const char *)bytes, count) == TXD_OK) {
        txd_text_init(&text);
        txd_settings_print(&text, root);
        txd_text_finish(&text);
        visit(root);
    }
    txd_arena_destroy(arena);
    return 0;
}

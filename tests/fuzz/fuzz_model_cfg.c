/* SPDX-License-Identifier: MIT
 *
 * Any text as the model, weights and input of a model.cfg. What is accepted must be
 * consistent, and small models are drawn and fed.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cfg.h"
#include "formats/input_source.h"
#include "model/params.h"
#include "model/points.h"

#define SMALL 1024

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);
const char *__lsan_default_suppressions(void);

/* libconfig 1.5 leaks the strings it has read when a syntax error follows. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libconfig";
}

static bool is_small(const txd_config *c)
{
    return c->vocab <= SMALL && c->d_model <= SMALL && c->d_ff <= SMALL &&
           c->n_heads * c->head_dim <= SMALL && c->n_heads * c->value_dim <= SMALL &&
           c->max_seq_len <= SMALL && c->n_layers <= 4;
}

static void draw(const txd_config *config, const txd_setting *root)
{
    txd_params *params = NULL;

    if (txd_params_create(&params, config, TXD_F32) != TXD_OK)
        abort();
    if (txd_params_init(params, config, root, 1, 1) == TXD_OK &&
        txd_params_count(params) == 0)
        abort();
    txd_params_destroy(params);
}

static void feed(const txd_config *config, const txd_setting *root, txd_arena *arena)
{
    txd_input_source *source = NULL;
    size_t batch, length;
    txd_inputs inputs;

    /* Random tokens may be as many as there is memory: their sizes are not tried. */
    if (txd_setting_find(root, "input.random") || txd_setting_find(root, "input.file"))
        return;
    if (txd_input_source_create(&source, root, config, 1) != TXD_OK)
        return;
    txd_input_source_shape(&batch, &length, source);
    for (size_t step = 0; step < txd_input_source_steps(source); step++) {
        if (txd_input_source_step(&inputs, source, arena, step) != TXD_OK ||
            txd_inputs_check(&inputs, config) != TXD_OK || inputs.batch != batch ||
            inputs.length > length)
            abort();
    }
    txd_input_source_destroy(source);
}

static void try_text(const char *text, txd_arena *arena)
{
    const txd_key *const tables[] = {txd_config_keys, txd_input_keys, txd_weights_keys,
                                     NULL};
    txd_setting *root = NULL;
    txd_config config;

    if (txd_cfg_parse(&root, arena, "fuzz", text) != TXD_OK ||
        txd_settings_validate(root, tables) != TXD_OK ||
        txd_config_read(&config, arena, root, NULL) != TXD_OK)
        return;
    if (txd_config_check(&config) != TXD_OK)
        abort();
    if (!is_small(&config))
        return;
    draw(&config, root);
    feed(&config, root, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    char *text = malloc(count + 1);
    txd_arena *arena = NULL;

    if (!text || txd_arena_create(&arena) != TXD_OK)
        abort();
    if (count)
        memcpy(text, bytes, count);
    text[count] = '\0';
    try_text(text, arena);
    txd_arena_destroy(arena);
    free(text);
    return 0;
}

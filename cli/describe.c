/* SPDX-License-Identifier: MIT
 *
 * One wording, so that a name is described alike wherever it is shown.
 */
#include "cli/describe.h"

#include <stdio.h>
#include <string.h>

const char *txd_describe_axis(txd_point point, char letter)
{
    static const struct {
        char letter;
        const char *meaning;
    } axes[] = {
        {'s', "step"},
        {'l', "layer"},
        {'b', "batch row"},
        {'t', "position"},
        {'q', "query"},
        {'k', "key"},
        {'h', "head"},
        {'g', "KV head"},
        {'e', "head width"},
        {'f', "value width"},
        {'d', "model width"},
        {'m', "MLP width"},
        {'v', "vocabulary"},
        {'r', "row of a parameter"},
        {'c', "column of a parameter"},
    };
    size_t i;

    if (letter == 'k' && (point == TXD_POINT_INPUT_MEMORY ||
                          txd_point_attention(point) == TXD_ATTENTION_CROSS))
        return "row of the memory";
    for (i = 0; i < sizeof axes / sizeof *axes; i++)
        if (axes[i].letter == letter)
            return axes[i].meaning;
    return "axis";
}

char *txd_describe_point(char *text, size_t bytes, txd_point point)
{
    const txd_point_info *info = txd_point_get(point);
    char axes[64] = "";
    size_t i;

    for (i = 0; info->axes[i]; i++)
        snprintf(axes + strlen(axes), sizeof axes - strlen(axes), "%s%c", i ? ", " : "",
                 info->axes[i]);
    snprintf(text, bytes, "%s; (%s)%s", info->meaning, axes,
             txd_point_per_layer(point) ? " in every layer" : "");
    return text;
}

char *txd_describe_selectors(char *text, size_t bytes, const txd_fault *fault)
{
    static const struct {
        unsigned bit;
        const char *name;
    } selectors[] = {
        {TXD_FAULT_LAYERS, "layers"},     {TXD_FAULT_HEADS, "heads"},
        {TXD_FAULT_QUERIES, "queries"},   {TXD_FAULT_BATCH, "batch"},
        {TXD_FAULT_STRENGTH, "strength"},
    };
    size_t i;

    snprintf(text, bytes, "%s", "");
    for (i = 0; i < sizeof selectors / sizeof *selectors; i++)
        if (txd_fault_selectors(fault) & selectors[i].bit)
            snprintf(text + strlen(text), bytes - strlen(text), "%s%s",
                     *text ? ", " : "", selectors[i].name);
    if (!*text)
        snprintf(text, bytes, "none");
    return text;
}

char *txd_describe_fault(char *text, size_t bytes, const txd_fault *fault)
{
    char selectors[96];

    snprintf(text, bytes, "%s [selectors: %s]", txd_fault_sentence(fault),
             txd_describe_selectors(selectors, sizeof selectors, fault));
    return text;
}

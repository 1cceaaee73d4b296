/* SPDX-License-Identifier: MIT
 *
 * A parameter is explained by what params.def says of it.
 */
#include "cli/explain_params.h"

#include <ctype.h>
#include <string.h>

void txd_explain_param_line(txd_text *out, txd_param_id id)
{
    const char *axes = txd_param_axes(id);
    size_t before;

    txd_text_add(out, "(");
    for (size_t i = 0; axes[i]; i++)
        txd_text_addf(out, "%s%s", i > 0 ? ", " : "", txd_param_axis_words(axes[i]));
    txd_text_add(out, ")");
    if (txd_param_per_layer(id))
        txd_text_add(out, " in every layer");
    txd_text_add(out, ", ");
    before = out->length;
    txd_text_add(out, "if ");
    txd_param_add_condition(out, id);
    if (out->length == before + 3) {
        out->length = before;
        txd_text_add(out, "always");
    }
}

static const char *after(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);

    return strncmp(name, prefix, length) == 0 ? name + length : name;
}

/* "layers.3." and "layers.*." before a name. */
static const char *after_layer(const char *name)
{
    const char *rest = after(name, "layers."), *digits = rest;

    while (isdigit((unsigned char)*rest) || *rest == '*' || *rest == 'N')
        rest++;
    return rest > digits && *rest == '.' ? rest + 1 : name;
}

bool txd_explain_param(txd_text *out, const char *name)
{
    const char *bare = after_layer(after(name, "encoder."));

    for (int i = 0; i < TXD_PARAM_COUNT; i++) {
        txd_param_id id = (txd_param_id)i;
        const char *layers = txd_param_per_layer(id) ? "layers.0." : "";

        if (strcmp(txd_param_bare_name(id), bare) != 0)
            continue;
        txd_text_addf(out, "%s%s is a parameter.\n\n  ", out->length ? "\n" : "", bare);
        txd_explain_param_line(out, id);
        txd_text_addf(out,
                      "\n\nWeights are (out, in). In an .npz, in weights.init and in "
                      "recordings:\n  %s%s",
                      layers, bare);
        if (txd_param_per_layer(id))
            txd_text_addf(out, "; of an encoder encoder.%s%s", layers, bare);
        txd_text_add(out, "\n");
        return true;
    }
    return false;
}

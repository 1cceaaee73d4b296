/* SPDX-License-Identifier: MIT
 *
 * The laws between the sizes of a configuration. They hold for every configuration,
 * whether a person wrote it, a checkpoint stated it or a recording holds it: nothing
 * else in the program checks them again.
 */
#include "model/config_internal.h"

static txd_status fail_field(const void *object, const struct txd_field *field)
{
    const void *value = (const char *)object + field->offset;

    if (field->kind == TXD_FIELD_SIZE)
        return txd_fail(TXD_ERR_CONFIG, "%s.%s is %zu, expected %.0f to %.0f",
                        field->group, field->name, *(const size_t *)value, field->low,
                        field->high);
    if (field->kind == TXD_FIELD_REAL || field->kind == TXD_FIELD_FILL)
        return txd_fail(TXD_ERR_CONFIG, "%s.%s is %g, expected %g to %g", field->group,
                        field->name, *(const double *)value, field->low, field->high);
    return txd_fail(TXD_ERR_CONFIG, "%s.%s is none of its words", field->group,
                    field->name);
}

static txd_status check_fields(const void *object, const struct txd_field *fields)
{
    for (; fields->name; fields++)
        if (!txd_field_valid(object, fields))
            return fail_field(object, fields);
    return TXD_OK;
}

static txd_status check_heads(const txd_config *c)
{
    if (c->n_heads % c->n_kv_heads != 0)
        return txd_fail(TXD_ERR_CONFIG,
                        "n_heads %zu is not divisible by n_kv_heads %zu; each key and "
                        "value head serves the same number of query heads",
                        c->n_heads, c->n_kv_heads);
    if (c->n_heads * c->head_dim > TXD_DIM_MAX ||
        c->n_heads * c->value_dim > TXD_DIM_MAX)
        return txd_fail(TXD_ERR_CONFIG,
                        "n_heads %zu times head_dim %zu or value_dim %zu is more than "
                        "%d lanes",
                        c->n_heads, c->head_dim, c->value_dim, TXD_DIM_MAX);
    return TXD_OK;
}

static txd_status check_rotary(const txd_config *c, const txd_layer_config *layer,
                               size_t i)
{
    if (layer->rope_width % 2 != 0)
        return txd_fail(TXD_ERR_CONFIG,
                        "rope_width %zu (layer %zu) is odd; rotary positions turn "
                        "pairs of lanes",
                        layer->rope_width, i);
    if (layer->rope_width > c->head_dim)
        return txd_fail(TXD_ERR_CONFIG,
                        "rope_width %zu (layer %zu) is more than head_dim %zu",
                        layer->rope_width, i, c->head_dim);
    if (layer->rotary && layer->rope_width == 0)
        return txd_fail(TXD_ERR_CONFIG,
                        "rope_width is 0 in layer %zu, which is rotary; give an even "
                        "number of lanes up to head_dim %zu",
                        i, c->head_dim);
    return TXD_OK;
}

static txd_status check_scaling(const txd_layer_config *layer, size_t i)
{
    bool by_turns =
        layer->rope_scaling == TXD_ROPE_LLAMA3 || layer->rope_scaling == TXD_ROPE_YARN;
    const char *word = txd_config_word("rope_scaling", (int)layer->rope_scaling);

    if (!layer->rotary)
        return TXD_OK;
    if (by_turns && layer->rope_original_length == 0)
        return txd_fail(TXD_ERR_CONFIG,
                        "rope_original_length is missing in layer %zu; %s needs it: "
                        "the length of the training before it was extended",
                        i, word);
    if (layer->rope_scaling == TXD_ROPE_LLAMA3 && !(layer->rope_high > layer->rope_low))
        return txd_fail(TXD_ERR_CONFIG,
                        "rope_high %g is not above rope_low %g in layer %zu",
                        layer->rope_high, layer->rope_low, i);
    if (layer->rope_scaling == TXD_ROPE_YARN &&
        !(layer->rope_beta_fast >= layer->rope_beta_slow))
        return txd_fail(TXD_ERR_CONFIG,
                        "rope_beta_fast %g is below rope_beta_slow %g in layer %zu",
                        layer->rope_beta_fast, layer->rope_beta_slow, i);
    if (layer->rope_scaling == TXD_ROPE_YARN && !(layer->rope_base > 1))
        return txd_fail(TXD_ERR_CONFIG,
                        "rope_base %g is not above 1 in layer %zu; yarn needs pairs "
                        "that turn slower and slower",
                        layer->rope_base, i);
    return TXD_OK;
}

static txd_status check_blocks(const txd_config *c)
{
    if (c->parallel && c->norm_placement == TXD_PLACEMENT_POST)
        return txd_fail(TXD_ERR_CONFIG,
                        "parallel blocks have one residual sum for attention and MLP, "
                        "norm_placement \"post\" a norm after that of each; choose "
                        "another placement, or parallel = false");
    if (c->parallel && c->cross)
        return txd_fail(TXD_ERR_CONFIG,
                        "parallel blocks have no place for cross-attention, which "
                        "reads what the attention makes; remove parallel or cross");
    if (c->shared_norm && (!c->parallel || c->norm_placement == TXD_PLACEMENT_BRANCH))
        return txd_fail(TXD_ERR_CONFIG,
                        "shared_norm is of parallel blocks with a norm before their "
                        "branches; set parallel = true and norm_placement \"pre\" or "
                        "\"sandwich\"");
    return TXD_OK;
}

bool txd_config_scales_logits(const txd_config *config)
{
    return config->logit_scale != 0 && config->logit_scale != 1;
}

/* Near distances have a range each, half of those of a side; the others share the rest
 * by the logarithm. */
static txd_status check_relative(const txd_config *c)
{
    bool both = !c->layers[0].causal;
    size_t side = both ? c->relative_buckets / 2 : c->relative_buckets;

    if (c->positions != TXD_POSITIONS_RELATIVE)
        return TXD_OK;
    if (side < 2 || (both && c->relative_buckets % 2 != 0))
        return txd_fail(TXD_ERR_CONFIG,
                        "relative_buckets is %zu; at least 2 are needed for each side, "
                        "and without causal mask an even number",
                        c->relative_buckets);
    if (c->relative_distance <= side / 2)
        return txd_fail(TXD_ERR_CONFIG,
                        "relative_distance %zu is not above %zu, the distances that "
                        "relative_buckets %zu tells apart one by one",
                        c->relative_distance, side / 2, c->relative_buckets);
    return TXD_OK;
}

txd_status txd_config_check(const txd_config *config)
{
    TXD_TRY(check_fields(config, txd_config_fields));
    TXD_TRY(check_heads(config));
    TXD_TRY(check_blocks(config));
    if (config->positions == TXD_POSITIONS_LEARNED && config->max_seq_len == 0)
        return txd_fail(TXD_ERR_CONFIG,
                        "max_seq_len is missing; learned positions need it: it is the "
                        "number of rows of their table");
    if (config->encoder_layers > 0 && !config->cross)
        return txd_fail(TXD_ERR_CONFIG,
                        "encoder_layers is %zu, but nothing attends to what the "
                        "encoder makes; set cross = true, or, for an encoder alone, "
                        "mask.causal = false without encoder_layers",
                        config->encoder_layers);
    if (!config->layers)
        return txd_fail(TXD_ERR_CONFIG, "the layers are missing");
    TXD_TRY(check_relative(config));
    for (size_t i = 0; i < config->n_layers; i++) {
        TXD_TRY(check_fields(&config->layers[i], txd_layer_fields));
        if (config->layers[i].score_scale == 0)
            return txd_fail(TXD_ERR_CONFIG, "score_scale is 0 in layer %zu", i);
        TXD_TRY(check_rotary(config, &config->layers[i], i));
        TXD_TRY(check_scaling(&config->layers[i], i));
    }
    return TXD_OK;
}

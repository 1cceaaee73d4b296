/* SPDX-License-Identifier: MIT
 *
 * The operands of every point, once. The placement of the norms decides what reads the
 * stream. Those of a gradient follow: whatever reads a value sends its gradient back.
 */
#include "model/operands.h"

#include "model/block.h"

typedef struct list {
    txd_operand *out;
    size_t count;
    bool is_gradient;
} list;

static void add(list *to, txd_point point, bool is_pointwise)
{
    if (to->count < TXD_OPERANDS)
        to->out[to->count++] = (txd_operand){point, to->is_gradient, is_pointwise};
}

/* What the mask reads, but for the bias. */
static txd_point before_the_mask(const txd_config *config, txd_attention_kind kind)
{
    txd_point capped = txd_point_in(kind, TXD_POINT_ATTN_CAPPED);

    return txd_point_exists(config, capped) ? capped
                                            : txd_point_in(kind, TXD_POINT_ATTN_SCORES);
}

static void add_attention(list *to, const txd_config *config, txd_point point)
{
    txd_attention_kind kind = txd_point_attention(point);
    txd_point own = txd_point_in_self(point);
    bool of_memory = kind == TXD_ATTENTION_CROSS && own != TXD_POINT_ATTN_Q_PROJ;
    txd_sublayer part = txd_sublayer_of(config, (txd_sublayer_kind)kind);

    switch (own) {
    case TXD_POINT_ATTN_Q_PROJ:
    case TXD_POINT_ATTN_K_PROJ:
    case TXD_POINT_ATTN_V:
        add(to, of_memory ? TXD_POINT_INPUT_MEMORY : part.input, false);
        return;
    case TXD_POINT_ATTN_Q: /* a rotation mixes lanes */
    case TXD_POINT_ATTN_K:
        add(to, txd_point_that_turns(config, point), false);
        return;
    case TXD_POINT_ATTN_Q_NORM:
        add(to, txd_point_in(kind, TXD_POINT_ATTN_Q_PROJ), false);
        return;
    case TXD_POINT_ATTN_K_NORM:
        add(to, txd_point_in(kind, TXD_POINT_ATTN_K_PROJ), false);
        return;
    case TXD_POINT_ATTN_SCORES:
        add(to, txd_point_in(kind, TXD_POINT_ATTN_Q), false);
        add(to, txd_point_in(kind, TXD_POINT_ATTN_K), false);
        return;
    case TXD_POINT_ATTN_BIAS: /* of positions and parameters alone */
        return;
    case TXD_POINT_ATTN_MASKED:
        add(to, before_the_mask(config, kind), true);
        add(to, txd_point_in(kind, TXD_POINT_ATTN_BIAS), true);
        return;
    case TXD_POINT_ATTN_HEADS:
        add(to, txd_point_in(kind, TXD_POINT_ATTN_WEIGHTS), false);
        add(to, txd_point_in(kind, TXD_POINT_ATTN_V), true);
        return;
    default: /* the point before it */
        add(to, (txd_point)(point - 1),
            own != TXD_POINT_ATTN_WEIGHTS && own != TXD_POINT_ATTN_OUT);
    }
}

static void add_sum(list *to, txd_point stream, txd_point branch)
{
    add(to, stream, true);
    add(to, branch, true);
}

static void add_embeddings(list *to, const txd_config *config)
{
    txd_point terms[TXD_EMBED_TERMS];
    size_t count = txd_embed_terms(terms, config);

    for (size_t i = 0; i < count; i++)
        add(to, terms[i], true);
}

/* What joins a sublayer to its block: norms, branch and sum. False for other points. */
static bool add_joint(list *to, const txd_config *config, txd_point point)
{
    txd_sublayer part;

    if (txd_point_is_norm(point)) {
        add(to, txd_input_of_norm(config, point), false);
        return true;
    }
    if (!txd_sublayer_with(&part, config, point) || point == part.out)
        return false;
    if (point == part.branch) {
        add(to, part.over == TXD_POINT_COUNT ? part.out : part.over, true);
        return true;
    }
    add_sum(to, part.stream, part.branch);
    if (part.beside != TXD_POINT_COUNT)
        add(to, part.beside, true);
    return true;
}

/* What a value that no attention makes is made from. */
static void add_rest(list *to, const txd_config *config, const txd_site *site)
{
    switch (site->point) {
    case TXD_POINT_EMBED_IN:
        add(to, TXD_POINT_EMBED_TOK, false);
        return;
    case TXD_POINT_EMBED_SCALED:
        add(to,
            txd_point_exists(config, TXD_POINT_EMBED_IN) ? TXD_POINT_EMBED_IN
                                                         : TXD_POINT_EMBED_TOK,
            true);
        return;
    case TXD_POINT_EMBED_OUT:
        add_embeddings(to, config);
        return;
    case TXD_POINT_RESID_PRE:
        if (site->layer == 0)
            add(to, txd_embed_end(config), true);
        return;
    case TXD_POINT_HEAD_ACT:
        add(to, TXD_POINT_HEAD_DENSE, true);
        return;
    case TXD_POINT_HEAD_DENSE:
    case TXD_POINT_HEAD_IN:
    case TXD_POINT_LOGITS_RAW:
        add(to, txd_head_reads(config, site->point), false);
        return;
    case TXD_POINT_LOGITS:
        if (txd_head_out(config) == TXD_POINT_LOGITS)
            add(to, txd_head_reads(config, TXD_POINT_LOGITS), false);
        else
            add(to, TXD_POINT_LOGITS_RAW, true);
        return;
    case TXD_POINT_LOSS_TOKEN:
        add(to, TXD_POINT_LOGITS, false);
        return;
    case TXD_POINT_MLP_GATE:
    case TXD_POINT_MLP_UP:
        add(to, txd_sublayer_of(config, TXD_SUBLAYER_MLP).input, false);
        return;
    case TXD_POINT_MLP_GATE_ACT:
        add(to, TXD_POINT_MLP_GATE, true);
        return;
    case TXD_POINT_MLP_ACT:
        add(to, TXD_POINT_MLP_UP, true);
        if (config->gated)
            add(to, TXD_POINT_MLP_GATE_ACT, true);
        return;
    case TXD_POINT_MLP_OUT:
        add(to, TXD_POINT_MLP_ACT, false);
        return;
    default:
        return;
    }
}

static size_t operands_of_value(txd_operand out[TXD_OPERANDS], const txd_config *config,
                                const txd_site *site)
{
    txd_point own = txd_point_in_self(site->point);
    list to = {.out = out};
    size_t kept = 0;

    if (add_joint(&to, config, site->point))
        ;
    else if (own >= TXD_POINT_ATTN_Q_PROJ && own <= TXD_POINT_ATTN_OUT)
        add_attention(&to, config, site->point);
    else
        add_rest(&to, config, site);
    for (size_t i = 0; i < to.count; i++)
        if (txd_point_exists(config, out[i].point))
            out[kept++] = out[i];
    return kept;
}

/* Readers stand where the value does; those of the last layer's stream after it. */
static bool may_read(const txd_config *config, txd_point reader, const txd_site *site)
{
    bool is_end = !txd_point_per_layer(reader) && reader > TXD_POINT_RESID_POST;

    if (!txd_point_exists(config, reader))
        return false;
    if (is_end && (size_t)(site->layer + 1) == config->n_layers)
        return true;
    return txd_point_per_layer(reader) == (site->layer >= 0);
}

/* The gradients of what reads the value: every point of which it is an operand. */
static void add_readers(list *to, const txd_config *config, const txd_site *site)
{
    for (int p = 0; p < TXD_POINT_COUNT; p++) {
        const txd_site reader = {.point = (txd_point)p,
                                 .layer = txd_point_per_layer((txd_point)p) ? 0 : -1};
        txd_operand operands[TXD_OPERANDS];
        size_t count;

        if (!may_read(config, reader.point, site))
            continue;
        count = operands_of_value(operands, config, &reader);
        for (size_t i = 0; i < count; i++)
            if (operands[i].point == site->point)
                add(to, reader.point, operands[i].is_pointwise);
    }
}

/* The other factor of scores: a gradient of queries is multiplied with keys. */
static void add_factor(list *to, txd_point point)
{
    txd_attention_kind kind = txd_point_attention(point);

    if (txd_point_in_self(point) == TXD_POINT_ATTN_Q)
        add(to, txd_point_in(kind, TXD_POINT_ATTN_K), false);
    else if (txd_point_in_self(point) == TXD_POINT_ATTN_K)
        add(to, txd_point_in(kind, TXD_POINT_ATTN_Q), false);
}

size_t txd_operands_of(txd_operand out[TXD_OPERANDS], const txd_config *config,
                       const txd_site *site)
{
    list to = {.out = out, .is_gradient = true};

    if (txd_site_is_parameter(site->kind))
        return 0;
    if (site->kind == TXD_SITE_VALUE)
        return operands_of_value(out, config, site);
    add_readers(&to, config, site);
    to.is_gradient = false;
    add_factor(&to, site->point);
    add(&to, site->point, true);
    return to.count;
}

static void add_need(txd_point *out, size_t *count, txd_point point)
{
    for (size_t i = 0; i < *count; i++)
        if (out[i] == point)
            return;
    if (*count + 1 < TXD_OPERAND_NEEDS)
        out[(*count)++] = point;
}

void txd_operands_needs(txd_point out[TXD_OPERAND_NEEDS], const txd_config *config,
                        txd_point point)
{
    static const txd_site_kind kinds[] = {TXD_SITE_VALUE, TXD_SITE_GRADIENT};
    int last = (int)config->n_layers - 1;
    size_t count = 0;

    /* The first layer and the last have neighbours outside of layers. */
    for (int k = 0; k < 4 && txd_point_exists(config, point); k++) {
        const txd_site site = {.kind = kinds[k / 2],
                               .point = point,
                               .layer = txd_point_per_layer(point) ? k % 2 * last : -1};
        txd_operand operands[TXD_OPERANDS];
        size_t found = txd_operands_of(operands, config, &site);

        for (size_t i = 0; i < found; i++)
            add_need(out, &count, operands[i].point);
    }
    out[count] = TXD_POINT_COUNT;
}

/* SPDX-License-Identifier: MIT
 *
 * Every head of a sample goes by that sample's mask. One mask per sample and head, laid
 * down sample by sample for each head where heads stand together for each sample (or
 * the other way), gives heads the mask of another sample.
 *
 * That a row sees more than it should may have other reasons (padding that is not
 * masked looks like the mask of a longer sample). So a finding needs a row that is
 * denied a key which another sample has not either, or heads of a sample that go by the
 * right mask beside some that do not.
 */
#include "checks/mask/seen.h"

#include <inttypes.h>
#include <string.h>

/* Samples that are compared. */
#define SAMPLES 64

/* Kinds of rows: not as claimed; as the sample at the place (b heads + h) mod batch; as
 * another; of these, denied a key. */
enum { ASTRAY, TILED, OTHER, DENIED };

static bool rows_equal(const int32_t *values, size_t a, size_t b, size_t length)
{
    return memcmp(values + a * length, values + b * length, length * sizeof *values) ==
           0;
}

/* True if another sample has another mask. */
static bool has_another(const txd_seen_row *row)
{
    const txd_inputs *inputs = row->block->pass->inputs;

    for (size_t b = 0; b < inputs->batch && b < SAMPLES; b++)
        if (!rows_equal(inputs->valid, b, row->batch, inputs->length) ||
            !rows_equal(inputs->document, b, row->batch, inputs->length))
            return true;
    return false;
}

/* True if a row sees what the mask shows, and nothing else. */
static bool obeys(const txd_seen_row *row, const txd_mask_view *mask)
{
    for (size_t key = 0; key < row->keys; key++) {
        bool is_shown = txd_mask_hides(mask, row->query, key) == TXD_SEEN;

        if (is_shown ? txd_seen_is_hidden(row, key)
                     : txd_seen_state(row, key) == TXD_SEEN_OPEN)
            return false;
    }
    return true;
}

/* The mask of another sample as a whole, or its padding and documents alone. */
static bool obeys_sample(const txd_seen_row *row, size_t sample)
{
    const txd_pass *pass = row->block->pass;
    txd_mask_view other = txd_mask_of(&pass->claimed->layers[row->block->site->layer],
                                      pass->inputs, sample);
    txd_mask_view mixed = other;

    mixed.query_positions = row->mask.query_positions;
    mixed.key_positions = row->mask.key_positions;
    return obeys(row, &other) || obeys(row, &mixed);
}

/* The sample whose mask a row obeys; the number of samples if there is none. */
static size_t find_sample(const txd_seen_row *row)
{
    size_t batch = row->block->pass->inputs->batch;
    size_t tiled = (row->batch * row->block->dims[1] + row->head) % batch;

    if (tiled != row->batch && obeys_sample(row, tiled))
        return tiled;
    for (size_t b = 0; b < batch && b < SAMPLES; b++)
        if (b != row->batch && obeys_sample(row, b))
            return b;
    return batch;
}

static bool is_denied(const txd_seen_row *row)
{
    for (size_t key = 0; key < row->keys; key++)
        if (txd_seen_claim(row, key) == TXD_SEEN && txd_seen_is_hidden(row, key))
            return true;
    return false;
}

static bool has_nan(const txd_seen_row *row)
{
    for (size_t key = row->begin; key < row->end; key++)
        if (txd_seen_state(row, key) == TXD_SEEN_NAN)
            return true;
    return false;
}

static void look(txd_seen_tally *t, const txd_seen_row *row)
{
    const txd_inputs *inputs = row->block->pass->inputs;
    size_t sample;

    if (!has_another(row))
        return;
    if (has_nan(row)) {
        t->unknown++;
        return;
    }
    t->rows++;
    if (obeys(row, &row->mask))
        return;
    t->of[ASTRAY]++;
    sample = find_sample(row);
    if (sample == inputs->batch)
        return;
    t->of[sample == (row->batch * row->block->dims[1] + row->head) % inputs->batch
              ? TILED
              : OTHER]++;
    t->of[DENIED] += is_denied(row);
    txd_seen_add_broken(t, row,
                        &(txd_seen_break){.key = -1,
                                          .measured = is_denied(row) ? 2 : 1,
                                          .found = (double)sample});
}

static bool is_proven(const txd_seen_tally *heads, size_t count)
{
    uint64_t denied = 0, astray = 0, broken = 0, tiled = 0;
    size_t right = 0;

    for (size_t h = 0; h < count; h++) {
        denied += heads[h].of[DENIED];
        astray += heads[h].of[ASTRAY];
        broken += heads[h].broken;
        tiled += heads[h].of[TILED];
        right += heads[h].rows > 0 && heads[h].of[ASTRAY] == 0;
    }
    if (broken != astray)
        return false;
    return denied > 0 || (right > 0 && tiled == broken);
}

static void settle(txd_seen_tally *heads, size_t count, const txd_pass *pass)
{
    (void)pass;
    if (is_proven(heads, count))
        return;
    for (size_t h = 0; h < count; h++) {
        heads[h].broken = 0;
        heads[h].worst = -1;
    }
}

static void explain(txd_finding *finding, const txd_seen_tally *t,
                    const txd_config *claimed, int layer)
{
    (void)claimed;
    (void)layer;
    finding->measured = 1;
    txd_law_say(finding,
                "query %" PRId64 " sees what the mask of batch row %.0f shows; %" PRIu64
                " of %" PRIu64 " rows of this layer go by the mask of another sample",
                t->at.query, t->found, t->broken, t->rows);
    if (t->of[OTHER] == 0)
        txd_law_say(finding, ": masks are laid down [M0, M1, .., M0, M1, ..] where "
                             "the heads of a sample stand side by side");
}

static const txd_seen_law law = {
    .name = "mask_layout",
    .look = look,
    .settle = settle,
    .explain = explain,
    .nothing = "all sequences of the input have the same mask",
};

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    return txd_seen_create(out, tap, &law, context->claimed);
}

const txd_check txd_check_mask_layout = {
    .name = "mask_layout",
    .law = "every head of a sample goes by the mask of that sample",
    .formula =
        "not: the keys that query q of batch row b and head h sees are those that "
        "the claim shows to query q of another batch row",
    .causes =
        "a mask of (batch heads, q, k) made by tiling [M0, M1, M0, M1] where b heads + "
        "h "
        "is the index, which wants each mask repeated [M0, M0, M1, M1]; a batch that "
        "is permuted without its mask",
    .look_next = "the order of batch and heads where the mask is expanded; one sample "
                 "alone must give the same rows",
    .unit = "rows",
    .faults = (const char *const[]){"mask_of_other_sample", NULL},
    .needs =
        (const struct txd_check_need[]){
            {TXD_POINT_ATTN_WEIGHTS, TXD_ASK_VALUE | TXD_ASK_ROWS},
            {TXD_POINT_ATTN_MASKED, TXD_ASK_VALUE},
            {TXD_POINT_COUNT, 0},
            {TXD_POINT_ATTN_WEIGHTS, TXD_ASK_VALUE | TXD_ASK_ROWS},
            {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = txd_seen_finish,
    .destroy = txd_seen_destroy,
};

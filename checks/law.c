/* SPDX-License-Identifier: MIT
 *
 * What the laws share. The row statistics that a recording lacks are computed here from
 * the recorded weights by the claimed mask, so that a recording of the weights alone
 * can be judged.
 */
#include "checks/law.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double txd_law_gamma(double n, double u)
{
    return n * u < 1 ? n * u / (1 - n * u) : INFINITY;
}

bool txd_law_is_worse(double measured, double than)
{
    return measured > than || (isnan(measured) && !isnan(than));
}

double txd_law_ratio(double measured, double allowed)
{
    if (measured == 0)
        return 0;
    return allowed > 0 ? measured / allowed : (isnan(measured) ? NAN : INFINITY);
}

size_t txd_law_rows(const txd_block *block)
{
    return block->value.dims[0] * block->value.dims[1] * block->value.dims[2];
}

/* Raises a maximum of |weight| and remembers its key; a NaN beats every number. */
static void raise(double *max, double *key, double size, size_t place)
{
    if (txd_law_is_worse(size, *max)) {
        *max = size;
        *key = (double)place;
    }
}

static void add_hidden(double *row, double size, size_t key, txd_hidden reason)
{
    row[TXD_ROW_HIDDEN_SUM] += size;
    raise(&row[TXD_ROW_HIDDEN_MAX], &row[TXD_ROW_HIDDEN_KEY], size, key);
    if (reason == TXD_HIDDEN_FUTURE) {
        row[TXD_ROW_FUTURE_COUNT]++;
        raise(&row[TXD_ROW_FUTURE_MAX], &row[TXD_ROW_FUTURE_KEY], size, key);
    } else if (reason == TXD_HIDDEN_PADDING) {
        row[TXD_ROW_PADDING_COUNT]++;
        raise(&row[TXD_ROW_PADDING_MAX], &row[TXD_ROW_PADDING_KEY], size, key);
    }
}

/* The columns that laws read. Where hidden cells are never computed, a stored 0 is no
 * evidence and is not counted. */
static void compute_row(double *row, const txd_block *block, const txd_law_row *at,
                        size_t i)
{
    const txd_layer_config *layer = &block->pass->claimed->layers[block->site->layer];
    txd_mask_view mask = txd_mask_of(layer, block->pass->inputs, at->batch);
    bool has_hidden = block->pass->claimed->evaluate_hidden != TXD_HIDDEN_NEVER;
    size_t keys = block->value.dims[3], first = block->start[3];

    for (int c = 0; c < TXD_ROW_COUNT; c++)
        row[c] = txd_row_get((txd_row)c)->is_key ? -1 : 0;
    row[TXD_ROW_MAX] = row[TXD_ROW_LSE] = NAN;
    for (size_t j = 0; j < keys; j++) {
        double weight = txd_tensor_get(&block->value, i * keys + j);
        txd_hidden hidden = txd_mask_hides(&mask, at->query, first + j);

        row[TXD_ROW_SUM] += weight;
        row[TXD_ROW_NONFINITE] += isfinite(weight) ? 0 : 1;
        if (hidden != TXD_SEEN && (has_hidden || weight != 0))
            add_hidden(row, fabs(weight), first + j, hidden);
    }
    for (size_t j = 0; j < block->pass->inputs->length; j++)
        row[TXD_ROW_SEEN] += txd_mask_hides(&mask, at->query, j) == TXD_SEEN;
}

bool txd_law_row_get(txd_law_row *out, double computed[TXD_ROW_COUNT],
                     const txd_block *block, size_t i)
{
    const txd_inputs *inputs = block->pass->inputs;
    size_t rows = block->value.dims[2], heads = block->value.dims[1];

    out->query = block->start[2] + i % rows;
    out->head = block->start[1] + i / rows % heads;
    out->batch = block->start[0] + i / rows / heads;
    if (!inputs->valid[out->batch * inputs->length + out->query])
        return false;
    out->column = computed;
    if (block->rows)
        out->column = block->rows + i * TXD_ROW_COUNT;
    else
        compute_row(computed, block, out, i);
    return true;
}

txd_finding txd_law_finding(txd_point point, int layer, const txd_law_place *place)
{
    txd_finding finding = {.verdict = TXD_VERDICT_FAIL,
                           .step = place->step,
                           .layer = layer,
                           .batch = place->batch,
                           .head = place->head,
                           .query = place->query,
                           .key = place->key};

    txd_point_name(finding.site, sizeof finding.site, point, layer);
    return finding;
}

void txd_law_say(txd_finding *finding, const char *format, ...)
{
    size_t used = strlen(finding->message);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(finding->message + used, sizeof finding->message - used, format,
              arguments);
    va_end(arguments);
}

void txd_law_say_place(txd_finding *finding, size_t batches)
{
    if (batches > 1 && finding->batch >= 0)
        txd_law_say(finding, "batch row %lld%s", (long long)finding->batch,
                    finding->head >= 0 ? ", " : ": ");
    if (finding->head >= 0)
        txd_law_say(finding, "head %lld: ", (long long)finding->head);
}

const char *txd_law_number(char text[32], double value)
{
    if (isnan(value))
        return strcpy(text, "NaN");
    if (isinf(value))
        return strcpy(text, value < 0 ? "-Inf" : "Inf");
    snprintf(text, 32, "%.3g", value);
    return text;
}

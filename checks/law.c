/* SPDX-License-Identifier: MIT
 *
 * What the laws share: bounds, the order of "worse", rows of attention, names of
 * parameters, and the words of findings.
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

void txd_law_raise(txd_result *result, double measured, double allowed)
{
    if (result->allowed != 0 &&
        !txd_law_is_worse(txd_law_ratio(measured, allowed),
                          txd_law_ratio(result->worst, result->allowed)))
        return;
    result->worst = measured;
    result->allowed = allowed;
}

size_t txd_law_part(const txd_site *site)
{
    return 2 * (size_t)site->layer + (size_t)txd_point_attention(site->point);
}

bool txd_law_row_next(txd_law_row *row, const txd_block *block)
{
    const txd_inputs *inputs = block->pass->inputs;
    const size_t *dims = block->value.dims, *start = block->start;
    size_t rows = block->rows ? dims[0] * dims[1] * dims[2] : 0;

    while (row->passed < rows) {
        if (row->passed == 0) {
            row->batch = start[0];
            row->head = start[1];
            row->query = start[2];
        } else if (++row->query == start[2] + dims[2]) {
            row->query = start[2];
            if (++row->head == start[1] + dims[1]) {
                row->head = start[1];
                row->batch++;
            }
        }
        row->column = block->rows + row->passed++ * TXD_ROW_COUNT;
        if (inputs->valid[row->batch * inputs->length + row->query])
            return true;
    }
    return false;
}

bool txd_law_spans_of(txd_law_spans *out, const txd_block *block, size_t batch,
                      size_t first, size_t count)
{
    txd_mask_view mask = txd_mask_of_attention(
        txd_point_attention(block->site->point),
        &block->pass->claimed->layers[block->site->layer], block->pass->inputs, batch);
    const size_t shape[2] = {count, block->dims[3]};

    if (mask.query_positions)
        mask.query_positions += first;
    if (mask.query_document)
        mask.query_document += first;
    return txd_mask_spans(out->begin, out->end, &out->sides, &mask, shape);
}

bool txd_law_run_of(txd_span *out, const txd_block *block, size_t batch, size_t query)
{
    size_t row = query - block->start[2]; /* wraps if it is before */
    txd_law_spans spans;

    if (block->seen && batch == block->start[0] && row < block->value.dims[2]) {
        spans.begin[0] = block->seen->begin[row];
        spans.end[0] = block->seen->end[row];
    } else if (!txd_law_spans_of(&spans, block, batch, query, 1)) {
        return false;
    }
    out->begin = (size_t)spans.begin[0];
    out->end = spans.end[0] > spans.begin[0] ? (size_t)spans.end[0] : out->begin;
    return true;
}

txd_param_id txd_law_param(const char *name, int layer)
{
    char text[96];

    for (int id = 0; id < TXD_PARAM_COUNT; id++)
        if (txd_param_per_layer((txd_param_id)id) == (layer >= 0) &&
            strcmp(txd_param_name(text, sizeof text, (txd_param_id)id, layer), name) ==
                0)
            return (txd_param_id)id;
    return TXD_PARAM_COUNT;
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

void txd_law_of_gradient(txd_finding *finding)
{
    size_t used = strlen(finding->site);

    snprintf(finding->site + used, sizeof finding->site - used, "%s",
             TXD_GRADIENT_SUFFIX);
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

void txd_law_numbers(char found[32], double x, char expected[32], double y)
{
    txd_law_number(found, x);
    txd_law_number(expected, y);
    for (int digits = 4; digits <= 17 && x != y && strcmp(found, expected) == 0;
         digits++) {
        snprintf(found, 32, "%.*g", digits, x);
        snprintf(expected, 32, "%.*g", digits, y);
    }
}

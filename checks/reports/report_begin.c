/* SPDX-License-Identifier: MIT
 *
 * Where to begin: one mistake breaks many laws, and the values behind it are all wrong.
 * What was computed first is where it was made, or nearest to it.
 */
#include <string.h>

#include "checks/reports/report_format.h"

/* From the most significant to the least. */
enum { EXPERIMENT, STEP, STAGE, LAYER, POINT, WEIGHT, PARTS };

typedef struct place {
    int parts[PARTS];
} place;

/* Before, within and behind the layers. */
static int stage_of(txd_point point)
{
    if (txd_point_per_layer(point))
        return 1;
    return point < TXD_POINT_RESID_PRE ? 0 : 2;
}

/* What names no point (a parameter, a layer) is read where its layer begins. */
static void find_site(place *out, const txd_finding *finding)
{
    txd_point point;
    int layer;

    out->parts[STAGE] = finding->layer >= 0;
    out->parts[LAYER] = finding->layer;
    out->parts[POINT] = -1;
    if (strstr(finding->site, TXD_GRADIENT_SUFFIX)) { /* behind it, from the end */
        bool is_value = txd_point_of_gradient(&point, &layer, finding->site);

        out->parts[STAGE] = is_value ? 5 - stage_of(point) : 6;
        out->parts[LAYER] = -finding->layer;
        out->parts[POINT] = is_value ? -(int)point : 0;
    } else if (txd_point_of_name(&point, &layer, finding->site)) {
        out->parts[STAGE] = stage_of(point);
        out->parts[LAYER] = layer;
        out->parts[POINT] = (int)point;
    }
}

/* At one site `finite` is the cause of what is open, and else a consequence: of a key
 * that is -Inf although it is shown the laws of the mask say why. */
static place place_of(const txd_result *result, const txd_finding *finding,
                      bool any_open)
{
    const txd_check *check = txd_check_find(result->check);
    bool is_finite = strcmp(result->check, "finite") == 0;
    place found = {{0}};

    find_site(&found, finding);
    found.parts[EXPERIMENT] = check && check->examine;
    found.parts[STEP] = finding->step > 0 ? finding->step : 0;
    found.parts[WEIGHT] = is_finite != any_open;
    return found;
}

static bool is_before(const place *a, const place *b)
{
    for (int i = 0; i < PARTS; i++)
        if (a->parts[i] != b->parts[i])
            return a->parts[i] < b->parts[i];
    return false;
}

static size_t count_of(const txd_result *results, size_t count, txd_verdict verdict)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        found += results[i].verdict == verdict;
    return found;
}

const txd_finding *txd_report_begin_with(const char **law, const txd_result *results,
                                         size_t count)
{
    bool any_open = count_of(results, count, TXD_VERDICT_OPEN) > 0;
    const txd_finding *first = NULL;
    place least = {{0}};

    if (count_of(results, count, TXD_VERDICT_FAIL) < 2)
        return NULL;
    for (size_t i = 0; i < count; i++)
        for (size_t f = 0; f < results[i].finding_count; f++) {
            const txd_finding *finding = &results[i].findings[f];
            place here = place_of(&results[i], finding, any_open);

            if (finding->verdict != TXD_VERDICT_FAIL ||
                (first && !is_before(&here, &least)))
                continue;
            first = finding;
            least = here;
            *law = results[i].check;
        }
    return first;
}

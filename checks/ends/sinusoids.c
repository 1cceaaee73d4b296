/* SPDX-License-Identifier: MIT
 *
 * Every candidate is held against all rows that were kept.
 */
#include "checks/ends/sinusoids.h"

#include <math.h>

double txd_sinusoid(int32_t position, size_t lane, size_t width, double times)
{
    double exponent = times * (double)(lane - lane % 2) / (double)width;
    double angle = (double)position / pow(10000, exponent);

    return lane % 2 == 0 ? sin(angle) : cos(angle);
}

typedef struct candidate {
    double times;
    int shift;
    const char *words;
} candidate;

static bool fits(const candidate *c, const txd_kept *kept,
                 const txd_kept_tokens *tokens, const txd_inputs *inputs,
                 double allowed)
{
    for (size_t i = 0; i < kept->count * kept->width; i++) {
        int32_t position = inputs->positions[tokens->index[i / kept->width]];
        double expected =
            txd_sinusoid(position + c->shift, i % kept->width, kept->width, c->times);

        if (!txd_within(fabs(kept->rows[i] - expected), allowed))
            return false;
    }
    return true;
}

const char *txd_sinusoids_instead(const txd_kept *kept, const txd_kept_tokens *tokens,
                                  const txd_inputs *inputs, double allowed)
{
    static const candidate others[] = {
        {2, 0, "the exponent is twice what it should be"},
        {0, 0, "the exponent is 0 in all lanes, as of an integer division"},
        {1, 1, "they are those of the position after"},
        {1, -1, "they are those of the position before"},
    };

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (fits(&others[i], kept, tokens, inputs, allowed))
            return others[i].words;
    return "";
}

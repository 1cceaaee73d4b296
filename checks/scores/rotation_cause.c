/* SPDX-License-Identifier: MIT
 *
 * Rules that differ from the claim in one thing. An offset of the positions and another
 * base are fitted to the first row that tells of them, and held against the others.
 */
#include "checks/scores/rotation_cause.h"

#include <math.h>
#include <stdio.h>

/* Broken rows that are looked at. */
#define ROWS_TRIED 64
/* Offsets that are tried. */
#define FARTHEST 1024
/* Rows that a base must explain which was not found in the first. */
#define BASE_CONFIRMED 4
/* Of the angle: what a speed and a product in float32 do to it. */
#define ANGLE_ROUNDINGS 8
#define PI 3.14159265358979323846

enum {
    RULE_NONE,
    RULE_SIGN,
    RULE_PAIRING,
    RULE_TABLE,
    RULE_HEADS,
    RULE_PLACE,
    RULE_WIDTH,
    RULE_HALF_WIDTH,
    RULE_PLAIN,
    RULE_FACTOR,
    RULE_INVERSE,
    RULE_BF16,
    RULE_F16,
    RULE_OFFSET,
    RULE_BASE,
};

static const char *const words[TXD_TURN_RULES] = {
    [RULE_NONE] = "nothing turns",
    [RULE_SIGN] = "the angles have the wrong sign",
    [RULE_PAIRING] = "lanes are paired the other way: the claim has ",
    [RULE_TABLE] = "cosines and sines are laid out for the other pairing than that by "
                   "which lanes are paired",
    [RULE_HEADS] = "angles go by the number of the head instead of the position",
    [RULE_PLACE] = "positions are places in the row: padding counts, or documents do "
                   "not begin anew",
    [RULE_WIDTH] = "all lanes of the head turn, the claimed rope_width is ",
    [RULE_HALF_WIDTH] = "frequencies are those of the whole head, the claimed "
                        "rope_width is ",
    [RULE_PLAIN] = "the scaling of the positions (rope_scaling) is left out",
    [RULE_FACTOR] = "the attention factor is left out",
    [RULE_INVERSE] = "the frequencies are their reciprocals",
    [RULE_BF16] = "the angles are formed in bfloat16",
    [RULE_F16] = "the angles are formed in float16",
};

double txd_turning_allows_angle(const txd_turning *turning, const txd_pass *pass,
                                const txd_turned *walk, size_t pair)
{
    double angle = fabs(txd_turning_angle(turning, &walk->at, pair));
    size_t lane[2];

    txd_turning_lanes(lane, turning, pair);
    return txd_turning_allows(turning, pass, walk->before, lane) +
           ANGLE_ROUNDINGS * 0x1p-24 * angle * fabs(turning->factor) *
               (fabs(walk->before[lane[0]]) + fabs(walk->before[lane[1]]));
}

bool txd_turning_fits(const txd_turning *turning, const txd_pass *pass,
                      const txd_turned *walk, double *work)
{
    txd_turning_apply(work, turning, walk->before, &walk->at);
    for (size_t i = 0; i < turning->width / 2; i++) {
        double allowed = txd_turning_allows_angle(turning, pass, walk, i);
        size_t lane[2];

        txd_turning_lanes(lane, turning, i);
        for (int side = 0; side < 2; side++)
            if (!txd_within(fabs(walk->after[lane[side]] - work[lane[side]]), allowed))
                return false;
    }
    for (size_t e = turning->width; e < turning->lanes; e++)
        if (walk->after[e] != walk->before[e])
            return false;
    return true;
}

/* Geometric speeds of a base over `exponents` lanes. */
static void geometric(double *speed, size_t count, double base, size_t exponents)
{
    for (size_t i = 0; i < count; i++)
        speed[i] = pow(base, -2.0 * (double)i / (double)exponents);
}

static void use_speeds(txd_turning *t, double *speed, double base, size_t exponents)
{
    geometric(speed, t->width / 2, base, exponents);
    t->speed = speed;
}

/* The claim, but for one thing; false if that changes nothing. `speed` has room for
 * other speeds. */
static bool make_rule(txd_turning *t, int rule, const txd_layer_config *layer,
                      const txd_turn_causes *causes, double *speed)
{
    bool is_partial = t->width < t->lanes;

    switch (rule) {
    case RULE_NONE:
        t->width = 0;
        return true;
    case RULE_SIGN:
        t->sign = -1;
        return true;
    case RULE_PAIRING:
        t->adjacent = !t->adjacent;
        return true;
    case RULE_TABLE:
        t->is_crossed = true;
        return true;
    case RULE_HEADS:
        t->by_head = true;
        return true;
    case RULE_PLACE:
        t->by_place = true;
        return true;
    case RULE_WIDTH:
        t->width = t->lanes;
        use_speeds(t, speed, layer->rope_base, t->lanes);
        return is_partial;
    case RULE_HALF_WIDTH:
        use_speeds(t, speed, layer->rope_base, t->lanes);
        return is_partial;
    case RULE_PLAIN:
        use_speeds(t, speed, layer->rope_base, t->width);
        t->factor = 1;
        return txd_rope_is_scaled(layer);
    case RULE_FACTOR:
        t->factor = 1;
        return layer->rope_attention_factor != 1;
    case RULE_INVERSE:
        use_speeds(t, speed, 1 / layer->rope_base, t->width);
        return true;
    case RULE_BF16:
        t->format = TXD_BF16;
        return true;
    case RULE_F16:
        t->format = TXD_F16;
        return true;
    case RULE_OFFSET:
        t->offset = causes->offset;
        return causes->offset != 0;
    case RULE_BASE:
    default:
        if (causes->base > 0)
            use_speeds(t, speed, causes->base, t->width);
        return causes->base > 0;
    }
}

/* The offset of positions that explains a row, nearest to 0 first. */
static int64_t find_offset(const txd_turning *claim, const txd_pass *pass,
                           const txd_turned *walk, double *work)
{
    txd_turning t = *claim;

    for (int64_t away = 1; away <= FARTHEST; away++)
        for (int side = 1; side >= -1; side -= 2) {
            t.offset = side * away;
            if (txd_turning_fits(&t, pass, walk, work))
                return t.offset;
        }
    return 0;
}

/* A base from the slowest pair, if it turned farther here than where one was found
 * before; bases are round numbers. */
static void find_base(txd_turn_causes *causes, const txd_turning *claim,
                      const txd_turned *walk)
{
    size_t pair = claim->width / 2 - 1, lane[2];
    double x1, x2, y1, y2, angle, base;
    char text[32];

    if (claim->width < 4 || walk->at.position < 1)
        return;
    txd_turning_lanes(lane, claim, pair);
    x1 = walk->before[lane[0]];
    x2 = walk->before[lane[1]];
    y1 = walk->after[lane[0]];
    y2 = walk->after[lane[1]];
    angle = atan2(x1 * y2 - x2 * y1, x1 * y1 + x2 * y2);
    if (!(angle > causes->base_angle) || !(angle < PI / 2))
        return;
    base = pow((double)walk->at.position / angle,
               (double)claim->width / (2.0 * (double)pair));
    snprintf(text, sizeof text, "%.3g", base);
    if (sscanf(text, "%lf", &base) != 1 || !isfinite(base))
        return;
    if (base != causes->base) /* what fitted another one says nothing */
        causes->fits[RULE_BASE] = causes->base_tried = 0;
    causes->base_angle = angle;
    causes->base = base;
}

/* A base that was found explains this row too: a farther turn would only move its last
 * digit. */
static bool base_fits(const txd_turn_causes *causes, const txd_turning *claim,
                      const txd_pass *pass, const txd_turned *walk, double *work)
{
    txd_turning t = *claim;

    if (!(causes->base > 0))
        return false;
    use_speeds(&t, work + claim->lanes + claim->lanes / 2, causes->base, t.width);
    return txd_turning_fits(&t, pass, walk, work);
}

void txd_turn_causes_add(txd_turn_causes *causes, const txd_turned *walk,
                         const txd_block *block, double *work)
{
    int layer = block->site->layer;
    const txd_layer_config *l = &block->pass->claimed->layers[layer];
    double *speed = work + block->pass->claimed->head_dim, *other;
    txd_turning claim = txd_turning_of(block->pass->claimed, layer, speed);

    if (causes->tried >= ROWS_TRIED || claim.width == 0)
        return;
    other = speed + claim.lanes / 2;
    causes->tried++;
    if (causes->offset == 0 && causes->tried == 1)
        causes->offset = find_offset(&claim, block->pass, walk, work);
    if (!base_fits(causes, &claim, block->pass, walk, work))
        find_base(causes, &claim, walk);
    causes->base_tried++;
    for (int rule = 0; rule < TXD_TURN_RULES; rule++) {
        txd_turning t = claim;

        if (make_rule(&t, rule, l, causes, other))
            causes->fits[rule] += txd_turning_fits(&t, block->pass, walk, work);
    }
}

static void say_rule(txd_finding *finding, int rule, const txd_turn_causes *causes,
                     const txd_layer_config *layer)
{
    char base[32], claimed[32];

    if (rule == RULE_OFFSET) {
        txd_law_say(finding, ": positions are %lld too %s",
                    (long long)(causes->offset < 0 ? -causes->offset : causes->offset),
                    causes->offset < 0 ? "small" : "large");
        return;
    }
    if (rule == RULE_BASE) {
        txd_law_numbers(base, causes->base, claimed, layer->rope_base);
        txd_law_say(finding, ": the base is %s instead of %s", base, claimed);
        return;
    }
    txd_law_say(finding, ": %s", words[rule]);
    if (rule == RULE_PAIRING)
        txd_law_say(finding, "\"%s\"",
                    txd_config_word("rope_pairing", (int)layer->rope_pairing));
    if (rule == RULE_WIDTH || rule == RULE_HALF_WIDTH)
        txd_law_say(finding, "%zu", layer->rope_width);
}

/* Rows that a rule must explain. Small angles tell a base to few digits, so that one is
 * found anew as angles grow; a few rows must have confirmed the last. */
static uint64_t rows_that_tell(const txd_turn_causes *causes, int rule)
{
    return rule == RULE_BASE && causes->base_tried >= BASE_CONFIRMED
               ? causes->base_tried
               : causes->tried;
}

void txd_turn_causes_say(txd_finding *finding, const txd_turn_causes *causes,
                         const txd_layer_config *layer)
{
    for (int rule = 0; rule < TXD_TURN_RULES; rule++)
        if (causes->tried > 0 && causes->fits[rule] == rows_that_tell(causes, rule)) {
            say_rule(finding, rule, causes, layer);
            return;
        }
}

/* SPDX-License-Identifier: MIT
 *
 * Turns by any angles. A pair (x1, x2) becomes (x1 cos a - x2 sin a, x2 cos b + x1 sin
 * b); the gradient goes back by the transpose of that. Cosines and sines are taken pair
 * by pair, which costs what it costs.
 */
#include "faults/turn.h"
#include "model/rope.h"

#include <math.h>
#include <string.h>

/* What a fault goes by. */
typedef struct turn {
    txd_turn_rule rule;
    double strength;
} turn;

double txd_turn_speed(const txd_turn_pair *pair, size_t other)
{
    return pair->speed != NULL ? pair->speed[other]
                               : pow(pair->base, -(double)other / (double)pair->pairs);
}

void txd_turn_as_claimed(double out[2], const txd_turn_pair *pair)
{
    out[0] = out[1] = (double)pair->position * txd_turn_speed(pair, pair->pair);
}

static void turn_pair(const struct txd_rotate_args *a, size_t row, const turn *t,
                      const txd_turn_pair *pair, int sign)
{
    double factor = a->turns != NULL ? a->turns->factor : 1, angle[2], c[2], s[2];
    size_t first = row * a->width + pair->lanes[0];
    size_t second = row * a->width + pair->lanes[1];
    double x1 = txd_wrap_get(&a->at, a->x, first);
    double x2 = txd_wrap_get(&a->at, a->x, second);

    t->rule(angle, pair);
    for (int i = 0; i < 2; i++) {
        c[i] = factor * cos(angle[i]);
        s[i] = factor * sin(angle[i]);
    }
    if (sign > 0) {
        txd_wrap_set(&a->at, a->out, first, x1 * c[0] - x2 * s[0]);
        txd_wrap_set(&a->at, a->out, second, x2 * c[1] + x1 * s[1]);
    } else {
        txd_wrap_set(&a->at, a->out, first, x1 * c[0] + x2 * s[1]);
        txd_wrap_set(&a->at, a->out, second, x2 * c[1] - x1 * s[0]);
    }
}

static txd_turn_pair pair_of(const turn *t, const struct txd_rotate_args *a, size_t row)
{
    size_t token = row / (a->heads * a->length) * a->length + row % a->length;

    return (txd_turn_pair){.speed = a->turns != NULL ? a->turns->speed : NULL,
                           .base = a->base,
                           .pairs = a->rope_width / 2,
                           .head = row / a->length % a->heads,
                           .position = a->positions[token],
                           .is_query = a->at.point == TXD_POINT_ATTN_Q,
                           .strength = t->strength};
}

static txd_status turn_all(const struct txd_rotate_args *args, int sign)
{
    const turn *t = txd_wrap_of(&args->at)->more;
    size_t rows = args->batch * args->heads * args->length;
    size_t pairs = args->rope_width / 2;

    for (size_t row = 0; row < rows; row++) {
        txd_turn_pair pair = pair_of(t, args, row);

        for (pair.pair = 0; pair.pair < pairs; pair.pair++) {
            pair.lanes[0] = args->adjacent ? 2 * pair.pair : pair.pair;
            pair.lanes[1] = args->adjacent ? pair.lanes[0] + 1 : pair.pair + pairs;
            turn_pair(args, row, t, &pair, sign);
        }
        for (size_t e = args->rope_width; e < args->width; e++)
            txd_wrap_set(&args->at, args->out, row * args->width + e,
                         txd_wrap_get(&args->at, args->x, row * args->width + e));
    }
    return TXD_OK;
}

static txd_status rotate(txd_ctx *ctx, const struct txd_rotate_args *args)
{
    (void)ctx;
    return turn_all(args, 1);
}

static txd_status rotate_back(txd_ctx *ctx, const struct txd_rotate_args *args)
{
    (void)ctx;
    return turn_all(args, -1);
}

txd_status txd_plan_turn(txd_plan *plan, const txd_fault_use *use, txd_turn_rule rule)
{
    static const struct txd_ops mine = {.rotate = rotate, .rotate_back = rotate_back};
    turn *t = txd_arena_alloc(plan->arena, 1, sizeof *t);

    if (t == NULL)
        return TXD_ERR_MEMORY;
    *t = (turn){rule, use->strength};
    return txd_plan_wrap(plan, use, &mine, t);
}

/* ---- reasons ---- */

const char *txd_fault_needs_rotary(const txd_fault_scene *scene)
{
    for (size_t l = 0; l < scene->claimed->n_layers; l++)
        if (scene->claimed->positions == TXD_POSITIONS_ROTARY &&
            scene->claimed->layers[l].rotary)
            return NULL;
    return "needs rotary positions (model.positions = \"rotary\")";
}

static bool differs(const txd_fault_scene *scene, const txd_layer_config *layer,
                    txd_turn_rule rule, txd_turn_pair *pair)
{
    size_t pairs = layer->rope_width / 2;
    bool adjacent = layer->rope_pairing == TXD_PAIRING_ADJACENT;
    double wrong[2], right[2];

    pair->pairs = pairs;
    for (pair->head = 0; pair->head < scene->claimed->n_heads; pair->head++)
        for (pair->pair = 0; pair->pair < pairs; pair->pair++) {
            pair->lanes[0] = adjacent ? 2 * pair->pair : pair->pair;
            pair->lanes[1] = adjacent ? pair->lanes[0] + 1 : pair->pair + pairs;
            rule(wrong, pair);
            txd_turn_as_claimed(right, pair);
            if (wrong[0] != right[0] || wrong[1] != right[1])
                return true;
        }
    return false;
}

static bool layer_changes(const txd_fault_scene *scene, const txd_fault_use *use,
                          txd_turn_rule rule, size_t layer)
{
    const txd_inputs *inputs = scene->inputs;
    double speed[1024];
    txd_turn_pair pair = {.speed = speed, .is_query = true, .strength = use->strength};

    if (scene->claimed->head_dim > 2 * sizeof speed / sizeof *speed)
        return true;
    txd_rope_speeds(speed, &scene->claimed->layers[layer]);
    for (size_t i = 0; i < inputs->batch * inputs->length; i++) {
        pair.position = inputs->positions[i];
        if (inputs->valid[i] &&
            differs(scene, &scene->claimed->layers[layer], rule, &pair))
            return true;
    }
    return false;
}

bool txd_turn_changes(const txd_fault_scene *scene, const txd_fault_use *use,
                      txd_turn_rule rule)
{
    for (size_t l = 0; l < scene->claimed->n_layers; l++)
        if (txd_range_has(&use->layers, l) && scene->claimed->layers[l].rotary &&
            layer_changes(scene, use, rule, l))
            return true;
    return false;
}

static bool has_positions(const txd_inputs *inputs)
{
    for (size_t i = 0; i < inputs->batch * inputs->length; i++)
        if (inputs->valid[i] && inputs->positions[i] != 0)
            return true;
    return false;
}

const char *txd_turn_idle(const txd_fault_scene *scene, const txd_fault_use *use,
                          bool (*same)(const txd_config *config, size_t layer,
                                       const txd_fault_use *use),
                          const char *reason)
{
    if (!has_positions(scene->inputs))
        return "every real token stands at position 0, where nothing turns";
    for (size_t l = 0; l < scene->claimed->n_layers; l++)
        if (txd_range_has(&use->layers, l) && scene->claimed->layers[l].rotary &&
            !same(scene->claimed, l, use))
            return NULL;
    return reason;
}

/* SPDX-License-Identifier: MIT
 *
 * When each value of a pass is in memory: from the operation that forms it to the last
 * that reads it, on the way there, on the way back, or a tap that names it. What is
 * cheap to make (norms before a branch, activations) is made again on the way back, by
 * the same operations from the same values, so with the same bits; unless a tap edits
 * it.
 *
 * The tiles of an attention are worked through in one go: what they read stays until
 * the last is done, what they make is begun with the first. So are those of the logits.
 */
#include "model/run_stops.h"

/* Where the way back begins. */
static size_t turn(const txd_run *run)
{
    return run->stops;
}

static size_t back(const txd_run *run, size_t stop)
{
    return 2 * run->stops - 1 - stop;
}

static size_t after_all(const txd_run *run)
{
    return 2 * run->stops;
}

static const txd_config *config_of(const txd_run *run)
{
    return run->model->config;
}

static bool is_whole(const txd_run *run, size_t stop)
{
    txd_place place = txd_point_get(run->order[stop].point)->place;

    return place == TXD_PLACE_TOP || place == TXD_PLACE_LAYER;
}

static size_t largest(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void begin_by(struct txd_stay *stay, size_t time)
{
    if (time < stay->first)
        stay->first = time;
}

static void last_to(struct txd_stay *stay, size_t time)
{
    stay->last = largest(stay->last, time);
}

/* ---- whose value it is ---- */

static void find_root(txd_run *run, size_t stop)
{
    size_t from = run->edited[stop] ? stop : txd_stops_repeated(run, stop);

    run->homes[stop].root = from == stop ? stop : run->homes[from].root;
}

static struct txd_stay *value_at(txd_run *run, size_t stop)
{
    return &run->homes[run->homes[stop].root].value;
}

/* ---- who reads it ---- */

/* Its backward entry reads what the operation read. */
static bool reads_again(txd_point point)
{
    if (txd_point_is_norm(point) || txd_point_is_qk_norm(point))
        return true;
    switch (txd_point_in_self(point)) {
    case TXD_POINT_ATTN_Q_PROJ:
    case TXD_POINT_ATTN_K_PROJ:
    case TXD_POINT_ATTN_V:
    case TXD_POINT_ATTN_SCORES:
    case TXD_POINT_ATTN_HEADS:
    case TXD_POINT_ATTN_OUT:
    case TXD_POINT_MLP_GATE:
    case TXD_POINT_MLP_GATE_ACT:
    case TXD_POINT_MLP_UP:
    case TXD_POINT_MLP_ACT:
    case TXD_POINT_MLP_OUT:
    case TXD_POINT_EMBED_IN:
    case TXD_POINT_HEAD_DENSE:
    case TXD_POINT_HEAD_ACT:
    case TXD_POINT_HEAD_IN:
    case TXD_POINT_LOGITS_RAW:
    case TXD_POINT_LOGITS:
        return true;
    default:
        return false;
    }
}

static void need(txd_run *run, size_t stop, size_t time)
{
    run->homes[stop].needed = largest(run->homes[stop].needed, time);
}

static void read_operands(txd_run *run, size_t stop)
{
    size_t operands[TXD_OPERANDS], count = txd_stops_operands(operands, run, stop);

    for (size_t i = 0; i < count; i++) {
        size_t at = operands[i];

        if (!is_whole(run, at))
            continue;
        last_to(value_at(run, at), txd_stops_last_of_work(run, stop));
        begin_by(&run->homes[at].gradient,
                 back(run, txd_stops_last_of_work(run, stop)));
        if (reads_again(run->order[stop].point))
            need(run, at, back(run, txd_stops_first_of_work(run, stop)));
    }
}

static void name_point(txd_run *run, const txd_tap *tap, size_t stop, txd_point point)
{
    size_t time = back(run, txd_stops_first_of_work(run, stop));
    int at = txd_stops_seen_from(run, stop, point);

    if (at < 0 || !is_whole(run, (size_t)at))
        return;
    if ((size_t)at < stop)
        last_to(value_at(run, (size_t)at), txd_stops_last_of_work(run, stop));
    if (!tap->gradients)
        return;
    need(run, (size_t)at, time);
    if ((size_t)at >= stop)
        last_to(&run->homes[at].gradient, time);
}

static void read_names(txd_run *run, const txd_tap *tap)
{
    if (tap->ask == NULL || tap->needs == NULL)
        return;
    for (size_t stop = 0; stop < run->stops; stop++) {
        const txd_point *named = tap->needs(tap->self, run->order[stop].point);

        for (; named != NULL && *named != TXD_POINT_COUNT; named++)
            name_point(run, tap, stop, *named);
    }
}

/* ---- kept, or made again ---- */

static bool is_cheap(const txd_run *run, txd_point point)
{
    txd_sublayer part;

    if (point == TXD_POINT_MLP_GATE_ACT || point == TXD_POINT_MLP_ACT)
        return true;
    return txd_sublayer_with(&part, config_of(run), point) && point == part.before;
}

/* Made as the way back enters the layer, from what must be there by then. */
static void make_again(txd_run *run, size_t stop)
{
    size_t entry =
        back(run, txd_stops_end_of_layer(run, (size_t)run->order[stop].layer));
    size_t operands[TXD_OPERANDS], count = txd_stops_operands(operands, run, stop);

    run->homes[stop].again.first = entry;
    run->homes[stop].again.last = run->homes[stop].needed;
    for (size_t i = 0; i < count; i++)
        need(run, operands[i], entry);
}

/* From the last stop to the first: what is made again needs what comes before it. */
static void keep_for_the_way_back(txd_run *run)
{
    for (size_t i = 0; i < run->stops; i++) {
        size_t stop = run->stops - 1 - i;

        if (!is_whole(run, stop) || run->homes[stop].needed == 0)
            continue;
        if (is_cheap(run, run->order[stop].point) && !run->edited[stop])
            make_again(run, stop);
        else
            last_to(value_at(run, stop), run->homes[stop].needed);
    }
}

/* ---- all of it ---- */

static txd_status bytes_of(size_t *out, const txd_run *run, txd_point point)
{
    const txd_extent extent = txd_run_extent(run);
    size_t dims[TXD_MAX_RANK];
    int rank = txd_point_dims(dims, config_of(run), point, &extent);

    TXD_TRY(txd_shape_count(out, dims, rank));
    return txd_size_mul(out, *out, txd_dtype_bytes(run->model->backend->dtype));
}

static bool is_projection(txd_point point)
{
    txd_point own = txd_point_in_self(point);

    return own == TXD_POINT_ATTN_Q_PROJ || own == TXD_POINT_ATTN_K_PROJ ||
           own == TXD_POINT_ATTN_V;
}

/* Projections are made before they are split in heads, and norms over all heads are
 * taken of what is merged again: that, and the norm, and their gradients. Statistics of
 * integers need them as numbers. */
static void add_scratch(txd_run *run, size_t stop, size_t bytes)
{
    txd_point point = run->order[stop].point;
    struct txd_stay there = {stop, stop, bytes, 0, NULL};
    struct txd_stay here = {back(run, stop), back(run, stop), bytes, 0, NULL};

    if (txd_point_is_qk_norm(point)) {
        if (config_of(run)->qk_norm != TXD_QK_NORM_WIDTH)
            return;
        there.bytes *= 2;
        here.bytes *= 3;
        run->homes[stop].scratch[0] = there;
        run->homes[stop].scratch[1] = here;
        return;
    }
    if (is_projection(point) || txd_point_get(point)->place == TXD_PLACE_INPUT)
        run->homes[stop].scratch[0] = there;
    if (is_projection(point))
        run->homes[stop].scratch[1] = here;
}

static txd_status begin_home(txd_run *run, size_t stop)
{
    const struct txd_stay never = {1, 0, 0, 0, NULL};
    struct txd_home *home = &run->homes[stop];
    txd_place place = txd_point_get(run->order[stop].point)->place;
    size_t bytes = 0;

    *home = (struct txd_home){stop, 0, never, never, never, {never, never}};
    if (place == TXD_PLACE_TILE || place == TXD_PLACE_ROWS)
        return TXD_OK;
    TXD_TRY(bytes_of(&bytes, run, run->order[stop].point));
    add_scratch(run, stop, bytes);
    if (place == TXD_PLACE_INPUT)
        return TXD_OK;
    find_root(run, stop);
    home->value.bytes = home->again.bytes = home->gradient.bytes = bytes;
    home->gradient.first = after_all(run);
    home->gradient.last = back(run, txd_stops_first_of_work(run, stop));
    if (home->root == stop) {
        home->value.first = txd_stops_first_of_work(run, stop);
        home->value.last = txd_stops_last_of_work(run, stop);
    }
    return TXD_OK;
}

/* The memory is there before the pass, and its gradient is a sum over layers; what the
 * pass ends with outlives it. */
static void stretch_the_ends(txd_run *run)
{
    int memory = txd_run_stop(run, TXD_POINT_INPUT_MEMORY, -1);
    int final = txd_run_stop(run, TXD_POINT_FINAL_NORM, -1);
    size_t end = final >= 0 ? (size_t) final
                            : txd_stops_end_of_layer(run, config_of(run)->n_layers - 1);

    last_to(value_at(run, end), after_all(run));
    for (size_t stop = 0; stop < run->stops; stop++)
        if (run->homes[stop].gradient.first > run->homes[stop].gradient.last)
            run->homes[stop].gradient.first =
                turn(run); /* nothing of the pass reads it */
    if (memory < 0)
        return;
    run->homes[memory].value.first = 0;
    run->homes[memory].gradient.first = turn(run);
    last_to(&run->homes[memory].gradient, after_all(run));
}

static void forget_the_way_back(txd_run *run)
{
    for (size_t stop = 0; stop < run->stops; stop++) {
        const struct txd_stay never = {1, 0, 0, 0, NULL};

        run->homes[stop].gradient = run->homes[stop].scratch[1] = never;
    }
}

txd_status txd_run_lives(txd_run *run)
{
    for (size_t stop = 0; stop < run->stops; stop++)
        TXD_TRY(begin_home(run, stop));
    for (size_t stop = 0; stop < run->stops; stop++)
        read_operands(run, stop);
    for (size_t t = 0; t < run->tap_count; t++)
        read_names(run, run->taps[t]);
    stretch_the_ends(run);
    if (run->options.backward)
        keep_for_the_way_back(run);
    else
        forget_the_way_back(run);
    return TXD_OK;
}

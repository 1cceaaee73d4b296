/* SPDX-License-Identifier: MIT
 *
 * A query sees as many positions as the claimed window has, its own included: none
 * behind it, and none inside is hidden. Integers are read off, so the finding says how
 * wide the window in fact is. Layers without a window are judged in models that have
 * one elsewhere, for the pattern of the layers is easily shifted.
 *
 * What lies behind the window row statistics tell as well, of the hidden key with the
 * largest weight. That keys inside are hidden only the values tell.
 */
#include "checks/mask/seen.h"

#include <inttypes.h>

/* Kinds of rows: two or more positions behind the window; of these, all seen; some
 * behind seen; some inside hidden; some hidden where no window is claimed. */
enum { LONG, IGNORED, WIDE, NARROW, LOCAL };

/* Keys of a row by their distance, as far as nothing but a window can hide them. */
typedef struct reach {
    int64_t seen;   /* positions to the farthest seen key, its own included */
    int64_t hidden; /* the same to the nearest hidden key; INT64_MAX: none */
    int64_t key_seen, key_hidden;
    size_t behind, behind_seen; /* keys behind the window */
    bool has_edge;              /* a key at the last position inside */
    bool has_nan;
} reach;

static int64_t distance_of(const txd_seen_row *row, size_t key)
{
    int64_t distance =
        (int64_t)row->mask.query_positions[row->query] - row->mask.key_positions[key];

    return distance < 0 ? -distance : distance;
}

/* The windows of all layers: the narrowest; 0 if there is none. */
static size_t narrowest(const txd_config *config)
{
    size_t window = 0;

    for (size_t l = 0; l < config->n_layers; l++)
        if (config->layers[l].window != 0 &&
            (window == 0 || config->layers[l].window < window))
            window = config->layers[l].window;
    return window;
}

static bool may_be_seen(const txd_seen_row *row, size_t key)
{
    txd_hidden why = txd_seen_claim(row, key);

    return why == TXD_SEEN || why == TXD_HIDDEN_WINDOW;
}

static void add_key(reach *r, const txd_seen_row *row, size_t key, int64_t window)
{
    txd_seen seen = txd_seen_state(row, key);
    int64_t distance = distance_of(row, key);

    r->has_nan |= seen == TXD_SEEN_NAN;
    r->has_edge |= distance == window - 1;
    r->behind += distance >= window;
    r->behind_seen += distance >= window && seen == TXD_SEEN_OPEN;
    if (seen == TXD_SEEN_OPEN && distance + 1 > r->seen) {
        r->seen = distance + 1;
        r->key_seen = (int64_t)key;
    }
    if (txd_seen_is_hidden(row, key) && distance + 1 < r->hidden) {
        r->hidden = distance + 1;
        r->key_hidden = (int64_t)key;
    }
}

static reach reach_of(const txd_seen_row *row, int64_t window)
{
    reach r = {.hidden = INT64_MAX, .key_seen = -1, .key_hidden = -1};

    for (size_t key = 0; key < row->keys; key++)
        if (may_be_seen(row, key))
            add_key(&r, row, key, window);
    return r;
}

static void add_broken(txd_seen_tally *t, const txd_seen_row *row, int64_t key,
                       int64_t seen, int64_t claimed)
{
    txd_seen_widen(t, seen);
    txd_seen_add_broken(t, row,
                        &(txd_seen_break){.key = key,
                                          .measured = fabs((double)(seen - claimed)),
                                          .found = (double)seen,
                                          .expected = (double)claimed});
}

/* In a layer with a window. */
static void judge_local(txd_seen_tally *t, const txd_seen_row *row, const reach *r,
                        int64_t window)
{
    bool is_long = r->behind > 1 && r->seen > window;

    t->of[LONG] += is_long;
    t->of[IGNORED] += is_long && r->behind_seen == r->behind;
    if (r->seen > window) {
        t->of[WIDE]++;
        add_broken(t, row, r->key_seen, r->seen, window);
    } else if (r->hidden <= window && r->seen < r->hidden) {
        t->of[NARROW]++;
        add_broken(t, row, r->key_hidden, r->seen, window);
    }
}

static void look(txd_seen_tally *t, const txd_seen_row *row)
{
    const txd_config *claimed = row->block->pass->claimed;
    size_t own = claimed->layers[row->block->site->layer].window;
    int64_t window = (int64_t)(own ? own : narrowest(claimed));
    reach r = reach_of(row, window);

    if (!r.has_edge && r.behind == 0)
        return;
    if (r.has_nan) {
        t->unknown++;
        return;
    }
    if (own != 0) {
        t->rows++;
        judge_local(t, row, &r, window);
    } else if (r.behind > 0) {
        t->rows++;
        if (r.hidden == INT64_MAX || r.seen >= r.hidden || r.seen == 0)
            return;
        t->of[LOCAL]++;
        add_broken(t, row, r.key_hidden, r.seen, 0);
    }
}

static void glance(txd_seen_tally *t, const txd_seen_row *row)
{
    const txd_config *claimed = row->block->pass->claimed;
    size_t window = claimed->layers[row->block->site->layer].window;
    double most = row->column[TXD_ROW_HIDDEN_MAX];
    double key = row->column[TXD_ROW_HIDDEN_KEY];

    /* Without a window nothing is hidden for it. */
    if (window == 0 || !(row->column[TXD_ROW_SEEN] >= (double)window))
        return;
    if (isnan(most)) {
        t->unknown++;
        return;
    }
    t->rows++;
    if (!(most > 0 && key >= 0 && key < (double)row->keys) ||
        txd_seen_claim(row, (size_t)key) != TXD_HIDDEN_WINDOW)
        return;
    t->of[WIDE]++;
    add_broken(t, row, (int64_t)key, distance_of(row, (size_t)key) + 1,
               (int64_t)window);
}

static void say_rows(txd_finding *finding, const txd_seen_tally *t)
{
    txd_law_say(finding, "; %" PRIu64 " of %" PRIu64 " rows of this layer are so",
                t->broken, t->rows);
    if (t->low < t->high)
        txd_law_say(finding, ", which see %" PRId64 " to %" PRId64 " positions", t->low,
                    t->high);
}

static void explain(txd_finding *finding, const txd_seen_tally *t,
                    const txd_config *claimed, int layer)
{
    int64_t window = (int64_t)claimed->layers[layer].window;

    if (window == 0) {
        txd_law_say(finding,
                    "query %" PRId64 " sees %.0f positions and not key %" PRId64
                    " before them, but this layer has no window",
                    t->at.query, t->found, t->at.key);
        say_rows(finding, t);
        txd_law_say(finding, ": it has the window of another layer");
        return;
    }
    txd_law_say(finding,
                "query %" PRId64 " sees %.0f positions, its own included (key %" PRId64
                "), of a window of %" PRId64,
                t->at.query, t->found, t->at.key, window);
    say_rows(finding, t);
    if (t->of[IGNORED] > 0 && t->of[IGNORED] == t->of[LONG] && t->low < t->high)
        txd_law_say(finding, ": the window is ignored");
    else if (t->low == window + 1 && t->high == window + 1)
        txd_law_say(finding, ": one too many, as where a window does not count the "
                             "query's own position");
    else if (t->low == window - 1 && t->high == window - 1)
        txd_law_say(finding, ": one too few");
    else if (t->low == t->high)
        txd_law_say(finding, ": the window is %" PRId64, t->low);
}

static bool applies(const txd_config *claimed, int layer)
{
    (void)layer;
    return narrowest(claimed) > 0;
}

static const char *inapplicable(const txd_check_context *context)
{
    return narrowest(context->claimed) > 0
               ? NULL
               : "no layer of this model has a window (mask.window = 0)";
}

static const txd_seen_law law = {
    .name = "window",
    .applies = applies,
    .look = look,
    .glance = glance,
    .explain = explain,
    .nothing = "no query of this input has so many positions before it that a window "
               "would show",
};

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    return txd_seen_create(out, tap, &law, context->claimed);
}

const txd_check txd_check_window = {
    .name = "window",
    .law = "a query sees exactly the positions of its layer's window",
    .formula =
        "w[q,j] = 0 exactly where |position(q) - position(j)| >= W; no key with a "
        "smaller distance is hidden; in a layer without a window none is hidden "
        "for its distance",
    .causes =
        "a kernel whose window counts the keys beside the query's own (W + 1 in all, "
        "or W "
        "- 1); a window that is dropped on one code path; local and global layers that "
        "have changed places",
    .look_next =
        "mask.window and model.layers of the claimed configuration; attn.masked "
        "of a late query",
    .unit = "rows",
    .softmax_rows = true,
    .faults = (const char *const[]){"window_off_by_one", "window_ignored",
                                    "window_layers_swapped", NULL},
    .needs = txd_seen_needs,
    .inapplicable = inapplicable,
    .create = create,
    .finish = txd_seen_finish,
    .destroy = txd_seen_destroy,
};

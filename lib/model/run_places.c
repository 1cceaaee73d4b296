/* SPDX-License-Identifier: MIT
 *
 * Where in memory each value of a pass is: what is never there at the same time shares
 * memory. In order of their beginnings, each goes to the first gap that holds it.
 */
#include <stdlib.h>
#include <string.h>

#include "model/images.h"

#define STAYS_OF_A_HOME 5

static void stays_of(struct txd_stay *out[STAYS_OF_A_HOME], struct txd_home *home)
{
    out[0] = &home->value;
    out[1] = &home->again;
    out[2] = &home->gradient;
    out[3] = &home->scratch[0];
    out[4] = &home->scratch[1];
}

static bool is_there(const struct txd_stay *stay)
{
    return stay->first <= stay->last;
}

/* Those that begin together keep the order of their homes. */
static int by_beginning(const void *a, const void *b)
{
    const struct txd_stay *x = *(struct txd_stay *const *)a;
    const struct txd_stay *y = *(struct txd_stay *const *)b;

    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x > y) - (x < y);
}

static size_t collect(txd_run *run)
{
    size_t count = 0;

    for (size_t stop = 0; stop < run->stops; stop++) {
        struct txd_stay *of[STAYS_OF_A_HOME];

        stays_of(of, &run->homes[stop]);
        for (int i = 0; i < STAYS_OF_A_HOME; i++)
            if (is_there(of[i]))
                run->stays[count++] = of[i];
    }
    qsort(run->stays, count, sizeof *run->stays, by_beginning);
    return count;
}

/* Lets go of what has ended; the rest keeps its order, by offset. */
static size_t let_go(struct txd_stay **live, size_t count, size_t time)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (live[i]->last >= time)
            live[kept++] = live[i];
    return kept;
}

/* Puts a stay into the first gap between the live ones. */
static txd_status put(struct txd_stay **live, size_t count, struct txd_stay *stay)
{
    size_t at = 0, offset = 0, bytes;

    TXD_TRY(txd_size_add(&bytes, stay->bytes, 63));
    stay->bytes = bytes / 64 * 64;
    while (at < count && live[at]->offset - offset < stay->bytes) {
        TXD_TRY(txd_size_add(&offset, live[at]->offset, live[at]->bytes));
        at++;
    }
    memmove(live + at + 1, live + at, (count - at) * sizeof *live);
    live[at] = stay;
    stay->offset = offset;
    return TXD_OK;
}

txd_status txd_run_places(size_t *bytes, txd_run *run)
{
    struct txd_stay **stays = run->stays;
    size_t count = collect(run), living = 0, end;
    struct txd_stay **live = stays + count; /* behind them */

    *bytes = 0;
    for (size_t i = 0; i < count; i++) {
        living = let_go(live, living, stays[i]->first);
        TXD_TRY(put(live, living++, stays[i]));
        TXD_TRY(txd_size_add(&end, stays[i]->offset, stays[i]->bytes));
        *bytes = end > *bytes ? end : *bytes;
    }
    return TXD_OK;
}

/* ---- from homes to the pointers of a pass ---- */

struct txd_home *txd_run_home(const txd_run *run, txd_point point, int layer)
{
    int stop = txd_run_stop(run, point, layer);

    return stop < 0 ? NULL : &run->homes[stop];
}

bool txd_run_makes_again(const txd_run *run, txd_point point, int layer)
{
    const struct txd_home *home =
        point == TXD_POINT_COUNT ? NULL : txd_run_home(run, point, layer);

    return home != NULL && is_there(&home->again);
}

void txd_run_settle(txd_run *run, char *memory)
{
    for (size_t stop = 0; stop < run->stops; stop++) {
        struct txd_stay *of[STAYS_OF_A_HOME];

        stays_of(of, &run->homes[stop]);
        for (int i = 0; i < STAYS_OF_A_HOME; i++)
            of[i]->memory = is_there(of[i]) ? memory + of[i]->offset : NULL;
    }
    for (int p = 0; p < TXD_POINT_COUNT; p++) {
        const struct txd_home *home = txd_run_home(run, (txd_point)p, -1);

        run->own[p] = home == NULL ? NULL : home->value.memory;
        run->d_own[p] = home == NULL ? NULL : home->gradient.memory;
        run->value[p] = NULL;
    }
}

void txd_run_enter(txd_run *run, int layer)
{
    txd_images_forget(run);
    for (int p = 0; p < TXD_POINT_COUNT; p++)
        if (txd_point_per_layer((txd_point)p)) {
            const struct txd_home *home = txd_run_home(run, (txd_point)p, layer);

            run->value[p] = NULL;
            run->own[p] = home == NULL ? NULL : home->value.memory;
        }
}

void txd_run_enter_back(txd_run *run, int layer)
{
    txd_images_forget(run);
    for (int p = 0; p < TXD_POINT_COUNT; p++) {
        const struct txd_home *home = txd_run_home(run, (txd_point)p, layer);
        const struct txd_stay *root;

        if (!txd_point_per_layer((txd_point)p))
            continue;
        run->value[p] = run->gradient[p] = run->d_own[p] = run->own[p] = NULL;
        run->begun[p] = false;
        if (home == NULL)
            continue;
        root = &run->homes[home->root].value;
        run->own[p] = is_there(&home->again) ? home->again.memory : home->value.memory;
        run->d_own[p] = home->gradient.memory;
        if (root->last >= run->stops)
            run->value[p] = root->memory;
    }
}

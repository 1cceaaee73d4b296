/* SPDX-License-Identifier: MIT
 *
 * A tap keeps the values that rows of bugs show, and they are held to the printed ones.
 */
#include "shown.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_at(const watched *w, const txd_site *site)
{
    return site->kind == (w->gradient ? TXD_SITE_GRADIENT : TXD_SITE_VALUE) &&
           site->point == w->point && site->layer == w->layer;
}

static unsigned ask_watch(void *self, const txd_site *site)
{
    const watch *w = self;

    for (int i = 0; i < w->count; i++)
        if (is_at(&w->kept[i], site))
            return TXD_ASK_VALUE;
    return 0;
}

/* Copies a block, which has any number of leading axes of one place, into the whole. */
static void keep(watched *w, const txd_block *block)
{
    size_t count = txd_tensor_count(&block->value);

    w->rank = block->value.rank;
    memcpy(w->dims, block->dims, sizeof w->dims);
    for (size_t i = 0; i < count; i++) {
        size_t rest = i, at = 0, stride = 1;

        for (int axis = w->rank - 1; axis >= 0; axis--) {
            at += (block->start[axis] + rest % block->value.dims[axis]) * stride;
            stride *= w->dims[axis];
            rest /= block->value.dims[axis];
        }
        ck_assert_uint_lt(at, KEPT);
        w->values[at] = txd_tensor_get(&block->value, i);
    }
}

static txd_status see(void *self, const txd_block *block, const void *slot)
{
    watch *w = self;

    (void)slot;
    for (int i = 0; i < w->count; i++)
        if (is_at(&w->kept[i], block->site))
            keep(&w->kept[i], block);
    return TXD_OK;
}

/* "sums of layers.0.attn.weights[0,0,*,*]": the name; where the places begin. */
static const char *name_of(char name[64], bool *sums, const char *what)
{
    const char *places;

    *sums = strncmp(what, "sums of ", 8) == 0;
    what += *sums ? 8 : 0;
    places = strchr(what, '[');
    snprintf(name, 64, "%.*s", (int)(places ? (size_t)(places - what) : strlen(what)),
             what);
    return places;
}

void watch_start(watch *w, const bug *b)
{
    *w = (watch){0};
    for (int i = 0; i < BUG_SHOWN && b->shown[i].what; i++, w->count++) {
        char name[64];

        name_of(name, &w->kept[i].sums, b->shown[i].what);
        w->kept[i].gradient = strstr(name, TXD_GRADIENT_SUFFIX) != NULL;
        OK((w->kept[i].gradient ? txd_point_parse_gradient : txd_point_parse)(
            &w->kept[i].point, &w->kept[i].layer, name));
    }
}

static bool is_chosen(const watched *w, const char *places, size_t i)
{
    for (int axis = w->rank - 1; places && axis >= 0; axis--) {
        size_t place = i % w->dims[axis];
        const char *at = places;

        for (int skip = 0; skip < axis; skip++)
            at = strchr(at + 1, ',');
        if (at[1] != '*' && strtoul(at + 1, NULL, 10) != place)
            return false;
        i /= w->dims[axis];
    }
    return true;
}

/* The chosen values in order, or their sums over the last axis. */
static size_t choose(double *out, const watched *w, const char *what)
{
    char name[64];
    bool sums;
    const char *places = name_of(name, &sums, what);
    size_t total = 1, count = 0, last = w->dims[w->rank - 1];

    for (int axis = 0; axis < w->rank; axis++)
        total *= w->dims[axis];
    for (size_t i = 0; i < total; i++) {
        if (!is_chosen(w, places, i))
            continue;
        if (!sums || i % last == 0)
            out[count++] = 0;
        out[count - 1] += w->values[i];
    }
    return count;
}

/* Half a unit of the last digit that is printed. */
static double tolerance(const char *number)
{
    const char *point = strchr(number, '.'), *power = strpbrk(number, "eE");
    int digits = point ? (int)strspn(point + 1, "0123456789") : 0;

    return 0.5001 * pow(10, (power ? atoi(power + 1) : 0) - (digits ? digits : 6));
}

void watch_expect(const bug *b, const watched *w, const bug_shown *shown,
                  const char *numbers, double roundoff)
{
    static double values[KEPT];
    size_t count = choose(values, w, shown->what), n = 0;
    char text[1024], *rest, *word;

    snprintf(text, sizeof text, "%s", numbers);
    for (word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        double want = strtod(word, NULL);
        double allowed = tolerance(word) + roundoff * fabs(want);
        bool same = n < count && (isnan(want) ? isnan(values[n]) : values[n] == want);

        if (!same && !(n < count && fabs(values[n] - want) <= allowed))
            ck_abort_msg("B%02d, %s: element %zu of %zu is %.9g, not %s", b->entry,
                         shown->what, n, count, n < count ? values[n] : (double)NAN,
                         word);
        n++;
    }
    ck_assert_msg(n == count, "B%02d, %s: %zu values, not %zu", b->entry, shown->what,
                  count, n);
}

txd_tap watch_tap(watch *w)
{
    return (txd_tap){
        .name = "watch", .self = w, .gradients = true, .ask = ask_watch, .merge = see};
}

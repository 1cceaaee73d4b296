/* SPDX-License-Identifier: MIT
 *
 * Tiles whose scores become masked scores and weights in place.
 */
#include <string.h>

#include "model/run_private.h"
#include "scene.h"
#include "suite.h"

/* Statistics of every site, and nothing else. */
typedef struct measures {
    txd_tap tap;
    observed *like; /* what they should be */
    size_t tiles;
} measures;

static bool is_tile(txd_point point)
{
    return txd_point_get(point)->place == TXD_PLACE_TILE;
}

static unsigned ask_statistics(void *self, const txd_site *site)
{
    (void)self;
    return txd_site_is_parameter(site->kind) ? 0 : TXD_ASK_STATS;
}

static txd_status compare_statistics(void *self, const txd_block *block,
                                     const void *slot)
{
    measures *m = self;
    const struct observed_site *site = observe_site(m->like, block->site->name);

    (void)slot;
    if (is_tile(block->site->point))
        ck_assert_ptr_null(block->value.data);
    if (block->stats == NULL)
        return TXD_OK;
    ck_assert_msg(memcmp(block->stats, site->stats, sizeof site->stats) == 0, "%s",
                  site->name);
    m->tiles += is_tile(block->site->point);
    return TXD_OK;
}

START_TEST(tiles_that_are_overwritten_in_place_have_the_same_statistics)
{
    for (size_t v = 0; v < SCENES; v++) {
        scene apart, in_place;
        measures m = {.like = &apart.o};
        size_t capped, biased;
        txd_tap tap = {.name = "measures",
                       .self = &m,
                       .gradients = true,
                       .ask = ask_statistics,
                       .merge = compare_statistics};

        scene_begin(&apart, v, 0);
        scene_begin(&in_place, v, 0);
        in_place.o.only = "nothing";
        scene_pass(&apart, NULL);
        scene_pass(&in_place, &tap);
        /* What is added is measured alone; capping goes back by what it read. */
        capped = txd_point_exists(&apart.o.config, TXD_POINT_ATTN_CAPPED);
        biased = txd_point_exists(&apart.o.config, TXD_POINT_ATTN_BIAS);
        ck_assert_uint_eq(apart.o.run->arrays.values, 3 + capped + biased);
        ck_assert_uint_eq(apart.o.run->arrays.gradients, 3 + capped);
        ck_assert_uint_eq(in_place.o.run->arrays.values, capped || biased ? 2 : 1);
        ck_assert_uint_eq(in_place.o.run->arrays.gradients, 1);
        ck_assert_uint_ge(m.tiles, 3 * 2 * 3);
        ck_assert(memcmp(&(double){txd_run_loss(apart.o.run)},
                         &(double){txd_run_loss(in_place.o.run)}, sizeof(double)) == 0);
        ck_assert_double_eq(txd_run_gradient_norm(apart.o.run),
                            txd_run_gradient_norm(in_place.o.run));
        observe_finish(&apart.o);
        observe_finish(&in_place.o);
    }
}
END_TEST

TEST_MAIN(tiles_that_are_overwritten_in_place_have_the_same_statistics)

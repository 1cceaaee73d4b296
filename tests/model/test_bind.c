/* SPDX-License-Identifier: MIT
 *
 * Binding: master copies that are what a backend stores are read in place, others are
 * converted; a pass, and the gradients, cannot tell the difference.
 */
#include <string.h>

#include "cross.h"
#include "model/run_private.h"
#include "suite.h"

static bool in_place(const observed *o)
{
    size_t same = 0;

    for (size_t i = 0; i < o->model->param_count; i++)
        same += o->model->params[i].data == txd_params_at(o->params, i)->value.data;
    ck_assert(same == 0 || same == o->model->param_count);
    ck_assert((o->model->memory == NULL) == (same > 0));
    return same > 0;
}

START_TEST(only_what_a_backend_stores_as_it_is_is_read_in_place)
{
    static const struct {
        const char *backend;
        bool exact, in_place;
    } cases[] = {
        {"cpu32", false, true}, {"ref32", false, true},  {"ref64", true, true},
        {"cpu32", true, false}, {"ref64", false, false}, {"bf16", false, false},
        {"fp16", false, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        observed o = {.exact = cases[i].exact};

        cross_start(&o, cross_variants[i % CROSS_VARIANTS], cases[i].backend, 5);
        ck_assert_msg(in_place(&o) == cases[i].in_place, "%s", cases[i].backend);
        observe_finish(&o);
    }
}
END_TEST

static void pass(observed *o, const char *cfg)
{
    cross_start(o, cfg, "cpu32", 7);
    OK(observe_memory(o, 9, NULL));
    o->backward = true;
    OK(observe_pass(o));
}

/* Double master copies of float numbers are converted without a rounding. */
START_TEST(a_pass_over_master_copies_has_the_bits_of_one_over_converted_ones)
{
    for (int v = 0; v < CROSS_VARIANTS; v++) {
        observed here = {0}, converted = {.exact = true};

        pass(&here, cross_variants[v]);
        pass(&converted, cross_variants[v]);
        ck_assert(in_place(&here) && !in_place(&converted));
        ck_assert_uint_eq(here.sites, converted.sites);
        for (size_t i = 0; i < txd_params_count(converted.params); i++) {
            txd_tensor *value = &txd_params_at(converted.params, i)->value;

            for (size_t e = 0; e < txd_tensor_count(value); e++)
                ((double *)value->data)[e] =
                    (double)((float *)txd_params_at(here.params, i)->value.data)[e];
        }
        OK(observe_rebind(&converted));
        OK(observe_pass(&converted));
        cross_same_bits(&here, &converted, "*,*@grad");
        observe_finish(&here);
        observe_finish(&converted);
    }
}
END_TEST

TEST_MAIN(only_what_a_backend_stores_as_it_is_is_read_in_place,
          a_pass_over_master_copies_has_the_bits_of_one_over_converted_ones)

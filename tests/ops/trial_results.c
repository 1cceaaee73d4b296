/* SPDX-License-Identifier: MIT
 *
 * Results of backward entries: written or added to, wanted or not.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "trial.h"

/* Cells between the keys of a row of tiles and its stride belong to nobody. */
static bool is_gap(const struct trial_result *r, size_t i)
{
    return r->stride != 0 && i % r->stride >= r->keys;
}

void trial_results_begin(struct trial *t, struct trial_result *results, size_t count)
{
    for (struct trial_result *r = results; r < results + count; r++) {
        char name[64];

        snprintf(name, sizeof name, "before %s", r->name);
        r->before = r->added ? trial_doubles(t, name, r->count) : NULL;
        r->exact = trial_keep(t, r->count * sizeof *r->exact);
        r->allowed = trial_keep(t, r->count * sizeof *r->allowed);
        for (size_t i = 0; i < r->count; i++) {
            r->exact[i] = r->added ? r->before[i] : 0;
            if (is_gap(r, i))
                r->exact[i] = NAN;
        }
        *r->slot = r->exact;
    }
}

/* Between guards: NaN where it is written, numbers where it is added to. */
static void *output_of(struct trial *t, const struct trial_result *r)
{
    size_t bytes = r->count * txd_dtype_bytes(t->backend->dtype);
    void *out = trial_real_output(t, r->count);

    if (r->added)
        memcpy(out, trial_narrowed(t, r->before, r->count), bytes);
    return out;
}

static void call(struct trial *t, txd_op op, const void *args)
{
    switch (op) {
#define TXD_OP(name, arguments)                                                        \
    case TXD_OP_##name:                                                                \
        (void)t->ops->name(&t->ctx, args);                                             \
        break;
        TXD_OPS(TXD_OP)
#undef TXD_OP
    case TXD_OP_COUNT:
        break;
    }
}

/* The i-th result alone: the others are not wanted. */
static void check_alone(struct trial *t, txd_op op, void *args,
                        struct trial_result *results, size_t count, size_t i)
{
    struct trial_result *r = &results[i];
    size_t bytes = r->count * txd_dtype_bytes(t->backend->dtype);
    void *out = output_of(t, r);

    for (size_t k = 0; k < count; k++)
        *results[k].slot = k == i ? out : NULL;
    call(t, op, args);
    trial_guards(t, r->name, out, bytes);
    if (memcmp(out, r->got, bytes) != 0)
        trial_fail(t, "alone it has other bits", i, NAN, 0, 0);
}

void trial_results_check(struct trial *t, txd_op op, void *args,
                         struct trial_result *results, size_t count)
{
    for (struct trial_result *r = results; r < results + count; r++)
        *r->slot = r->got = output_of(t, r);
    call(t, op, args);
    for (struct trial_result *r = results; r < results + count; r++)
        trial_compare(t, r->name, r->got, r->exact, r->allowed, r->count);
    for (size_t i = 0; count > 1 && i < count; i++)
        check_alone(t, op, args, results, count, i);
}

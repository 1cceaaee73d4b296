/* SPDX-License-Identifier: MIT
 *
 * Operations of a device give the same bits whenever they are called: in any
 * order of blocks and threads (where it is emulated), and whoever else calls at the
 * same time. (That they are right: test_ops.c.)
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "suite.h"
#include "trial.h"

#define NO_DEVICE "needs the backends of a device: the suite cuda has them"

static const txd_backend *device(size_t i)
{
    const txd_backend *backend = trial_backend_at(i);

    return backend != NULL && backend->host != NULL ? backend : NULL;
}

/* Nothing on a GPU, which has an order of its own every time. */
static void set_order(uint64_t order)
{
    void *module = dlopen(getenv("TXDIAG_CUDA_MODULE"), RTLD_NOW | RTLD_NOLOAD);
    uintptr_t symbol;

    ck_assert_ptr_nonnull(module);
    symbol = (uintptr_t)dlsym(module, "emulated_order");
    if (symbol != 0)
        ((void (*)(uint64_t))symbol)(order);
    ck_assert_int_eq(dlclose(module), 0);
}

/* Adds what all results of an operation are to a number. */
static void add(uint64_t *digest, const txd_backend *backend,
                const struct txd_ops *table, txd_op op, size_t size, enum fill fill)
{
    struct trial t = {.ops = table,
                      .backend = backend,
                      .size = size,
                      .fill = fill,
                      .ctx = {.threads = 1}};

    trial_run(&t, op);
    ck_assert_msg(t.failures == 0, "%s: %s: %s", backend->name, trial_name(op),
                  t.first);
    trial_note(&t, digest, sizeof *digest);
    *digest = t.digest;
    trial_finish(&t);
}

static uint64_t digest(const txd_backend *backend, const struct txd_ops *table,
                       txd_op op)
{
    uint64_t all = 0;

    add(&all, backend, table, op, 1, FILL_NORMAL);
    add(&all, backend, table, op, 3, FILL_NAN);
    add(&all, backend, table, op, 5, FILL_MASKED_ROW);
    return all;
}

/* Whether the threads of a block work together on a row. */
static bool shares_rows(txd_op op)
{
    static const txd_op sharing[] = {
        TXD_OP_norm,         TXD_OP_softmax,   TXD_OP_rows,     TXD_OP_loss,
        TXD_OP_softmax_back, TXD_OP_loss_back, TXD_OP_norm_back};

    for (size_t i = 0; i < sizeof sharing / sizeof *sharing; i++)
        if (sharing[i] == op)
            return true;
    return false;
}

static uint64_t digest_in_order(const txd_backend *backend, const struct txd_ops *table,
                                txd_op op, uint64_t order)
{
    uint64_t all;

    set_order(order);
    all = digest(backend, table, op);
    if (shares_rows(op))
        add(&all, backend, table, op, TRIAL_WIDE, FILL_NORMAL);
    return all;
}

START_TEST(no_order_of_blocks_and_threads_changes_a_bit)
{
    if (device(0) == NULL)
        test_skip(NO_DEVICE);
    for (size_t d = 0; device(d) != NULL; d++) {
        const struct txd_ops *table = trial_table(device(d), &device(d)->ops);

        for (int op = 0; op < TXD_OP_COUNT; op++) {
            for (uint64_t order = 1; trial_wanted((txd_op)op) && order < 3; order++)
                ck_assert_msg(digest_in_order(device(d), table, (txd_op)op, order) ==
                                  digest_in_order(device(d), table, (txd_op)op, 0),
                              "%s: %s differs in order %d", device(d)->name,
                              trial_name((txd_op)op), (int)order);
        }
    }
}
END_TEST

struct crowd {
    const txd_backend *backend;
    const struct txd_ops *table;
    uint64_t alone[TXD_OP_COUNT];
};

/* Each of the calls begins at another operation. */
static txd_status all_operations(void *self, size_t i, int worker)
{
    const struct crowd *crowd = self;

    (void)worker;
    for (size_t k = 0; k < TXD_OP_COUNT; k++) {
        txd_op op = (txd_op)((k + 7 * i) % TXD_OP_COUNT);

        if (digest(crowd->backend, crowd->table, op) != crowd->alone[op])
            return txd_fail(TXD_ERR_ARGUMENT, "%s: %s differs among others",
                            crowd->backend->name, trial_name(op));
    }
    return TXD_OK;
}

START_TEST(other_threads_that_call_change_no_bit)
{
    txd_ctx ctx = {.threads = 4};

    if (device(0) == NULL)
        test_skip(NO_DEVICE);
    for (size_t d = 0; device(d) != NULL; d++) {
        struct crowd crowd = {device(d), trial_table(device(d), &device(d)->ops), {0}};

        for (int op = 0; op < TXD_OP_COUNT; op++)
            crowd.alone[op] = digest(crowd.backend, crowd.table, (txd_op)op);
        OK(txd_parallel(&ctx, 4, 1e9, all_operations, &crowd));
    }
}
END_TEST

TEST_MAIN(no_order_of_blocks_and_threads_changes_a_bit,
          other_threads_that_call_change_no_bit)

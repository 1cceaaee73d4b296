/* SPDX-License-Identifier: MIT
 *
 * A module of another release, for tests: it says so, and must not be asked more.
 */
#include <stdlib.h>

#include "ops/module_abi.h"

const struct txd_module *txd_cuda_module(void);

static txd_status never(const struct txd_module_host *host)
{
    (void)host;
    abort();
}

const struct txd_module *txd_cuda_module(void)
{
    static const char *const names[] = {"cuda32"};
    static const struct txd_module other = {.abi = TXD_MODULE_ABI + 1,
                                            .backend_bytes = sizeof(txd_backend),
                                            .backends = 1,
                                            .names = names,
                                            .open = never};

    return &other;
}

/* SPDX-License-Identifier: MIT
 *
 * The laws by number and by name.
 */
#include "checks/law.h"

#include <string.h>

static const txd_check *const checks[] = {
#define TXD_CHECK(name) &txd_check_##name,
#include "checks/registry.def"
#undef TXD_CHECK
};

const txd_check *txd_check_at(size_t i)
{
    return i < sizeof checks / sizeof *checks ? checks[i] : NULL;
}

const txd_check *txd_check_find(const char *name)
{
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (strcmp(checks[i]->name, name) == 0)
            return checks[i];
    return NULL;
}

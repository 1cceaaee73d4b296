/* SPDX-License-Identifier: MIT
 *
 * Against all of the memory, not what is free now: that may be given back by others.
 */
#include "cli/memory.h"

#include <unistd.h>

#include "cli/output.h"

txd_status txd_memory_allows(double bytes, const char *what, const char *remedy)
{
    double pages = (double)sysconf(_SC_PHYS_PAGES);
    double has = pages * (double)sysconf(_SC_PAGESIZE);
    char needed[32], there[32];

    if (pages <= 0 || bytes <= has)
        return TXD_OK;
    return txd_fail(TXD_ERR_MEMORY,
                    "%s would take %s of memory, this machine has %s: %s", what,
                    txd_output_bytes(needed, sizeof needed, bytes),
                    txd_output_bytes(there, sizeof there, has), remedy);
}

/* The model may have the other half. */
double txd_memory_beside(void)
{
    double pages = (double)sysconf(_SC_PHYS_PAGES);

    return pages > 0 ? pages * (double)sysconf(_SC_PAGESIZE) / 2 : 0;
}

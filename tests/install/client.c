/* SPDX-License-Identifier: MIT */
/* client.c: a program of somebody else, built against the installed library alone. */
#include <txd.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    txd_status status = txd_fail(TXD_ERR_FORMAT, "client: %d", 7);
    if (status >= 0 || strcmp(txd_message(), "client: 7") != 0) {
        fprintf(stderr, "the library says %s\n", txd_message());
        return 1;
    }
    puts(txd_status_text(status));
    return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * HDF5 keeps a stack of errors; the innermost one says what the system said. It goes
 * into our message, shortened: HDF5 adds the time and addresses, which help nobody.
 */
#include "formats/h5_types_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 1024

void txd_h5_quiet_begin(txd_h5_quiet *quiet)
{
    H5E_auto2_t function = NULL;

    /* What HDF5 1.10 does at exit crashes on a file whose close failed (a full disk).
     * All that we open is closed without it. */
    H5dont_atexit();
    quiet->data = NULL;
    /* Fails where the caller used the older interface: then nothing is restored. */
    if (H5Eget_auto2(H5E_DEFAULT, &function, &quiet->data) < 0)
        function = NULL;
    quiet->function = (void (*)(void))function;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void txd_h5_quiet_end(const txd_h5_quiet *quiet)
{
    if (quiet->function)
        H5Eset_auto2(H5E_DEFAULT, (H5E_auto2_t)quiet->function, quiet->data);
}

static herr_t take_innermost(unsigned depth, const H5E_error2_t *error, void *text)
{
    if (depth == 0 && error->desc)
        strncpy(text, error->desc, TEXT_BYTES - 1);
    return 0;
}

/* "..., errno = 28, error message = 'No space left on device', ..." */
static int cut_system_error(char *text)
{
    const char *number = strstr(text, "errno = ");
    char *message = strstr(text, "error message = '");
    int code = number ? atoi(number + strlen("errno = ")) : 0;
    char *end;

    if (!message)
        return code;
    message += strlen("error message = '");
    end = strchr(message, '\'');
    if (end)
        *end = '\0';
    memmove(text, message, strlen(message) + 1);
    return code;
}

const char *txd_h5_remedy(int code)
{
    if (code == ENOSPC || code == EDQUOT)
        return "; free space there, record less, or choose another place";
    if (code == EFBIG)
        return "; raise the limit on file sizes (ulimit -f), or record less";
    return "";
}

txd_status txd_h5_fail(txd_status status, const char *file, const char *doing)
{
    char text[TEXT_BYTES] = "no reason given by HDF5";
    int code;

    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_innermost, text);
    code = cut_system_error(text);
    return txd_fail(status, "%s: %s failed: %s%s", file, doing, text,
                    txd_h5_remedy(code));
}

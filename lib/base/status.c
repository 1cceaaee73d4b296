/* SPDX-License-Identifier: MIT
 *
 * The thread's message lives in thread-local storage: no allocation, so that
 * running out of memory can be reported too.
 */
#include "base/status.h"

#include <stdio.h>
#include <string.h>

static _Thread_local char message[TXD_MESSAGE_BYTES];

txd_status txd_fail(txd_status status, const char *format, ...)
{
    char next[TXD_MESSAGE_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(next, sizeof next, format, arguments);
    va_end(arguments);
    memcpy(message, next, sizeof message);
    return status;
}

txd_status txd_fail_prefix(txd_status status, const char *format, ...)
{
    char next[TXD_MESSAGE_BYTES];
    va_list arguments;
    size_t used;

    va_start(arguments, format);
    vsnprintf(next, sizeof next, format, arguments);
    va_end(arguments);
    used = strlen(next);
    snprintf(next + used, sizeof next - used, ": ");
    used = strlen(next);
    memcpy(next + used, message, sizeof next - used);
    next[sizeof next - 1] = '\0';
    memcpy(message, next, sizeof message);
    return status;
}

const char *txd_message(void)
{
    return message;
}

const char *txd_status_text(txd_status status)
{
    switch (status) {
#define TXD_STATUS(name, value, text)                                                  \
    case TXD_##name:                                                                   \
        return text;
#include "base/status.def"
#undef TXD_STATUS
    }
    return "unknown status";
}

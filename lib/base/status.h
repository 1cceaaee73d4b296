/* SPDX-License-Identifier: MIT
 *
 * How functions report failure: a status (0 or negative) as the return value,
 * and one message per thread that names the thing, what was expected, what was
 * found, and the remedy. A message holds until the thread's next failure.
 */
#ifndef TXD_BASE_STATUS_H
#define TXD_BASE_STATUS_H

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum txd_status {
#define TXD_STATUS(name, value, text) TXD_##name = (value),
#include "base/status.def"
#undef TXD_STATUS
} txd_status;

#if defined(__GNUC__)
#define TXD_PRINTF(format_index, first)                                                \
    __attribute__((format(printf, format_index, first)))
#else
#define TXD_PRINTF(format_index, first)
#endif

/* Sets this thread's message and returns `status`, so that a failure is one
 * statement: `return txd_fail(TXD_ERR_FORMAT, "%s: ...", path);`
 * Arguments may point into the old message. Messages are cut at 2047 bytes. */
txd_status txd_fail(txd_status status, const char *format, ...) TXD_PRINTF(2, 3);

/* Puts "text: " in front of this thread's message; returns `status`. */
txd_status txd_fail_prefix(txd_status status, const char *format, ...) TXD_PRINTF(2, 3);

/* Longer messages are cut. */
#define TXD_MESSAGE_BYTES 2048

/* This thread's message; "" before the first failure. Owned by the library, valid
 * until the thread's next failure. */
const char *txd_message(void);

/* The constant text of a status; "unknown status" for a value that is none. */
const char *txd_status_text(txd_status status);

/* Returns the enclosing function with the status of `call` if that failed. */
#define TXD_TRY(call)                                                                  \
    do {                                                                               \
        txd_status txd_try_status_ = (call);                                           \
        if (txd_try_status_ != TXD_OK)                                                 \
            return txd_try_status_;                                                    \
    } while (0)

#ifdef __cplusplus
}
#endif

#endif

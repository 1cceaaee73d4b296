/* SPDX-License-Identifier: MIT
 *
 * A growing string for messages, reports and scripts. Appending to a text whose
 * memory ran out does nothing; ask txd_text_status once at the end.
 */
#ifndef TXD_BASE_TEXT_H
#define TXD_BASE_TEXT_H

#include <stddef.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_text {
    char *data; /* always terminated once anything was appended; may be NULL */
    size_t length, capacity;
    txd_status status;
} txd_text;

/* init allocates nothing; finish frees and leaves an empty text. */
void txd_text_init(txd_text *text);
void txd_text_finish(txd_text *text);

void txd_text_add(txd_text *text, const char *string);
void txd_text_add_bytes(txd_text *text, const void *bytes, size_t count);
void txd_text_addf(txd_text *text, const char *format, ...) TXD_PRINTF(2, 3);

/* A finite number in the fewest digits that read back as the same double, with a
 * point whatever the locale; "inf", "-inf" or "nan" else. */
void txd_text_add_real(txd_text *text, double value);

/* The string ("" if nothing was added); valid until the next change. */
const char *txd_text_get(const txd_text *text);

/* OK, or ERR_MEMORY if any append failed. */
txd_status txd_text_status(const txd_text *text);

/* Bytes of the well-formed UTF-8 character at a place of a terminated string; 0 if
 * there is none. */
size_t txd_text_character(const char *at);

#ifdef __cplusplus
}
#endif

#endif

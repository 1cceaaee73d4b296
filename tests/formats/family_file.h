/* SPDX-License-Identifier: MIT
 *
 * A fixture of parity (tests/fixtures/parity) whose config.json is changed field by
 * field, beside the tensors as they are.
 */
#ifndef TXD_TESTS_FAMILY_FILE_H
#define TXD_TESTS_FAMILY_FILE_H

#include <stddef.h>

#include "formats/checkpoint.h"
#include "formats/file.h"

typedef struct family_file {
    const char *name;
    char config[8192];
    txd_mapped tensors;
} family_file;

void family_load(family_file *file, const char *name);
void family_finish(family_file *file);

/* The i-th field of config.json, outermost ones alone, and the text of its value; false
 * past the last. */
bool family_field(const family_file *file, size_t i, char field[64], char value[512]);

/* Gives a field a value in JSON; NULL removes it. A new field comes first. */
void family_set(family_file *file, const char *field, const char *value);

/* Of the config.json as it now is. */
txd_status family_open(txd_checkpoint **out, const family_file *file);

#endif

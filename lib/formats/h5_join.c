/* SPDX-License-Identifier: MIT
 *
 * Long recordings continue the step axis of a dataset in NAME.1, NAME.2, ...: here
 * they become one entry. And names: numbers in them sort as numbers.
 */
#include "formats/h5_types_internal.h"

#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int compare_natural(const char *a, const char *b)
{
    while (*a && *b) {
        if (is_digit(*a) && is_digit(*b)) {
            size_t length_a, length_b;
            int order;

            while (*a == '0' && is_digit(a[1]))
                a++;
            while (*b == '0' && is_digit(b[1]))
                b++;
            length_a = strspn(a, "0123456789");
            length_b = strspn(b, "0123456789");
            if (length_a != length_b)
                return length_a < length_b ? -1 : 1;
            order = strncmp(a, b, length_a);
            if (order != 0)
                return order;
            a += length_a;
            b += length_b;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return *a ? 1 : *b ? -1 : 0;
}

static int compare_entries(const void *a, const void *b)
{
    const txd_h5_entry *left = a, *right = b;
    int order = compare_natural(left->path, right->path);

    return order ? order : strcmp(left->path, right->path);
}

/* Length of the path without ".N", if it ends so; else 0. */
static size_t base_length(const char *path)
{
    size_t length = strlen(path), end = length;

    while (end > 0 && is_digit(path[end - 1]))
        end--;
    return end < length && end > 1 && path[end - 1] == '.' ? end - 1 : 0;
}

static txd_status check_part(const txd_h5_reader *reader, const txd_h5_entry *whole,
                             const txd_h5_entry *part, size_t begin)
{
    if (part->info.rank != whole->info.rank || part->info.dtype != whole->info.dtype)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: /%s: does not continue /%s: axes or dtype "
                        "differ",
                        reader->file, part->path, whole->path);
    if (begin < whole->info.dims[0] || begin > SIZE_MAX / 16)
        return txd_fail(
            TXD_ERR_FORMAT, "%s: /%s: first_step %zu, but /%s has %zu steps before it",
            reader->file, part->path, begin, whole->path, whole->info.dims[0]);
    return TXD_OK;
}

static txd_status add_part(txd_h5_reader *reader, txd_h5_entry *whole,
                           const txd_h5_entry *part)
{
    size_t *begins = txd_arena_alloc(reader->arena, whole->parts + 2, sizeof *begins);
    size_t begin = part->part_begin[0] ? part->part_begin[0] : whole->info.dims[0];

    if (!begins)
        return TXD_ERR_MEMORY;
    TXD_TRY(check_part(reader, whole, part, begin));
    memcpy(begins, whole->part_begin, whole->parts * sizeof *begins);
    begins[whole->parts] = begin;
    whole->part_begin = begins;
    whole->parts++;
    /* A part that holds no step yet adds none. */
    if (part->info.dims[0] != 0)
        whole->info.dims[0] = begin + part->info.dims[0];
    for (int axis = 1; axis < whole->info.rank; axis++)
        if (part->info.dims[axis] > whole->info.dims[axis])
            whole->info.dims[axis] = part->info.dims[axis];
    return TXD_OK;
}

static txd_h5_entry *find_base(const txd_h5_reader *reader, size_t count,
                               const char *path, size_t length)
{
    for (size_t i = count; i > 0; i--) {
        txd_h5_entry *entry = &reader->entries[i - 1];

        if (strncmp(entry->path, path, length) != 0)
            return NULL;
        if (entry->path[length] == '\0')
            return entry->info.rank > 0 ? entry : NULL;
    }
    return NULL;
}

txd_status txd_h5_join(txd_h5_reader *reader)
{
    size_t kept = 0;

    if (reader->count == 0)
        return TXD_OK;
    qsort(reader->entries, reader->count, sizeof *reader->entries, compare_entries);
    for (size_t i = 0; i < reader->count; i++) {
        txd_h5_entry entry = reader->entries[i];
        size_t length = base_length(entry.path);
        txd_h5_entry *base =
            length ? find_base(reader, kept, entry.path, length) : NULL;

        if (base && base->info.rank == entry.info.rank)
            TXD_TRY(add_part(reader, base, &entry));
        else
            reader->entries[kept++] = entry;
    }
    reader->count = kept;
    for (size_t i = 0; i < kept && !reader->whole && reader->steps >= 0; i++) {
        txd_trace_info *info = &reader->entries[i].info;

        if (info->axes[0] == 's' && info->dims[0] > (size_t)reader->steps)
            info->dims[0] = (size_t)reader->steps;
    }
    return TXD_OK;
}

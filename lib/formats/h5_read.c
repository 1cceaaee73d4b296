/* SPDX-License-Identifier: MIT
 *
 * Opening a recording and reading blocks. Datasets are opened when they are read and
 * the least recently used is closed, so that memory does not grow with the file.
 */
#include "formats/h5_types_internal.h"

#include <stdlib.h>
#include <string.h>

#include "formats/kind.h"

#define MAX_ATTRIBUTES 1000

/* What is no HDF5 file at all is named; a damaged one has HDF5's own reason. */
static txd_status fail_open(const char *file)
{
    txd_file_kind kind = txd_file_kind_at(file);

    if (kind == TXD_FILE_OTHER || kind == TXD_FILE_HDF5)
        return txd_h5_fail(TXD_ERR_FORMAT, file, "opening it as HDF5");
    return txd_fail(TXD_ERR_FORMAT,
                    "%s: expected a recording (HDF5, as `txdiag run` writes it), found "
                    "%s",
                    file, txd_file_kind_name(kind));
}

static txd_status open_file(hid_t *out, const char *file)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), id;
    txd_status status = TXD_OK;

    /* Some file systems have no locks, and reading does not need one. */
    H5Pset_file_locking(access, false, true);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    id = H5Fopen(file, H5F_ACC_RDONLY, access);
    if (id < 0)
        status = fail_open(file);
    else
        *out = id;
    H5Pclose(access);
    return status;
}

bool txd_h5_is_recording(const char *file)
{
    hid_t id = H5I_INVALID_HID;
    bool is = open_file(&id, file) == TXD_OK && H5Aexists(id, "txdiag_schema") > 0;

    if (id >= 0)
        H5Fclose(id);
    return is;
}

static herr_t take_attribute(hid_t object, const char *name, const H5A_info_t *info,
                             void *data)
{
    txd_h5_reader *reader = data;
    txd_h5_meta meta = {.key = txd_arena_string(reader->arena, name)};
    char *value;

    (void)info;
    if (!meta.key || reader->meta_count == MAX_ATTRIBUTES)
        return -1;
    if (txd_h5_get_text(&value, reader->arena, object, name, reader->file) != TXD_OK)
        return 0;
    meta.value = value;
    if (txd_h5_grow(&reader->meta, &reader->meta_capacity, reader->meta_count,
                    sizeof meta) != TXD_OK)
        return -1;
    reader->meta[reader->meta_count++] = meta;
    return 0;
}

static txd_status read_meta(txd_h5_reader *reader)
{
    hid_t root = H5Gopen2(reader->id, "/", H5P_DEFAULT);
    const char *schema, *complete, *steps;
    herr_t done = root < 0 ? -1
                           : H5Aiterate2(root, H5_INDEX_NAME, H5_ITER_NATIVE, NULL,
                                         take_attribute, reader);

    if (root >= 0)
        H5Gclose(root);
    if (done < 0)
        return txd_fail(TXD_ERR_FORMAT, "%s: its attributes are damaged", reader->file);
    schema = txd_h5_reader_meta(reader, "txdiag_schema");
    if (!schema)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: no root attribute txdiag_schema: an HDF5 file, but no "
                        "txdiag recording (docs/recording.md says what one holds)",
                        reader->file);
    if (strcmp(schema, "1") != 0)
        return txd_fail(TXD_ERR_UNSUPPORTED,
                        "%s: txdiag_schema is %.20s, this program reads 1",
                        reader->file, schema);
    complete = txd_h5_reader_meta(reader, "complete");
    steps = txd_h5_reader_meta(reader, "steps");
    reader->whole = !complete || strcmp(complete, "0") != 0;
    reader->steps = steps ? (int64_t)strtoll(steps, NULL, 10) : -1;
    return TXD_OK;
}

static txd_status open_reader(txd_h5_reader *reader, const char *file)
{
    TXD_TRY(txd_arena_create(&reader->arena));
    reader->file = txd_arena_string(reader->arena, file);
    if (!reader->file)
        return TXD_ERR_MEMORY;
    TXD_TRY(open_file(&reader->id, file));
    TXD_TRY(txd_h5_types_make(&reader->types, file));
    TXD_TRY(read_meta(reader));
    TXD_TRY(txd_h5_index(reader));
    return txd_h5_join(reader);
}

txd_status txd_h5_reader_open(txd_h5_reader **out, const char *file)
{
    txd_h5_reader *reader = calloc(1, sizeof *reader);
    txd_status status;

    if (!reader)
        return txd_fail(TXD_ERR_MEMORY, "%s: out of memory", file);
    reader->id = H5I_INVALID_HID;
    pthread_mutex_init(&reader->pool.lock, NULL);
    reader->types = (txd_h5_types){H5I_INVALID_HID, H5I_INVALID_HID, H5I_INVALID_HID,
                                   H5I_INVALID_HID, H5I_INVALID_HID};
    status = open_reader(reader, file);
    if (status == TXD_OK)
        *out = reader;
    else
        txd_h5_reader_close(reader);
    return status;
}

void txd_h5_reader_close(txd_h5_reader *reader)
{
    if (!reader)
        return;
    for (size_t i = 0; i < reader->open_count; i++)
        H5Dclose(reader->open[i].id);
    for (size_t i = 0; i < reader->count; i++)
        for (size_t p = 0; reader->entries[i].ways && p < reader->entries[i].parts; p++)
            txd_h5_direct_free(reader->entries[i].ways[p].direct);
    txd_h5_pool_free(&reader->pool);
    txd_h5_types_close(&reader->types);
    if (reader->id >= 0)
        H5Fclose(reader->id);
    free(reader->entries);
    free(reader->strings);
    free(reader->meta);
    txd_arena_destroy(reader->arena);
    pthread_mutex_destroy(&reader->pool.lock);
    free(reader);
}

size_t txd_h5_reader_count(const txd_h5_reader *reader)
{
    return reader->count;
}

txd_h5_entry *txd_h5_reader_entries(txd_h5_reader *reader)
{
    return reader->entries;
}

const char *txd_h5_reader_file(const txd_h5_reader *reader)
{
    return reader->file;
}

const char *txd_h5_reader_meta(const txd_h5_reader *reader, const char *key)
{
    for (size_t i = 0; i < reader->meta_count; i++)
        if (strcmp(reader->meta[i].key, key) == 0)
            return reader->meta[i].value;
    return NULL;
}

/* SPDX-License-Identifier: MIT
 *
 * The file being written. Between two flushes HDF5 must not touch what the file
 * already says, so that a kill leaves the last flushed state: its metadata cache may
 * not evict, and no space is handed out twice within a step.
 */
#define _GNU_SOURCE /* memfd_create */
#include "formats/h5_types_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <H5ACpublic.h>

#include "ops/ops.h"

/* Groups that later get children: made first, since a new link changes its group, and
 * the root holds everything. */
static const char *const early_groups[] = {"checks", "events"};

static hid_t make_creation_list(void)
{
    hid_t list = H5Pcreate(H5P_FILE_CREATE);

    if (H5Pset_istore_k(list, TXD_H5_ISTORE_K) < 0) {
        H5Pclose(list);
        return H5I_INVALID_HID;
    }
    return list;
}

static hid_t make_access_list(void)
{
    hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    H5AC_cache_config_t cache = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};

    /* Some file systems have no locks; recording.c sees to it that one writes. */
    H5Pset_file_locking(list, false, true);
    H5Pset_fclose_degree(list, H5F_CLOSE_STRONG);
    /* Without pools of reserved space the file ends where its data end; else a kill
     * could leave it shorter than it says. */
    H5Pset_meta_block_size(list, 0);
    H5Pset_small_data_block_size(list, 0);
    if (H5Pget_mdc_config(list, &cache) >= 0) {
        cache.evictions_enabled = false;
        cache.incr_mode = H5C_incr__off;
        cache.flash_incr_mode = H5C_flash_incr__off;
        cache.decr_mode = H5C_decr__off;
        H5Pset_mdc_config(list, &cache);
    }
    return list;
}

static txd_status make_file(txd_h5_writer *writer, const char *file)
{
    hid_t creation = make_creation_list(), access = make_access_list();
    txd_status status = TXD_OK;

    writer->id = H5Fcreate(file, H5F_ACC_TRUNC, creation, access);
    if (writer->id < 0)
        status = txd_h5_fail(TXD_ERR_IO, file, "making the file");
    H5Pclose(creation);
    H5Pclose(access);
    TXD_TRY(status);
    writer->links = H5Pcreate(H5P_LINK_CREATE);
    if (H5Pset_create_intermediate_group(writer->links, 1) < 0)
        return txd_h5_fail(TXD_ERR_IO, file, "making the file");
    TXD_TRY(txd_h5_types_make(&writer->types, file));
    for (size_t i = 0; i < sizeof early_groups / sizeof *early_groups; i++) {
        hid_t group = H5Gcreate2(writer->id, early_groups[i], writer->links,
                                 H5P_DEFAULT, H5P_DEFAULT);

        if (group < 0 || H5Gclose(group) < 0)
            return txd_h5_fail(TXD_ERR_IO, file, "making groups");
    }
    TXD_TRY(txd_h5_put_int(writer, writer->id, "steps", 0));
    writer->steps_id = H5Aopen(writer->id, "steps", H5P_DEFAULT);
    return writer->steps_id < 0 ? txd_h5_fail(TXD_ERR_IO, file, "making the file")
                                : TXD_OK;
}

static void free_writer(txd_h5_writer *writer)
{
    for (size_t i = 0; i < writer->scale_count; i++)
        free(writer->scales[i].users);
    txd_h5_tiles_finish(writer);
    free(writer->chunk);
    free(writer->datasets);
    free(writer->tables);
    txd_arena_destroy(writer->arena);
    free(writer);
}

txd_status txd_h5_writer_create(txd_h5_writer **out, const char *file)
{
    txd_h5_writer *writer = calloc(1, sizeof *writer);
    txd_status status;

    if (!writer)
        return txd_fail(TXD_ERR_MEMORY, "out of memory: a recording");
    writer->id = writer->links = writer->steps_id = H5I_INVALID_HID;
    txd_h5_writer_pack(writer, false, 0);
    writer->types = (txd_h5_types){H5I_INVALID_HID, H5I_INVALID_HID, H5I_INVALID_HID,
                                   H5I_INVALID_HID, H5I_INVALID_HID};
    status = txd_arena_create(&writer->arena);
    if (status != TXD_OK) {
        free(writer);
        return status;
    }
    writer->file = txd_arena_string(writer->arena, file);
    status = writer->file ? make_file(writer, file) : TXD_ERR_MEMORY;
    if (status != TXD_OK) {
        txd_h5_writer_close(writer, TXD_H5_ABANDON);
        return status;
    }
    *out = writer;
    return TXD_OK;
}

void txd_h5_writer_pack(txd_h5_writer *writer, bool deflate, int threads)
{
    writer->tiles.deflate = deflate;
    /* The packers of fewer threads would not do for more. */
    if (!writer->tiles.packers)
        writer->tiles.threads = txd_threads_of(threads);
}

txd_status txd_h5_writer_text(txd_h5_writer *writer, const char *key, const char *value)
{
    return txd_h5_put_text(writer, writer->id, key, value);
}

txd_status txd_h5_writer_int(txd_h5_writer *writer, const char *key, int64_t value)
{
    return txd_h5_put_int(writer, writer->id, key, value);
}

static txd_status flush_file(txd_h5_writer *writer)
{
    TXD_TRY(txd_h5_room_take(writer));
    if (H5Fflush(writer->id, H5F_SCOPE_GLOBAL) < 0)
        return txd_h5_fail(TXD_ERR_IO, writer->file, "writing");
    return TXD_OK;
}

/* The number of whole steps follows their data, so that a reader of an interrupted
 * recording sees no half-written step. */
txd_status txd_h5_writer_flush(txd_h5_writer *writer)
{
    int64_t steps = (int64_t)writer->steps;

    TXD_TRY(txd_h5_tiles_flush(writer));
    TXD_TRY(txd_h5_dims_flush(writer));
    TXD_TRY(flush_file(writer));
    if (writer->steps == writer->flushed_steps)
        return TXD_OK;
    if (H5Awrite(writer->steps_id, H5T_NATIVE_INT64, &steps) < 0)
        return txd_h5_fail(TXD_ERR_IO, writer->file, "writing");
    TXD_TRY(flush_file(writer));
    writer->flushed_steps = writer->steps;
    return TXD_OK;
}

size_t txd_h5_writer_bytes(const txd_h5_writer *writer)
{
    hsize_t bytes = 0;

    H5Fget_filesize(writer->id, &bytes);
    return (size_t)bytes;
}

static txd_status close_tables(const txd_h5_writer *writer)
{
    txd_status status = TXD_OK;

    for (size_t i = 0; i < writer->table_count; i++)
        for (size_t c = 0; c < writer->tables[i].columns; c++)
            if (H5Dclose(writer->tables[i].ids[c]) < 0 && status == TXD_OK)
                status = txd_h5_fail(TXD_ERR_IO, writer->file, "writing");
    return status;
}

static txd_status close_datasets(txd_h5_writer *writer)
{
    txd_status status = TXD_OK;

    for (size_t i = 0; i < writer->count; i++) {
        txd_status closed = txd_h5_dataset_close(writer, &writer->datasets[i]);

        if (status == TXD_OK)
            status = closed;
    }
    return status;
}

/* A file without a disk, or, where a limit on file sizes forbids that, a sink. */
static int open_nowhere(const txd_h5_writer *writer)
{
    int file = memfd_create("abandoned", MFD_CLOEXEC);

    if (file >= 0 && ftruncate(file, (off_t)txd_h5_writer_bytes(writer)) == 0)
        return file;
    if (file >= 0)
        close(file);
    return open("/dev/null", O_RDWR | O_CLOEXEC);
}

/* An abandoned file stays as it is: what HDF5 still wants to write goes nowhere. It
 * cannot be told not to, and after a close that fails the file stays open in HDF5. */
static void detach(const txd_h5_writer *writer)
{
    void *handle = NULL;
    int nowhere, *file;

    if (writer->id < 0 || H5Fget_vfd_handle(writer->id, H5P_DEFAULT, &handle) < 0 ||
        !handle)
        return;
    txd_h5_room_give(writer);
    nowhere = open_nowhere(writer);
    file = handle;
    if (nowhere < 0)
        return;
    (void)dup2(nowhere, *file);
    close(nowhere);
}

static txd_status finish(txd_h5_writer *writer, txd_h5_ending ending)
{
    txd_status status = TXD_OK, closed;

    /* What came after the last flush of an interrupted run is no whole step. */
    if (ending == TXD_H5_PARTIAL)
        writer->steps = writer->flushed_steps;
    if (ending != TXD_H5_ABANDON)
        status = txd_h5_writer_flush(writer);
    if (ending == TXD_H5_ABANDON || status != TXD_OK)
        detach(writer);
    closed = close_datasets(writer);
    status = status == TXD_OK ? closed : status;
    closed = close_tables(writer);
    status = status == TXD_OK ? closed : status;
    if (status == TXD_OK && ending == TXD_H5_COMPLETE)
        status = txd_h5_put_int(writer, writer->id, "complete", 1);
    if (status == TXD_OK && ending != TXD_H5_ABANDON)
        status = flush_file(writer);
    txd_h5_room_give(writer);
    return status;
}

txd_status txd_h5_writer_close(txd_h5_writer *writer, txd_h5_ending ending)
{
    char message[1024];
    txd_status status;

    snprintf(message, sizeof message, "%s", txd_message());
    status = finish(writer, ending);
    if (status != TXD_OK) {
        detach(writer);
        if (ending != TXD_H5_ABANDON)
            snprintf(message, sizeof message, "%s", txd_message());
    }
    txd_h5_dims_close(writer);
    H5Aclose(writer->steps_id);
    txd_h5_types_close(&writer->types);
    H5Pclose(writer->links);
    if (writer->id >= 0 && H5Fclose(writer->id) < 0 && status == TXD_OK &&
        ending != TXD_H5_ABANDON) {
        status = txd_h5_fail(TXD_ERR_IO, writer->file, "closing the file");
        snprintf(message, sizeof message, "%s", txd_message());
    }
    free_writer(writer);
    /* The first failure matters, not what came of it. */
    return ending == TXD_H5_ABANDON ? txd_fail(TXD_OK, "%s", message)
           : status == TXD_OK       ? TXD_OK
                                    : txd_fail(status, "%s", message);
}

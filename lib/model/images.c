/* SPDX-License-Identifier: MIT
 *
 * Images of values in the host's memory. A whole value is read when somebody looks at
 * it for the first time; tiles whenever somebody does.
 */
#include "model/images.h"

#include <pthread.h>

#include "base/memory.h"

/* Which value an image is of. */
struct txd_image {
    const void *data;
    size_t epoch;
};

struct txd_images {
    char *memory, *formed; /* as large as the run's; NULL */
    size_t memory_bytes, formed_bytes;
    pthread_mutex_t mutex; /* over what follows */
    size_t epoch;
    struct txd_image *whole[2]; /* (stops) each: of values, of gradients */
};

static bool is_host(const txd_run *run)
{
    return run->model->backend->host == NULL;
}

txd_status txd_images_create(txd_run *run)
{
    struct txd_images *images;

    if (is_host(run))
        return TXD_OK;
    images = txd_arena_alloc(run->arena, 1, sizeof *images);
    if (images == NULL)
        return TXD_ERR_MEMORY;
    images->epoch = 1;
    for (int i = 0; i < 2; i++) {
        images->whole[i] =
            txd_arena_alloc(run->arena, run->stops, sizeof *images->whole[i]);
        if (images->whole[i] == NULL)
            return TXD_ERR_MEMORY;
    }
    if (pthread_mutex_init(&images->mutex, NULL) != 0)
        return txd_fail(TXD_ERR_MEMORY, "no memory for a mutex");
    run->images = images;
    return TXD_OK;
}

void txd_images_destroy(txd_run *run)
{
    if (run->images == NULL)
        return;
    txd_memory_give(run->images->memory);
    txd_memory_give(run->images->formed);
    pthread_mutex_destroy(&run->images->mutex);
}

static txd_status reserve(char **memory, size_t *have, size_t bytes)
{
    if (bytes <= *have)
        return TXD_OK;
    txd_memory_give(*memory);
    *have = 0;
    *memory = txd_memory_take(bytes);
    if (*memory == NULL)
        return txd_fail(TXD_ERR_MEMORY,
                        "%zu bytes of memory for what is read from the device cannot "
                        "be had: use a shorter sequence or a smaller batch",
                        bytes);
    *have = bytes;
    return TXD_OK;
}

txd_status txd_images_reserve(txd_run *run)
{
    struct txd_images *images = run->images;

    if (images == NULL)
        return TXD_OK;
    txd_images_forget(run);
    TXD_TRY(reserve(&images->memory, &images->memory_bytes, run->memory_bytes));
    return reserve(&images->formed, &images->formed_bytes, run->formed_bytes);
}

size_t txd_images_bytes(const txd_run *run, size_t values)
{
    return is_host(run) ? 0 : values;
}

void txd_images_forget(const txd_run *run)
{
    if (run->images != NULL)
        run->images->epoch++;
}

void *txd_image_of(const txd_run *run, const void *data)
{
    const struct txd_images *images = run->images;
    uintptr_t at = (uintptr_t)data, memory = (uintptr_t)run->memory;

    if (images == NULL || data == NULL)
        return (void *)data;
    if (at >= memory && at - memory < run->memory_bytes)
        return images->memory + (at - memory);
    return images->formed + (at - (uintptr_t)run->formed);
}

txd_status txd_image_read(void **out, const txd_run *run, const void *data,
                          size_t count)
{
    const txd_backend *backend = run->model->backend;

    *out = txd_image_of(run, data);
    if (is_host(run) || data == NULL)
        return TXD_OK;
    return backend->download(*out, data, count * txd_dtype_bytes(backend->dtype));
}

txd_status txd_image_write(const txd_run *run, void *data, size_t count)
{
    const txd_backend *backend = run->model->backend;

    if (is_host(run))
        return TXD_OK;
    return backend->upload(data, txd_image_of(run, data),
                           count * txd_dtype_bytes(backend->dtype));
}

/* Repeated values have one image. */
txd_status txd_image_read_whole(void **out, const txd_run *run, txd_site_kind kind,
                                int stop, const txd_tensor *value)
{
    bool is_value = kind == TXD_SITE_VALUE;
    struct txd_images *images = run->images;
    const void *data = value->data; /* out may be where it stands */
    struct txd_image *image;
    txd_status status = TXD_OK;

    *out = value->data;
    if (images == NULL || value->dtype == TXD_I32)
        return TXD_OK;
    image = &images->whole[!is_value][is_value ? run->homes[stop].root : (size_t)stop];
    pthread_mutex_lock(&images->mutex);
    *out = txd_image_of(run, data);
    if (image->data != data || image->epoch != images->epoch)
        status = txd_image_read(out, run, data, txd_tensor_count(value));
    if (status == TXD_OK)
        *image = (struct txd_image){data, images->epoch};
    pthread_mutex_unlock(&images->mutex);
    return status;
}

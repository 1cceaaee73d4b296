/* SPDX-License-Identifier: MIT
 *
 * Blocks of a dataset from its chunks: each chunk is read and unpacked on its own and
 * goes row by row where it belongs. What a file says of sizes is held against the sizes
 * that must be.
 */
#include "formats/h5_direct_internal.h"

#include <stdlib.h>
#include <string.h>

#include "formats/inflate_internal.h"
#include "ops/ops.h"

/* Rows that follow one another for so long are read into place; shorter ones together,
 * with what lies between them, as far as that is not too much. */
#define LONG_RUN ((size_t)32 << 10)
#define MAX_SPAN ((size_t)16 << 20)
/* Rows between which nothing lies are read into place, too, so many at once; of less
 * than this each costs more than to copy it. */
#define ROWS_AT_ONCE 256
#define LEAST_ROW ((size_t)256)

/* A copy of a chunk's part: rows along the last axis. */
typedef struct piece {
    const txd_h5_direct *direct;
    const txd_h5_chunk *chunk; /* NULL: it does not exist */
    size_t count[TXD_MAX_RANK];
    size_t from[TXD_MAX_RANK], to[TXD_MAX_RANK]; /* element strides */
    size_t from_at, to_at;                       /* elements */
    unsigned char *out;
} piece;

static txd_status read_bytes(const piece *p, void *out, uint64_t at, size_t bytes)
{
    struct iovec to = {out, bytes};

    return txd_h5_direct_bytes(p->direct, p->chunk, at, &to, 1);
}

/* ---- rows ---- */

static void fill_row(unsigned char *to, const txd_h5_direct *d, size_t count)
{
    size_t all = count * d->element, done = d->element;

    if (memcmp(d->fill, d->fill + 1, done - 1) == 0) {
        memset(to, d->fill[0], all);
        return;
    }
    memcpy(to, d->fill, done);
    while (done < all) {
        size_t more = done < all - done ? done : all - done;

        memcpy(to + done, to, more);
        done += more;
    }
}

/* Byte b of element i lies at b * elements + i. */
static void unshuffle4(unsigned char *to, const unsigned char *from, size_t elements,
                       size_t count)
{
    const unsigned char *b = from + elements, *c = b + elements, *d = c + elements;

#pragma omp simd
    for (size_t i = 0; i < count; i++) {
        to[4 * i] = from[i];
        to[4 * i + 1] = b[i];
        to[4 * i + 2] = c[i];
        to[4 * i + 3] = d[i];
    }
}

static void unshuffle2(unsigned char *to, const unsigned char *from, size_t elements,
                       size_t count)
{
    const unsigned char *b = from + elements;

#pragma omp simd
    for (size_t i = 0; i < count; i++) {
        to[2 * i] = from[i];
        to[2 * i + 1] = b[i];
    }
}

static void unshuffle_row(unsigned char *to, const unsigned char *from,
                          const txd_h5_direct *d, size_t count)
{
    size_t elements = d->chunk_bytes / d->element;

    if (d->element == 4)
        unshuffle4(to, from, elements, count);
    else if (d->element == 2)
        unshuffle2(to, from, elements, count);
    else
        for (size_t b = 0; b < d->element; b++)
            for (size_t i = 0; i < count; i++)
                to[i * d->element + b] = from[b * elements + i];
}

typedef enum row_kind { PLAIN, SHUFFLED, MISSING } row_kind;

/* `from` holds the chunk from element `base` on (of all planes if shuffled). */
static void put_row(const piece *p, size_t from_at, size_t to_at,
                    const unsigned char *from, size_t base, row_kind kind)
{
    const txd_h5_direct *d = p->direct;
    size_t count = p->count[d->rank - 1];
    unsigned char *to = p->out + to_at * d->element;

    if (kind == MISSING)
        fill_row(to, d, count);
    else if (kind == SHUFFLED)
        unshuffle_row(to, from + from_at, d, count);
    else
        memcpy(to, from + (from_at - base) * d->element, count * d->element);
}

/* Steps to the next row over the axes before `axes`; false behind the last. */
static bool next_row(const piece *p, int axes, size_t at[TXD_MAX_RANK], size_t *from,
                     size_t *to)
{
    for (int axis = axes - 1; axis >= 0; axis--) {
        *from += p->from[axis];
        *to += p->to[axis];
        if (++at[axis] < p->count[axis])
            return true;
        *from -= p->count[axis] * p->from[axis];
        *to -= p->count[axis] * p->to[axis];
        at[axis] = 0;
    }
    return false;
}

static void put_rows(const piece *p, const unsigned char *from, size_t base,
                     row_kind kind)
{
    size_t at[TXD_MAX_RANK] = {0}, from_at = p->from_at, to_at = p->to_at;

    do
        put_row(p, from_at, to_at, from, base, kind);
    while (next_row(p, p->direct->rank - 1, at, &from_at, &to_at));
}

/* ---- a chunk ---- */

/* The axes before those along which elements follow one another in the file as in
 * memory; *run elements do. */
static int find_run(const piece *p, size_t *run)
{
    int axis = p->direct->rank - 1;

    *run = p->count[axis];
    while (axis > 0 && p->from[axis - 1] == *run && p->to[axis - 1] == *run)
        *run *= p->count[--axis];
    return axis;
}

/* Elements from the first to the last of the piece. */
static size_t span_of(const piece *p)
{
    size_t span = 1;

    for (int axis = 0; axis < p->direct->rank; axis++)
        span += (p->count[axis] - 1) * p->from[axis];
    return span;
}

static size_t elements_of(const piece *p)
{
    size_t elements = 1;

    for (int axis = 0; axis < p->direct->rank; axis++)
        elements *= p->count[axis];
    return elements;
}

/* Runs of a piece that is all that its span holds, each to its place. */
static txd_status read_dense(const piece *p, int axes, size_t run)
{
    size_t element = p->direct->element, bytes = run * element;
    size_t at[TXD_MAX_RANK] = {0}, from_at = p->from_at, to_at = p->to_at, count;
    uint64_t begin = p->chunk->at + from_at * element;
    struct iovec to[ROWS_AT_ONCE];
    bool more = true;

    for (; more; begin += count * bytes) {
        for (count = 0; more && count < ROWS_AT_ONCE; count++) {
            to[count] = (struct iovec){p->out + to_at * element, bytes};
            more = next_row(p, axes, at, &from_at, &to_at);
        }
        TXD_TRY(txd_h5_direct_bytes(p->direct, p->chunk, begin, to, count));
    }
    return TXD_OK;
}

/* All of the span, and from there into place. */
static txd_status read_copied(const piece *p, txd_h5_pool *pool, size_t span)
{
    size_t element = p->direct->element;
    txd_h5_scratch *scratch = txd_h5_scratch_take(pool);
    txd_status status;

    if (!scratch)
        return TXD_ERR_MEMORY;
    status = txd_h5_scratch_reserve(&scratch->plain, &scratch->plain_bytes, span);
    if (status == TXD_OK)
        status =
            read_bytes(p, scratch->plain, p->chunk->at + p->from_at * element, span);
    if (status == TXD_OK)
        put_rows(p, scratch->plain, p->from_at, PLAIN);
    txd_h5_scratch_give(pool, scratch);
    return status;
}

static txd_status read_plain(const piece *p, txd_h5_pool *pool)
{
    const txd_h5_direct *d = p->direct;
    size_t at[TXD_MAX_RANK] = {0}, from_at = p->from_at, to_at = p->to_at, run;
    int axes = find_run(p, &run);
    size_t span = span_of(p), bytes = run * d->element;

    if (bytes >= LEAST_ROW && span == elements_of(p))
        return read_dense(p, axes, run);
    if (axes > 0 && bytes < LONG_RUN && span * d->element <= MAX_SPAN)
        return read_copied(p, pool, span * d->element);
    do
        TXD_TRY(read_bytes(p, p->out + to_at * d->element,
                           p->chunk->at + from_at * d->element, bytes));
    while (next_row(p, axes, at, &from_at, &to_at));
    return TXD_OK;
}

static bool is_applied(const txd_h5_chunk *chunk, int filter)
{
    return filter >= 0 && !(chunk->left_out >> filter & 1);
}

static txd_status unpack(const piece *p, txd_h5_scratch *scratch)
{
    const txd_h5_direct *d = p->direct;
    const txd_h5_chunk *chunk = p->chunk;
    row_kind kind = is_applied(chunk, d->shuffle) ? SHUFFLED : PLAIN;

    if (!is_applied(chunk, d->deflate)) {
        TXD_TRY(txd_h5_scratch_reserve(&scratch->plain, &scratch->plain_bytes,
                                       d->chunk_bytes));
        TXD_TRY(read_bytes(p, scratch->plain, chunk->at, d->chunk_bytes));
        put_rows(p, scratch->plain, 0, kind);
        return TXD_OK;
    }
    if (chunk->at > d->file_bytes || chunk->bytes > d->file_bytes - chunk->at)
        return read_bytes(p, NULL, chunk->at, chunk->bytes); /* says so */
    TXD_TRY(
        txd_h5_scratch_reserve(&scratch->packed, &scratch->packed_bytes, chunk->bytes));
    TXD_TRY(
        txd_h5_scratch_reserve(&scratch->plain, &scratch->plain_bytes, d->chunk_bytes));
    TXD_TRY(read_bytes(p, scratch->packed, chunk->at, chunk->bytes));
    if (!txd_inflate(scratch->inflater, scratch->plain, d->chunk_bytes, scratch->packed,
                     chunk->bytes))
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: /%s: chunk %llu, %lu bytes from %llu on: expected a zlib "
                        "stream of %zu bytes: it is damaged",
                        d->file, d->path, (unsigned long long)chunk->index,
                        (unsigned long)chunk->bytes, (unsigned long long)chunk->at,
                        d->chunk_bytes);
    put_rows(p, scratch->plain, 0, kind);
    return TXD_OK;
}

static txd_status read_piece(const piece *p, txd_h5_pool *pool)
{
    const txd_h5_direct *d = p->direct;
    txd_h5_scratch *scratch;
    txd_status status;

    if (!p->chunk) {
        put_rows(p, NULL, 0, MISSING);
        return TXD_OK;
    }
    if (d->is_chunked && !is_applied(p->chunk, d->deflate) &&
        p->chunk->bytes != d->chunk_bytes)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: /%s: chunk %llu: expected %zu bytes, the file says %lu",
                        d->file, d->path, (unsigned long long)p->chunk->index,
                        d->chunk_bytes, (unsigned long)p->chunk->bytes);
    if (!is_applied(p->chunk, d->deflate) && !is_applied(p->chunk, d->shuffle))
        return read_plain(p, pool);
    scratch = txd_h5_scratch_take(pool);
    if (!scratch)
        return TXD_ERR_MEMORY;
    status = unpack(p, scratch);
    txd_h5_scratch_give(pool, scratch);
    return status;
}

/* ---- a box ---- */

typedef struct box_job {
    const txd_h5_direct *direct;
    txd_h5_pool *pool;
    const txd_h5_box *box;
    unsigned char *out;
    size_t first[TXD_MAX_RANK], chunks[TXD_MAX_RANK]; /* that the box meets */
} box_job;

static int compare_index(const void *key, const void *item)
{
    uint64_t index = *(const uint64_t *)key,
             other = ((const txd_h5_chunk *)item)->index;

    return index < other ? -1 : index > other;
}

static txd_status read_chunk(void *self, size_t i, int worker)
{
    const box_job *job = self;
    const txd_h5_direct *d = job->direct;
    const txd_h5_box *box = job->box;
    piece p = {.direct = d, .out = job->out};
    size_t from = 1, to = 1, step = 1;
    uint64_t index = 0;

    (void)worker;
    for (int axis = d->rank - 1; axis >= 0; axis--) {
        size_t nth = job->first[axis] + i % job->chunks[axis];
        size_t low = nth * d->chunk[axis], begin = box->start[axis];
        size_t end = begin + box->count[axis];

        i /= job->chunks[axis];
        index += (uint64_t)nth * step;
        step *= d->grid[axis];
        begin = begin > low ? begin : low;
        end = end - low > d->chunk[axis] ? low + d->chunk[axis] : end;
        p.count[axis] = end - begin;
        p.from[axis] = from;
        p.to[axis] = to;
        p.from_at += (begin - low) * from;
        p.to_at += (box->memory[axis] + begin - box->start[axis]) * to;
        from *= d->chunk[axis];
        to *= box->whole[axis];
    }
    p.chunk = bsearch(&index, d->chunks, d->count, sizeof *d->chunks, compare_index);
    return read_piece(&p, job->pool);
}

/* How many chunks a box meets. */
static size_t count_chunks(const txd_h5_direct *d, const txd_h5_box *box,
                           size_t first[TXD_MAX_RANK], size_t chunks[TXD_MAX_RANK])
{
    size_t count = 1;

    for (int axis = 0; axis < d->rank; axis++) {
        size_t last = (box->start[axis] + box->count[axis] - 1) / d->chunk[axis];

        first[axis] = box->start[axis] / d->chunk[axis];
        chunks[axis] = last - first[axis] + 1;
        count *= chunks[axis];
    }
    return count;
}

txd_status txd_h5_direct_read(const txd_h5_direct *direct, txd_h5_pool *pool, void *out,
                              const txd_h5_box *box)
{
    box_job job = {.direct = direct, .pool = pool, .box = box, .out = out};
    size_t count = count_chunks(direct, box, job.first, job.chunks);
    double per_byte = direct->deflate >= 0 ? 3 : 0.3;
    txd_ctx ctx = {.threads = txd_threads_available()};

    return txd_parallel(&ctx, count, per_byte * (double)direct->chunk_bytes, read_chunk,
                        &job);
}

bool txd_h5_direct_wastes(const txd_h5_direct *direct, const txd_h5_box *box)
{
    size_t first[TXD_MAX_RANK], chunks[TXD_MAX_RANK];
    double elements = 1, whole;

    if (direct->deflate < 0 && direct->shuffle < 0)
        return false;
    whole = (double)count_chunks(direct, box, first, chunks) *
            (double)(direct->chunk_bytes / direct->element);
    for (int axis = 0; axis < direct->rank; axis++)
        elements *= (double)box->count[axis];
    return elements * 8 < whole;
}

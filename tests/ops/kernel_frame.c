/* SPDX-License-Identifier: MIT
 *
 * The frame of the kernels' tests: rows between pages that cannot be touched.
 */
#include "kernel_frame.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/rng.h"
#include "suite.h"

/* One page that can be used between two that cannot. */
struct page {
    char *begin, *end;
};

static struct page page_make(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 3 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    ck_assert(memory != MAP_FAILED);
    ck_assert_int_eq(mprotect(memory + size, size, PROT_READ | PROT_WRITE), 0);
    return (struct page){memory + size, memory + 2 * size};
}

static void page_free(struct page page)
{
    size_t size = (size_t)(page.end - page.begin);

    ck_assert_int_eq(munmap(page.begin - size, 3 * size), 0);
}

struct bench {
    struct page x, y, bytes, out;
    float wanted[KERNEL_LENGTHS];
    double wanted_numbers[KERNEL_NUMBERS], numbers[KERNEL_NUMBERS];
    size_t count;
    bool at_end; /* rows end where the page does; else they begin with it */
};

static void *place(const struct bench *b, struct page page, size_t element)
{
    return b->at_end ? page.end - b->count * element : page.begin;
}

static struct kernel_row row_of(struct bench *b)
{
    return (struct kernel_row){
        .x = place(b, b->x, sizeof(float)),
        .y = place(b, b->y, sizeof(float)),
        .bytes = place(b, b->bytes, 1),
        .out = place(b, b->out, sizeof(float)),
        .numbers = b->numbers,
        .count = b->count,
    };
}

/* Numbers of many sizes, most of them near 1. */
static void fill(struct bench *b)
{
    float *x = place(b, b->x, sizeof(float)), *y = place(b, b->y, sizeof(float));
    uint8_t *bytes = place(b, b->bytes, 1);
    uint64_t key = txd_rng_key(b->count, "kernels");

    for (size_t i = 0; i < b->count; i++) {
        x[i] = (float)(txd_rng_normal(key, 2 * i) * (i % 5 == 4 ? 30 : 1));
        y[i] = (float)txd_rng_normal(key, 2 * i + 1);
        bytes[i] = (uint8_t)(txd_rng_bits(key, i) % 7);
        bytes[i] = bytes[i] > 4 ? 0 : bytes[i];
    }
}

bool kernel_same(float a, float b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

bool kernel_same_double(double a, double b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static void prepare(struct bench *b)
{
    float *out = place(b, b->out, sizeof(float));

    for (size_t i = 0; i < b->count; i++)
        out[i] = 77;
    for (size_t i = 0; i < KERNEL_NUMBERS; i++)
        b->numbers[i] = 77;
}

/* An assertion per element would cost more than all kernels. */
static void compare(struct bench *b, const struct kernel_case *c, const char *set,
                    const float *out)
{
    for (size_t i = 0; i < b->count; i++)
        if (!kernel_same(out[i], b->wanted[i]))
            ck_abort_msg("%s of %s, %zu elements: [%zu] is %a, portable %a", c->name,
                         set, b->count, i, (double)out[i], (double)b->wanted[i]);
    for (size_t i = 0; i < KERNEL_NUMBERS; i++)
        if (!kernel_same_double(b->numbers[i], b->wanted_numbers[i]))
            ck_abort_msg("%s of %s, %zu elements: number %zu is %a, portable %a",
                         c->name, set, b->count, i, b->numbers[i],
                         b->wanted_numbers[i]);
}

/* The portable set says what is wanted; then each set, apart and in place. */
static void agree(struct bench *b, const struct kernel_case *c)
{
    struct kernel_row row = row_of(b), in_place = row;
    float x[KERNEL_LENGTHS];

    prepare(b);
    c->run(txd_kernels_at(0), &row);
    memcpy(b->wanted, row.out, b->count * sizeof *row.out);
    memcpy(b->wanted_numbers, b->numbers, sizeof b->numbers);
    for (size_t i = 0; txd_kernels_at(i) != NULL; i++) {
        const txd_kernels *k = txd_kernels_at(i);

        prepare(b);
        c->run(k, &row);
        compare(b, c, k->name, row.out);
        if (!c->in_place)
            continue;
        in_place.out = place(b, b->x, sizeof(float));
        memcpy(x, row.x, b->count * sizeof *x);
        prepare(b);
        c->run(k, &in_place);
        compare(b, c, k->name, in_place.out);
        memcpy(in_place.out, x, b->count * sizeof *x);
    }
}

/* One special value after the other in every place of x, then of y. */
static void agree_on_specials(struct bench *b, const struct kernel_case *c)
{
    static const float specials[] = {NAN,     INFINITY,  -INFINITY,    0.0f,
                                     -0.0f,   0x1p-149f, -0x1.8p-140f, FLT_MIN,
                                     FLT_MAX, -88.5f,    -103.9f,      88.8f};

    for (size_t i = 0; i < 2 * b->count; i++) {
        struct page page = i % 2 == 0 ? b->x : b->y;
        float *element = (float *)place(b, page, sizeof(float)) + i / 2;
        float kept = *element;

        for (size_t s = 0; s < sizeof specials / sizeof *specials; s++) {
            *element = specials[s];
            agree(b, c);
        }
        *element = kept;
    }
}

void kernel_cases_agree(const struct kernel_case *cases, size_t count)
{
    struct bench b = {page_make(), page_make(), page_make(), page_make(), {0},
                      {0},         {0},         0,           false};

    for (b.count = 0; b.count < KERNEL_LENGTHS; b.count++)
        for (int at_end = 0; at_end < 2; at_end++) {
            b.at_end = at_end;
            fill(&b);
            for (const struct kernel_case *c = cases; c < cases + count; c++) {
                agree(&b, c);
                agree_on_specials(&b, c);
            }
        }
    page_free(b.x);
    page_free(b.y);
    page_free(b.bytes);
    page_free(b.out);
}

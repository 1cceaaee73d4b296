/* SPDX-License-Identifier: MIT
 *
 * Rounding of rows to bfloat16 and float16, against the conversions of one number
 * (base/half.h, which are held against numpy's).
 */
#include <string.h>

#include "base/half.h"
#include "base/rng.h"
#include "kernel_frame.h"
#include "suite.h"

static void run_bf16(const txd_kernels *k, const struct kernel_row *row)
{
    memcpy(row->out, row->x, row->count * sizeof *row->out);
    k->round_bf16(row->out, row->count);
}

static void run_f16(const txd_kernels *k, const struct kernel_row *row)
{
    memcpy(row->out, row->x, row->count * sizeof *row->out);
    k->round_f16(row->out, row->count);
}

START_TEST(every_set_gives_the_bits_of_the_portable_one)
{
    static const struct kernel_case cases[] = {{"round_bf16", run_bf16, false},
                                               {"round_f16", run_f16, false}};

    kernel_cases_agree(cases, sizeof cases / sizeof *cases);
}
END_TEST

struct format {
    uint16_t (*narrow)(float);
    float (*widen)(uint16_t);
    bool is_bf16;
};

static void ck_rounds(const struct format *f, const float *x, size_t count)
{
    enum { MOST = 4096 };
    float out[MOST];

    for (size_t s = 0; txd_kernels_at(s) != NULL; s++) {
        const txd_kernels *k = txd_kernels_at(s);

        memcpy(out, x, count * sizeof *x);
        if (f->is_bf16)
            k->round_bf16(out, count);
        else
            k->round_f16(out, count);
        for (size_t i = 0; i < count; i++) {
            float right = f->widen(f->narrow(x[i]));

            if (memcmp(&out[i], &right, sizeof right) != 0)
                ck_abort_msg("%s makes %a of %a, not %a", k->name, (double)out[i],
                             (double)x[i], (double)right);
        }
    }
}

static const struct format formats[] = {{txd_f32_to_bf16, txd_bf16_to_f32, true},
                                        {txd_f32_to_f16, txd_f16_to_f32, false}};

/* Every upper half of a float32 with lower halves about a tie: all signs, exponents,
 * subnormals, infinities, payloads, and every pair of neighbours in either format. */
START_TEST(every_number_rounds_as_a_single_one_does)
{
    static const uint32_t lower[] = {0,      1,      0x0fff, 0x1000, 0x1001, 0x2fff,
                                     0x3000, 0x7fff, 0x8000, 0x8001, 0xf000, 0xffff};
    enum { EACH = sizeof lower / sizeof *lower, BLOCK = 4096 / EACH * EACH };
    static float x[BLOCK];
    size_t count = 0;

    for (uint32_t upper = 0; upper < 65536; upper++) {
        for (size_t i = 0; i < EACH; i++, count++) {
            uint32_t bits = upper << 16 | lower[i];

            memcpy(&x[count], &bits, sizeof bits);
        }
        if (count < BLOCK && upper < 65535)
            continue;
        for (size_t f = 0; f < 2; f++)
            ck_rounds(&formats[f], x, count);
        count = 0;
    }
}
END_TEST

START_TEST(random_bits_round_as_a_single_number_does)
{
    enum { BLOCK = 4001 };
    static float x[BLOCK];

    for (uint64_t round = 0; round < 50; round++) {
        for (uint64_t i = 0; i < BLOCK; i++) {
            uint32_t bits = (uint32_t)txd_rng_bits(round, i);

            memcpy(&x[i], &bits, sizeof bits);
        }
        for (size_t f = 0; f < 2; f++)
            ck_rounds(&formats[f], x, BLOCK);
    }
}
END_TEST

TEST_MAIN(every_set_gives_the_bits_of_the_portable_one,
          every_number_rounds_as_a_single_one_does,
          random_bits_round_as_a_single_number_does)

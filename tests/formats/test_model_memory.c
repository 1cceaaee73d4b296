/* SPDX-License-Identifier: MIT
 *
 * What reading a model takes at its worst: its parameters in float32 and a tenth, and
 * not the file beside them.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/checkpoint.h"
#include "suite.h"

enum { VOCAB = 16384, WIDTH = 512, HIDDEN = 2048, LAYERS = 2 };

#define F32 0
#define F16 1
#define Q8_0 8

static unsigned char head[65536];
static size_t used;

static void put(const void *bytes, size_t count)
{
    ck_assert_uint_le(count, sizeof head - used);
    memcpy(head + used, bytes, count);
    used += count;
}

static void put_number(uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        unsigned char byte = (unsigned char)(value >> (8 * i));

        put(&byte, 1);
    }
}

static void put_text(const char *text)
{
    put_number(strlen(text), 8);
    put(text, strlen(text));
}

static void put_size(const char *key, uint32_t value)
{
    put_text(key);
    put_number(4, 4);
    put_number(value, 4);
}

/* The data of all tensors, of which each begins where the one before it ended. */
static size_t put_tensor(const char *name, size_t rows, size_t columns, uint32_t type,
                         size_t at)
{
    size_t count = rows * (columns ? columns : 1);

    put_text(name);
    put_number(columns ? 2 : 1, 4);
    if (columns)
        put_number(columns, 8);
    put_number(rows, 8);
    put_number(type, 4);
    put_number(at, 8);
    return at + (type == F32 ? 4 * count : type == F16 ? 2 * count : count / 32 * 34);
}

static size_t put_layer(int layer, uint32_t type, size_t at)
{
    static const struct {
        const char *name;
        size_t rows, columns;
    } tensors[] = {{"attn_norm", WIDTH, 0},     {"ffn_norm", WIDTH, 0},
                   {"attn_q", WIDTH, WIDTH},    {"attn_k", WIDTH, WIDTH},
                   {"attn_v", WIDTH, WIDTH},    {"attn_output", WIDTH, WIDTH},
                   {"ffn_gate", HIDDEN, WIDTH}, {"ffn_up", HIDDEN, WIDTH},
                   {"ffn_down", WIDTH, HIDDEN}};
    char name[64];

    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        snprintf(name, sizeof name, "blk.%d.%s.weight", layer, tensors[i].name);
        at = put_tensor(name, tensors[i].rows, tensors[i].columns,
                        tensors[i].columns ? type : F32, at);
    }
    return at;
}

/* A file of these blocks; the data are zeros on the disk, not holes. */
static const char *make_file(uint32_t type)
{
    static const unsigned char zeros[1 << 16] = {0};
    const char *path = test_file("model.gguf");
    size_t bytes;
    FILE *file;

    used = 0;
    put("GGUF", 4);
    put_number(3, 4);
    put_number(2 + 9 * LAYERS, 8);
    put_number(6, 8);
    put_text("general.architecture");
    put_number(8, 4);
    put_text("llama");
    put_size("llama.block_count", LAYERS);
    put_size("llama.embedding_length", WIDTH);
    put_size("llama.feed_forward_length", HIDDEN);
    put_size("llama.attention.head_count", 8);
    put_size("llama.context_length", 64);
    bytes = put_tensor("token_embd.weight", VOCAB, WIDTH, type, 0);
    bytes = put_tensor("output_norm.weight", WIDTH, 0, F32, bytes);
    for (int i = 0; i < LAYERS; i++)
        bytes = put_layer(i, type, bytes);
    while (used % 32 != 0)
        put_number(0, 1);
    file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(head, 1, used, file), used);
    for (size_t done = 0; done < bytes; done += sizeof zeros)
        ck_assert_uint_eq(fwrite(zeros, 1, sizeof zeros, file), sizeof zeros);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

/* "VmHWM" or "VmRSS" of this process in bytes. */
static double memory_of(const char *what)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    double kilobytes = -1;

    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, what, strlen(what)) == 0)
            kilobytes = strtod(line + strlen(what) + 1, NULL);
    if (file)
        fclose(file);
    return kilobytes * 1024;
}

static bool is_measured(void)
{
    const char *sanitized = getenv("TXD_SANITIZED");

    return memory_of("VmHWM") > 0 && !(sanitized && strcmp(sanitized, "1") == 0);
}

static void takes_little(uint32_t type)
{
    const char *path = make_file(type);
    txd_checkpoint *checkpoint = NULL;
    txd_params *params = NULL;
    double before, peak, needed;

    OK(txd_checkpoint_open(&checkpoint, path));
    before = memory_of("VmRSS");
    needed = txd_params_bytes(txd_checkpoint_config(checkpoint), TXD_F32);
    ck_assert(needed > 60e6);
    OK(txd_checkpoint_params(&params, checkpoint, txd_checkpoint_config(checkpoint),
                             2));
    peak = memory_of("VmHWM") - before;
    ck_assert_msg(peak >= 0.9 * needed, "%g of %g bytes: not measured", peak, needed);
    ck_assert_msg(peak <= 1.1 * needed, "%g bytes for %g of parameters", peak, needed);
    txd_params_destroy(params);
    txd_checkpoint_destroy(checkpoint);
}

START_TEST(half_precision_is_read_in_its_parameters_and_a_tenth)
{
    if (!is_measured())
        test_skip("the memory of a process is not known");
    takes_little(F16);
}
END_TEST

START_TEST(blocks_are_read_in_their_parameters_and_a_tenth)
{
    if (!is_measured())
        test_skip("the memory of a process is not known");
    takes_little(Q8_0);
}
END_TEST

TEST_MAIN(half_precision_is_read_in_its_parameters_and_a_tenth,
          blocks_are_read_in_their_parameters_and_a_tenth)

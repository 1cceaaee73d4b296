/* SPDX-License-Identifier: MIT
 *
 * The builder of made_checkpoint.h.
 */
#include "made_checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

void made_add(struct made *made, const char *name, int rank, size_t d0, size_t d1)
{
    struct made_tensor *tensor = &made->tensors[made->count++];

    ck_assert_uint_le(made->count, sizeof made->tensors / sizeof *made->tensors);
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
    tensor->dtype = "F32";
    tensor->rank = rank;
    tensor->dims[0] = d0;
    tensor->dims[1] = d1;
}

static void add_layer(struct made *made, const char *prefix, int layer,
                      const char *name, int rank, size_t d0, size_t d1)
{
    char full[96];

    snprintf(full, sizeof full, "%s%d.%s", prefix, layer, name);
    made_add(made, full, rank, d0, d1);
}

void made_llama(struct made *made, const char *prefix)
{
    char name[96], layers[48];

    made->count = 0;
    snprintf(name, sizeof name, "%sembed_tokens.weight", prefix);
    made_add(made, name, 2, 7, 4);
    snprintf(layers, sizeof layers, "%slayers.", prefix);
    for (int i = 0; i < 2; i++) {
        add_layer(made, layers, i, "input_layernorm.weight", 1, 4, 1);
        add_layer(made, layers, i, "self_attn.q_proj.weight", 2, 8, 4);
        add_layer(made, layers, i, "self_attn.k_proj.weight", 2, 4, 4);
        add_layer(made, layers, i, "self_attn.v_proj.weight", 2, 4, 4);
        add_layer(made, layers, i, "self_attn.o_proj.weight", 2, 4, 8);
        add_layer(made, layers, i, "post_attention_layernorm.weight", 1, 4, 1);
        add_layer(made, layers, i, "mlp.gate_proj.weight", 2, 5, 4);
        add_layer(made, layers, i, "mlp.up_proj.weight", 2, 5, 4);
        add_layer(made, layers, i, "mlp.down_proj.weight", 2, 4, 5);
    }
    snprintf(name, sizeof name, "%snorm.weight", prefix);
    made_add(made, name, 1, 4, 1);
    made_add(made, "lm_head.weight", 2, 7, 4);
}

void made_gpt2(struct made *made, const char *prefix)
{
    char name[96], layers[48];

    made->count = 0;
    snprintf(name, sizeof name, "%swte.weight", prefix);
    made_add(made, name, 2, 7, 4);
    snprintf(name, sizeof name, "%swpe.weight", prefix);
    made_add(made, name, 2, 6, 4);
    snprintf(layers, sizeof layers, "%sh.", prefix);
    for (int i = 0; i < 2; i++) {
        add_layer(made, layers, i, "ln_1.weight", 1, 4, 1);
        add_layer(made, layers, i, "ln_1.bias", 1, 4, 1);
        add_layer(made, layers, i, "attn.c_attn.weight", 2, 4, 12);
        add_layer(made, layers, i, "attn.c_attn.bias", 1, 12, 1);
        add_layer(made, layers, i, "attn.c_proj.weight", 2, 4, 4);
        add_layer(made, layers, i, "attn.c_proj.bias", 1, 4, 1);
        add_layer(made, layers, i, "ln_2.weight", 1, 4, 1);
        add_layer(made, layers, i, "ln_2.bias", 1, 4, 1);
        add_layer(made, layers, i, "mlp.c_fc.weight", 2, 4, 16);
        add_layer(made, layers, i, "mlp.c_fc.bias", 1, 16, 1);
        add_layer(made, layers, i, "mlp.c_proj.weight", 2, 16, 4);
        add_layer(made, layers, i, "mlp.c_proj.bias", 1, 4, 1);
    }
    snprintf(name, sizeof name, "%sln_f.weight", prefix);
    made_add(made, name, 1, 4, 1);
    snprintf(name, sizeof name, "%sln_f.bias", prefix);
    made_add(made, name, 1, 4, 1);
}

struct made_tensor *made_find(struct made *made, const char *name)
{
    for (size_t i = 0; i < made->count; i++)
        if (strcmp(made->tensors[i].name, name) == 0)
            return &made->tensors[i];
    ck_abort_msg("no tensor %s", name);
    return NULL;
}

void made_remove(struct made *made, const char *name)
{
    struct made_tensor *tensor = made_find(made, name);
    size_t i = (size_t)(tensor - made->tensors);

    memmove(tensor, tensor + 1, (made->count - i - 1) * sizeof *tensor);
    made->count--;
}

static size_t count_of(const struct made_tensor *tensor)
{
    size_t count = tensor->dims[0];

    for (int axis = 1; axis < tensor->rank; axis++)
        count *= tensor->dims[axis];
    return count;
}

static size_t width_of(const struct made_tensor *tensor)
{
    if (strcmp(tensor->dtype, "F64") == 0 || strcmp(tensor->dtype, "I64") == 0)
        return 8;
    return tensor->dtype[0] == 'F' && tensor->dtype[1] == '8' ? 1 : 4;
}

static void write_data(unsigned char *bytes, const struct made_tensor *tensor, size_t n)
{
    for (size_t i = 0; i < count_of(tensor); i++) {
        double wide = (double)n + (double)i / 1024;
        float narrow = (float)wide;

        if (strcmp(tensor->dtype, "F64") == 0)
            memcpy(bytes + 8 * i, &wide, 8);
        else if (strcmp(tensor->dtype, "F32") == 0)
            memcpy(bytes + 4 * i, &narrow, 4);
        else
            memset(bytes + width_of(tensor) * i, 0, width_of(tensor));
    }
}

void made_write(struct made *made)
{
    char *header = malloc(100000);
    size_t length = 0, offset = 0;

    ck_assert_ptr_nonnull(header);
    for (size_t n = 0; n < made->count; n++) {
        const struct made_tensor *t = &made->tensors[n];
        size_t bytes = count_of(t) * width_of(t);

        length += (size_t)snprintf(header + length, 400,
                                   "%c\"%s\": {\"dtype\": \"%s\", \"shape\": [%zu",
                                   n ? ',' : '{', t->name, t->dtype, t->dims[0]);
        for (int axis = 1; axis < t->rank; axis++)
            length += (size_t)snprintf(header + length, 40, ", %zu", t->dims[axis]);
        length +=
            (size_t)snprintf(header + length, 80, "], \"data_offsets\": [%zu, %zu]}",
                             offset, offset + bytes);
        offset += bytes;
    }
    header[length++] = '}';
    made->used = 8 + length + offset;
    ck_assert_uint_le(made->used, sizeof made->bytes);
    for (int i = 0; i < 8; i++)
        made->bytes[i] = (unsigned char)((unsigned long long)length >> (8 * i));
    memcpy(made->bytes + 8, header, length);
    free(header);
    offset = 8 + length;
    for (size_t n = 0; n < made->count; n++) {
        write_data(made->bytes + offset, &made->tensors[n], n);
        offset += count_of(&made->tensors[n]) * width_of(&made->tensors[n]);
    }
}

/* SPDX-License-Identifier: MIT
 *
 * config.def as key tables, and single fields read, compared and written. What the
 * fields mean together (defaults that follow others, laws between sizes) is in
 * config.c and config_check.c.
 */
#include "model/config_internal.h"

#include <math.h>
#include <string.h>

static const char *const norm_words[] = {"rmsnorm", "layernorm", NULL};
static const char *const norm_placement_words[] = {"pre", "post", "sandwich", "branch",
                                                   NULL};
static const char *const positions_words[] = {"learned", "sinusoidal", "rotary", "none",
                                              "alibi",   "relative",   NULL};
static const char *const rope_pairing_words[] = {"half", "adjacent", NULL};
static const char *const rope_scaling_words[] = {"none", "linear", "llama3", "yarn",
                                                 NULL};
static const char *const activation_words[] = {"gelu", "gelu_tanh", "relu", "silu",
                                               NULL};
static const char *const qkv_words[] = {"separate", "fused", NULL};
static const char *const qk_norm_words[] = {"none", "head", "width", NULL};
static const char *const masked_row_words[] = {"zero", "nan", "uniform", NULL};
static const char *const evaluate_hidden_words[] = {"auto", "always", "never", NULL};
static const char *const softmax_words[] = {"float32", "same", NULL};
static const char *const attention_words[] = {"tiles", "streamed", NULL};
static const char *const preset_words[] = {"mini", "gpt2", "llama", NULL};

static const struct {
    const char *key;
    const char *const *words;
} enums[] = {
    {"norm", norm_words},
    {"norm_placement", norm_placement_words},
    {"positions", positions_words},
    {"rope_pairing", rope_pairing_words},
    {"rope_scaling", rope_scaling_words},
    {"activation", activation_words},
    {"qkv", qkv_words},
    {"qk_norm", qk_norm_words},
    {"masked_row", masked_row_words},
    {"evaluate_hidden", evaluate_hidden_words},
    {"softmax", softmax_words},
    {"preset", preset_words},
    {"attention", attention_words},
};

#define RANGE(kind, low, high) RANGE_##kind(low, high)
#define RANGE_SIZE(low, high) TEXT(low) " to " TEXT(high)
#define RANGE_REAL(low, high) TEXT(low) " to " TEXT(high)
#define RANGE_FILL(low, high) TEXT(low) " to " TEXT(high) ", or \"-inf\""
#define RANGE_BOOL(low, high) ""
#define RANGE_WORD(low, high) ""
#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number

const txd_key txd_config_keys[] = {
    {"version", "int", "1", "", "1", "version of this file's format"},
    {"seed", "int", "1", "", "0 to 2^63 - 1", "of everything that is drawn at random"},
    {"precision.backend", "string", "\"cpu32\"", "", "`txdiag list backends`",
     "what computes the pass (elsewhere dtype, torch_dtype, device)"},
    {"precision.attention", "tiles|streamed", "tiles", "", "",
     "streamed: attention whose values nobody reads is had of backends that can "
     "(cuda32, cudabf16) without its matrix; its last bits then depend on whether "
     "somebody does"},
    {"model.preset", "mini|gpt2|llama", "mini", "", "",
     "conventions to start from; sizes are always given"},
    {"model.from", "string", "none", "", "",
     "a .gguf file; a folder with config.json and model.safetensors (or its "
     ".index.json, or an .npz), or with one .gguf; such a .safetensors or .npz file; a "
     ".bin of llama2.c; all other keys of model then override what it states"},
    {"model.bias", "bool", "preset", "", "",
     "sets qkv_bias, out_bias, mlp_bias and, with layernorm, norm_bias"},
#define TXD_CONFIG(group, member, kind, low, high, type, fallback, unit, sentence)     \
    {#group "." #member, type, fallback, unit, RANGE(kind, low, high), sentence},
#define TXD_LAYER TXD_CONFIG
#include "model/config.def"
#undef TXD_CONFIG
#undef TXD_LAYER
    {"model.layers[].range", "string", "required", "layers", "",
     "the layers that this element is about: \"2\", \"0:4\" (4 excluded), \"3:\", or "
     "several with commas"},
#define TXD_CONFIG(group, member, kind, low, high, type, fallback, unit, sentence)
#define TXD_LAYER(group, member, kind, low, high, type, fallback, unit, sentence)      \
    {"model.layers[]." #member, type,    #group "." #member, unit,                     \
     RANGE(kind, low, high),    sentence},
#include "model/config.def"
#undef TXD_CONFIG
#undef TXD_LAYER
    {NULL, NULL, NULL, NULL, NULL, NULL},
};

const struct txd_field txd_config_fields[] = {
#define TXD_CONFIG(group, member, kind, low, high, type, fallback, unit, sentence)     \
    {#group, #member, TXD_FIELD_##kind, offsetof(txd_config, member), low, high},
#define TXD_LAYER(group, member, kind, low, high, type, fallback, unit, sentence)
#include "model/config.def"
#undef TXD_CONFIG
#undef TXD_LAYER
    {NULL, NULL, TXD_FIELD_SIZE, 0, 0, 0},
};

const struct txd_field txd_layer_fields[] = {
#define TXD_CONFIG(group, member, kind, low, high, type, fallback, unit, sentence)
#define TXD_LAYER(group, member, kind, low, high, type, fallback, unit, sentence)      \
    {#group, #member, TXD_FIELD_##kind, offsetof(txd_layer_config, member), low, high},
#include "model/config.def"
#undef TXD_CONFIG
#undef TXD_LAYER
    {NULL, NULL, TXD_FIELD_SIZE, 0, 0, 0},
};

static const char *const *find_words(const char *key)
{
    for (size_t i = 0; i < sizeof enums / sizeof *enums; i++)
        if (strcmp(enums[i].key, key) == 0)
            return enums[i].words;
    return NULL;
}

static size_t count_words(const char *const *words)
{
    size_t count = 0;

    while (words[count])
        count++;
    return count;
}

static size_t bytes_of(const struct txd_field *field)
{
    switch (field->kind) {
    case TXD_FIELD_SIZE:
        return sizeof(size_t);
    case TXD_FIELD_BOOL:
        return sizeof(bool);
    case TXD_FIELD_WORD:
        return sizeof(int);
    case TXD_FIELD_REAL:
    case TXD_FIELD_FILL:
    default:
        return sizeof(double);
    }
}

static txd_status read_word(int *out, const struct txd_field *field,
                            const txd_setting *group, const char *path)
{
    const char *const *words = find_words(field->name);

    return txd_setting_choice(out, group, path, words, count_words(words));
}

static txd_status read_fill(double *out, const struct txd_field *field,
                            const txd_setting *group, const char *path)
{
    static const char *const words[] = {"-inf"};
    const txd_setting *setting = txd_setting_find(group, path);
    int word;

    if (!setting || setting->kind != TXD_SETTING_STRING)
        return txd_setting_real(out, group, path, field->low, field->high);
    TXD_TRY(txd_setting_choice(&word, group, path, words, 1));
    *out = -INFINITY;
    return TXD_OK;
}

txd_status txd_field_read(void *object, const struct txd_field *field,
                          const txd_setting *group, const char *path)
{
    void *value = (char *)object + field->offset;

    switch (field->kind) {
    case TXD_FIELD_SIZE:
        return txd_setting_size(value, group, path, (size_t)field->low,
                                (size_t)field->high);
    case TXD_FIELD_REAL:
        return txd_setting_real(value, group, path, field->low, field->high);
    case TXD_FIELD_BOOL:
        return txd_setting_bool(value, group, path);
    case TXD_FIELD_WORD:
        return read_word(value, field, group, path);
    case TXD_FIELD_FILL:
    default:
        return read_fill(value, field, group, path);
    }
}

bool txd_field_equal(const void *a, const void *b, const struct txd_field *field)
{
    return memcmp((const char *)a + field->offset, (const char *)b + field->offset,
                  bytes_of(field)) == 0;
}

bool txd_field_valid(const void *object, const struct txd_field *field)
{
    const void *value = (const char *)object + field->offset;
    double number;
    int word;

    switch (field->kind) {
    case TXD_FIELD_SIZE:
        number = (double)*(const size_t *)value;
        return number >= field->low && number <= field->high;
    case TXD_FIELD_REAL:
    case TXD_FIELD_FILL:
        number = *(const double *)value;
        return (number >= field->low && number <= field->high) ||
               (field->kind == TXD_FIELD_FILL && isinf(number) && number < 0);
    case TXD_FIELD_WORD:
        memcpy(&word, value, sizeof word);
        return txd_config_word(field->name, word) != NULL;
    case TXD_FIELD_BOOL:
    default:
        return true;
    }
}

txd_status txd_field_put(txd_arena *arena, txd_setting *group,
                         const struct txd_field *field, const void *object)
{
    const void *value = (const char *)object + field->offset;
    static const txd_setting_kind kinds[] = {TXD_SETTING_INT, TXD_SETTING_REAL,
                                             TXD_SETTING_BOOL, TXD_SETTING_STRING,
                                             TXD_SETTING_REAL};
    txd_setting *setting =
        txd_setting_add(arena, group, field->name, kinds[field->kind]);
    int word = 0;

    if (!setting)
        return TXD_ERR_MEMORY;
    switch (field->kind) {
    case TXD_FIELD_SIZE:
        setting->integer = (int64_t) * (const size_t *)value;
        break;
    case TXD_FIELD_BOOL:
        setting->boolean = *(const bool *)value;
        break;
    case TXD_FIELD_WORD:
        memcpy(&word, value, sizeof word);
        setting->string = txd_config_word(field->name, word);
        setting->string_length = strlen(setting->string);
        break;
    case TXD_FIELD_REAL:
    case TXD_FIELD_FILL:
    default:
        setting->real = *(const double *)value;
        break;
    }
    return TXD_OK;
}

const char *txd_config_word(const char *key, int value)
{
    const char *const *words = find_words(key);

    if (!words || value < 0 || (size_t)value >= count_words(words))
        return NULL;
    return words[value];
}

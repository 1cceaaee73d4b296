/* SPDX-License-Identifier: MIT
 *
 * The table of thresholds as keys of model.cfg, as defaults, and as values read.
 */
#include "checks/law.h"

#define TXD_LAW_BEGIN(law) const txd_key txd_keys_##law[] = {
#define TXD_THRESHOLD(id, law, key, fallback, low, high, unit, sentence, source)       \
    {"checks." law "." key,   "real", #fallback, unit, #low " to " #high,              \
     sentence " (" source ")"},
#define TXD_LAW_END                                                                    \
    {                                                                                  \
        NULL, NULL, NULL, NULL, NULL, NULL                                             \
    }                                                                                  \
    }                                                                                  \
    ;
#include "checks/thresholds.def"
#undef TXD_LAW_BEGIN
#undef TXD_THRESHOLD
#undef TXD_LAW_END

typedef struct threshold_line {
    const char *law, *key;
    double fallback, low, high;
} threshold_line;

static const threshold_line thresholds[TXD_THRESHOLD_COUNT] = {
#define TXD_LAW_BEGIN(law)
#define TXD_THRESHOLD(id, law, key, fallback, low, high, unit, sentence, source)       \
    {law, key, fallback, low, high},
#define TXD_LAW_END
#include "checks/thresholds.def"
#undef TXD_LAW_BEGIN
#undef TXD_THRESHOLD
#undef TXD_LAW_END
};

const char *txd_threshold_law(txd_threshold threshold)
{
    return thresholds[threshold].law;
}

const char *txd_threshold_key(txd_threshold threshold)
{
    return thresholds[threshold].key;
}

txd_status txd_threshold_read(double *out, txd_threshold threshold,
                              const txd_check_context *context)
{
    double value = thresholds[threshold].fallback;
    const txd_setting *groups[] = {context->settings, context->rules};

    for (size_t i = 0; i < 2; i++)
        if (groups[i])
            TXD_TRY(txd_setting_real(&value, groups[i], thresholds[threshold].key,
                                     thresholds[threshold].low,
                                     thresholds[threshold].high));
    *out = value;
    return TXD_OK;
}

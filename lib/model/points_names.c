/* SPDX-License-Identifier: MIT
 *
 * Full names of points and gradients: written, and read back.
 */
#include <stdio.h>
#include <string.h>

#include "base/select.h"
#include "model/points.h"

#define PREFIX "layers."

/* The layer of "layers.3.rest", written without leading zeros; *rest follows it. Other
 * names leave both alone. */
static void parse_layer(int *layer, const char **rest, const char *name)
{
    const char *digits = name + strlen(PREFIX);
    size_t length;
    int value = 0;

    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return;
    length = strspn(digits, "0123456789");
    if (length == 0 || length > 9 || digits[length] != '.' ||
        (digits[0] == '0' && length > 1))
        return;
    for (size_t i = 0; i < length; i++)
        value = value * 10 + (digits[i] - '0');
    *layer = value;
    *rest = digits + length + 1;
}

static int find(const char *name)
{
    for (int i = 0; i < TXD_POINT_COUNT; i++)
        if (strcmp(txd_point_get((txd_point)i)->name, name) == 0)
            return i;
    return -1;
}

static txd_status fail_missing(const char *name, const char *rest, int layer)
{
    const char *names[TXD_POINT_COUNT], *nearest;
    char full[128];
    int point;

    for (int i = 0; i < TXD_POINT_COUNT; i++)
        names[i] = txd_point_get((txd_point)i)->name;
    nearest = txd_nearest(rest, names, TXD_POINT_COUNT);
    if (!nearest)
        return txd_fail(TXD_ERR_MISSING,
                        "\"%.200s\" is no point; `txdiag list points` has them all",
                        name);
    point = find(nearest);
    txd_point_name(full, sizeof full, (txd_point)point, layer < 0 ? 0 : layer);
    return txd_fail(TXD_ERR_MISSING, "\"%.200s\" is no point; nearest: %s", name, full);
}

char *txd_point_name(char *text, size_t bytes, txd_point point, int layer)
{
    if (txd_point_per_layer(point))
        snprintf(text, bytes, PREFIX "%d.%s", layer, txd_point_get(point)->name);
    else
        snprintf(text, bytes, "%s", txd_point_get(point)->name);
    return text;
}

bool txd_point_of_name(txd_point *point, int *layer, const char *name)
{
    const char *rest = name;
    int in_layer = -1, found;

    parse_layer(&in_layer, &rest, name);
    found = find(rest);
    if (found < 0 || txd_point_per_layer((txd_point)found) != (in_layer >= 0))
        return false;
    *point = (txd_point)found;
    *layer = in_layer;
    return true;
}

txd_status txd_point_parse(txd_point *point, int *layer, const char *name)
{
    const char *rest = name;
    int in_layer = -1;

    if (txd_point_of_name(point, layer, name))
        return TXD_OK;
    parse_layer(&in_layer, &rest, name);
    return fail_missing(name, rest, in_layer);
}

/* The name of what a gradient is of; false if it is none. */
static bool value_of_gradient(char value[128], const char *name)
{
    size_t length = strlen(name), end = strlen(TXD_GRADIENT_SUFFIX);

    if (length < end || length - end >= 128 ||
        strcmp(name + length - end, TXD_GRADIENT_SUFFIX) != 0)
        return false;
    snprintf(value, 128, "%.*s", (int)(length - end), name);
    return true;
}

bool txd_point_of_gradient(txd_point *point, int *layer, const char *name)
{
    char value[128];

    return value_of_gradient(value, name) && txd_point_of_name(point, layer, value);
}

txd_status txd_point_parse_gradient(txd_point *point, int *layer, const char *name)
{
    char value[128];

    if (!value_of_gradient(value, name))
        return txd_fail(TXD_ERR_MISSING, "\"%.200s\" is no gradient: it ends in no %s",
                        name, TXD_GRADIENT_SUFFIX);
    return txd_point_parse(point, layer, value);
}

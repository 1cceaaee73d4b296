/* SPDX-License-Identifier: MIT
 *
 * A settings tree as model.cfg text, as recordings store it. Lists are always
 * written in parentheses, which, unlike brackets, may hold elements of any kind.
 */
#include "base/settings.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

static void print_value(txd_text *out, const txd_setting *setting, int depth);

static void print_indent(txd_text *out, int depth)
{
    for (int i = 0; i < depth; i++)
        txd_text_add(out, "  ");
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '*';
}

static bool is_name(const char *name)
{
    if (!is_letter(*name) || strcasecmp(name, "true") == 0 ||
        strcasecmp(name, "false") == 0)
        return false;
    for (const char *p = name; *p; p++)
        if (!is_letter(*p) && !(*p >= '0' && *p <= '9') && *p != '_' && *p != '-')
            return false;
    return true;
}

static void print_string(txd_text *out, const char *string)
{
    txd_text_add(out, "\"");
    for (const char *p = string; *p; p++) {
        unsigned char c = (unsigned char)*p;

        if (c == '"' || c == '\\')
            txd_text_addf(out, "\\%c", c);
        else if (c == '\n')
            txd_text_add(out, "\\n");
        else if (c < 0x20 || c == 0x7f)
            txd_text_addf(out, "\\x%02x", c);
        else
            txd_text_add_bytes(out, p, 1);
    }
    txd_text_add(out, "\"");
}

static void print_int(txd_text *out, int64_t value)
{
    bool wide = value < INT32_MIN || value > INT32_MAX;

    txd_text_addf(out, "%" PRId64 "%s", value, wide ? "L" : "");
}

static void print_real(txd_text *out, double value)
{
    size_t start = out->length;
    bool finite = isfinite(value);

    if (!finite)
        txd_text_add(out, "\"");
    txd_text_add_real(out, value);
    if (!finite)
        txd_text_add(out, "\"");
    else if (!strpbrk(txd_text_get(out) + start, ".e"))
        txd_text_add(out, ".0"); /* else it reads back as an integer */
}

static bool has_groups(const txd_setting *list)
{
    for (const txd_setting *s = list->child; s; s = s->next)
        if (s->kind == TXD_SETTING_GROUP || s->kind == TXD_SETTING_LIST)
            return true;
    return false;
}

static void print_list(txd_text *out, const txd_setting *list, int depth)
{
    bool lines = has_groups(list), any = false;

    txd_text_add(out, "(");
    for (const txd_setting *s = list->child; s; s = s->next) {
        if (s->kind == TXD_SETTING_NULL)
            continue;
        if (any)
            txd_text_add(out, lines ? "," : ", ");
        any = true;
        if (lines) {
            txd_text_add(out, "\n");
            print_indent(out, depth + 1);
        }
        print_value(out, s, depth + 1);
    }
    txd_text_add(out, ")");
}

static void print_members(txd_text *out, const txd_setting *group, int depth)
{
    for (const txd_setting *s = group->child; s; s = s->next) {
        if (s->kind == TXD_SETTING_NULL || !s->name || !is_name(s->name))
            continue;
        print_indent(out, depth);
        txd_text_add(out, s->name);
        txd_text_add(out, s->kind == TXD_SETTING_GROUP ? " : " : " = ");
        print_value(out, s, depth);
        txd_text_add(out, ";\n");
    }
}

static void print_value(txd_text *out, const txd_setting *setting, int depth)
{
    switch (setting->kind) {
    case TXD_SETTING_BOOL:
        txd_text_add(out, setting->boolean ? "true" : "false");
        break;
    case TXD_SETTING_INT:
        print_int(out, setting->integer);
        break;
    case TXD_SETTING_REAL:
        print_real(out, setting->real);
        break;
    case TXD_SETTING_STRING:
        print_string(out, setting->string);
        break;
    case TXD_SETTING_LIST:
        print_list(out, setting, depth);
        break;
    case TXD_SETTING_GROUP:
        txd_text_add(out, "{\n");
        print_members(out, setting, depth + 1);
        print_indent(out, depth);
        txd_text_add(out, "}");
        break;
    case TXD_SETTING_NULL:
    default:
        break;
    }
}

void txd_settings_print(txd_text *out, const txd_setting *root)
{
    print_members(out, root, 0);
}

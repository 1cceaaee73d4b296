/* SPDX-License-Identifier: MIT
 *
 * Globs are matched by remembering the last star and retrying one character later:
 * no recursion, so that a pattern of many stars cannot take exponential time.
 */
#include "base/select.h"

#include <stdint.h>
#include <string.h>

#define MAX_WORD 127

static const char accepted[] = "\"5\" (one), \"0:10\" (10 excluded), \"3:\" (open), "
                               "\"*\" (all), or a comma-separated list of these";

static bool match(const char *pattern, size_t length, const char *name)
{
    size_t p = 0, star = SIZE_MAX;
    const char *retry = NULL;

    while (*name) {
        if (p < length && pattern[p] == '*') {
            star = p++;
            retry = name;
        } else if (p < length && pattern[p] == *name) {
            p++;
            name++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            name = ++retry;
        } else {
            return false;
        }
    }
    while (p < length && pattern[p] == '*')
        p++;
    return p == length;
}

static bool is_gradient(const char *name)
{
    size_t length = strlen(name);

    return length >= 5 && strcmp(name + length - 5, "@grad") == 0;
}

static bool glob(const char *pattern, size_t length, const char *name)
{
    if (is_gradient(name) && (length == 0 || !memchr(pattern, '@', length)))
        return false;
    return match(pattern, length, name);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The next comma-separated item of *list, without blanks around it. */
static const char *next_item(const char **list, size_t *length)
{
    const char *start = *list, *end;

    while (is_blank(*start))
        start++;
    end = start + strcspn(start, ",");
    *list = *end ? end + 1 : end;
    while (end > start && is_blank(end[-1]))
        end--;
    *length = (size_t)(end - start);
    return start;
}

static bool parse_index(size_t *out, const char **text, const char *end)
{
    size_t value = 0;
    const char *p = *text;

    if (p == end || *p < '0' || *p > '9')
        return false;
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        size_t digit = (size_t)(*p - '0');

        if (value > (SIZE_MAX - 1 - digit) / 10) /* begin + 1 must fit */
            return false;
        value = value * 10 + digit;
    }
    *text = p;
    *out = value;
    return true;
}

static bool parse_part(size_t *begin, size_t *end, const char *text, size_t length)
{
    const char *stop = text + length;

    if (length == 1 && *text == '*') {
        *begin = 0;
        *end = SIZE_MAX;
        return true;
    }
    if (!parse_index(begin, &text, stop))
        return false;
    *end = *begin + 1;
    if (text == stop)
        return true;
    if (*text++ != ':')
        return false;
    *end = SIZE_MAX;
    if (text == stop)
        return true;
    return parse_index(end, &text, stop) && text == stop && *begin < *end;
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;

    return least < c ? least : c;
}

/* Levenshtein distance in one row; both words have at most MAX_WORD characters. */
static size_t distance(const char *a, const char *b, size_t length)
{
    size_t row[MAX_WORD + 1];

    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];

        row[0] = i + 1;
        for (size_t j = 0; j < length; j++) {
            size_t above = row[j + 1];

            row[j + 1] = smallest(above + 1, row[j] + 1, diagonal + (a[i] != b[j]));
            diagonal = above;
        }
    }
    return row[length];
}

bool txd_glob(const char *pattern, const char *name)
{
    return glob(pattern, strlen(pattern), name);
}

bool txd_glob_list(const char *patterns, const char *name)
{
    while (patterns && *patterns) {
        size_t length;
        const char *pattern = next_item(&patterns, &length);

        if (length != 0 && glob(pattern, length, name))
            return true;
    }
    return false;
}

txd_status txd_range_parse(txd_range *out, const char *text)
{
    txd_range range = {.count = 0};
    const char *rest = text;
    bool all = !text || !text[strspn(text, " \t\r\n")];
    bool more = !all;

    while (more) {
        size_t length, begin, end;
        const char *part;

        more = strchr(rest, ',') != NULL;
        part = next_item(&rest, &length);
        if (!parse_part(&begin, &end, part, length))
            return txd_fail(TXD_ERR_CONFIG, "\"%s\" is no range; accepted: %s", text,
                            accepted);
        if (range.count == TXD_MAX_RANGES)
            return txd_fail(TXD_ERR_CONFIG, "\"%s\" has more than %d parts; join some",
                            text, TXD_MAX_RANGES);
        range.parts[range.count].begin = begin;
        range.parts[range.count++].end = end;
        all = all || (begin == 0 && end == SIZE_MAX);
    }
    if (all)
        range.count = 0;
    *out = range;
    return TXD_OK;
}

bool txd_range_has(const txd_range *range, size_t index)
{
    if (range->count == 0)
        return true;
    for (int i = 0; i < range->count; i++)
        if (index >= range->parts[i].begin && index < range->parts[i].end)
            return true;
    return false;
}

/* "d_model" is the tail of "model.d_model". */
static const char *find_tail(const char *word, const char *const *known, size_t count)
{
    size_t length = strlen(word);

    for (size_t i = 0; i < count && length != 0; i++) {
        size_t other = strlen(known[i]);

        if (other > length && known[i][other - length - 1] == '.' &&
            strcmp(known[i] + other - length, word) == 0)
            return known[i];
    }
    return NULL;
}

const char *txd_nearest(const char *word, const char *const *known, size_t count)
{
    const char *nearest = NULL;
    size_t length = strlen(word);
    size_t limit = 1 + length / 3;

    if (length > MAX_WORD)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t other = strlen(known[i]);
        size_t gap = other > length ? other - length : length - other;
        size_t apart;

        if (other > MAX_WORD || gap > limit)
            continue;
        apart = distance(word, known[i], other);
        if (apart <= limit) {
            nearest = known[i];
            if (apart == 0)
                break;
            limit = apart - 1; /* the first of equally near words stays */
        }
    }
    return nearest ? nearest : find_tail(word, known, count);
}

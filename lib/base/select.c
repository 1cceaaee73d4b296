/* SPDX-License-Identifier: MIT
 *
 * Globs are matched by remembering the last star and retrying one character later:
 * no recursion, so that a pattern of many stars cannot take exponential time.
 */
#include "base/select.h"

#include <stdint.h>
#include <string.h>

#define MAX_WORD 127

static const char accepted[] =
    "\"5\" (one), \"0:10\" (10 excluded), \"3:\" (open), \"0:10:2\" or \"3::2\" (every "
    "second), \"*\" (all), or a comma-separated list of these";

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

typedef struct piece {
    size_t begin, end, every;
} piece;

static bool parse_part(piece *out, const char *text, size_t length)
{
    const char *stop = text + length;

    *out = (piece){0, SIZE_MAX, 1};
    if (length == 1 && *text == '*')
        return true;
    if (!parse_index(&out->begin, &text, stop))
        return false;
    if (text == stop) {
        out->end = out->begin + 1;
        return true;
    }
    if (*text++ != ':')
        return false;
    if (text < stop && *text != ':' && !parse_index(&out->end, &text, stop))
        return false;
    if (text < stop && (*text++ != ':' || !parse_index(&out->every, &text, stop)))
        return false;
    return text == stop && out->begin < out->end && out->every > 0;
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;

    return least < c ? least : c;
}

/* Insertions, deletions, replacements and exchanges of two neighbours that make `a` of
 * `b`, in three rows of the table; both words have at most MAX_WORD characters. */
static size_t distance(const char *a, const char *b, size_t length)
{
    size_t rows[3][MAX_WORD + 1];
    size_t i;

    for (size_t j = 0; j <= length; j++)
        rows[0][j] = j;
    for (i = 0; a[i]; i++) {
        const size_t *older = rows[(i + 2) % 3], *above = rows[i % 3];
        size_t *row = rows[(i + 1) % 3];

        row[0] = i + 1;
        for (size_t j = 0; j < length; j++) {
            row[j + 1] =
                smallest(above[j + 1] + 1, row[j] + 1, above[j] + (a[i] != b[j]));
            if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] &&
                older[j - 1] + 1 < row[j + 1])
                row[j + 1] = older[j - 1] + 1;
        }
    }
    return rows[i % 3][length];
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
        size_t length;
        const char *item;
        piece read;

        more = strchr(rest, ',') != NULL;
        item = next_item(&rest, &length);
        if (!parse_part(&read, item, length))
            return txd_fail(TXD_ERR_CONFIG, "\"%s\" is no range; accepted: %s", text,
                            accepted);
        if (range.count == TXD_MAX_RANGES)
            return txd_fail(TXD_ERR_CONFIG, "\"%s\" has more than %d parts; join some",
                            text, TXD_MAX_RANGES);
        range.parts[range.count].begin = read.begin;
        range.parts[range.count].end = read.end;
        range.parts[range.count++].every = read.every;
        all = all || (read.begin == 0 && read.end == SIZE_MAX && read.every == 1);
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
        if (index >= range->parts[i].begin && index < range->parts[i].end &&
            (index - range->parts[i].begin) % range->parts[i].every == 0)
            return true;
    return false;
}

/* The last part of a name: "d_model" of "model.d_model", "loss" of "steps/loss"; NULL
 * if it has one part. */
static const char *last_part(const char *name)
{
    const char *part = NULL;

    for (; *name; name++)
        if (*name == '.' || *name == '/')
            part = name + 1;
    return part;
}

/* The name that is `word`, or that ends in it: "attn.weights" is the tail of
 * "layers.*.attn.weights". */
static const char *find_same(const char *word, const char *const *known, size_t count)
{
    size_t length = strlen(word);

    for (size_t i = 0; i < count; i++)
        if (strcmp(known[i], word) == 0)
            return known[i];
    for (size_t i = 0; i < count; i++) {
        size_t other = strlen(known[i]);

        if (other > length && strchr("./", known[i][other - length - 1]) &&
            strcmp(known[i] + other - length, word) == 0)
            return known[i];
    }
    return NULL;
}

/* Edits from `word` to `known`; more than `limit` may be any such number. */
static size_t edits(const char *word, const char *known, size_t limit)
{
    size_t length = strlen(word), other = known ? strlen(known) : SIZE_MAX;
    size_t gap = other > length ? other - length : length - other;

    if (!known || other > MAX_WORD || gap > limit)
        return limit + 1;
    return distance(word, known, other);
}

const char *txd_nearest(const char *word, const char *const *known, size_t count)
{
    size_t length = strlen(word);
    size_t limit = length < 4 ? 1 : 1 + length / 3;
    const char *nearest;

    if (length == 0 || length > MAX_WORD)
        return NULL;
    if ((nearest = find_same(word, known, count)))
        return nearest;
    for (size_t i = 0; i < 2 * count; i++) { /* whole names first, then last parts */
        const char *name = known[i % count];
        size_t apart = edits(word, i < count ? name : last_part(name), limit);

        if (apart > limit)
            continue;
        nearest = name;
        limit = apart - 1; /* the first of equally near words stays */
    }
    return nearest;
}

/* SPDX-License-Identifier: MIT
 *
 * Any entries as those of a recording: judged, compared, drawn and reported as far as
 * gnuplot's script. (fuzz_recording has the bytes of the file, which HDF5 reads.) The
 * input is text, a line per entry:
 *
 *   layers.0.cross.weights sbhqk 1,1,2,3,5 f 0.2 nan     values repeat; see kinds[]
 *   = config model : { ... };                            '|' is a newline, '~' a tab
 *   * series/stats_sites logits embed.tok                a list of strings
 *   --                                                   what follows is another one
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/check.h"
#include "viz/figures/figures.h"
#include "viz/report/report.h"

enum { LINES = 256, ELEMENTS = 8192, WORDS = 2048, LAYERS = 64, DRAWN = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

typedef struct list {
    const char *name;
    const char *const *words;
    size_t count;
} list;

typedef struct recording {
    txd_trace *memory;
    const char *keys[LINES], *texts[LINES];
    size_t meta_count;
    list lists[LINES];
    size_t list_count;
    const char *words[WORDS]; /* of all lists */
    size_t word_count;
} recording;

static const struct kind {
    char letter;
    txd_dtype dtype;
} kinds[] = {{'f', TXD_F32}, {'d', TXD_F64}, {'h', TXD_F16}, {'b', TXD_BF16},
             {'i', TXD_I32}, {'l', TXD_I64}, {'u', TXD_U8}};

/* ---- the text as a trace ---- */

static void destroy(void *self)
{
    txd_trace_destroy(((recording *)self)->memory);
    free(self);
}

static size_t count_entries(void *self)
{
    return txd_trace_count(((recording *)self)->memory);
}

static txd_status info(void *self, txd_trace_info *out, size_t i)
{
    return txd_trace_get(((recording *)self)->memory, out, i);
}

static txd_status read_block(void *self, void *out, size_t i, const size_t *start,
                             const size_t *count, txd_dtype dtype)
{
    return txd_trace_read(((recording *)self)->memory, out, i, start, count, dtype);
}

static const char *meta(void *self, const char *key)
{
    const recording *r = self;

    for (size_t i = 0; i < r->meta_count; i++)
        if (strcmp(r->keys[i], key) == 0)
            return r->texts[i];
    return NULL;
}

static txd_status strings(void *self, const char *const **out, size_t *count,
                          const char *name)
{
    const recording *r = self;

    for (size_t i = 0; i < r->list_count; i++)
        if (strcmp(r->lists[i].name, name) == 0) {
            *out = r->lists[i].words;
            *count = r->lists[i].count;
            return TXD_OK;
        }
    return txd_fail(TXD_ERR_MISSING, "no strings \"%s\"", name);
}

static const txd_trace_methods methods = {
    .destroy = destroy,
    .count = count_entries,
    .info = info,
    .read = read_block,
    .meta = meta,
    .strings = strings,
};

/* "1,2,3", at most ELEMENTS in all; false if there is no axis, or there are more. */
static bool read_dims(size_t *dims, int *rank, size_t *count, char *text)
{
    *rank = 0;
    *count = 1;
    for (char *at = strtok(text, ","); at && *rank < TXD_MAX_RANK;
         at = strtok(NULL, ",")) {
        dims[*rank] = (size_t)strtoul(at, NULL, 10);
        if (dims[*rank] > ELEMENTS)
            return false;
        *count *= dims[(*rank)++];
        if (*count > ELEMENTS)
            return false;
    }
    return *rank != 0;
}

static bool find_kind(txd_dtype *out, char letter)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].letter == letter) {
            *out = kinds[i].dtype;
            return true;
        }
    return false;
}

static void add_entry(recording *r, char *line)
{
    static double values[ELEMENTS], data[ELEMENTS];
    char name[96], axes[16], extents[64], letter;
    size_t dims[TXD_MAX_RANK], count, given = 0, other;
    txd_dtype dtype;
    txd_tensor tensor;
    int used = 0, rank;

    if (sscanf(line, "%95s %15s %63s %c%n", name, axes, extents, &letter, &used) != 4 ||
        !find_kind(&dtype, letter) || !read_dims(dims, &rank, &count, extents) ||
        txd_trace_find(r->memory, &other, name) == TXD_OK)
        return;
    for (char *at = strtok(line + used, " "); at && given < count;
         at = strtok(NULL, " "))
        values[given++] = strtod(at, NULL);
    if (given == 0 && count != 0)
        return;
    for (size_t i = given; i < count; i++)
        values[i] = values[i - given];
    txd_convert(data, dtype, values, TXD_F64, count);
    tensor = txd_tensor_make(dtype, data, rank, dims);
    (void)txd_trace_memory_add(r->memory, name, strcmp(axes, "?") ? axes : "", &tensor);
}

static void add_meta(recording *r, char *line)
{
    char *key = strtok(line, " "), *text = strtok(NULL, "");

    if (!key || !text)
        return;
    for (char *at = text; *at; at++)
        *at = (char)(*at == '|' ? '\n' : *at == '~' ? '\t' : *at);
    r->keys[r->meta_count] = key;
    r->texts[r->meta_count++] = text;
}

static void add_list(recording *r, char *line)
{
    list *to = &r->lists[r->list_count];
    size_t first = r->word_count;

    to->name = strtok(line, " ");
    if (!to->name)
        return;
    to->words = r->words + first;
    for (char *at = strtok(NULL, " "); at && r->word_count < WORDS;
         at = strtok(NULL, " "))
        r->words[r->word_count++] = at;
    to->count = r->word_count - first;
    r->list_count++;
}

/* Reads up to the line "--"; *text = what follows it, or NULL. The caller owns the
 * trace. */
static txd_trace *read_recording(char **text)
{
    recording *r = calloc(1, sizeof *r);
    txd_trace *trace;
    char *line = *text, *next;

    if (!r || txd_trace_memory(&r->memory) != TXD_OK ||
        txd_trace_create(&trace, &methods, r) != TXD_OK)
        abort();
    *text = NULL;
    for (int lines = 0; line && lines < LINES; lines++, line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (strcmp(line, "--") == 0) {
            *text = next;
            break;
        }
        if (*line == '=')
            add_meta(r, line + 1);
        else if (*line == '*')
            add_list(r, line + 1);
        else
            add_entry(r, line);
    }
    return trace;
}

/* ---- what is done with it ---- */

/* Many layers are slow, not wrong. */
static bool is_small(const txd_trace *trace)
{
    const char *text = txd_trace_meta(trace, "config");
    txd_arena *arena = NULL;
    txd_setting *root;
    txd_config config;
    bool small;

    if (txd_arena_create(&arena) != TXD_OK)
        abort();
    small = !text || txd_cfg_parse(&root, arena, "config", text) != TXD_OK ||
            txd_config_read(&config, arena, root, NULL) != TXD_OK ||
            (config.n_layers <= LAYERS && config.encoder_layers <= LAYERS);
    txd_arena_destroy(arena);
    return small;
}

static void judge(const txd_trace *trace)
{
    const txd_result *results;
    txd_checks *checks;
    txd_json json;
    txd_text text;
    size_t count;

    if (txd_checks_recording(&checks, trace, NULL, &(txd_check_select){0}) != TXD_OK)
        return;
    txd_text_init(&text);
    txd_json_init(&json, &text, 1);
    if (txd_checks_finish(&results, &count, checks) == TXD_OK) {
        txd_report_text(&text, "fuzz", results, count,
                        &(txd_report_style){.verbose = true});
        txd_report_json(&json, "fuzz", results, count, false);
        (void)txd_checks_exit(results, count, true);
    }
    txd_text_finish(&text);
    txd_checks_destroy(checks);
}

/* In place of viz/draw/gnuplot.c: reads what it would be given. */
txd_status txd_gnuplot_image(txd_text *out, const txd_plot_job *job)
{
    txd_text given;

    txd_text_init(&given);
    txd_text_add(&given, job->script);
    for (size_t i = 0; i < job->file_count; i++)
        txd_text_add_bytes(&given, job->files[i].bytes, job->files[i].count);
    txd_text_finish(&given);
    txd_text_add(out, "picture");
    return txd_text_status(out);
}

static void draw(const txd_trace *trace, txd_figure_request request)
{
    const txd_figure *figure;
    txd_drawing drawing;
    txd_text picture;

    if (txd_figure_choose(&figure, &request, trace) != TXD_OK)
        return;
    txd_text_init(&picture);
    if (txd_drawing_init(&drawing, TXD_IMAGE_PNG) == TXD_OK &&
        figure->draw(&drawing, trace, &request) == TXD_OK)
        (void)txd_drawing_image(&picture, &drawing);
    txd_drawing_finish(&drawing);
    txd_text_finish(&picture);
}

/* Charts, and entries: of many every n-th, which ones is up to the input. */
static void draw_all(const txd_trace *trace, size_t first)
{
    static const char *const sites[] = {"layers.*.attn.weights",
                                        "layers.*.cross.weights", "steps/loss",
                                        "layers.*.resid.post@grad"};
    txd_figure_request request = {.head = -1, .step = -1, .batch = -1, .path = "x.png"};
    size_t every = txd_trace_count(trace) / DRAWN + 1;

    request.layer = -1;
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        request.site = sites[i];
        draw(trace, request);
    }
    for (size_t i = 0; txd_figure_at(i); i++) {
        request.site = txd_figure_at(i)->name;
        draw(trace, request);
    }
    for (size_t i = first % every; i < txd_trace_count(trace); i += every) {
        txd_trace_info entry;

        if (txd_trace_get(trace, &entry, i) != TXD_OK)
            abort();
        request.site = entry.name;
        request.layer = txd_axis_of(&entry, 'l') >= 0 ? 0 : -1;
        request.head = i / every % 2 ? 0 : -1;
        draw(trace, request);
    }
}

/* The parts of the page, in the order of viz/report/report.c, which makes a file of
 * them. */
static void report(const txd_trace *trace, const txd_trace *other,
                   const txd_compared *compared)
{
    txd_report page;

    txd_page_init(&page, trace, "one.h5");
    page.compared = compared;
    page.other = compared ? other : NULL;
    page.other_path = compared ? "other.h5" : NULL;
    if (txd_claim_init(&page.claim, trace, 0) == TXD_OK &&
        txd_verdicts_read(&page.verdicts, page.claim.arena, trace) == TXD_OK &&
        txd_report_figures(&page) == TXD_OK) {
        txd_report_header(&page);
        txd_report_verdicts(&page);
        (void)txd_report_explorer(&page);
        txd_report_pictures(&page);
        txd_report_config(&page);
    }
    txd_page_finish(&page);
}

static void compare(const txd_trace *one, const txd_trace *other)
{
    txd_compared compared;
    txd_arena *arena;
    bool alike;

    if (txd_arena_create(&arena) != TXD_OK)
        abort();
    alike = txd_compared_measure(&compared, arena, one, other) == TXD_OK;
    report(one, other, alike ? &compared : NULL);
    txd_arena_destroy(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    char *text = malloc(count + 1), *rest = text;
    txd_trace *one, *other = NULL;

    if (!text)
        abort();
    if (count)
        memcpy(text, bytes, count);
    text[count] = '\0';
    one = read_recording(&rest);
    if (rest)
        other = read_recording(&rest);
    if (is_small(one) && (!other || is_small(other))) {
        judge(one);
        draw_all(one, count);
        compare(one, other ? other : one);
    }
    txd_trace_destroy(one);
    txd_trace_destroy(other);
    free(text);
    return 0;
}

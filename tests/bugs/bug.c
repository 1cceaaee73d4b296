/* SPDX-License-Identifier: MIT
 *
 * Rows of bugs are run: the healthy toy under all laws, the toy with its bug under one.
 */
#include "shown.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults/fault.h"

/* ---- parameters ---- */

static void put(txd_tensor *value, const char *name, size_t i, double to)
{
    ck_assert_msg(i < txd_tensor_count(value), "%s: it has %zu elements", name,
                  txd_tensor_count(value));
    ((float *)value->data)[i] = (float)to;
}

/* "row,column=value", "*,column=value", "diagonal=value", "all=value" or "value". */
static void put_word(txd_tensor *value, const char *name, const char *word, size_t n)
{
    size_t rows = value->dims[0], columns = txd_tensor_count(value) / rows;
    const char *equals = strchr(word, '=');
    double to = strtod(equals ? equals + 1 : word, NULL);
    unsigned row, column;

    if (!equals)
        put(value, name, n, to);
    else if (strncmp(word, "all=", 4) == 0)
        for (size_t i = 0; i < rows * columns; i++)
            put(value, name, i, to);
    else if (strncmp(word, "diagonal=", 9) == 0)
        for (size_t i = 0; i < rows && i < columns; i++)
            put(value, name, i * columns + i, to);
    else if (sscanf(word, "%u,%u=", &row, &column) == 2)
        put(value, name, row * columns + column, to);
    else if (sscanf(word, "*,%u=", &column) == 1)
        for (row = 0; row < rows; row++)
            put(value, name, row * columns + column, to);
    else
        ck_abort_msg("%s: \"%s\"", name, word);
}

static void fill(txd_params *params, const void *self)
{
    const bug *b = self;
    const toy_param *p = b->toy->params;

    for (int i = 0; i < TOY_PARAMS && p[i].name; i++) {
        txd_param *param = txd_params_find(params, p[i].name);
        char text[1024], *rest, *word;
        size_t n = 0;

        ck_assert_msg(param != NULL, "B%02d: no parameter %s", b->entry, p[i].name);
        ck_assert_uint_lt(strlen(p[i].text), sizeof text);
        strcpy(text, p[i].text);
        memset(param->value.data, 0, txd_tensor_count(&param->value) * sizeof(float));
        for (word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
            put_word(&param->value, p[i].name, word, n++);
        ck_assert_msg(strchr(p[i].text, '=') || n == txd_tensor_count(&param->value),
                      "B%02d: %s has %zu elements, not %zu", b->entry, p[i].name,
                      txd_tensor_count(&param->value), n);
    }
}

/* ---- edits ---- */

struct edit {
    txd_point point;
    int layer;
    txd_point reads[2];
    void (*change)(txd_block *block);
};

static const txd_point *needs_edit(void *self, txd_point point)
{
    const struct edit *e = self;

    return point == e->point ? e->reads : NULL;
}

static unsigned ask_edit(void *self, const txd_site *site)
{
    const struct edit *e = self;

    return site->kind == TXD_SITE_VALUE && site->point == e->point &&
                   site->layer == e->layer
               ? TXD_ASK_VALUE | TXD_ASK_EDIT
               : 0;
}

static txd_status do_edit(void *self, txd_block *block)
{
    ((const struct edit *)self)->change(block);
    return TXD_OK;
}

txd_status bug_edit(txd_plan *plan, txd_point point, int layer,
                    void (*change)(txd_block *block))
{
    return bug_edit_by(plan, point, layer, TXD_POINT_COUNT, change);
}

txd_status bug_edit_by(txd_plan *plan, txd_point point, int layer, txd_point reads,
                       void (*change)(txd_block *block))
{
    struct edit *e = txd_arena_alloc(plan->arena, 1, sizeof *e);

    if (!e)
        return TXD_ERR_MEMORY;
    *e = (struct edit){point, layer, {reads, TXD_POINT_COUNT}, change};
    return txd_plan_tap(plan, &(txd_tap){.name = "bug",
                                         .self = e,
                                         .ask = ask_edit,
                                         .needs = needs_edit,
                                         .edit = do_edit});
}

double bug_get(const txd_block *block, size_t i)
{
    return txd_tensor_get(&block->value, i);
}

void bug_set(txd_block *block, size_t i, double value)
{
    txd_convert((char *)block->value.data + i * txd_dtype_bytes(block->value.dtype),
                block->value.dtype, &value, TXD_F64, 1);
}

/* ---- runs ---- */

static txd_status plant(txd_plan *plan, const void *self)
{
    const bug *b = self;

    return b->plant ? b->plant(plan) : TXD_OK;
}

static void expect_silence(const bug *b, const live *l, const char *backend)
{
    for (size_t i = 0; i < l->count; i++) {
        const txd_result *r = &l->results[i];

        if (r->verdict == TXD_VERDICT_PASS || r->verdict == TXD_VERDICT_INFO ||
            r->verdict == TXD_VERDICT_SKIP)
            continue;
        if (b->toy->uniform && strcmp(r->check, "attention_collapse") == 0)
            continue;
        ck_abort_msg("B%02d in %s: %s says %s: %s %s", b->entry, backend, r->check,
                     txd_verdict_name(r->verdict),
                     r->finding_count ? r->findings[0].message : "", r->note);
    }
}

static void expect_law(const bug *b, const live *l, const char *backend)
{
    const txd_result *r = live_result(l, b->law);

    ck_assert_msg(r->verdict == (b->informs ? TXD_VERDICT_INFO : TXD_VERDICT_FAIL),
                  "B%02d in %s: %s says %s %s", b->entry, backend, b->law,
                  txd_verdict_name(r->verdict), r->note);
    ck_assert_uint_gt(r->finding_count, 0);
    ck_assert_msg(!b->word || strstr(r->findings[0].message, b->word),
                  "B%02d: no \"%s\" in \"%s\"", b->entry, b->word,
                  r->findings[0].message);
}

static double roundoff_of(const char *backend)
{
    return strcmp(backend, "ref64") == 0 ? 0 : 1e-6;
}

static void judge(const bug *b, const live *l, const char *backend, bool silent)
{
    ck_assert_msg(!l->inapplicable, "B%02d: %s", b->entry, l->inapplicable);
    if (silent)
        expect_silence(b, l, backend);
    else
        expect_law(b, l, backend);
}

static void write_cfg(char *out, size_t bytes, const bug *b, const char *backend,
                      bool planted)
{
    bool faulty = planted && b->fault;
    int length = snprintf(out, bytes,
                          "precision : { backend = \"%s\"; }; faults : ( %s%s%s ); %s",
                          backend, faulty ? "{ " : "", faulty ? b->fault : "",
                          faulty ? " }" : "", b->toy->cfg);

    ck_assert_int_lt(length, (int)bytes);
}

static void run(const bug *b, const char *backend, bool planted)
{
    const bool silent = !planted || !b->law;
    watch *w = calloc(1, sizeof *w);
    char cfg[4096];
    live l;
    txd_tap tap = watch_tap(w);
    live_plant plants = {.watch = &tap,
                         .fill = b->toy->params[0].name ? fill : NULL,
                         .plan = planted ? plant : NULL,
                         .self = b,
                         .chunk = b->toy->chunk};

    ck_assert_ptr_nonnull(w);
    watch_start(w, b);
    write_cfg(cfg, sizeof cfg, b, backend, planted);
    /* Not all laws look at calls into a cache: they judge the whole sequence. */
    live_run_planted(&l, cfg,
                     !silent        ? b->law
                     : plants.chunk ? "finite"
                                    : NULL,
                     &plants);
    judge(b, &l, backend, silent);
    for (int i = 0; i < w->count; i++)
        watch_expect(b, &w->kept[i], &b->shown[i],
                     planted && b->shown[i].wrong ? b->shown[i].wrong
                                                  : b->shown[i].expected,
                     roundoff_of(backend));
    live_finish(&l);
    free(w);
    if (!silent || !plants.chunk)
        return;
    plants.chunk = 0;
    plants.watch = NULL;
    live_run_planted(&l, cfg, NULL, &plants);
    judge(b, &l, backend, true);
    live_finish(&l);
}

void bugs_try(const bug *rows, size_t count, const char *test)
{
    static const char *const backends[] = {"ref64", "cpu32"};
    int entry = atoi(test + 1), found = 0;

    for (size_t i = 0; i < count; i++) {
        const bug *b = &rows[i];

        if (b->entry != entry)
            continue;
        found++;
        for (int k = 0; k < (b->backend ? 1 : 2); k++) {
            const char *backend = b->backend ? b->backend : backends[k];

            run(b, b->elsewhere ? b->elsewhere : backend, false);
            if (b->fault || b->plant || b->elsewhere)
                run(b, backend, true);
        }
    }
    ck_assert_msg(found > 0, "no row of B%02d", entry);
}

void bugs_table(const char *file, const bug *rows, size_t count,
                const TTest *const *tests, size_t test_count)
{
    FILE *out = fopen(test_table(file), "w");

    ck_assert_ptr_nonnull(out);
    for (size_t i = 0; i < count; i++) {
        const TTest *test = NULL;

        for (size_t t = 0; t < test_count; t++)
            if (atoi(tests[t]->name + 1) == rows[i].entry)
                test = tests[t];
        ck_assert_msg(test != NULL, "no test runs B%02d", rows[i].entry);
        fprintf(out, "B%02d  %-40s %-24s %s\n", rows[i].entry,
                rows[i].report ? rows[i].report : "",
                rows[i].law ? rows[i].law : "nothing speaks", test->name + 4);
    }
    ck_assert_int_eq(fclose(out), 0);
}

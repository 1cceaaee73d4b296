/* SPDX-License-Identifier: MIT
 *
 * Every family against `transformers` in float64: embeddings, what each block passes
 * on, attention weights and logits of a small model. The table of it is docs/parity.md.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parity.h"
#include "suite.h"

#define DOCUMENT "docs/parity.md"

static const char head[] =
    "# Parity with transformers\n"
    "\n"
    "Made by the test suite (`./dev docs` renews it): a small model of every family\n"
    "(`tests/fixtures/parity`) against what `transformers` forms in float64, at the\n"
    "embeddings, after every block, at the attention weights of every layer and at "
    "the\n"
    "logits. `ref64`: the largest error, of the largest magnitude of its value (at "
    "most\n"
    "1e-10). `cpu32`: the largest error, of what rounding may do there: 4 times the\n"
    "worst of three passes of `ref32` whose embeddings are moved by one ULP each.\n"
    "\n"
    "| model | family | values | `ref64` | where | `cpu32` | where | verdict |\n"
    "|---|---|--:|--:|---|--:|---|---|\n";

static void write_row(FILE *out, const parity *p)
{
    const parity_value *exact = parity_worst_exact(p),
                       *rounded = parity_worst_rounded(p);

    fprintf(out, "| %s%s%s | %s | %zu | %.1e | `%s` | %.2f | `%s` | %s |\n",
            p->which->folder, p->which->file ? "/" : "",
            p->which->file ? p->which->file : "", p->family, p->count, exact->exact,
            exact->name, parity_ratio(rounded), rounded->name,
            parity_holds(p) ? "holds" : "BROKEN");
}

/* The build folder's copy, which `./dev docs` takes over. */
static const char *table_path(void)
{
    static char path[1024];
    const char *folder = getenv("TXD_BUILD");

    snprintf(path, sizeof path, "%s/parity.md", folder ? folder : ".");
    return path;
}

static FILE *open_table(void)
{
    FILE *out = fopen(table_path(), "w");

    ck_assert_msg(out != NULL, "%s cannot be written", table_path());
    fputs(head, out);
    return out;
}

/* What must be equal: all but digits of errors and where the largest is. */
static void blur(char *line)
{
    char model[64], family[64], values[16], verdict[16];

    if (sscanf(line, "| %63s | %63s | %15s | %*s | %*s | %*s | %*s | %15s |", model,
               family, values, verdict) == 4)
        snprintf(line, 256, "%s %s %s %s\n", model, family, values, verdict);
}

static void same_document(const char *made, const char *committed)
{
    FILE *a = fopen(made, "r"), *b = fopen(committed, "r");
    char left[256] = "", right[256] = "";
    bool more;

    ck_assert_msg(a != NULL, "%s is made by the test before this one", made);
    ck_assert_msg(b != NULL, "%s is missing: ./dev docs", DOCUMENT);
    do {
        more = fgets(left, sizeof left, a) != NULL;
        ck_assert_msg(more == (fgets(right, sizeof right, b) != NULL),
                      "%s has other rows: ./dev docs", DOCUMENT);
        blur(left);
        blur(right);
        ck_assert_msg(!more || strcmp(left, right) == 0, "%s: ./dev docs\n%s%s",
                      DOCUMENT, left, right);
    } while (more);
    fclose(a);
    fclose(b);
}

static size_t say_broken(const parity *p)
{
    size_t broken = 0;

    for (size_t i = 0; i < p->count; i++) {
        const parity_value *v = &p->value[i];

        if (txd_within(v->exact, PARITY_CLAIM) && txd_within(v->rounded, v->floor))
            continue;
        broken++;
        printf("# %s: %s: ref64 %.3g of %.3g; cpu32 %.3g, floor %.3g\n",
               p->which->folder, v->name, v->exact, v->largest, v->rounded, v->floor);
    }
    return broken;
}

START_TEST(every_family_is_that_of_transformers_at_every_layer)
{
    FILE *out = open_table();
    size_t broken = 0;

    for (size_t i = 0; i < parity_count(); i++) {
        parity_case which = parity_at(i);
        parity p;

        parity_measure(&p, &which);
        write_row(out, &p);
        say_broken(&p);
        broken += !parity_holds(&p);
        parity_finish(&p);
    }
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_msg(broken == 0, "%zu models are off: %s", broken, table_path());
}
END_TEST

START_TEST(docs_parity_md_is_the_table_of_it)
{
    same_document(table_path(), test_source(DOCUMENT));
}
END_TEST

static char *read_file(size_t *bytes, const char *folder, const char *name)
{
    char path[256];
    FILE *file;
    char *out;

    snprintf(path, sizeof path, "tests/fixtures/parity/%s/%s", folder, name);
    file = fopen(test_source(path), "rb");
    if (file == NULL)
        return NULL;
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    out = malloc(*bytes);
    ck_assert_uint_eq(fread(out, 1, *bytes, file), *bytes);
    fclose(file);
    return out;
}

/* The configuration that a file of that name states, as text. */
static txd_text stated(const char *folder, const char *name)
{
    txd_checkpoint *checkpoint;
    txd_text out;
    size_t words, bytes;
    char *config = read_file(&words, folder, name),
         *tensors = read_file(&bytes, folder, "model.safetensors");

    OK(txd_checkpoint_parse(&checkpoint, config, words, tensors, bytes));
    txd_text_init(&out);
    txd_config_print(&out, txd_checkpoint_config(checkpoint));
    txd_checkpoint_destroy(checkpoint);
    free(config);
    free(tensors);
    return out;
}

/* config.older.json: as transformers wrote it before version 5. */
START_TEST(older_words_in_config_json_mean_the_same)
{
    size_t pairs = 0;

    for (size_t i = 0; i < parity_count(); i++) {
        parity_case which = parity_at(i);
        size_t bytes;
        char *older = read_file(&bytes, which.folder, "config.older.json");
        txd_text a, b;

        free(older);
        if (older == NULL || which.file != NULL)
            continue;
        a = stated(which.folder, "config.json");
        b = stated(which.folder, "config.older.json");
        ck_assert_str_eq(a.data, b.data);
        txd_text_finish(&a);
        txd_text_finish(&b);
        pairs++;
    }
    ck_assert_uint_gt(pairs, 0);
}
END_TEST

TEST_MAIN(every_family_is_that_of_transformers_at_every_layer,
          docs_parity_md_is_the_table_of_it, older_words_in_config_json_mean_the_same)

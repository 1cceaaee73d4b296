/* SPDX-License-Identifier: MIT
 *
 * The `record` list: what it selects, what it refuses, and how it says so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_pass.h"
#include "suite.h"

#define MODEL                                                                          \
    "model : { preset = \"llama\"; vocab = 11; d_model = 4; n_heads = 2;"              \
    " n_layers = 2; d_ff = 4; };"

static txd_status read(txd_probe_use **uses, size_t *count, const fake_pass *fake,
                       const char *text, size_t steps)
{
    static const txd_key *const tables[] = {txd_record_keys, NULL};
    txd_probe_context context = fake_context(fake, steps);
    txd_setting *root = NULL;

    TXD_TRY(txd_cfg_parse(&root, fake->arena, "m.cfg", text));
    TXD_TRY(txd_settings_validate(root, tables));
    return txd_record_read(uses, count, fake->arena, root, &context);
}

static void refused(const char *text, const char *place, const char *part)
{
    txd_probe_use *uses = NULL;
    size_t count = 77;
    fake_pass fake;

    fake_make(&fake, MODEL, 1, 4);
    ck_assert_msg(read(&uses, &count, &fake, text, 3) == TXD_ERR_CONFIG, "%s: taken",
                  text);
    ck_assert_ptr_null(uses);
    ck_assert_uint_eq(count, 77);
    ck_assert_msg(strncmp(txd_message(), place, strlen(place)) == 0, "%s: %s", text,
                  txd_message());
    ck_assert_msg(strstr(txd_message(), part) != NULL, "%s: %s", text, txd_message());
    fake_free(&fake);
}

START_TEST(mistakes_are_refused_with_place_and_remedy)
{
    static const struct {
        const char *text, *place, *part;
    } trials[] = {
        {"record = (\n{probe = \"ful\";});", "m.cfg:2: record.0.probe",
         "nearest: full"},
        {"record = (\n{points = \"*\";});", "m.cfg:2: record.0", "probe is missing"},
        {"record = ({probe = \"full\";\npoints = \"logits,layers.*.attn.wieghts\";});",
         "m.cfg:2: record.0.points", "nearest: layers.*.attn.weights"},
        {"record = ({probe = \"full\"; points = \"logit\";});",
         "m.cfg:1: record.0.points", "nearest: logits"},
        {"record = ({probe = \"full\"; points = \"layers.7.attn.q\";});",
         "m.cfg:1: record.0.points", "nearest: layers.*.attn.q"},
        {"record = ({probe = \"full\"; points = \" , \";});",
         "m.cfg:1: record.0.points", "empty"},
        {"record = ({probe = \"full\"; points = \"*.weight\";});",
         "m.cfg:1: record.0.points", "the probe full"},
        {"record = ({probe = \"rows\"; points = \"logits\";});",
         "m.cfg:1: record.0.points", "layers.*.attn.weights"},
        {"record = ({probe = \"stats\"; points = \"input.*\";});",
         "m.cfg:1: record.0.points", "the probe stats"},
        {"record = ({probe = \"full\"; points = \"layers.1.*\"; layers = \"0\";});",
         "m.cfg:1: record.0.points", "together"},
        {"record = ({probe = \"full\"; layers = \"2\";});", "m.cfg:1: record.0.layers",
         "layers 0 to 1"},
        {"record = ({probe = \"full\"; heads = \"2:\";});", "m.cfg:1: record.0.heads",
         "heads 0 to 1"},
        {"record = ({probe = \"full\"; steps = \"3:9\";});", "m.cfg:1: record.0.steps",
         "steps 0 to 2"},
        {"record = ({probe = \"full\"; steps = \"x\";});", "m.cfg:1: record.0.steps",
         "\"x\""},
        {"record = ({probe = \"stats\"; heads = \"0\";});", "m.cfg:1: record.0.heads",
         "stats has no heads"},
        {"record = ({probe = \"rows\"; cells = 4;});", "m.cfg:1: record.0.cells",
         "rows has no cells"},
        {"record = ({probe = \"pooled\"; limit = 4;});", "m.cfg:1: record.0.limit",
         "pooled has no limit"},
        {"record = ({probe = \"pooled\"; cells = 0;});", "m.cfg:1: record.0.cells",
         "1"},
        {"record = ({probe = \"full\"; point = \"logits\";});", "m.cfg:1", "points"},
        {"record = ({probe = \"full\"; points = \"layers.*.attn.q@grd\";});",
         "m.cfg:1: record.0.points", "nearest: layers.*.attn.q@grad"},
        {"record = ({probe = \"full\"; points = \"input.tokens@grad\";});",
         "m.cfg:1: record.0.points", "the probe full"},
        {"record = ({probe = \"rows\"; points = \"*@grad\";});",
         "m.cfg:1: record.0.points", "layers.*.attn.weights"},
        {"record = ({probe = \"grad_norm\"; points = \"*\";});",
         "m.cfg:1: record.0.points", "layers.*.resid.post@grad"},
    };

    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        refused(trials[i].text, trials[i].place, trials[i].part);
}
END_TEST

START_TEST(without_record_the_short_get_attention_in_full)
{
    const char *const expected[] = {"rows",  "stats",  "norms", "nonfinite",
                                    "leaks", "pooled", "full"};

    for (int round = 0; round < 2; round++) {
        txd_probe_use *uses = NULL;
        size_t count = 0;
        fake_pass fake;

        fake_make(&fake, MODEL, 1, round == 0 ? 512 : 513);
        ck_assert_int_eq(read(&uses, &count, &fake, "", 1), TXD_OK);
        ck_assert_uint_eq(count, round == 0 ? 7 : 6);
        for (size_t i = 0; i < count; i++)
            ck_assert_str_eq(uses[i].probe, expected[i]);
        fake_free(&fake);
    }
}
END_TEST

START_TEST(an_empty_list_records_nothing)
{
    txd_probe_use *uses = NULL;
    size_t count = 77;
    fake_pass fake;

    fake_make(&fake, MODEL, 1, 4);
    ck_assert_int_eq(read(&uses, &count, &fake, "record = ();", 1), TXD_OK);
    ck_assert_uint_eq(count, 0);
    fake_free(&fake);
}
END_TEST

START_TEST(uses_select_by_name_layer_step_and_head)
{
    txd_probe_use *uses = NULL;
    size_t count = 0;
    const txd_probe *full = txd_probe_find("full");
    txd_site site = {.name = "layers.1.attn.q", .layer = 1, .step = 2};
    fake_pass fake;

    fake_make(&fake, MODEL, 1, 4);
    ck_assert_int_eq(read(&uses, &count, &fake,
                          "record = ({probe = \"full\"; points = \"*.attn.q, logits\";"
                          " layers = \"1\"; heads = \"0\"; steps = \"2:5\";});",
                          9),
                     TXD_OK);
    ck_assert(txd_probe_use_selects(full, uses, "layers.1.attn.q", 1, 2));
    ck_assert(txd_probe_use_selects(full, uses, "layers.1.attn.q", 1, -1));
    ck_assert(txd_probe_use_selects(full, uses, "logits", -1, 4));
    ck_assert(!txd_probe_use_selects(full, uses, "layers.0.attn.q", 0, 2));
    ck_assert(!txd_probe_use_selects(full, uses, "layers.1.attn.q", 1, 5));
    ck_assert(!txd_probe_use_selects(full, uses, "layers.1.attn.k", 1, 2));
    ck_assert(txd_probe_use_selects_head(full, uses, &site, 0));
    ck_assert(!txd_probe_use_selects_head(full, uses, &site, 1));
    fake_free(&fake);
}
END_TEST

START_TEST(every_probe_is_described)
{
    size_t count = 0;

    for (const txd_probe *probe; (probe = txd_probe_at(count)); count++) {
        ck_assert_ptr_eq(txd_probe_find(probe->name), probe);
        ck_assert_uint_gt(strlen(probe->sentence), 20);
        ck_assert_uint_gt(strlen(probe->points), 0);
    }
    ck_assert_uint_eq(count, 9);
    ck_assert_ptr_null(txd_probe_find("fulls"));
}
END_TEST

static char *read_page(void)
{
    FILE *file = fopen(test_source("docs/probes.md"), "r");
    char *text = calloc(1, 65536);

    ck_assert(file && text);
    ck_assert_uint_gt(fread(text, 1, 65535, file), 1000);
    fclose(file);
    return text;
}

static void documented(const char *page, const char *name)
{
    char word[64];

    snprintf(word, sizeof word, "`%s`", name);
    ck_assert_msg(strstr(page, word) != NULL, "docs/probes.md lacks %s", word);
}

START_TEST(the_page_on_probes_names_all_that_is_recorded)
{
    static const char *const norms[] = {
        "vectors",   "mean",  "std",     "min",   "max",     "l2",      "rms",
        "nonfinite", "count", "max_abs", "zeros", "forward", "incoming"};
    char *page = read_page();

    for (size_t i = 0; txd_probe_at(i); i++) {
        char title[64];

        snprintf(title, sizeof title, "\n## %s\n", txd_probe_at(i)->name);
        ck_assert_msg(strstr(page, title) != NULL, "no section%s", title);
    }
    for (int i = 0; i < TXD_ROW_COUNT; i++)
        documented(page, txd_row_get((txd_row)i)->name);
    for (int i = 0; i < TXD_STAT_COUNT_OF; i++)
        documented(page, txd_stat_get((txd_stat)i)->name);
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++)
        documented(page, norms[i]);
    for (const txd_key *key = txd_record_keys; key->path; key++)
        documented(page, strchr(key->path, '.') + 1);
    free(page);
}
END_TEST

TEST_MAIN(mistakes_are_refused_with_place_and_remedy,
          without_record_the_short_get_attention_in_full, an_empty_list_records_nothing,
          uses_select_by_name_layer_step_and_head, every_probe_is_described,
          the_page_on_probes_names_all_that_is_recorded)

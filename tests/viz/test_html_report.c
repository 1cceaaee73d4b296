/* SPDX-License-Identifier: MIT */
/*
 * The HTML report: complete, self-contained, and safe whatever the recording says.
 */
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "need_gnuplot.h"
#include "series.h"
#include "viz/report/html.h"

#define HOSTILE "<script>alert('x')</script>\"><img src=x onerror=y>&\n\xff"

static void add_numbers(fake *recording, const char *table, const char *name,
                        double value, size_t rows)
{
    const size_t dims[1] = {rows};
    double values[4] = {value, value, value, value};
    char path[96];

    snprintf(path, sizeof path, "checks/%s/%s", table, name);
    fake_add(recording, path, "r", values, dims);
}

static void open_judged(fake *out, const char *verdict)
{
    static const char *laws[2] = {"row_sum", "causality"}, *notes[2] = {HOSTILE, ""};
    static const char *verdicts[2], *found[1] = {"causality"};
    static const char *sites[1] = {"layers.1.attn.weights"}, *messages[1] = {HOSTILE};
    static const char *fails[1];
    const size_t leak[4] = {1, 2, 3, 4};

    verdicts[0] = "pass";
    verdicts[1] = fails[0] = verdict;
    fake_open(out);
    fake_decoder(out, 6);
    fake_weights(out, 6, leak, 0.5);
    fake_meta(out, "command", HOSTILE);
    fake_strings(out, "checks/laws/name", laws, 2);
    fake_strings(out, "checks/laws/verdict", verdicts, 2);
    fake_strings(out, "checks/laws/note", notes, 2);
    add_numbers(out, "laws", "evaluated", 21, 2);
    add_numbers(out, "laws", "worst", 0.5, 2);
    fake_strings(out, "checks/findings/law", found, 1);
    fake_strings(out, "checks/findings/verdict", fails, 1);
    fake_strings(out, "checks/findings/site", sites, 1);
    fake_strings(out, "checks/findings/message", messages, 1);
    add_numbers(out, "findings", "layer", 1, 1);
    add_numbers(out, "findings", "head", 2, 1);
    add_numbers(out, "findings", "query", 3, 1);
    add_numbers(out, "findings", "key", 4, 1);
    add_numbers(out, "findings", "measured", 0.5, 1);
    add_numbers(out, "findings", "allowed", 0, 1);
}

static char *read_page(const char *folder)
{
    char path[4200];
    txd_mapped file;
    char *page;

    snprintf(path, sizeof path, "%s/index.html", folder);
    ck_assert_int_eq(txd_file_map(&file, path), TXD_OK);
    page = calloc(file.count + 1, 1);
    ck_assert_ptr_nonnull(page);
    memcpy(page, file.bytes, file.count);
    txd_file_unmap(&file);
    return page;
}

static size_t count_of(const char *page, const char *words)
{
    size_t count = 0;

    for (const char *at = page; (at = strstr(at, words)) != NULL; at++)
        count++;
    return count;
}

START_TEST(the_page_tells_what_was_found_before_it_shows_pictures)
{
    const char *folder = test_file("a/b/report");
    txd_status status;
    fake recording;
    char *page;

    NEED_GNUPLOT;
    open_judged(&recording, "fail");
    status = txd_report_html(recording.trace, "some.h5", folder);
    ck_assert_msg(status == TXD_OK, "%s", txd_message());
    page = read_page(folder);
    ck_assert_ptr_nonnull(strstr(page, "1 of 2 laws broken"));
    ck_assert_ptr_nonnull(strstr(page, "layers.1.attn.weights</code>, head 2, query 3, "
                                       "key 4"));
    ck_assert_ptr_nonnull(strstr(page, "measured 0.5, allowed 0"));
    ck_assert(strstr(page, "<h2>Findings") < strstr(page, "<h2>Figures"));
    ck_assert_uint_eq(count_of(page, "id=\"figure-overview\""), 1);
    ck_assert_uint_eq(count_of(page, "id=\"figure-finding-1\""), 1);
    ck_assert_uint_eq(count_of(page, "href=\"#figure-finding-1\""), 1);
    ck_assert_uint_ge(count_of(page, "<figure "), 2);
    ck_assert_uint_eq(count_of(page, "src=\"data:image/png;base64,iVBORw0KGgo"),
                      count_of(page, "<figure "));
    ck_assert_uint_eq(count_of(page, "<img alt=\""), count_of(page, "<figure "));
    ck_assert_uint_eq(count_of(page, "://"), 0);
    ck_assert_ptr_nonnull(strstr(page, "</html>\n"));
    free(page);
    fake_close(&recording);
}
END_TEST

/* Of a law that is broken in every layer three findings are seen at once; what is not
 * finite comes first, others may follow from it. */
START_TEST(many_findings_of_a_law_are_folded)
{
    enum { FOUND = 20 };
    static const char *laws[FOUND], *verdicts[FOUND], *sites[FOUND], *messages[FOUND];
    const char *folder = test_file("report"), *folded;
    fake recording;
    char *page;

    for (size_t i = 0; i < FOUND; i++) {
        laws[i] = i == FOUND - 1 ? "causality" : i == 9 ? "finite" : "row_sum";
        verdicts[i] = "fail";
        sites[i] = "layers.1.attn.weights";
        messages[i] = "off";
    }
    fake_open(&recording);
    fake_decoder(&recording, 6);
    fake_strings(&recording, "checks/findings/law", laws, FOUND);
    fake_strings(&recording, "checks/findings/verdict", verdicts, FOUND);
    fake_strings(&recording, "checks/findings/site", sites, FOUND);
    fake_strings(&recording, "checks/findings/message", messages, FOUND);
    (void)txd_report_html(recording.trace, "some.h5", folder);
    page = read_page(folder);
    ck_assert_uint_eq(count_of(page, "<div class=\"finding fail\">"), FOUND);
    folded = strstr(page, "<summary>15 more of row_sum</summary>");
    ck_assert_ptr_nonnull(folded);
    ck_assert_uint_eq(count_of(page, "more of"), 1);
    ck_assert_uint_eq(count_of(folded, "<div class=\"finding fail\">"), 16);
    ck_assert_uint_lt((uintptr_t)strstr(page, "> finite</h3>"),
                      (uintptr_t)strstr(page, "> row_sum</h3>"));
    ck_assert_ptr_nonnull(strstr(folded, "</details>"));
    ck_assert(strstr(folded, "</details>") < strstr(folded, "causality"));
    free(page);
    fake_close(&recording);
}
END_TEST

/* A map of weights under the words of a gradient would explain nothing. */
START_TEST(weights_are_the_picture_of_findings_in_attention_alone)
{
    static const char *const sites[] = {"layers.1.attn.masked", "layers.1@grad",
                                        "layers.1.norm1.out",
                                        "layers.1.attn.masked@grad"};
    static const char *const laws[1] = {"a_law"}, *const verdicts[1] = {"fail"};
    static const char *const messages[1] = {"what it found"};

    NEED_GNUPLOT;
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        const char *folder = test_file("report");
        fake recording;
        char *page;

        fake_open(&recording);
        fake_decoder(&recording, 6);
        fake_weights(&recording, 6, NULL, 0);
        fake_strings(&recording, "checks/findings/law", laws, 1);
        fake_strings(&recording, "checks/findings/verdict", verdicts, 1);
        fake_strings(&recording, "checks/findings/site", &sites[i], 1);
        fake_strings(&recording, "checks/findings/message", messages, 1);
        add_numbers(&recording, "findings", "layer", 1, 1);
        ck_assert_msg(txd_report_html(recording.trace, "some.h5", folder) == TXD_OK,
                      "%s", txd_message());
        page = read_page(folder);
        ck_assert_uint_eq(count_of(page, "<p>what it found</p>"), 1);
        ck_assert_uint_eq(count_of(page, "a_law: what it found"), i == 0 ? 2 : 0);
        free(page);
        fake_close(&recording);
    }
}
END_TEST

/* That of the place is a map of weights, that of the law is by the registry. */
START_TEST(findings_lead_to_the_figures_of_their_law)
{
    static const char *const laws[3] = {"grad_range", "attention_collapse", "grad_ran"};
    static const char *const verdicts[3] = {"fail", "fail", "fail"};
    static const char *const sites[3] = {"layers.1@grad", "layers.1.attn.weights",
                                         "layers.1@grad"};
    static const char *const messages[3] = {"first", "second", "third"};
    static const char *const ways[3] = {"#figure-gradients", "#figure-entropy", NULL};
    const series_plan plan = {.steps = 3, .layers = 2};
    const char *folder = test_file("report");
    fake recording;
    char *page;

    NEED_GNUPLOT;
    fake_open(&recording);
    fake_decoder(&recording, 6);
    fake_weights(&recording, 6, NULL, 0);
    series_add_gradients(&recording, &plan);
    fake_strings(&recording, "checks/findings/law", laws, 3);
    fake_strings(&recording, "checks/findings/verdict", verdicts, 3);
    fake_strings(&recording, "checks/findings/site", sites, 3);
    fake_strings(&recording, "checks/findings/message", messages, 3);
    add_numbers(&recording, "findings", "layer", 1, 3);
    ck_assert_msg(txd_report_html(recording.trace, "some.h5", folder) == TXD_OK, "%s",
                  txd_message());
    page = read_page(folder);
    for (size_t i = 0; i < 3; i++) {
        char message[40], *from, *to, *way;

        snprintf(message, sizeof message, "<p>%s</p>", messages[i]);
        from = strstr(page, message);
        ck_assert_ptr_nonnull(from);
        to = strstr(from, "</div>");
        ck_assert_ptr_nonnull(to);
        way = strstr(from, ways[i] ? ways[i] : "#figure-");
        ck_assert_msg((way && way < to) == (ways[i] != NULL), "%s", laws[i]);
        ck_assert(!ways[i] || count_of(page, ways[i]) == 1);
    }
    free(page);
    fake_close(&recording);
}
END_TEST

START_TEST(hostile_strings_are_text_in_the_page)
{
    const char *folder = test_file("report");
    fake recording;
    char *page;

    open_judged(&recording, HOSTILE);
    (void)txd_report_html(recording.trace, HOSTILE, folder);
    page = read_page(folder);
    ck_assert_uint_eq(count_of(page, "default-src 'none'"), 1);
    ck_assert_uint_eq(count_of(page, "script-src 'sha256-"), 1);
    ck_assert_uint_eq(count_of(page, "'unsafe-inline'"), 0);
    /* the page's own: its numbers and what shows them */
    ck_assert_uint_eq(count_of(page, "<script"), 2);
    ck_assert_uint_eq(count_of(page, "</script"), 2);
    ck_assert_uint_eq(count_of(page, "<img src"), 0);
    ck_assert_uint_eq(count_of(page, "\xff"), 0);
    ck_assert_uint_ge(count_of(page, "&lt;script&gt;alert(&#39;x&#39;)"), 4);
    free(page);
    fake_close(&recording);
}
END_TEST

START_TEST(without_gnuplot_the_page_still_holds_the_verdicts)
{
    const char *folder = test_file("report");
    char *page, *folders = strdup(getenv("PATH"));
    fake recording;

    open_judged(&recording, "fail");
    ck_assert_int_eq(setenv("PATH", test_scratch(), 1), 0);
    ck_assert_int_eq(txd_report_html(recording.trace, "some.h5", folder),
                     TXD_ERR_MISSING);
    ck_assert_int_eq(setenv("PATH", folders, 1), 0);
    free(folders);
    ck_assert_ptr_nonnull(strstr(txd_message(), "gnuplot-nox"));
    page = read_page(folder);
    ck_assert_ptr_nonnull(strstr(page, "1 of 2 laws broken"));
    ck_assert_ptr_nonnull(strstr(page, "No picture: gnuplot"));
    ck_assert_uint_eq(count_of(page, "<img"), 0);
    free(page);
    fake_close(&recording);
}
END_TEST

START_TEST(a_recording_without_verdicts_is_not_called_healthy)
{
    const char *folder = test_file("report");
    fake recording;
    char *page;

    fake_open(&recording);
    fake_decoder(&recording, 4);
    (void)txd_report_html(recording.trace, "some.h5", folder);
    page = read_page(folder);
    ck_assert_ptr_nonnull(strstr(page, "carries no verdicts"));
    ck_assert_ptr_nonnull(strstr(page, "txdiag check judges it"));
    ck_assert_ptr_nonnull(strstr(page, "No attention weights were recorded"));
    ck_assert_uint_eq(count_of(page, "class=\"summary pass\""), 0);
    free(page);
    fake_close(&recording);
}
END_TEST

START_TEST(gradients_are_shown_where_they_were_recorded_and_explained_where_not)
{
    const series_plan plan = {.steps = 3, .layers = 2};
    const char *folder = test_file("report");
    char *page, *missing;

    NEED_GNUPLOT;
    for (int with = 0; with < 2; with++) {
        fake recording;
        txd_status status;

        fake_open(&recording);
        fake_decoder(&recording, 4);
        if (with)
            series_add_gradients(&recording, &plan);
        status = txd_report_html(recording.trace, "some.h5", folder);
        ck_assert_msg(status == TXD_OK, "%s", txd_message());
        page = read_page(folder);
        ck_assert_uint_eq(count_of(page, "id=\"figure-gradients\""), (size_t)with);
        ck_assert_uint_eq(
            count_of(page, "<figcaption><h3>Gradients by layer</h3></figcaption>"),
            (size_t)with);
        ck_assert_uint_eq(count_of(page, "id=\"figure-steps\""), (size_t)with);
        ck_assert_uint_eq(count_of(page, "src=\"data:image/png;base64,iVBORw0KGgo"),
                          count_of(page, "<figure "));
        missing = strstr(page, " the values were not recorded</summary>");
        ck_assert_ptr_nonnull(missing);
        ck_assert_int_eq(strstr(missing, "<li>Gradients by layer: ") != NULL, !with);
        ck_assert_int_eq(strstr(missing, "{ probe = &quot;grad_norm&quot;; }") != NULL,
                         !with);
        free(page);
        fake_close(&recording);
    }
}
END_TEST

START_TEST(norms_of_embeddings_are_a_table)
{
    const series_plan plan = {.steps = 2, .layers = 2};
    const char *folder = test_file("report");
    char *page, mean[64];
    fake recording;

    fake_open(&recording);
    fake_decoder(&recording, 4);
    series_add_norms(&recording, &plan);
    (void)txd_report_html(recording.trace, "some.h5", folder);
    page = read_page(folder);
    ck_assert_uint_eq(count_of(page, "<summary>Norms of embeddings"), 1);
    snprintf(mean, sizeof mean, "embed.pos</th><td class=\"number\">%.4g</td>",
             series_value(0, 1));
    ck_assert_msg(strstr(page, mean) != NULL, "%s", mean);
    ck_assert_uint_eq(count_of(page, "layers.0.resid.pre</th>"), 0);
    free(page);
    fake_close(&recording);
}
END_TEST

START_TEST(a_folder_that_cannot_be_made_is_named)
{
    const char *file = test_file("file");
    char folder[4200];
    fake recording;

    ck_assert_int_eq(txd_file_replace(file, "x", 1), TXD_OK);
    snprintf(folder, sizeof folder, "%s/report", file);
    fake_open(&recording);
    ck_assert_int_eq(txd_report_html(recording.trace, "some.h5", folder), TXD_ERR_IO);
    ck_assert_ptr_nonnull(strstr(txd_message(), folder));
    fake_close(&recording);
}
END_TEST

/* The vectors of RFC 4648, section 10. */
START_TEST(base64_is_that_of_rfc_4648)
{
    static const char *const vectors[][2] = {{"", ""},
                                             {"f", "Zg=="},
                                             {"fo", "Zm8="},
                                             {"foo", "Zm9v"},
                                             {"foob", "Zm9vYg=="},
                                             {"fooba", "Zm9vYmE="},
                                             {"foobar", "Zm9vYmFy"}};

    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        txd_text out;

        txd_text_init(&out);
        txd_html_base64(&out, vectors[i][0], strlen(vectors[i][0]));
        ck_assert_str_eq(txd_text_get(&out), vectors[i][1]);
        txd_text_finish(&out);
    }
}
END_TEST

TEST_MAIN(the_page_tells_what_was_found_before_it_shows_pictures,
          many_findings_of_a_law_are_folded,
          weights_are_the_picture_of_findings_in_attention_alone,
          findings_lead_to_the_figures_of_their_law,
          hostile_strings_are_text_in_the_page,
          without_gnuplot_the_page_still_holds_the_verdicts,
          a_recording_without_verdicts_is_not_called_healthy,
          norms_of_embeddings_are_a_table,
          gradients_are_shown_where_they_were_recorded_and_explained_where_not,
          a_folder_that_cannot_be_made_is_named, base64_is_that_of_rfc_4648)

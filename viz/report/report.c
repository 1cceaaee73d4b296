/* SPDX-License-Identifier: MIT
 *
 * The HTML report: one page that needs nothing else. Verdicts come before pictures,
 * because a picture without a verdict is looked at and believed.
 */
#include "viz/report/report.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "viz/report/html.h"

/* Nothing is loaded, and no script runs but the page's own, whatever a recording has
 * brought into the page. */
static void add_policy(txd_text *page)
{
    txd_text_addf(page,
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                  "'none'; img-src data:; style-src '%s'; script-src '%s'; base-uri "
                  "'none'; form-action 'none'\">\n",
                  txd_html_style_hash, txd_html_script_hash);
}

static void add_pieces(txd_text *page, const char *element, const char *const *pieces)
{
    txd_text_addf(page, "<%s>", element);
    for (size_t i = 0; pieces[i]; i++)
        txd_text_add(page, pieces[i]);
    txd_text_addf(page, "</%s>\n", element);
}

static void open_page(txd_report *report)
{
    txd_text *page = &report->page;

    txd_text_add(page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
                       "<meta charset=\"utf-8\">\n");
    add_policy(page);
    txd_text_add(page, "<meta name=\"viewport\" "
                       "content=\"width=device-width, initial-scale=1\">\n<title>");
    txd_html_add(page, report->path, 200);
    txd_text_add(page, ": txdiag report</title>\n");
    add_pieces(page, "style", txd_html_style);
    txd_text_add(page, "</head>\n<body>\n");
}

/* Figures first, though they stand below: what leads to them is to know them. */
static txd_status write_page(txd_report *report)
{
    TXD_TRY(txd_report_figures(report));
    open_page(report);
    txd_report_header(report);
    txd_report_verdicts(report);
    TXD_TRY(txd_report_explorer(report));
    txd_report_pictures(report);
    txd_report_config(report);
    add_pieces(&report->page, "script", txd_html_script);
    txd_text_add(&report->page, "</body>\n</html>\n");
    return txd_text_status(&report->page);
}

void txd_page_init(txd_report *out, const txd_trace *recording, const char *path)
{
    memset(out, 0, sizeof *out);
    out->recording = recording;
    out->path = path;
    txd_text_init(&out->page);
    txd_text_init(&out->figures);
    txd_text_init(&out->missing);
}

void txd_page_finish(txd_report *report)
{
    for (size_t i = 0; i < report->pending_count; i++) {
        txd_drawing_finish(&report->pending[i].drawing);
        txd_text_finish(&report->pending[i].image);
    }
    txd_claim_finish(&report->claim);
    txd_text_finish(&report->page);
    txd_text_finish(&report->figures);
    txd_text_finish(&report->missing);
}

/* DIR and what is missing above it. */
static txd_status make_folders(txd_arena *arena, const char *directory)
{
    char *path = txd_arena_string(arena, directory);
    struct stat info;

    if (!path)
        return TXD_ERR_MEMORY;
    for (char *at = path + 1; *path && *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        (void)mkdir(path, 0777); /* what cannot be made is found out below */
        *at = '/';
    }
    if (mkdir(directory, 0777) == 0)
        return TXD_OK;
    if (errno == EEXIST && stat(directory, &info) == 0 && S_ISDIR(info.st_mode))
        return TXD_OK;
    return txd_fail(TXD_ERR_IO, "%s: cannot make the folder of the report: %s",
                    directory, strerror(errno));
}

static txd_status save(txd_report *report, const char *directory)
{
    txd_text path;
    txd_status status;

    txd_text_init(&path);
    txd_text_addf(&path, "%s/index.html", directory);
    status = txd_text_status(&path);
    if (status == TXD_OK)
        status = txd_file_replace(txd_text_get(&path), report->page.data,
                                  report->page.length);
    txd_text_finish(&path);
    return status;
}

static txd_status make(txd_report *report, const char *directory)
{
    txd_arena *arena = report->claim.arena;

    if (report->judged)
        report->verdicts = *report->judged;
    else
        TXD_TRY(txd_verdicts_read(&report->verdicts, arena, report->recording));
    TXD_TRY(make_folders(arena, directory));
    TXD_TRY(write_page(report));
    if (report->drawn == TXD_ERR_INTERRUPTED)
        return txd_fail(report->drawn, "%s", report->reason);
    TXD_TRY(save(report, directory));
    if (report->drawn != TXD_OK)
        return txd_fail(report->drawn,
                        "%s/index.html has the verdicts, but no "
                        "pictures: %s",
                        directory, report->reason);
    return TXD_OK;
}

static txd_status open_and_make(txd_report *report, const char *directory)
{
    txd_status status = txd_claim_init(&report->claim, report->recording, 0);

    if (status == TXD_OK)
        status = make(report, directory);
    txd_page_finish(report);
    return status;
}

static txd_status compare_and_make(txd_report *report,
                                   const txd_report_source sources[2],
                                   const char *directory)
{
    txd_compared compared;
    txd_arena *arena;
    txd_status status;

    report->other = sources[1].recording;
    report->other_path = sources[1].path;
    TXD_TRY(txd_arena_create(&arena));
    status = txd_compared_measure(&compared, arena, sources[0].recording,
                                  sources[1].recording);
    if (status != TXD_OK)
        status = txd_fail_prefix(status, "%s and %s", sources[0].path, sources[1].path);
    report->compared = &compared;
    if (status == TXD_OK)
        status = open_and_make(report, directory);
    txd_arena_destroy(arena);
    return status;
}

txd_status txd_report_page(const txd_report_source *sources, size_t count,
                           const char *directory)
{
    txd_report report;

    txd_page_init(&report, sources[0].recording, sources[0].path);
    report.judged = sources[0].judged;
    return count == 2 ? compare_and_make(&report, sources, directory)
                      : open_and_make(&report, directory);
}

txd_status txd_report_html(const txd_trace *recording, const char *recording_path,
                           const char *directory)
{
    return txd_report_page(&(txd_report_source){recording, recording_path, NULL}, 1,
                           directory);
}

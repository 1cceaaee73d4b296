/* SPDX-License-Identifier: MIT
 *
 * Verdicts inside a recording: the tables /checks/laws and /checks/findings
 * (docs/checks.md). They say what the run found; `check` judges anew.
 */
#include "checks/law.h"

/* Columns of the laws, and of all findings one after the other. */
typedef struct law_columns {
    const char **name, **verdict, **note;
    int64_t *findings, *evaluated, *not_computed;
    double *worst, *allowed;
} law_columns;

typedef struct finding_columns {
    const char **law, **verdict, **site, **message;
    int32_t *step, *layer;
    int64_t *batch, *head, *query, *key;
    double *measured, *allowed;
} finding_columns;

/* One column of `rows` entries; clears *ok when memory runs out. */
static void *column(txd_arena *arena, size_t rows, size_t size, bool *ok)
{
    void *data = txd_arena_alloc(arena, rows, size);

    *ok &= data != NULL;
    return data;
}

static txd_status make_laws(law_columns *c, txd_arena *arena, size_t rows)
{
    bool ok = true;

    c->name = column(arena, rows, sizeof *c->name, &ok);
    c->verdict = column(arena, rows, sizeof *c->verdict, &ok);
    c->note = column(arena, rows, sizeof *c->note, &ok);
    c->findings = column(arena, rows, sizeof *c->findings, &ok);
    c->evaluated = column(arena, rows, sizeof *c->evaluated, &ok);
    c->not_computed = column(arena, rows, sizeof *c->not_computed, &ok);
    c->worst = column(arena, rows, sizeof *c->worst, &ok);
    c->allowed = column(arena, rows, sizeof *c->allowed, &ok);
    return ok ? TXD_OK : TXD_ERR_MEMORY;
}

static txd_status record_laws(txd_recording *recording, txd_arena *arena,
                              const txd_result *results, size_t count)
{
    law_columns c;

    TXD_TRY(make_laws(&c, arena, count));
    for (size_t i = 0; i < count; i++) {
        c.name[i] = results[i].check;
        c.verdict[i] = txd_verdict_name(results[i].verdict);
        c.note[i] = results[i].note;
        c.findings[i] = (int64_t)results[i].finding_total;
        c.evaluated[i] = (int64_t)results[i].evaluated;
        c.not_computed[i] = (int64_t)results[i].not_computed;
        c.worst[i] = results[i].worst;
        c.allowed[i] = results[i].allowed;
    }
    const txd_column columns[] = {
        {"name", TXD_U8, NULL, c.name},
        {"verdict", TXD_U8, NULL, c.verdict},
        {"findings", TXD_I64, c.findings, NULL},
        {"evaluated", TXD_I64, c.evaluated, NULL},
        {"not_computed", TXD_I64, c.not_computed, NULL},
        {"worst", TXD_F64, c.worst, NULL},
        {"allowed", TXD_F64, c.allowed, NULL},
        {"note", TXD_U8, NULL, c.note},
    };
    return txd_recording_table(recording, "checks/laws", columns,
                               sizeof columns / sizeof *columns, count);
}

static txd_status make_findings(finding_columns *c, txd_arena *arena, size_t rows)
{
    bool ok = true;

    c->law = column(arena, rows, sizeof *c->law, &ok);
    c->verdict = column(arena, rows, sizeof *c->verdict, &ok);
    c->site = column(arena, rows, sizeof *c->site, &ok);
    c->message = column(arena, rows, sizeof *c->message, &ok);
    c->step = column(arena, rows, sizeof *c->step, &ok);
    c->layer = column(arena, rows, sizeof *c->layer, &ok);
    c->batch = column(arena, rows, sizeof *c->batch, &ok);
    c->head = column(arena, rows, sizeof *c->head, &ok);
    c->query = column(arena, rows, sizeof *c->query, &ok);
    c->key = column(arena, rows, sizeof *c->key, &ok);
    c->measured = column(arena, rows, sizeof *c->measured, &ok);
    c->allowed = column(arena, rows, sizeof *c->allowed, &ok);
    return ok ? TXD_OK : TXD_ERR_MEMORY;
}

static void set_finding(finding_columns *c, size_t row, const char *law,
                        const txd_finding *finding)
{
    c->law[row] = law;
    c->verdict[row] = txd_verdict_name(finding->verdict);
    c->site[row] = finding->site;
    c->message[row] = finding->message;
    c->step[row] = finding->step;
    c->layer[row] = finding->layer;
    c->batch[row] = finding->batch;
    c->head[row] = finding->head;
    c->query[row] = finding->query;
    c->key[row] = finding->key;
    c->measured[row] = finding->measured;
    c->allowed[row] = finding->allowed;
}

static txd_status write_findings(txd_recording *recording, const finding_columns *c,
                                 size_t rows)
{
    const txd_column columns[] = {
        {"law", TXD_U8, NULL, c->law},
        {"verdict", TXD_U8, NULL, c->verdict},
        {"site", TXD_U8, NULL, c->site},
        {"step", TXD_I32, c->step, NULL},
        {"layer", TXD_I32, c->layer, NULL},
        {"batch", TXD_I64, c->batch, NULL},
        {"head", TXD_I64, c->head, NULL},
        {"query", TXD_I64, c->query, NULL},
        {"key", TXD_I64, c->key, NULL},
        {"measured", TXD_F64, c->measured, NULL},
        {"allowed", TXD_F64, c->allowed, NULL},
        {"message", TXD_U8, NULL, c->message},
    };

    return txd_recording_table(recording, "checks/findings", columns,
                               sizeof columns / sizeof *columns, rows);
}

static txd_status record_findings(txd_recording *recording, txd_arena *arena,
                                  const txd_result *results, size_t count)
{
    finding_columns c;
    size_t rows = 0, row = 0;

    for (size_t i = 0; i < count; i++)
        rows += results[i].finding_count;
    TXD_TRY(make_findings(&c, arena, rows));
    for (size_t i = 0; i < count; i++)
        for (size_t f = 0; f < results[i].finding_count; f++)
            set_finding(&c, row++, results[i].check, &results[i].findings[f]);
    return write_findings(recording, &c, rows);
}

txd_status txd_report_record(txd_recording *recording, const txd_result *results,
                             size_t count)
{
    txd_arena *arena;
    txd_status status;

    TXD_TRY(txd_arena_create(&arena));
    status = record_laws(recording, arena, results, count);
    if (status == TXD_OK)
        status = record_findings(recording, arena, results, count);
    txd_arena_destroy(arena);
    return status;
}

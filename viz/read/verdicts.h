/* SPDX-License-Identifier: MIT
 *
 * The verdicts that a recording carries (/checks/laws and /checks/findings), as the
 * report shows them. Read from the columns by name: what is missing is empty.
 */
#ifndef TXD_VIZ_VERDICTS_H
#define TXD_VIZ_VERDICTS_H

#include "txd.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_law_row {
    const char *name, *verdict, *note;
    int64_t findings, evaluated, not_computed;
    double worst, allowed; /* NaN = not recorded */
} txd_law_row;

typedef struct txd_finding_row {
    const char *law, *verdict, *site, *message;
    int64_t step, layer, batch, head, query, key; /* -1 = none */
    double measured, allowed;
} txd_finding_row;

typedef struct txd_verdicts {
    txd_law_row *laws;
    txd_finding_row *findings; /* failures first, else as recorded */
    size_t law_count, finding_count;
} txd_verdicts;

/* Everything in `arena`; strings are the trace's. Without the tables both are empty. */
txd_status txd_verdicts_read(txd_verdicts *out, txd_arena *arena,
                             const txd_trace *recording);

/* Failures first, then warnings; within these the order stays. New rows in `arena`. */
txd_status txd_verdicts_sort(txd_verdicts *verdicts, txd_arena *arena);

/* Laws of a verdict. */
size_t txd_verdicts_count(const txd_verdicts *verdicts, const char *verdict);

#ifdef __cplusplus
}
#endif

#endif

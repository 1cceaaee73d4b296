/* SPDX-License-Identifier: MIT
 *
 * Laws are chosen by what their own results say: a skip that begins with "not recorded"
 * is for want of points, and the verdicts that the run stored tell what it judged.
 */
#include "cli/verdicts.h"

#include <string.h>

#include "cli/output.h"
#include "ops/ops.h"

/* ---- planted faults ---- */

bool txd_verdicts_name_fault(const char *law, const char *fault)
{
    const txd_check *check = txd_check_find(law);
    const char *const *name;

    for (name = check ? check->faults : NULL; name && *name; name++)
        if (strcmp(*name, fault) == 0)
            return true;
    return false;
}

static bool names_fault(const txd_result *result, const char *fault)
{
    return txd_verdicts_name_fault(result->check, fault);
}

/* Of a law that only informs, information is all that it can say. */
static bool is_noticing(const txd_result *result)
{
    const txd_check *law = txd_check_find(result->check);

    return result->verdict == TXD_VERDICT_WARN || result->verdict == TXD_VERDICT_FAIL ||
           result->verdict == TXD_VERDICT_OPEN ||
           (law && law->informs && result->verdict == TXD_VERDICT_INFO);
}

bool txd_verdicts_notice(const char *fault, const txd_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (names_fault(&results[i], fault) && is_noticing(&results[i]))
            return true;
    return false;
}

/* "norm_output passed, norm_moments was skipped"; returns whether any was judged. */
static bool add_named(txd_text *out, const char *fault, const txd_result *results,
                      size_t count)
{
    bool is_judged = false;

    for (size_t i = 0; i < count; i++) {
        bool is_skipped = results[i].verdict == TXD_VERDICT_SKIP;

        if (!names_fault(&results[i], fault))
            continue;
        txd_text_addf(out, "%s%s %s", out->length ? ", " : "", results[i].check,
                      is_skipped ? "was skipped" : "passed");
        is_judged |= !is_skipped;
    }
    return is_judged;
}

/* Why that may be, and what makes it larger than that. */
static void add_reason(txd_text *out, const txd_session *session, const char *fault)
{
    unsigned selectors = txd_fault_selectors(txd_fault_find(fault));
    const char *other = selectors & TXD_FAULT_STRENGTH ? "another strength" : "";
    const char *backend = session->backend->name;

    if (strcmp(backend, "ref64") != 0)
        txd_text_addf(out,
                      "; its effect may lie below the rounding of %s (try --backend "
                      "ref64%s%s)",
                      backend, *other ? ", or " : "", other);
    else
        txd_text_addf(out, "; its effect may be too small here%s%s",
                      *other ? ": try " : "", other);
}

static void say_fault(const txd_session *session, const txd_fault_use *use,
                      const txd_result *results, size_t count)
{
    txd_text fault, laws;

    txd_text_init(&fault);
    txd_text_init(&laws);
    txd_session_print_fault(&fault, use);
    if (add_named(&laws, use->name, results, count))
        add_reason(&laws, session, use->name);
    if (laws.length > 0)
        txd_output_say(session->options,
                       "planted, but no law noticed it: %s; named laws: %s",
                       txd_text_get(&fault), txd_text_get(&laws));
    txd_text_finish(&fault);
    txd_text_finish(&laws);
}

/* Of a single fault any law that fails has noticed it, named or not. */
static bool is_plain(const txd_session *session, const txd_result *results,
                     size_t count)
{
    bool fails = false;

    for (size_t i = 0; i < count; i++)
        fails |= results[i].verdict == TXD_VERDICT_FAIL;
    return fails && session->fault_count == 1;
}

void txd_verdicts_say_unnoticed(const txd_session *session, const txd_result *results,
                                size_t count)
{
    if (is_plain(session, results, count))
        return;
    for (size_t i = 0; i < session->fault_count; i++)
        if (!txd_verdicts_notice(session->faults[i].name, results, count))
            say_fault(session, &session->faults[i], results, count);
}

/* ---- recordings ---- */

static const char not_recorded[] = "not recorded";

/* The verdict that the run stored of a law; NULL if there is none. */
static const char *stored(const txd_trace *recording, const char *law)
{
    const char *const *names, *const *verdicts;
    size_t name_count, count;

    if (txd_recording_read_strings(&names, &name_count, recording,
                                   "checks/laws/name") != TXD_OK ||
        txd_recording_read_strings(&verdicts, &count, recording,
                                   "checks/laws/verdict") != TXD_OK)
        return NULL;
    for (size_t i = 0; i < count && i < name_count; i++)
        if (strcmp(names[i], law) == 0)
            return verdicts[i];
    return NULL;
}

/* What a run did not judge either is no matter of the recording. */
static bool is_lacking(const txd_trace *recording, const txd_result *result,
                       bool *by_run)
{
    const char *verdict = stored(recording, result->check);

    if (result->verdict != TXD_VERDICT_SKIP)
        return false;
    *by_run |= verdict != NULL;
    if (verdict)
        return strcmp(verdict, txd_verdict_name(TXD_VERDICT_SKIP)) != 0;
    return strncmp(result->note, not_recorded, strlen(not_recorded)) == 0;
}

void txd_verdicts_add_lacking(txd_text *out, const txd_trace *recording,
                              const char *path, const txd_result *results, size_t count)
{
    bool by_run = false, by_points = false;
    size_t lacking = 0;

    for (size_t i = 0; i < count; i++) {
        if (!is_lacking(recording, &results[i], &by_run))
            continue;
        lacking++;
        by_points |= strncmp(results[i].note, not_recorded, strlen(not_recorded)) == 0;
    }
    if (lacking == 0)
        return;
    txd_text_addf(out, "%zu law%s%s could not be judged from what is recorded", lacking,
                  lacking == 1 ? "" : "s", by_run ? " that the run judged" : "");
    if (by_run)
        txd_text_addf(out, "; the run's own verdicts: `txdiag info %s`", path);
    if (by_points)
        txd_text_add(out, "; all but those that read the parameters would be, by "
                          "`record : ( { probe = \"full\"; points = \"*\"; }, "
                          "{ probe = \"rows\"; }, { probe = \"stats\"; }, "
                          "{ probe = \"norms\"; } );`");
    txd_text_add(out, "\n");
}

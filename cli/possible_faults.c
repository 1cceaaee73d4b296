/* SPDX-License-Identifier: MIT
 *
 * Faults tried on a session without running them. A step's inputs are made once for all
 * faults.
 */
#include "cli/possible_faults.h"

#include <string.h>

#define STEPS_TRIED 64

/* Messages name the fault, and here its name stands before it. */
static const char *bare_reason(const txd_fault *fault, const txd_fault_scene *scene)
{
    const char *reason = txd_fault_inapplicable(fault, scene), *colon;

    if (reason)
        return reason;
    colon = strstr(txd_message(), ": ");
    return colon ? colon + 2 : txd_message();
}

static txd_status try_fault(const char **reason, txd_session *session,
                            const txd_fault *fault)
{
    const txd_fault_use use = {.name = txd_fault_name(fault)};
    const txd_fault_scene scene = txd_session_scene(session);
    txd_plan *plan = NULL;
    txd_status status = txd_plan_create(&plan, &scene, &use, 1);

    txd_plan_destroy(plan);
    if (status == TXD_ERR_MEMORY)
        return status;
    if (status == TXD_OK) {
        *reason = NULL;
        return TXD_OK;
    }
    if (!*reason) /* why not on the first step, which people have in mind */
        *reason = txd_arena_string(session->arena, bare_reason(fault, &scene));
    return *reason ? TXD_OK : TXD_ERR_MEMORY;
}

txd_status txd_possible_faults(const char *const **reasons, txd_session *session)
{
    size_t count = 0, left = 1;
    const char **list;

    while (txd_fault_at(count))
        count++;
    list = txd_arena_alloc(session->arena, count, sizeof *list);
    if (!list)
        return TXD_ERR_MEMORY;
    for (size_t step = 0; left > 0 && step < session->steps && step < STEPS_TRIED;
         step++) {
        TXD_TRY(txd_input_source_step(&session->inputs, session->source, session->arena,
                                      step));
        left = 0;
        for (size_t i = 0; i < count; i++) {
            if (step == 0 || list[i])
                TXD_TRY(try_fault(&list[i], session, txd_fault_at(i)));
            left += list[i] != NULL;
        }
    }
    *reasons = list;
    return TXD_OK;
}

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

static txd_status plant(const txd_fault_scene *scene, const txd_fault *fault)
{
    const txd_fault_use use = {.name = txd_fault_name(fault)};
    txd_plan *plan = NULL;
    txd_status status = txd_plan_create(&plan, scene, &use, 1);

    txd_plan_destroy(plan);
    return status;
}

/* First with the passes that experiments make, then with those of the run alone. */
static txd_status try_fault(txd_possible_fault *possible, txd_session *session,
                            const txd_fault *fault)
{
    txd_fault_scene scene = txd_session_scene(session);
    txd_status status;

    scene.forward_only = scene.no_cache = false;
    status = plant(&scene, fault);
    if (status == TXD_ERR_MEMORY)
        return status;
    if (status == TXD_OK) {
        scene.forward_only = !session->backward;
        scene.no_cache = true;
        status = plant(&scene, fault);
        *possible = (txd_possible_fault){.by_experiments = status != TXD_OK};
        return status == TXD_ERR_MEMORY ? status : TXD_OK;
    }
    if (!possible->reason && !possible->by_experiments)
        /* why not on the first step, which people have in mind */
        possible->reason = txd_arena_string(session->arena, bare_reason(fault, &scene));
    return possible->reason || possible->by_experiments ? TXD_OK : TXD_ERR_MEMORY;
}

txd_status txd_possible_faults(const txd_possible_fault **out, txd_session *session)
{
    size_t count = 0, left = 1;
    txd_possible_fault *list;

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
            if (step == 0)
                list[i] = (txd_possible_fault){0};
            if (step == 0 || list[i].reason || list[i].by_experiments)
                TXD_TRY(try_fault(&list[i], session, txd_fault_at(i)));
            left += list[i].reason || list[i].by_experiments;
        }
    }
    *out = list;
    return TXD_OK;
}

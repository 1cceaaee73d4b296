/* SPDX-License-Identifier: MIT
 *
 * The laws by number and by name.
 */
#include "checks/law.h"

#include <stdio.h>
#include <string.h>

static const txd_check *const checks[] = {
#define TXD_CHECK(name) &txd_check_##name,
#include "checks/registry.def"
#undef TXD_CHECK
};

#define COUNT (sizeof checks / sizeof *checks)

const txd_check *txd_check_at(size_t i)
{
    return i < COUNT ? checks[i] : NULL;
}

const txd_check *txd_check_find(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(checks[i]->name, name) == 0)
            return checks[i];
    return NULL;
}

static txd_status fail_unknown(const char *option, const char *word)
{
    const char *names[COUNT], *nearest;

    for (size_t i = 0; i < COUNT; i++)
        names[i] = checks[i]->name;
    nearest = txd_nearest(word, names, COUNT);
    return txd_fail(TXD_ERR_ARGUMENT,
                    "%s %s matches no law%s%s; `txdiag list checks` names them", option,
                    word, nearest ? "; nearest: " : "", nearest ? nearest : "");
}

static txd_status check_glob(const char *option, const char *glob)
{
    for (size_t i = 0; i < COUNT; i++)
        if (txd_glob(glob, checks[i]->name))
            return TXD_OK;
    return fail_unknown(option, glob);
}

txd_status txd_checks_globs(const char *option, const char *globs)
{
    char glob[128];
    size_t length;

    while (globs && *globs) {
        globs += strspn(globs, ", ");
        length = strcspn(globs, ",");
        snprintf(glob, sizeof glob, "%.*s", (int)length, globs);
        while (*glob && glob[strlen(glob) - 1] == ' ')
            glob[strlen(glob) - 1] = '\0';
        if (length >= sizeof glob)
            return fail_unknown(option, glob);
        if (*glob)
            TXD_TRY(check_glob(option, glob));
        globs += length;
    }
    return TXD_OK;
}

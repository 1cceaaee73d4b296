/* SPDX-License-Identifier: MIT */
#include "dies.h"

#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

/* Of the child: no core file, its standard error in the pipe. */
static void run_in_child(void (*run)(), const int *ends)
{
    struct rlimit none = {0, 0};

    (void)setrlimit(RLIMIT_CORE, &none);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    run();
    _exit(0);
}

void assert_dies(void (*run)(), const char *text, const char *more)
{
    int ends[2], status;
    std::string said;
    char part[512];
    ssize_t got;

    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        run_in_child(run, ends);
    close(ends[1]);
    while ((got = read(ends[0], part, sizeof part)) > 0)
        said.append(part, static_cast<size_t>(got));
    close(ends[0]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(!WIFEXITED(status) || WEXITSTATUS(status) != 0, "it lives");
    ck_assert_msg(!text || said.find(text) != std::string::npos, "said \"%s\", not %s",
                  said.c_str(), text);
    ck_assert_msg(!more || said.find(more) != std::string::npos, "said \"%s\", not %s",
                  said.c_str(), more);
}

/* SPDX-License-Identifier: MIT
 *
 * Runs a fuzz target over every file of the folders given as arguments, without a
 * fuzzer: so the corpora are tests. Exit 1 if there was no file at all.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* A copy of exactly the file's size, so that sanitizers see its end. */
static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL, *grown;
    size_t count = 0, more = 1;
    uint8_t part[4096];

    if (!file) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 0;
    }
    while ((more = fread(part, 1, sizeof part, file)) > 0) {
        grown = realloc(bytes, count + more);
        if (!grown)
            abort();
        bytes = grown;
        memcpy(bytes + count, part, more);
        count += more;
    }
    fclose(file);
    grown = realloc(bytes, count ? count : 1);
    if (!grown)
        abort();
    LLVMFuzzerTestOneInput(grown, count);
    free(grown);
    return 1;
}

static int replay_folder(const char *folder)
{
    DIR *entries = opendir(folder);
    struct dirent *entry;
    int files = 0;

    if (!entries) {
        fprintf(stderr, "%s: %s\n", folder, strerror(errno));
        return 0;
    }
    while ((entry = readdir(entries))) {
        char path[4096];

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        files += replay_file(path);
    }
    closedir(entries);
    return files;
}

int main(int argc, char **argv)
{
    int files = 0;

    for (int i = 1; i < argc; i++)
        files += replay_folder(argv[i]);
    printf("%d inputs replayed\n", files);
    return files == 0;
}

#include "entrypoint/host/observe/output_dirs.h"

#include "entrypoint/os/run_as.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

int output_dirs_give(const char *base, struct error *err) {
    static const char *const names[] = {"model", "checkpoints", "output", "output/data"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[PATH_MAX];
        struct stat st;
        int size = snprintf(path, sizeof(path), "%s/%s", base, names[i]);
        /* A link was made by the user, and its target's owner is not ours to change. */
        if (size < 0 || (size_t)size >= sizeof(path) || lstat(path, &st) != 0 ||
            !S_ISDIR(st.st_mode))
            continue;
        if (run_as_give(path, err) != 0)
            return -1;
    }
    return 0;
}

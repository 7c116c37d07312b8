#include "entrypoint/host/traces/folders.h"

#include "entrypoint/os/identity.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

int folders_give(const char *base, struct error *err) {
    static const char *const names[] = {"model", "checkpoints", "output", "output/data"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[PATH_MAX];
        struct stat st;
        int size = snprintf(path, sizeof(path), "%s/%s", base, names[i]);
        /* A link is somebody's own choice, and where it leads is not ours to give. */
        if (size < 0 || (size_t)size >= sizeof(path) || lstat(path, &st) != 0 ||
            !S_ISDIR(st.st_mode))
            continue;
        if (identity_give(path, err) != 0)
            return -1;
    }
    return 0;
}

#include "entrypoint/job/machine/library_folders.h"

#include "common/argv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

void library_folders_begin(struct library_folders *f, const char *root, char *const *environment,
                           const char *const *usual) {
    const char *paths = env_get(environment, "LD_LIBRARY_PATH");
    f->root = root;
    f->rest = paths != NULL && paths[0] != '\0' ? paths : NULL; /* an empty list has no folders */
    f->usual = usual;
}

static bool set_path(struct library_folders *f, const char *folder, size_t size) {
    bool absolute = size > 0 && folder[0] == '/';
    int length = snprintf(f->path, sizeof(f->path), "%s%.*s", absolute ? f->root : "",
                          size > 0 ? (int)size : 1, size > 0 ? folder : ".");
    return length > 0 && (size_t)length < sizeof(f->path);
}

const char *library_folders_next(struct library_folders *f) {
    while (f->rest != NULL) {
        const char *folder = f->rest;
        size_t size = strcspn(folder, ":;"); /* The loader accepts both separators. */
        f->rest = folder[size] != '\0' ? folder + size + 1 : NULL;
        if (set_path(f, folder, size))
            return f->path;
    }
    while (*f->usual != NULL) {
        const char *folder = *f->usual++;
        if (set_path(f, folder, strlen(folder)))
            return f->path;
    }
    return NULL;
}

#include "common/file/output_path.h"

#include "common/cleanup.h"
#include "common/file/file_look.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { START_MAX = 64 };

static int check_folder(const char *path, const char *option, struct error *err) {
    char folder[PATH_MAX];
    struct stat st;
    const char *slash = strrchr(path, '/');
    int length = slash == NULL ? 0 : slash == path ? 1 : (int)(slash - path);
    if (length >= (int)sizeof(folder))
        return error_set(err, EXIT_CODE_CONFIG, "%s: %.64s...: path too long", option, path);
    (void)snprintf(folder, sizeof(folder), "%.*s", length, path);
    if (slash == NULL)
        (void)snprintf(folder, sizeof(folder), ".");
    if (stat(folder, &st) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s: the folder %s", option, folder);
    if (!S_ISDIR(st.st_mode))
        return error_set(err, EXIT_CODE_CONFIG, "%s: %s: not a folder", option, folder);
    if (access(folder, W_OK | X_OK) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s: the folder %s", option, folder);
    return 0;
}

/* Returns 1 if the file PATH begins with one of STARTS, 0 if not, -1 with errno set if it cannot be
 * read. */
static int begins(const char *path, const char *const *starts) {
    char head[START_MAX + 1] = "";
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t size = fd >= 0 ? read(fd, head, START_MAX) : -1;
    for (int i = 0; size > 0 && starts[i] != NULL; i++)
        if (strlen(starts[i]) <= (size_t)size && memcmp(head, starts[i], strlen(starts[i])) == 0)
            return 1;
    return size < 0 ? -1 : 0;
}

int output_path_check(const char *path, const struct output_path_kind *kind, const char *option,
                      struct error *err) {
    struct stat st;
    if (check_folder(path, option, err) != 0)
        return -1;
    if (lstat(path, &st) != 0)
        return file_is_absence(errno)
                   ? 0
                   : error_set_errno(err, EXIT_CODE_CONFIG, "%s: %s", option, path);
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return error_set(err, EXIT_CODE_CONFIG, "%s: %s is there and not a regular file", option,
                         path);
    if (kind == NULL)
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s: %s is there already and would be lost; give another place", option,
                         path);
    int known = st.st_size > 0 ? begins(path, kind->starts) : 1;
    if (known < 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s: %s", option, path);
    if (known == 0)
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s: %s is not %s and would be lost; give another name", option, path,
                         kind->what);
    return 0;
}

bool output_path_is_same(const char *a, const char *b) {
    struct stat x, y;
    if (strcmp(a, b) == 0)
        return true;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

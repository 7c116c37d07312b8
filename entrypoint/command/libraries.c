#include "entrypoint/command/libraries.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/str.h"
#include "entrypoint/job/machine/library_folders.h"
#include "entrypoint/job/machine/multiarch.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PACKAGES_MAX = 32 * 1024 * 1024 };

static const struct library {
    const char *name;
    const char *file; /* name of its file, up to the version */
    const char
        *package;  /* package of Debian's or NVIDIA's; NULL: the file's name has the version */
    bool numbered; /* the name has the library's version, not just that of its interface */
} known[] = {{"CUDA runtime", "libcudart.so.", NULL, true},
             {"NCCL", "libnccl.so.", "libnccl2", true},
             {"UCX", "libucp.so.", "libucx0", false}};
enum { KNOWN = sizeof(known) / sizeof(known[0]) };

const char *libraries_name(size_t index) {
    return index < KNOWN ? known[index].name : NULL;
}

/* The version in the name of the file that a link leads to, the longest found: "2.21.5" for
 * libnccl.so.2. Text that is not a number is no version. */
static void number_of(const char *folder, const char *name, const char *start,
                      char ret[LIBRARIES_VERSION_SIZE]) {
    char path[PATH_MAX];
    int size = snprintf(path, sizeof(path), "%s/%s", folder, name);
    bool fits = size > 0 && (size_t)size < sizeof(path);
    cleanup_free char *real = fits ? realpath(path, NULL) : NULL;
    const char *slash = real != NULL ? strrchr(real, '/') : NULL;
    if (slash != NULL && str_starts_with(slash + 1, start))
        name = slash + 1;
    const char *number = name + strlen(start);
    size_t length = strlen(number);
    if (strspn(number, "0123456789.") == length && length > strlen(ret) &&
        length < LIBRARIES_VERSION_SIZE)
        memcpy(ret, number, length + 1);
}

static bool find_in(const char *folder, const struct library *l, char ret[LIBRARIES_VERSION_SIZE]) {
    DIR *open = opendir(folder);
    if (open == NULL)
        return false;
    for (const struct dirent *entry = readdir(open); entry != NULL; entry = readdir(open))
        if (str_starts_with(entry->d_name, l->file))
            number_of(folder, entry->d_name, l->file, ret);
    closedir(open);
    return ret[0] != '\0';
}

/* Searches the folders in the order in which programs do. */
static bool find_file(const char *root, char *const *environment, const struct library *l,
                      char ret[LIBRARIES_VERSION_SIZE]) {
    static const char *const usual[] = {"/usr/local/lib",      "/usr/lib/" MULTIARCH,
                                        "/usr/lib64",          "/usr/local/cuda/lib64",
                                        "/usr/local/cuda/lib", NULL};
    struct library_folders folders;
    library_folders_begin(&folders, root, environment, usual);
    for (const char *at; (at = library_folders_next(&folders)) != NULL;)
        if (find_in(at, l, ret))
            return true;
    return false;
}

/* Finds the version of an installed package. */
static bool find_package(const char *root, const char *package, char ret[LIBRARIES_VERSION_SIZE]) {
    char path[PATH_MAX];
    char head[64];
    cleanup_buf struct buf text;
    buf_init(&text, PACKAGES_MAX);
    int size = snprintf(path, sizeof(path), "%s/var/lib/dpkg/status", root);
    if (size < 0 || (size_t)size >= sizeof(path) || file_read(path, &text, NULL) != 0)
        return false;
    (void)snprintf(head, sizeof(head), "Package: %.48s\n", package);
    const char *at = strstr(buf_text(&text), head);
    if (at == NULL || (at != buf_text(&text) && at[-1] != '\n'))
        return false;
    const char *end = strstr(at, "\n\n");
    const char *version = strstr(at, "\nVersion: ");
    const char *status = strstr(at, "\nStatus: install ok installed\n");
    if (version == NULL || status == NULL || (end != NULL && (version > end || status > end)))
        return false;
    version += strlen("\nVersion: ");
    (void)snprintf(ret, LIBRARIES_VERSION_SIZE, "%.*s", (int)strcspn(version, "\n"), version);
    return true;
}

void libraries_version(size_t index, const char *root, char *const *environment,
                       char ret[LIBRARIES_VERSION_SIZE]) {
    const struct library *l = &known[index];
    char package[LIBRARIES_VERSION_SIZE] = "";
    ret[0] = '\0';
    if (!find_file(root, environment, l, ret))
        return;
    bool listed = l->package != NULL && find_package(root, l->package, package);
    if (!l->numbered)
        (void)snprintf(ret, LIBRARIES_VERSION_SIZE, "%s",
                       listed ? package : "here, of a version that nothing tells");
    else if (listed && strchr(ret, '.') == NULL)
        memcpy(ret, package, sizeof(package));
}

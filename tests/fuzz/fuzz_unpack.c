/* Archives of code: whatever one holds, all that comes of it are files, folders and links that stay
 * inside, with plain modes, and nothing beside the folder. */
#include "common/file/file.h"
#include "entrypoint/transfer/disk/unpack.h"
#include "tests/fuzz/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char outside[] = "/tmp/ringmaster-fuzz-unpack.XXXXXX";
static char inside[sizeof(outside) + 8];

static void remove_outside(void) {
    (void)rmdir(inside);
    (void)rmdir(outside);
}

static void check_link(const char *path) {
    char end[PATH_MAX];
    if (realpath(path, end) != NULL)
        CHECK(strncmp(end, inside, strlen(inside)) == 0);
}

/* Checks and removes all that lies in PATH; links first, while what they name is still there. */
static void sweep(const char *path, bool links) {
    DIR *folder = opendir(path);
    CHECK(folder != NULL);
    for (const struct dirent *e = readdir(folder); e != NULL; e = readdir(folder)) {
        char whole[PATH_MAX];
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        CHECK(snprintf(whole, sizeof(whole), "%s/%s", path, e->d_name) < (int)sizeof(whole));
        CHECK(lstat(whole, &st) == 0);
        CHECK(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode));
        CHECK(S_ISLNK(st.st_mode) || (st.st_mode & 07022) == 0);
        if (S_ISLNK(st.st_mode) && links)
            check_link(whole);
        if (S_ISDIR(st.st_mode))
            sweep(whole, links);
        if (!links)
            CHECK((S_ISDIR(st.st_mode) ? rmdir(whole) : unlink(whole)) == 0);
    }
    (void)closedir(folder);
}

static unsigned count(const char *path) {
    unsigned number = 0;
    DIR *folder = opendir(path);
    for (; folder != NULL && readdir(folder) != NULL; number++)
        ;
    (void)closedir(folder);
    return number;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t files = 0;
    struct error err = {0};
    if (inside[0] == '\0') {
        CHECK(mkdtemp(outside) != NULL);
        (void)umask(022);
        (void)snprintf(inside, sizeof(inside), "%s/in", outside);
        CHECK(mkdir(inside, 0755) == 0 && atexit(remove_outside) == 0);
    }
    int archive = memfd_create("archive", MFD_CLOEXEC);
    int root = open(inside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(archive >= 0 && root >= 0 && file_write_all(archive, data, size, NULL) == 0);
    if (unpack(archive, root, &files, &err) != 0)
        CHECK(err.text[0] != '\0');
    (void)close(archive);
    (void)close(root);
    sweep(inside, true);
    sweep(inside, false);
    CHECK(count(outside) == 3); /* ".", ".." and the folder */
    return 0;
}

/* Archives that `ringtrain prepare` unpacks, gzip and tar: whatever the bytes are, unpacking ends,
 * and leaves whole files with plain names in its folder, or an error of the data. */
#include "common/file/file.h"
#include "tests/fuzz/check.h"
#include "trainer/data/archive/gunzip.h"
#include "trainer/data/archive/tar_extract.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/dev/shm/fuzz_archive.XXXXXX";
static char from[sizeof(folder) + 16], to[sizeof(folder) + 16], members[sizeof(folder) + 16];

static void remove_all(void) {
    (void)unlink(from);
    (void)unlink(to);
    (void)rmdir(members);
    (void)rmdir(folder);
}

static void open_folder(void) {
    if (from[0] != '\0')
        return;
    CHECK(mkdtemp(folder) != NULL);
    (void)snprintf(from, sizeof(from), "%s/from", folder);
    (void)snprintf(to, sizeof(to), "%s/to", folder);
    (void)snprintf(members, sizeof(members), "%s/members", folder);
    CHECK(mkdir(members, 0700) == 0);
    CHECK(atexit(remove_all) == 0);
}

/* Returns the number of entries of PATH that are removed: regular files alone. */
static size_t sweep(const char *path) {
    DIR *open = opendir(path);
    size_t count = 0;
    CHECK(open != NULL);
    for (const struct dirent *e = readdir(open); e != NULL; e = readdir(open)) {
        char whole[PATH_MAX];
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        CHECK(snprintf(whole, sizeof(whole), "%s/%s", path, e->d_name) < (int)sizeof(whole));
        CHECK(lstat(whole, &st) == 0 && S_ISREG(st.st_mode) && unlink(whole) == 0);
        count++;
    }
    (void)closedir(open);
    return count;
}

static bool any(const char *name) {
    CHECK(name[0] != '\0' && strchr(name, '/') == NULL);
    return true;
}

static void extract(const char *path) {
    struct error err = {0};
    size_t count = 0;
    if (tar_extract(path, members, any, &count, &err) != 0)
        CHECK(err.code == EXIT_CODE_DATA && err.text[0] != '\0');
    CHECK(sweep(members) <= count + 1); /* the failed one is not counted */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    struct stat st;
    int64_t bytes = 0;
    open_folder();
    const int fd = open(from, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
    if (!gunzip_is(from)) {
        extract(from);
        return 0;
    }
    const bool sized = gunzip_size(from, &bytes, NULL) == 0;
    if (gunzip_file(from, to, &err) != 0) {
        CHECK(err.code == EXIT_CODE_DATA && err.text[0] != '\0');
        CHECK(lstat(to, &st) != 0);
        return 0;
    }
    CHECK(sized && stat(to, &st) == 0);
    extract(to);
    CHECK(unlink(to) == 0);
    return 0;
}

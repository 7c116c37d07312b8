#include "trainer/data/prepare/staging.h"

#include "common/file/file.h"
#include "trainer/data/prepare/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRITING TARGET_OWN "writing"

static int name(const char *target, const char *own, char ret[PATH_MAX], struct error *err) {
    return snprintf(ret, PATH_MAX, "%s/" WRITING "%s%s", target, own[0] != '\0' ? "/" : "", own) <
                   PATH_MAX
               ? 0
               : error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", target);
}

int staging_begin(const char *target, struct error *err) {
    char path[PATH_MAX];
    return name(target, "", path, err) != 0 ? -1 : file_make_dirs(path, err);
}

void staging_end(const char *target) {
    char path[PATH_MAX];
    if (name(target, "", path, NULL) == 0)
        (void)rmdir(path);
}

static int add_text(struct buf *list, const char *text, struct error *err) {
    return buf_add(list, text, strlen(text) + 1, err);
}

int staging_add(const char *target, const char *own, const char *path, struct buf *list,
                char temp[PATH_MAX], struct error *err) {
    if (name(target, own, temp, err) != 0 || add_text(list, temp, err) != 0)
        return -1;
    return add_text(list, path, err);
}

static int sync_target(const char *target, struct error *err) {
    const int fd = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = fd >= 0 ? syncfs(fd) : -1;
    if (result != 0)
        (void)error_set_errno(err, file_write_code(errno), "%s", target);
    if (fd >= 0)
        (void)close(fd);
    return result;
}

static int move(const char *from, char *to, struct error *err) {
    struct stat status;
    if (lstat(to, &status) == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: another file has this name already", to);
    if (rename(from, to) == 0)
        return 0;
    char *slash = strrchr(to, '/');
    if (errno == ENOENT && slash != NULL) {
        *slash = '\0';
        if (file_make_dirs(to, err) != 0)
            return -1;
        *slash = '/';
        if (rename(from, to) == 0)
            return 0;
    }
    return error_set_errno(err, file_write_code(errno), "%s", to);
}

int staging_publish(const char *target, struct buf *list, struct error *err) {
    if (list->size > 0 && sync_target(target, err) != 0)
        return -1;
    for (size_t at = 0; at < list->size;) {
        const char *from = list->data + at;
        char *to = list->data + at + strlen(from) + 1;
        at += strlen(from) + strlen(to) + 2;
        if (move(from, to, err) != 0)
            return -1;
    }
    buf_consume(list, list->size);
    return 0;
}

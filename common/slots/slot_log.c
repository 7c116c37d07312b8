#include "common/slots/slot_log.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/str.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAIL_MAX = 16 * 1024 };

/* What stands between the time of a line of log and its text. */
#define ERROR " error   "

/* Reads the end of the file; returns its size. */
static size_t read_tail(const char *path, char ret[TAIL_MAX + 1]) {
    struct stat about;
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ret[0] = '\0';
    if (fd < 0 || fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
        return 0;
    const off_t from = about.st_size > TAIL_MAX ? about.st_size - TAIL_MAX : 0;
    const ssize_t got = pread(fd, ret, TAIL_MAX, from);
    const size_t size = got > 0 ? (size_t)got : 0;
    ret[size] = '\0';
    return size;
}

void slot_log_last(const char *folder, int rank, char *ret, size_t size) {
    char path[PATH_MAX], tail[TAIL_MAX + 1];
    const char *found = NULL, *error = NULL;
    char *kept = NULL;
    ret[0] = '\0';
    if (snprintf(path, sizeof(path), "%s/rank-%d.log", folder, rank) >= (int)sizeof(path) ||
        read_tail(path, tail) == 0)
        return;
    for (char *line = strtok_r(tail, "\n", &kept); line != NULL;
         line = strtok_r(NULL, "\n", &kept)) {
        const char *mark = strstr(line, ERROR);
        found = line;
        error = mark != NULL ? mark + strlen(ERROR) : error;
    }
    found = error != NULL ? error : found;
    cleanup_buf struct buf clean = {.max = 3 * TAIL_MAX + 1};
    if (found == NULL || str_add_utf8(&clean, found, strlen(found), NULL) != 0)
        return;
    const size_t fits = str_utf8_prefix(buf_text(&clean), clean.size, size - 1);
    memcpy(ret, buf_text(&clean), fits);
    ret[fits] = '\0';
}

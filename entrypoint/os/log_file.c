#include "entrypoint/os/log_file.h"

#include "common/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char cut[] = " [cut]\n";

void log_file_init(struct log_file *f) {
    *f = (struct log_file){.fd = -1};
}

void log_file_done(struct log_file *f) {
    if (f->fd >= 0)
        (void)close(f->fd);
    log_file_init(f);
}

/* The file's name in rotation TURN: the number goes before the last extension. */
static void name_of(const char *name, unsigned turn, const char *behind,
                    char ret[LOG_FILE_NAME_SIZE + 16]) {
    const char *dot = strrchr(name, '.');
    int stem = dot != NULL ? (int)(dot - name) : (int)strlen(name);
    char number[16] = "";
    if (turn > 1)
        (void)snprintf(number, sizeof(number), "-%u", turn);
    (void)snprintf(ret, LOG_FILE_NAME_SIZE + 16, "%.*s%s%s%s", stem, name, number,
                   dot != NULL ? dot : "", behind);
}

/* Returns true if another process has locked the file. Without locks in the file system, none has.
 */
static bool is_taken(int fd) {
    return flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

static int check_file(struct log_file *f, const char *name, struct error *err) {
    struct stat st;
    char last = '\n';
    if (fstat(f->fd, &st) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", name);
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
        return error_set(err, EXIT_CODE_CONFIG, "%s is not a regular file with a single link",
                         name);
    f->size = st.st_size;
    if (st.st_size > 0)
        (void)!pread(f->fd, &last, 1, st.st_size - 1);
    f->torn = last != '\n';
    return 0;
}

static int open_turn(struct log_file *f, int folder, const char *name, unsigned turn,
                     struct error *err) {
    char own[LOG_FILE_NAME_SIZE + 16];
    name_of(name, turn, "", own);
    f->turn = turn;
    f->fd = openat(folder, own, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                   0644);
    if (f->fd < 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", own);
    return 0;
}

static int open_file(struct log_file *f, int folder, const char *name, struct error *err) {
    for (unsigned turn = 1; turn <= LOG_FILE_NAMES; turn++) {
        if (open_turn(f, folder, name, turn, err) != 0)
            return -1;
        if (!is_taken(f->fd)) {
            if (check_file(f, name, err) == 0)
                return 0;
            log_file_done(f);
            return -1;
        }
        log_file_done(f);
    }
    return error_set(err, EXIT_CODE_CONFIG, "%s and %d more of that name belong to other jobs",
                     name, LOG_FILE_NAMES - 1);
}

/* Rotates the file. If the folder does not permit renaming, the old file stays and nothing more is
 * written. */
static int turn_over(struct log_file *f, int folder, const char *name, struct error *err) {
    char own[LOG_FILE_NAME_SIZE + 16];
    char old[LOG_FILE_NAME_SIZE + 16];
    name_of(name, f->turn, "", own);
    name_of(name, f->turn, ".1", old);
    if (renameat(folder, own, folder, old) != 0 && errno != ENOENT)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s is full, and making it %s failed", own,
                               old);
    log_file_done(f);
    return open_file(f, folder, name, err);
}

static int append(struct log_file *f, const char *bytes, size_t size, const char *name,
                  struct error *err) {
    ssize_t written;
    do
        written = write(f->fd, bytes, size);
    while (written < 0 && errno == EINTR);
    if (written > 0) {
        f->size += written;
        f->torn = bytes[written - 1] != '\n';
    }
    if (written == (ssize_t)size)
        return 0;
    if (written >= 0)
        errno = ENOSPC; /* a short write */
    return error_set_errno(err, EXIT_CODE_CONFIG, "%s", name);
}

int log_file_add(struct log_file *f, int folder, const char *name, int64_t limit, const char *line,
                 size_t size, struct error *err) {
    const size_t half = (size_t)limit / 2;
    if (f->fd < 0 && open_file(f, folder, name, err) != 0)
        return -1;
    if (f->torn && append(f, "\n", 1, name, err) != 0)
        return -1;
    bool is_cut = size > half;
    if (is_cut)
        size = half - (sizeof(cut) - 1);
    if (f->size > 0 && (size_t)f->size + size > half && turn_over(f, folder, name, err) != 0)
        return -1;
    if (append(f, line, size, name, err) != 0)
        return -1;
    return is_cut ? append(f, cut, sizeof(cut) - 1, name, err) : 0;
}

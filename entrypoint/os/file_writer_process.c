#include "entrypoint/os/file_writer_process.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/descriptors.h"
#include "common/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* The child has one socket, reads frames from it and writes them. It may block on the disk for as
 * long as it likes: the supervisor only notices that the socket takes no more. Everything is looked
 * up below one open folder (openat), which links cannot redirect once it is open.
 *
 * A failure is reported once, and again after writing has worked in between. Lines of a file that
 * failed are counted and discarded until the next try, so that a full disk costs neither memory nor
 * a system call for each line. */

/* READ_SIZE is in bytes, for one read. */
enum { SOCKET = 3, READ_SIZE = 64 * 1024 };

/* A disk may be cleaned up, or a file system remounted; after this pause writing is tried again. */
static const int64_t try_again = 5 * CLOCK_SECOND;

/* One of the files that lines have been written to. */
struct file {
    char name[LOG_FILE_NAME_SIZE];
    struct log_file log;
    int64_t again; /* time of the next try; 0: it has not failed */
    uint64_t lost; /* lines lost since the failure */
};

/* State of this process, which has no other and keeps it until its end. */
static struct {
    const char *base;
    const char *folder_path;
    int folder;
    struct file files[FILE_WRITER_FILES_MAX];
    size_t count;
    bool reported;
} self;

/* The message may be lost if the supervisor does not read; it must not block. */
static void report_error(const struct error *why) {
    if (self.reported)
        return;
    self.reported = true;
    (void)send(SOCKET, why->text, strlen(why->text), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* The folder's parent may belong to the job's user, so a symbolic link in its place is not followed
 * by this process, which may be root. The folder is opened once and stays open. BASE itself is
 * never made: without it, this machine is no place for such files. */
static int open_folder(struct error *err) {
    char above[PATH_MAX];
    if (self.folder >= 0)
        return 0;
    if (access(self.base, F_OK) != 0 && errno == ENOENT)
        return error_set(err, EXIT_CODE_CONFIG, "%s: " FILE_WRITER_NO_BASE, self.base);
    if (access(self.base, F_OK) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", self.base);
    const char *name = strrchr(self.folder_path, '/') + 1;
    (void)snprintf(above, sizeof(above), "%.*s", (int)(name - self.folder_path), self.folder_path);
    above[strlen(above) - 1] = '\0';
    if (file_make_dirs(above, err) != 0)
        return -1;
    cleanup_fd int in = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (in < 0 || (mkdirat(in, name, 0755) != 0 && errno != EEXIST))
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", self.folder_path);
    /* The name of a new folder is on the disk before any of its files. */
    (void)fsync(in);
    self.folder = openat(in, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (self.folder >= 0)
        return 0;
    return error_set_errno(err, EXIT_CODE_CONFIG, "%s, where no link is followed",
                           self.folder_path);
}

/* Returns NULL if there are too many names already; lines for others are discarded. Files stay open
 * until the end. */
static struct file *find_file(const char *name) {
    for (size_t i = 0; i < self.count; i++)
        if (strcmp(self.files[i].name, name) == 0)
            return &self.files[i];
    if (self.count == FILE_WRITER_FILES_MAX)
        return NULL;
    struct file *file = &self.files[self.count++];
    (void)snprintf(file->name, sizeof(file->name), "%s", name);
    log_file_init(&file->log);
    return file;
}

/* Replaces the file atomically: a reader sees the old or the new content. The new content is first
 * a hidden file beside it, which may be left by a killed process and is removed first. */
static int write_whole(const char *name, const char *text, size_t size, struct error *err) {
    char partial[LOG_FILE_NAME_SIZE + 16];
    (void)snprintf(partial, sizeof(partial), ".%s.partial", name);
    (void)unlinkat(self.folder, partial, 0);
    cleanup_fd int fd =
        openat(self.folder, partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", partial);
    if (file_write_all(fd, text, size, err) != 0) {
        (void)unlinkat(self.folder, partial, 0);
        return -1;
    }
    if (renameat(self.folder, partial, self.folder, name) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", name);
    return 0;
}

/* Each call tries to open the folder if it is not open yet. */
static int write_to(struct file *file, const struct file_writer_frame *frame, const char *line,
                    struct error *err) {
    if (open_folder(err) != 0)
        return -1;
    if (frame->limit == FILE_WRITER_WHOLE)
        return write_whole(file->name, line, frame->line, err);
    return log_file_add(&file->log, self.folder, file->name, frame->limit, line, frame->line, err);
}

/* Reports that writing works again and how many lines are missing, and lets the next failure be
 * reported. The report goes out even if the last failure has been reported: `reported` is set
 * aside for it. */
static void report_lost(struct file *file) {
    struct error why;
    if (file->lost == 0)
        return;
    (void)error_set(&why, EXIT_CODE_CONFIG, "%s is written again, without %" PRIu64 " lines",
                    file->name, file->lost);
    file->lost = 0;
    self.reported = false;
    report_error(&why);
    self.reported = false;
}

/* Does not fail: what cannot be written is counted. */
static void write_line(const struct file_writer_frame *frame, const char *name, const char *line) {
    struct error err = {0};
    struct file *file = find_file(name);
    if (file == NULL)
        return;
    if (file->again == 0 || clock_now() >= file->again) {
        file->again = 0;
        if (write_to(file, frame, line, &err) == 0) {
            report_lost(file);
            return;
        }
        file->again = clock_now() + try_again;
        report_error(&err);
    }
    file->lost++;
}

/* Writes all complete frames. Returns their size, or -1 if a frame is invalid. Both ends are one
 * program, so an invalid frame means that this process or its parent is broken. */
static ssize_t write_frames(const char *bytes, size_t size) {
    size_t at = 0;
    struct file_writer_frame frame;
    while (size - at >= sizeof(frame)) {
        char name[LOG_FILE_NAME_SIZE];
        memcpy(&frame, bytes + at, sizeof(frame));
        /* Lengths are checked before they are added, so that no sum overflows. */
        if (frame.name >= sizeof(name) || frame.line > LINE_SPLITTER_MAX ||
            (frame.limit < LOG_FILE_LEAST && frame.limit != FILE_WRITER_WHOLE))
            return -1;
        if (size - at - sizeof(frame) < (size_t)frame.name + frame.line)
            break;
        memcpy(name, bytes + at + sizeof(frame), frame.name);
        name[frame.name] = '\0';
        write_line(&frame, name, bytes + at + sizeof(frame) + frame.name);
        at += sizeof(frame) + frame.name + frame.line;
    }
    return (ssize_t)at;
}

/* Runs in the forked child. The buffer has room for the longest frame and one read, so a frame can
 * always be completed. The end of the socket is the order to end. */
_Noreturn void file_writer_child(int from, const char *base, const char *folder) {
    struct buf got;
    self.base = base;
    self.folder_path = folder;
    self.folder = -1;
    (void)dup2(from, SOCKET);
    descriptors_close(SOCKET + 1);
    buf_init(&got,
             sizeof(struct file_writer_frame) + LOG_FILE_NAME_SIZE + LINE_SPLITTER_MAX + READ_SIZE);
    /* Without memory for a read the child ends, and the parent starts another one. */
    while (buf_reserve(&got, READ_SIZE, NULL) == 0) {
        ssize_t size = read(SOCKET, got.data + got.size, READ_SIZE);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            break;
        got.size += (size_t)size;
        ssize_t done = write_frames(got.data, got.size);
        if (done < 0)
            break;
        buf_consume(&got, (size_t)done);
    }
    _exit(0);
}

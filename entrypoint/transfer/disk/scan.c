#include "entrypoint/transfer/disk/scan.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/grow.h"
#include "common/os_error_text.h"
#include "common/str.h"
#include "entrypoint/transfer/disk/safe_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two halves: the walk, which lists a whole tree for upload/upload.c and fetch/first_folder.c, and
 * the handling of one file by its path below the folder.
 *
 * The tree is written by the job's programs while it is read, and those programs are not trusted.
 * Every step therefore goes from an open directory to a name inside it, without following links; a
 * path that is resolved as a whole could be diverted between two looks. Files and folders that
 * vanish meanwhile are normal. Whatever cannot be read is counted as missed, so that one bad entry
 * costs no other file.
 *
 * A listing is a snapshot of names and stamps. Whether a file is complete is decided later, from
 * its open descriptor (scan_at_rest), and whether it changed while it was read, from a second
 * stamp. */

enum {
    WAY = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, /* to one folder further down */
    PATH_SIZE = 4096                                       /* PATH_MAX of Linux */
};

void scan_done(struct scan *l) {
    for (size_t i = 0; i < l->count; i++)
        free(l->items[i].path);
    free(l->items);
    *l = (struct scan){0};
}

void scan_stamp(const struct stat *st, struct scan_stamp *ret) {
    *ret = (struct scan_stamp){.device = st->st_dev,
                               .inode = st->st_ino,
                               .size = st->st_size,
                               .modified = st->st_mtim,
                               .changed = st->st_ctim};
}

static bool same_time(const struct timespec *a, const struct timespec *b) {
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* The change time is part of it, as a program can set the modification time back but not this one.
 * The inode tells a replaced file from one that was rewritten in place. */
bool scan_same(const struct scan_stamp *a, const struct scan_stamp *b) {
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           same_time(&a->modified, &b->modified) && same_time(&a->changed, &b->changed);
}

/* --- the walk --------------------------------------------------------------------------------- */

struct walk {
    struct scan *leaving; /* the list that is filled */
    size_t most;          /* maximum number of files in the list */
    char path[PATH_SIZE]; /* path of the current entry, relative to the folder */
};

/* Returns false for names of unfinished files, and for "." and "..", which begin with a dot. */
static bool is_whole(const char *name) {
    return name[0] != '.' && !str_ends_with(name, ".tmp") && !str_ends_with(name, ".part") &&
           strstr(name, ".partial-") == NULL;
}

/* Counts an entry that is neither file nor folder. The first name is kept for a warning. It can
 * hold any bytes; one byte can become three in UTF-8, hence the third of the space. */
static void note_odd(struct scan *l, const char *name) {
    if (l->odd++ > 0)
        return;
    cleanup_buf struct buf shown;
    buf_init(&shown, sizeof(l->first) - 1);
    (void)str_add_utf8(&shown, name, strnlen(name, (sizeof(l->first) - 1) / 3), NULL);
    (void)snprintf(l->first, sizeof(l->first), "%s", buf_text(&shown));
}

/* Records that the entry at the walk's path, up to SIZE, was left out; the walk continues. */
static void note_missed(struct walk *w, size_t size, const char *why, int os_errno) {
    struct scan *l = w->leaving;
    if (l->missed++ > 0)
        return;
    char words[OS_ERROR_TEXT_SIZE];
    w->path[size] = '\0';
    (void)error_set(&l->first_missed, EXIT_CODE_DATA, "\"%.256s\": %s%s%s",
                    size > 0 ? w->path : ".", why, os_errno != 0 ? ": " : "",
                    os_errno != 0 ? os_error_text(os_errno, words) : "");
}

/* Appends a copy of PATH. Fails only if memory runs out. */
static int add(struct scan *l, const char *path, const struct stat *st, struct error *err) {
    if (grow_array(&l->items, &l->capacity, l->count + 1, sizeof(*l->items), "a list of files",
                   err) != 0)
        return -1;
    struct scan_file *file = &l->items[l->count];
    *file = (struct scan_file){.path = strdup(path)};
    if (file->path == NULL)
        return error_no_memory(err, "a list of files");
    scan_stamp(st, &file->stamp);
    l->count++;
    return 0;
}

/* Adds a file. Beyond the list's limit files are left out, because uploading a part of them is
 * better than none. */
static int add_found(struct walk *w, const struct stat *st, struct error *err) {
    char why[128];
    if (w->leaving->count < w->most)
        return add(w->leaving, w->path, st, err);
    (void)snprintf(why, sizeof(why),
                   "there are more than %zu files, and this one is left out; pack them into larger "
                   "ones",
                   w->most);
    note_missed(w, strlen(w->path), why, 0);
    return 0;
}

static int walk_folder(struct walk *w, int folder, size_t size, unsigned depth, struct error *err);
static int look_below(struct walk *w, int folder, const char *name, size_t size, unsigned depth,
                      struct error *err);

/* Looks at one entry. It is no error if the entry disappears meanwhile. SIZE is the length of the
 * folder's path within w->path, which the entry's name extends. */
static int look(struct walk *w, int folder, const char *name, size_t size, unsigned depth,
                struct error *err) {
    struct stat st;
    int printed =
        snprintf(w->path + size, sizeof(w->path) - size, "%s%s", size > 0 ? "/" : "", name);
    if (printed < 0 || (size_t)printed >= sizeof(w->path) - size) {
        note_missed(w, size, "the paths below are too long", 0);
        return 0;
    }
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT)
            note_missed(w, size + (size_t)printed, "it cannot be looked at", errno);
        return 0;
    }
    if (S_ISREG(st.st_mode))
        return add_found(w, &st, err);
    if (!S_ISDIR(st.st_mode)) {
        note_odd(w->leaving, name);
        return 0;
    }
    return look_below(w, folder, name, size + (size_t)printed, depth + 1, err);
}

/* Enters the folder NAME; its path has SIZE bytes. The limit of depth bounds both the recursion and
 * the open descriptors: each level keeps one. */
static int look_below(struct walk *w, int folder, const char *name, size_t size, unsigned depth,
                      struct error *err) {
    if (depth >= SAFE_DIR_DEPTH_MAX) {
        note_missed(w, size, "this folder lies too deep below the one that is uploaded", 0);
        return 0;
    }
    int below = openat(folder, name, WAY);
    if (below >= 0)
        return walk_folder(w, below, size, depth, err);
    if (errno != ENOENT)
        note_missed(w, size, "the folder cannot be opened", errno);
    return 0;
}

/* Lists one folder, and closes FOLDER. */
static int walk_folder(struct walk *w, int folder, size_t size, unsigned depth, struct error *err) {
    DIR *listing = fdopendir(folder);
    int result = 0;
    if (listing == NULL) {
        (void)close(folder);
        return error_no_memory(err, "a list of files");
    }
    const struct dirent *e = NULL;
    /* readdir() reports an error only by errno, which it leaves alone at the end of the folder. */
    while (result == 0 && (errno = 0, e = readdir(listing)) != NULL)
        if (is_whole(e->d_name))
            result = look(w, dirfd(listing), e->d_name, size, depth, err);
    int failed = errno;
    if (result == 0 && failed != 0) /* the listing may be incomplete */
        note_missed(w, size, "the folder cannot be read", failed);
    (void)closedir(listing);
    return result;
}

static int by_path(const void *a, const void *b) {
    return strcmp(((const struct scan_file *)a)->path, ((const struct scan_file *)b)->path);
}

int scan_read(const char *folder, struct scan *ret, struct error *err) {
    return scan_read_some(folder, SCAN_MAX, ret, err);
}

/* The folder itself may be a link: its path is the job's own setting. Only what lies below it is
 * not trusted. */
int scan_read_some(const char *folder, size_t most, struct scan *ret, struct error *err) {
    *ret = (struct scan){0};
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", folder);
    struct walk walk = {.leaving = ret, .most = most};
    if (walk_folder(&walk, fd, 0, 0, err) != 0) {
        scan_done(ret);
        return error_wrap(err, "%s", folder);
    }
    if (ret->count > 0)
        qsort(ret->items, ret->count, sizeof(*ret->items), by_path);
    return 0;
}

int scan_read_one(const char *folder, const char *path, struct scan *ret, struct error *err) {
    struct stat st;
    /* Kept apart from ERR: that the file is missing is no failure here. */
    struct error absent = {0};
    *ret = (struct scan){0};
    cleanup_fd int fd = scan_open(folder, path, &absent);
    if (fd < 0 && absent.os_errno == ENOENT)
        return 0;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return add(ret, path, &st, err);
    return error_set(err, EXIT_CODE_DATA, "%s/%s is not a readable file", folder, path);
}

/* L has to be sorted, as scan_read and scan_read_some leave it. */
const struct scan_file *scan_find(const struct scan *l, const char *path) {
    const struct scan_file wanted = {.path = (char *)(uintptr_t)path};
    if (l->count == 0)
        return NULL;
    return bsearch(&wanted, l->items, l->count, sizeof(*l->items), by_path);
}

/* --- one file --------------------------------------------------------------------------------- */

/* Walks PATH part by part, each from the folder before. A part that is too long is cut by snprintf
 * and then not found. O_NONBLOCK keeps a FIFO that has taken the file's place from blocking; the
 * caller checks the type. */
int scan_open(const char *folder, const char *path, struct error *err) {
    char part[SAFE_DIR_NAME_MAX + 1];
    int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (const char *from = path; at >= 0;) {
        size_t size = strcspn(from, "/");
        bool last = from[size] == '\0';
        (void)snprintf(part, sizeof(part), "%.*s", (int)size, from);
        int next = openat(at, part, last ? O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC : WAY);
        (void)close(at);
        at = next;
        if (last && at >= 0)
            return at;
        from += size + 1;
    }
    return error_set_errno(err, EXIT_CODE_DATA, "reading \"%.256s\"", path);
}

/* A read lease is granted only if no process has the file open for writing. It is returned at once,
 * because a writer would have to wait for it. F_SETLEASE fails with EAGAIN exactly if there is a
 * writer. Any other error (a file of another user, a network file system without leases) says
 * nothing, and the file's age decides. */
bool scan_at_rest(int fd, const struct scan_stamp *stamp, int64_t now) {
    if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
        (void)fcntl(fd, F_SETLEASE, F_UNLCK);
        return true;
    }
    if (errno == EAGAIN)
        return false;
    int64_t modified = stamp->modified.tv_sec * CLOCK_SECOND + stamp->modified.tv_nsec;
    return now - modified >= SCAN_QUIET_SECONDS * CLOCK_SECOND;
}

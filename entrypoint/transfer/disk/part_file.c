#include "entrypoint/transfer/disk/part_file.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/str.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file on disk begins with the content at its final offsets, with holes for parts that are
 * missing. A struct note follows, and then one byte for each part, 1 once all its bytes are
 * written. fetch/ranges.c is the only caller that fills it.
 *
 * The byte of a part is written after the part, so a process that is killed in between loses that
 * part alone. Nothing is synced to the disk: after a crash of the machine the byte may have
 * survived without the data. The boot ID in the note therefore has to be that of the running
 * kernel.
 *
 * The content is not verified here. The caller digests the whole file, resumed parts included,
 * before part_file_publish gives it its name. */

enum {
    BOOT_SIZE = 48, /* a UUID of 36 characters, a line end, and zeros */
    OPEN_TRIES = 16 /* each fails only if the file's owner has just renamed or removed it */
};

/* Stored after the last byte of the file; one byte for each piece follows it. */
struct note {
    char magic[16];
    char boot[BOOT_SIZE]; /* ID of the kernel's boot in which the parts were written */
    char etag[PART_FILE_ETAG_MAX];
    int64_t size;
    int64_t piece; /* size of a part; differs if the limits in the header have changed */
};

static const char magic[16] = "ringmaster part";

/* Names the partial file of NAME. The hash has a fixed length: a file name of SAFE_DIR_NAME_MAX
 * bytes would leave no room for a prefix. */
static void temp_name(const char *name, char ret[64]) {
    (void)snprintf(ret, 64, ".ringmaster-pieces-%016" PRIx64,
                   str_hash(STR_HASH_START, name, strlen(name)));
}

/* Reads the boot ID; "" if it is unknown, and nothing is then resumed. */
static void read_boot(char ret[BOOT_SIZE]) {
    memset(ret, 0, BOOT_SIZE);
    cleanup_fd int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, ret, BOOT_SIZE - 1) < 36)
        ret[0] = '\0';
}

/* Describes F in *RET. All bytes are set, also padding and the rest of each text, so that take_left
 * can compare two notes as memory. */
static void fill_note(const struct part_file *f, const char *etag, struct note *ret) {
    memset(ret, 0, sizeof(*ret));
    memcpy(ret->magic, magic, sizeof(magic));
    read_boot(ret->boot);
    (void)snprintf(ret->etag, sizeof(ret->etag), "%s", etag);
    ret->size = f->size;
    ret->piece = f->piece;
}

/* Returns the offset of the bytes that say which parts are here. */
static off_t map_at(const struct part_file *f) {
    return f->size + (off_t)sizeof(struct note);
}

static void clear_here(struct part_file *f) {
    memset(f->here, 0, f->count);
}

/* Takes over what an earlier start has left, if it is of exactly this version. The size has to
 * match as well, which a file that was cut off or is being published does not. Any value but 1 in
 * the map counts as a missing part. */
static bool take_left(struct part_file *f, const struct note *own) {
    struct note left;
    struct stat st;
    if (own->boot[0] == '\0' || fstat(f->fd, &st) != 0 ||
        st.st_size != map_at(f) + (off_t)f->count ||
        pread(f->fd, &left, sizeof(left), f->size) != (ssize_t)sizeof(left) ||
        memcmp(&left, own, sizeof(left)) != 0 ||
        pread(f->fd, f->here, f->count, map_at(f)) != (ssize_t)f->count)
        return false;
    for (uint32_t i = 0; i < f->count; i++)
        f->here[i] = f->here[i] == 1;
    return true;
}

/* Discards what is there. Truncating to 0 first turns the whole file into one hole, so the map
 * reads as zeros without being written. */
static int begin_anew(struct part_file *f, const struct note *own, struct error *err) {
    clear_here(f);
    if (ftruncate(f->fd, 0) == 0 && ftruncate(f->fd, map_at(f) + (off_t)f->count) == 0 &&
        pwrite(f->fd, own, sizeof(*own), f->size) == (ssize_t)sizeof(*own))
        return 0;
    return error_set_errno(err, file_write_code(errno), "\"%.256s\"", f->name);
}

/* Returns true if TEMP still names the file of FD. Its previous owner may have published or removed
 * it between the open and the lock of this process. */
static bool is_still(int folder, const char *temp, int fd) {
    struct stat own, st;
    return fstat(fd, &own) == 0 && fstatat(folder, temp, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           own.st_dev == st.st_dev && own.st_ino == st.st_ino;
}

/* Returns 1 if another process has the file. Without locks in the file system it is removed, so
 * that no two processes can resume it. The lock belongs to the open descriptor, so the kernel
 * releases it when the process dies in whatever way. */
static int lock_temp(const struct part_file *f) {
    if (flock(f->fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno != EWOULDBLOCK)
        (void)unlinkat(f->folder, f->temp, 0);
    return 1;
}

/* Returns 1 if another process uses the file. FLAGS is O_CREAT or 0. O_NONBLOCK keeps a FIFO of
 * that name from blocking open(); a file that is not regular is an error. */
static int open_temp(struct part_file *f, int flags, struct error *err) {
    for (int i = 0; i < OPEN_TRIES; i++) {
        struct stat st;
        f->fd =
            openat(f->folder, f->temp, flags | O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
        if (f->fd < 0 || fstat(f->fd, &st) != 0)
            return error_set_errno(err, file_write_code(errno), "writing \"%.256s\"", f->name);
        if (!S_ISREG(st.st_mode))
            return error_set(err, EXIT_CODE_CONFIG,
                             "writing \"%.256s\": %.64s beside it is not a regular file; remove it",
                             f->name, f->temp);
        if (lock_temp(f) != 0)
            return 1;
        if (is_still(f->folder, f->temp, f->fd))
            return 0;
        (void)close(f->fd);
        f->fd = -1;
    }
    return 1;
}

int part_file_open(struct part_file *f, int root, const char *path, int64_t size, const char *etag,
                   struct error *err) {
    struct note own;
    *f = (struct part_file){.fd = -1, .size = size, .piece = PART_FILE_PIECE};
    /* The map has at most PART_FILE_PIECES_MAX entries: larger files have larger parts. */
    while (size / f->piece >= PART_FILE_PIECES_MAX)
        f->piece *= 2;
    f->count = (uint32_t)((size + f->piece - 1) / f->piece);
    f->folder = safe_dir_enter(root, path, f->name, err);
    f->here = calloc(f->count + 1, 1);
    if (f->folder < 0 || f->here == NULL) {
        if (f->folder >= 0)
            (void)error_no_memory(err, "pieces");
        part_file_close(f);
        return -1;
    }
    temp_name(f->name, f->temp);
    int opened = open_temp(f, O_CREAT, err);
    fill_note(f, etag, &own);
    if (opened == 0 && !take_left(f, &own))
        opened = begin_anew(f, &own, err);
    if (opened != 0)
        part_file_close(f);
    return opened;
}

void part_file_close(struct part_file *f) {
    if (f->fd >= 0)
        (void)close(f->fd);
    if (f->folder >= 0)
        (void)close(f->folder);
    free(f->here);
    f->here = NULL;
    f->fd = f->folder = -1;
}

/* Without a descriptor the file is not owned, and may be in use by another process: it is then left
 * alone. */
void part_file_remove(struct part_file *f) {
    if (f->fd >= 0)
        (void)unlinkat(f->folder, f->temp, 0);
    part_file_close(f);
}

void part_file_forget(int root, const char *path) {
    struct part_file f = {.fd = -1};
    f.folder = safe_dir_find(root, path, f.name);
    temp_name(f.name, f.temp);
    if (f.folder >= 0 && open_temp(&f, 0, NULL) == 0)
        (void)unlinkat(f.folder, f.temp, 0);
    part_file_close(&f);
}

int64_t part_file_begin(const struct part_file *f, uint32_t number) {
    return number * f->piece;
}

int64_t part_file_length(const struct part_file *f, uint32_t number) {
    int64_t left = f->size - part_file_begin(f, number);
    return left < f->piece ? left : f->piece;
}

int part_file_note(struct part_file *f, uint32_t number, struct error *err) {
    f->here[number] = 1;
    if (pwrite(f->fd, &f->here[number], 1, map_at(f) + number) == 1)
        return 0;
    return error_set_errno(err, file_write_code(errno), "writing \"%.256s\"", f->name);
}

/* Cuts off the note and renames. The order matters: a process that dies in between leaves a file of
 * a size that take_left refuses, never a published file with a note at its end. */
int part_file_publish(struct part_file *f, struct error *err) {
    if (ftruncate(f->fd, f->size) != 0 || renameat(f->folder, f->temp, f->folder, f->name) != 0)
        return error_set_errno(err, file_write_code(errno), "\"%.256s\"", f->name);
    part_file_close(f);
    return 0;
}

int64_t part_file_present(int root, const char *path, int64_t size) {
    char name[SAFE_DIR_NAME_MAX + 1];
    char temp[64];
    struct stat st;
    cleanup_fd int folder = safe_dir_find(root, path, name);
    if (folder < 0)
        return 0;
    temp_name(name, temp);
    if ((fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || st.st_size != size) &&
        fstatat(folder, temp, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    /* Blocks in use are counted, not the size: a partial file has its full size from the start. */
    int64_t bytes = (int64_t)st.st_blocks * 512;
    return bytes < size ? bytes : size;
}

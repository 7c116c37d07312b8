#include "entrypoint/transfer/disk/unpack.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "entrypoint/transfer/disk/safe_dir.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The entries are read by libarchive; this file alone writes to the disk. Its
 * archive_read_extract() is not used, because it works on paths. Here every entry is created by a
 * name in an open directory, reached by safe_dir.h without following links. The only caller is
 * download_order.c, with an archive that the job's user has named.
 *
 * Entries are handled in the order of the archive. A later file or link replaces an earlier one, as
 * tar does; a folder is never replaced and never replaces anything. A failure leaves what is
 * unpacked so far: the caller keeps its archive file as a sign that the folder is incomplete. */

enum { BLOCK = 64 * 1024 }; /* bytes; lies on the stack in write_file */

struct unpacking {
    struct archive *archive;
    int root;       /* descriptor of the folder, borrowed */
    size_t entries; /* of all types, which UNPACK_ENTRIES_MAX limits */
    size_t files;   /* regular files, for the log */
    int64_t bytes;  /* written so far */
};

/* Sets ERR to the last error of libarchive, which may have none to tell. */
static int fail_archive(const struct unpacking *u, struct error *err) {
    const char *why = archive_error_string(u->archive);
    return error_set(err, EXIT_CODE_DATA, "the archive cannot be read: %.256s",
                     why != NULL ? why : "no reason given");
}

/* PATH without a leading "./", double slashes and a trailing '/', which tar writes. A path that is
 * too long gives "", which is not a valid name. An absolute path gives "" as well. Parts of ".."
 * are kept: safe_dir_enter refuses them. */
static void plain_path(const char *path, char ret[4096]) {
    size_t size = 0;
    ret[0] = '\0';
    if (path[0] == '/' || strlen(path) >= 4096)
        return;
    while (*path != '\0') {
        size_t part = strcspn(path, "/");
        if (part > 0 && !(part == 1 && path[0] == '.')) {
            if (size > 0)
                ret[size++] = '/';
            memcpy(ret + size, path, part);
            size += part;
        }
        path += part + (path[part] == '/');
    }
    ret[size] = '\0';
}

/* Returns true if a link at PATH to TARGET stays inside the folder: TARGET has at most as many ".."
 * as PATH is deep, all before the first name. If every link is such, no chain of links leads
 * outside. */
static bool stays_inside(const char *path, const char *target) {
    size_t depth = 0;
    bool named = false;
    for (const char *c = path; *c != '\0'; c++)
        depth += *c == '/';
    if (target[0] == '/' || target[0] == '\0')
        return false;
    while (*target != '\0') {
        size_t part = strcspn(target, "/");
        bool up = part == 2 && target[0] == '.' && target[1] == '.';
        if (up && (named || depth-- == 0))
            return false;
        named = named || (!up && part > 0 && !(part == 1 && target[0] == '.'));
        target += part + (target[part] == '/');
    }
    return true;
}

/* Checks the limit before MORE bytes are added. The subtraction cannot overflow, unlike a sum with
 * a size that the archive claims. */
static int weigh(const struct unpacking *u, int64_t more, struct error *err) {
    if (more <= UNPACK_BYTES_MAX - u->bytes)
        return 0;
    return error_set(err, EXIT_CODE_DATA, "the archive unpacks to more than %lld GiB",
                     (long long)(UNPACK_BYTES_MAX >> 30));
}

/* Copies the current entry to FD. The size in its header is only a claim, so the limit is checked
 * again with every block. */
static int write_file(struct unpacking *u, int fd, const char *path, struct error *err) {
    char block[BLOCK];
    for (;;) {
        ssize_t got = archive_read_data(u->archive, block, sizeof(block));
        if (got == 0)
            return 0;
        if (got < 0)
            return fail_archive(u, err);
        if (weigh(u, got, err) != 0)
            return -1;
        u->bytes += got;
        if (file_write_all(fd, block, (size_t)got, err) != 0)
            return error_wrap(err, "unpacking \"%.256s\"", path);
    }
}

static int fail_twice(const char *path, struct error *err) {
    return error_set(err, EXIT_CODE_DATA,
                     "the archive has \"%.256s\" twice, as a folder and as something else", path);
}

/* Creates a file anew; O_EXCL refuses a link that something else puts there after the unlink. Of
 * the mode only "executable or not" is kept: no setuid bit, and no file that the job cannot read.
 */
static int make_file(struct unpacking *u, int folder, const char *name, const char *path,
                     mode_t mode, struct error *err) {
    (void)unlinkat(folder, name, 0);
    cleanup_fd int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                               (mode & 0111) != 0 ? 0755 : 0644);
    if (fd < 0 && errno == EEXIST)
        return fail_twice(path, err);
    if (fd < 0)
        return error_set_errno(err, file_write_code(errno), "unpacking \"%.256s\"", path);
    u->files++;
    return write_file(u, fd, path, err);
}

/* Creates a symbolic link. It is not followed here or by any later entry; the check of its target
 * protects the programs that read the folder afterwards. */
static int make_link(int folder, const char *name, const char *path, const char *target,
                     struct error *err) {
    if (target == NULL || !stays_inside(path, target))
        return error_set(err, EXIT_CODE_DATA,
                         "the archive has a link \"%.256s\" that leads out of it", path);
    (void)unlinkat(folder, name, 0);
    int made = symlinkat(target, folder, name);
    if (made != 0 && errno == EEXIST)
        return fail_twice(path, err);
    if (made != 0)
        return error_set_errno(err, file_write_code(errno), "unpacking \"%.256s\"", path);
    return 0;
}

/* A folder that exists already is fine: archives list a folder more than once, and files before it.
 */
static int make_folder(int folder, const char *name, const char *path, struct error *err) {
    struct stat st;
    if (mkdirat(folder, name, 0755) == 0 ||
        (errno == EEXIST && fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(st.st_mode)))
        return 0;
    if (errno == EEXIST)
        return fail_twice(path, err);
    return error_set_errno(err, file_write_code(errno), "unpacking \"%.256s\"", path);
}

/* Creates one entry. Parent folders that the archive does not list are made by safe_dir_enter. Hard
 * links are refused, since their target would be a path to be resolved. */
static int add(struct unpacking *u, struct archive_entry *entry, struct error *err) {
    char path[4096];
    char name[SAFE_DIR_NAME_MAX + 1];
    const char *given = archive_entry_pathname(entry);
    unsigned type = archive_entry_filetype(entry);
    plain_path(given != NULL ? given : "", path);
    if (path[0] == '\0' && type == AE_IFDIR && given != NULL && given[0] == '.')
        return 0; /* the folder that is unpacked into */
    cleanup_fd int folder = safe_dir_enter(u->root, path, name, err);
    if (folder < 0)
        return error_wrap(err, "the archive");
    if (archive_entry_hardlink(entry) != NULL)
        return error_set(
            err, EXIT_CODE_DATA,
            "the archive has a hard link \"%.256s\"; create it with tar --hard-dereference", path);
    if (type == AE_IFREG && weigh(u, archive_entry_size(entry), err) != 0)
        return -1; /* fails before it fills the disk */
    if (type == AE_IFREG)
        return make_file(u, folder, name, path, (mode_t)archive_entry_perm(entry), err);
    if (type == AE_IFDIR)
        return make_folder(folder, name, path, err);
    if (type == AE_IFLNK)
        return make_link(folder, name, path, archive_entry_symlink(entry), err);
    return error_set(err, EXIT_CODE_DATA,
                     "the archive has \"%.256s\", which is neither file, folder nor link", path);
}

static int walk(struct unpacking *u, struct error *err) {
    for (;;) {
        struct archive_entry *entry = NULL;
        int came = archive_read_next_header(u->archive, &entry);
        if (came == ARCHIVE_EOF)
            return 0;
        /* A warning, such as a name that no character set fits, still delivers the entry. */
        if (came < ARCHIVE_WARN)
            return fail_archive(u, err);
        if (++u->entries > UNPACK_ENTRIES_MAX)
            return error_set(err, EXIT_CODE_DATA, "the archive has more than %d entries",
                             UNPACK_ENTRIES_MAX);
        if (add(u, entry, err) != 0)
            return -1;
    }
}

int unpack(int fd, int root, size_t *ret_count, struct error *err) {
    struct unpacking u = {.archive = archive_read_new(), .root = root};
    if (u.archive == NULL || lseek(fd, 0, SEEK_SET) != 0) {
        (void)archive_read_free(u.archive);
        return error_set(err, EXIT_CODE_INTERNAL, "an archive cannot be read from its beginning");
    }
    /* Enables the filters in the library; those that would start programs stay disabled. */
    (void)archive_read_support_format_tar(u.archive);
    (void)archive_read_support_filter_gzip(u.archive);
    (void)archive_read_support_filter_bzip2(u.archive);
    (void)archive_read_support_filter_xz(u.archive);
    (void)archive_read_support_filter_zstd(u.archive);
    int result = archive_read_open_fd(u.archive, fd, BLOCK) == ARCHIVE_OK ? walk(&u, err)
                                                                          : fail_archive(&u, err);
    (void)archive_read_free(u.archive);
    *ret_count = u.files;
    return result;
}

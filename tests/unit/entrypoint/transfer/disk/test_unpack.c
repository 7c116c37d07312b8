#include "common/cleanup.h"
#include "common/file/file.h"
#include "entrypoint/transfer/disk/safe_dir.h"
#include "entrypoint/transfer/disk/unpack.h"
#include "tests/support/unit.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct entry {
    const char *path;
    const char *text; /* content of a file, or target of a link */
    unsigned type;
    unsigned mode;
    bool hard;
};

/* Packs ENTRIES into an archive in memory, compressed with gzip. */
static int pack(const struct entry *entries, size_t count) {
    int fd = memfd_create("archive", MFD_CLOEXEC);
    struct archive *a = archive_write_new();
    (void)archive_write_set_format_pax_restricted(a);
    (void)archive_write_add_filter_gzip(a);
    CU_ASSERT_EQUAL(archive_write_open_fd(a, fd), ARCHIVE_OK);
    for (size_t i = 0; i < count; i++) {
        struct archive_entry *e = archive_entry_new();
        bool file = entries[i].type == AE_IFREG && !entries[i].hard;
        archive_entry_set_pathname(e, entries[i].path);
        archive_entry_set_filetype(e, entries[i].type);
        archive_entry_set_perm(e, (mode_t)(entries[i].mode != 0 ? entries[i].mode : 0644));
        if (entries[i].hard)
            archive_entry_set_hardlink(e, entries[i].text);
        else if (entries[i].type == AE_IFLNK)
            archive_entry_set_symlink(e, entries[i].text);
        else if (file)
            archive_entry_set_size(e, (la_int64_t)strlen(entries[i].text));
        (void)archive_write_header(a, e);
        if (file)
            (void)archive_write_data(a, entries[i].text, strlen(entries[i].text));
        archive_entry_free(e);
    }
    (void)archive_write_close(a);
    (void)archive_write_free(a);
    return fd;
}

static int fresh(void) {
    static unsigned number;
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/%u/in", unit_temp_dir(), number++);
    return safe_dir_open(path, NULL);
}

static void assert_file(int root, const char *path, const char *text, mode_t mode) {
    char got[64] = "";
    struct stat st = {0};
    cleanup_fd int fd = openat(root, path, O_RDONLY | O_CLOEXEC);
    CU_ASSERT_TRUE(fd >= 0 && read(fd, got, sizeof(got) - 1) >= 0);
    CU_ASSERT_STRING_EQUAL(got, text);
    CU_ASSERT_EQUAL(fstat(fd, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 07777, mode);
}

static void a_plain_archive_comes_out(void) {
    static const struct entry entries[] = {
        {"./", NULL, AE_IFDIR, 0755, false},
        {"./train.py", "import os", AE_IFREG, 0600, false},
        {"run.sh", "#!/bin/sh", AE_IFREG, 06777, false},
        {"pkg/deep/mod.py", "x = 1", AE_IFREG, 0, false},
        {"pkg/empty/", NULL, AE_IFDIR, 0700, false},
        {"pkg/here", "deep/mod.py", AE_IFLNK, 0, false},
        {"pkg/deep/up", "../../train.py", AE_IFLNK, 0, false},
        {"train.py", "again", AE_IFREG, 0, false},
    };
    struct stat st;
    size_t count = 0;
    cleanup_fd int root = fresh();
    cleanup_fd int fd = pack(entries, sizeof(entries) / sizeof(entries[0]));
    CU_ASSERT_EQUAL(unpack(fd, root, &count, NULL), 0);
    CU_ASSERT_EQUAL(count, 4);
    assert_file(root, "train.py", "again", 0644);
    assert_file(root, "run.sh", "#!/bin/sh", 0755);
    assert_file(root, "pkg/here", "x = 1", 0644);
    assert_file(root, "pkg/deep/up", "again", 0644);
    CU_ASSERT_EQUAL(fstatat(root, "pkg/empty", &st, 0), 0);
}

/* Each case is refused, and nothing is written outside the folder. */
static void what_leads_out_is_refused(void) {
    static const struct {
        struct entry entries[2];
        const char *words;
    } cases[] = {
        {{{"../out", "x", AE_IFREG, 0, false}}, "no path"},
        {{{"a/../../out", "x", AE_IFREG, 0, false}}, "no path"},
        {{{"/tmp/out", "x", AE_IFREG, 0, false}}, "no path"},
        {{{"out", "/etc/passwd", AE_IFLNK, 0, false}}, "link \"out\" that leads out"},
        {{{"out", "..", AE_IFLNK, 0, false}}, "leads out"},
        {{{"a/out", "../../x", AE_IFLNK, 0, false}}, "leads out"},
        {{{"a/out", "b/../x", AE_IFLNK, 0, false}}, "leads out"},
        {{{"a", ".", AE_IFLNK, 0, false}, {"a/out", "x", AE_IFREG, 0, false}}, "in the way"},
        {{{"out", "train.py", AE_IFREG, 0, true}}, "hard link"},
        {{{"out", NULL, AE_IFIFO, 0, false}}, "neither file, folder nor link"},
        {{{"out", NULL, AE_IFCHR, 0, false}}, "neither file, folder nor link"},
        {{{"a", "x", AE_IFREG, 0, false}, {"a/out", "x", AE_IFREG, 0, false}}, "in the way"},
        {{{"a", NULL, AE_IFDIR, 0755, false}, {"a", "x", AE_IFREG, 0, false}}, "\"a\" twice"},
        {{{"a", NULL, AE_IFDIR, 0755, false}, {"a", "b", AE_IFLNK, 0, false}}, "\"a\" twice"},
        {{{"a", "x", AE_IFREG, 0, false}, {"a", NULL, AE_IFDIR, 0755, false}}, "\"a\" twice"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {0};
        struct stat st;
        size_t count = 0;
        cleanup_fd int root = fresh();
        cleanup_fd int fd = pack(cases[i].entries, cases[i].entries[1].path != NULL ? 2 : 1);
        CU_ASSERT_EQUAL(unpack(fd, root, &count, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, cases[i].words);
        CU_ASSERT_NOT_EQUAL(fstatat(root, "../out", &st, AT_SYMLINK_NOFOLLOW), 0);
    }
}

static void what_is_no_archive_is_refused(void) {
    static const struct entry whole[] = {{"a", "some text that is packed", AE_IFREG, 0, false}};
    struct error err = {0};
    size_t count = 0;
    cleanup_fd int root = fresh();
    cleanup_fd int text = memfd_create("text", MFD_CLOEXEC);
    CU_ASSERT_EQUAL(file_write_all(text, "hello, this is text", 19, NULL), 0);
    CU_ASSERT_EQUAL(unpack(text, root, &count, &err), -1);
    ASSERT_CONTAINS(err.text, "the archive cannot be read");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    cleanup_fd int cut = pack(whole, 1);
    CU_ASSERT_EQUAL(ftruncate(cut, lseek(cut, 0, SEEK_END) / 2), 0);
    CU_ASSERT_EQUAL(unpack(cut, root, &count, &err), -1);
}

enum { TAR_BLOCK = 512 };

/* Builds the header of an entry in the ustar format; SIZE is in base 256, as GNU tar writes sizes
 * above 8 GiB. */
static void head(char type, uint64_t size, char ret[TAR_BLOCK]) {
    unsigned sum = 0;
    memset(ret, 0, TAR_BLOCK);
    (void)snprintf(ret, 100, "entry");
    (void)snprintf(ret + 100, 8, "%07o", 0755U);
    for (unsigned i = 0; i < 8; i++)
        ret[135 - i] = (char)(size >> 8 * i & 0xff);
    ret[124] = (char)0x80;
    memset(ret + 148, ' ', 8);
    ret[156] = type;
    memcpy(ret + 257, "ustar", 6);
    memcpy(ret + 263, "00", 2);
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += (unsigned char)ret[i];
    (void)snprintf(ret + 148, 8, "%06o", sum);
}

/* The header is enough for that: nothing of the entry is written. */
static void a_bomb_is_refused_by_its_head(void) {
    char block[TAR_BLOCK];
    struct error err = {0};
    struct stat st;
    size_t count = 0;
    cleanup_fd int root = fresh();
    cleanup_fd int fd = memfd_create("archive", MFD_CLOEXEC);
    head('0', (uint64_t)UNPACK_BYTES_MAX + 1, block);
    CU_ASSERT_EQUAL(file_write_all(fd, block, sizeof(block), NULL), 0);
    CU_ASSERT_EQUAL(unpack(fd, root, &count, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "the archive unpacks to more than 16 GiB");
    CU_ASSERT_NOT_EQUAL(fstatat(root, "entry", &st, AT_SYMLINK_NOFOLLOW), 0);
}

/* All entries have the same name, so the test costs nothing but time. */
static void entries_have_a_ceiling(void) {
    enum { AT_ONCE = 1000 };
    static char blocks[AT_ONCE][TAR_BLOCK];
    struct error err = {0};
    size_t count = 0;
    cleanup_fd int root = fresh();
    cleanup_fd int fd = memfd_create("archive", MFD_CLOEXEC);
    for (size_t i = 0; i < AT_ONCE; i++)
        head('5', 0, blocks[i]);
    for (int i = 0; i < UNPACK_ENTRIES_MAX / AT_ONCE; i++)
        CU_ASSERT_EQUAL(file_write_all(fd, blocks, sizeof(blocks), NULL), 0);
    CU_ASSERT_EQUAL(unpack(fd, root, &count, &err), 0);
    CU_ASSERT_EQUAL(file_write_all(fd, blocks, TAR_BLOCK, NULL), 0);
    CU_ASSERT_EQUAL(unpack(fd, root, &count, &err), -1);
    ASSERT_CONTAINS(err.text, "the archive has more than 100000 entries");
}

UNIT_SUITE("transfer.unpack", UNIT(a_bomb_is_refused_by_its_head), UNIT(entries_have_a_ceiling),
           UNIT(a_plain_archive_comes_out), UNIT(what_leads_out_is_refused),
           UNIT(what_is_no_archive_is_refused))

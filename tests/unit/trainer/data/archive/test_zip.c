#include "common/binary/little_endian.h"
#include "tests/support/shards.h"
#include "trainer/data/archive/zip.h"

#include <fcntl.h>
#include <unistd.h>

enum { STORED = 0, DEFLATED = 8 };

/* A member of a generated archive. */
struct part {
    const char *path;
    const char *packed;
    size_t packed_size, size;
    uint32_t crc;
    int method, flags;
    bool zip64; /* sizes are in the extra field */
};

/* The CRC-32 of "hello", and members that contain it: stored, and as a stored block of deflate. */
static const uint32_t hello_crc = 0x3610a686;
static const struct part HELLO = {"a/hello.txt", "hello", 5, 5, 0x3610a686, STORED, 0, false};
static const struct part BLOCK = {
    "b.bin", "\x01\x05\x00\xfa\xffhello", 10, 5, 0x3610a686, DEFLATED, 0, false};

static void put(struct buf *out, uint64_t value, size_t size) {
    uint8_t bytes[8];
    little_endian_put(bytes, value, size);
    CU_ASSERT_EQUAL(buf_add(out, bytes, size, NULL), 0);
}

static void put_sizes(struct buf *out, const struct part *p) {
    put(out, p->crc, 4);
    put(out, p->zip64 ? UINT32_MAX : p->packed_size, 4);
    put(out, p->zip64 ? UINT32_MAX : p->size, 4);
    put(out, strlen(p->path), 2);
}

static void put_local(struct buf *out, const struct part *p) {
    put(out, 0x04034b50, 4);
    put(out, 20, 2);
    put(out, (uint64_t)p->flags, 2);
    put(out, (uint64_t)p->method, 2);
    put(out, 0, 4);
    put_sizes(out, p);
    put(out, 3, 2); /* an extra field that the directory does not have */
    CU_ASSERT_EQUAL(buf_add_text(out, p->path, NULL), 0);
    CU_ASSERT_EQUAL(buf_add(out, "xyz", 3, NULL), 0);
    CU_ASSERT_EQUAL(buf_add(out, p->packed, p->packed_size, NULL), 0);
}

static void put_entry(struct buf *out, const struct part *p, size_t offset) {
    put(out, 0x02014b50, 4);
    put(out, 20, 2);
    put(out, 20, 2);
    put(out, (uint64_t)p->flags, 2);
    put(out, (uint64_t)p->method, 2);
    put(out, 0, 4);
    put_sizes(out, p);
    put(out, p->zip64 ? 28 : 0, 2);
    put(out, 0, 2); /* comment */
    put(out, 0, 8); /* disk, attributes */
    put(out, p->zip64 ? UINT32_MAX : offset, 4);
    CU_ASSERT_EQUAL(buf_add_text(out, p->path, NULL), 0);
    if (!p->zip64)
        return;
    put(out, 1, 2);
    put(out, 24, 2);
    put(out, p->size, 8);
    put(out, p->packed_size, 8);
    put(out, offset, 8);
}

/* Writes an archive of COUNT members. */
static void make(struct buf *out, const struct part *parts, size_t count, bool zip64) {
    size_t offsets[8];
    for (size_t i = 0; i < count; i++) {
        offsets[i] = out->size;
        put_local(out, &parts[i]);
    }
    const size_t start = out->size;
    for (size_t i = 0; i < count; i++)
        put_entry(out, &parts[i], offsets[i]);
    const size_t end = out->size;
    if (zip64) {
        put(out, 0x06064b50, 4);
        put(out, 44, 8);
        put(out, 45, 2);
        put(out, 45, 2);
        put(out, 0, 8);
        put(out, count, 8);
        put(out, count, 8);
        put(out, end - start, 8);
        put(out, start, 8);
        put(out, 0x07064b50, 4);
        put(out, 0, 4);
        put(out, end, 8);
        put(out, 1, 4);
    }
    put(out, 0x06054b50, 4);
    put(out, 0, 4);
    put(out, zip64 ? UINT16_MAX : count, 2);
    put(out, zip64 ? UINT16_MAX : count, 2);
    put(out, zip64 ? UINT32_MAX : end - start, 4);
    put(out, zip64 ? UINT32_MAX : start, 4);
    put(out, 4, 2);
    CU_ASSERT_EQUAL(buf_add_text(out, "note", NULL), 0);
}

static int open_bytes(struct zip *zip, const struct buf *bytes, struct error *err) {
    static char path[700];
    (void)snprintf(path, sizeof(path), "%s", shards_path("a.zip"));
    shards_put(path, bytes->data, bytes->size);
    return zip_open(zip, path, err);
}

static int extract(const struct zip *zip, size_t member, struct buf *out, struct error *err) {
    char path[700];
    (void)snprintf(path, sizeof(path), "%s", shards_path("member"));
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    CU_ASSERT_FATAL(fd >= 0);
    int result = zip_extract(zip, &zip->members[member], fd, err);
    close(fd);
    CU_ASSERT_EQUAL(file_read(path, out, NULL), 0);
    return result;
}

static void members_are_read(void) {
    struct part parts[] = {HELLO, {.path = "folder/", .packed = ""}, BLOCK, HELLO};
    parts[3].zip64 = true;
    for (int zip64 = 0; zip64 < 2; zip64++) {
        cleanup_buf struct buf bytes = {.max = 1 << 20};
        cleanup_zip struct zip zip = ZIP_CLOSED;
        make(&bytes, parts, 4, zip64 != 0);
        CU_ASSERT_EQUAL_FATAL(open_bytes(&zip, &bytes, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(zip.count, 3);
        CU_ASSERT_STRING_EQUAL(zip.members[0].path, "a/hello.txt");
        CU_ASSERT_STRING_EQUAL(zip.members[1].path, "b.bin");
        for (size_t i = 0; i < 3; i++) {
            cleanup_buf struct buf out = {.max = 100};
            CU_ASSERT_EQUAL(zip.members[i].crc, hello_crc);
            CU_ASSERT_EQUAL(extract(&zip, i, &out, NULL), 0);
            CU_ASSERT_STRING_EQUAL(buf_text(&out), "hello");
        }
    }
}

static void members_that_cannot_be_used_are_refused(void) {
    static const struct {
        struct part part;
        const char *expected;
    } cases[] = {
        {{"x", "hello", 5, 5, 1, STORED, 0, false}, "its checksum is wrong"},
        {{"x", "hello", 5, 4, 0x3610a686, STORED, 0, false}, "larger than the directory says"},
        {{"x", "hello", 5, 6, 0x3610a686, STORED, 0, false}, "smaller than the directory says"},
        {{"x", "hello", 5, 5, 0x3610a686, STORED, 1, false}, "encrypted"},
        {{"x", "hello", 5, 5, 0x3610a686, 12, 0, false}, "a method that is not read"},
        {{"x", "\x01\x05\x00\xfa\xffhel", 8, 5, 0x3610a686, DEFLATED, 0, false}, "ends too early"},
        {{"x", "\x07\x05\x00\xfa\xffhello", 10, 5, 0x3610a686, DEFLATED, 0, false},
         "damaged packed data"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_buf struct buf bytes = {.max = 1 << 20};
        cleanup_buf struct buf out = {.max = 100};
        cleanup_zip struct zip zip = ZIP_CLOSED;
        struct error err = {0};
        make(&bytes, &cases[i].part, 1, false);
        CU_ASSERT_EQUAL_FATAL(open_bytes(&zip, &bytes, NULL), 0);
        CU_ASSERT_EQUAL(extract(&zip, 0, &out, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].expected));
    }
}

/* Whatever is cut off or flipped, opening terminates, and no member lies outside the archive. */
static void damaged_directories_are_refused_or_consistent(void) {
    cleanup_buf struct buf whole = {.max = 1 << 20};
    const struct part parts[] = {HELLO, BLOCK};
    size_t refused = 0;
    make(&whole, parts, 2, true);
    for (size_t size = 0; size < whole.size - 4; size++) {
        cleanup_zip struct zip zip = ZIP_CLOSED;
        struct error err = {0};
        const struct buf cut = {.data = whole.data, .size = size};
        CU_ASSERT_EQUAL(open_bytes(&zip, &cut, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    }
    for (size_t at = 0; at < whole.size; at++) {
        cleanup_zip struct zip zip = ZIP_CLOSED;
        whole.data[at] ^= 0x40;
        refused += open_bytes(&zip, &whole, NULL) != 0;
        for (size_t i = 0; i < zip.count; i++) {
            cleanup_buf struct buf out = {.max = 100};
            struct error err = {0};
            if (extract(&zip, i, &out, &err) == 0)
                CU_ASSERT_STRING_EQUAL(buf_text(&out), "hello");
        }
        whole.data[at] ^= 0x40;
    }
    CU_ASSERT_TRUE(refused > 20);
}

UNIT_SUITE("data.archive.zip", UNIT(members_are_read),
           UNIT(members_that_cannot_be_used_are_refused),
           UNIT(damaged_directories_are_refused_or_consistent))

#include "tests/support/shards.h"
#include "tests/support/tar.h"
#include "trainer/data/format/tar_walk.h"
#include "trainer/data/format/tar_write.h"

#include <stdlib.h>

static void scan(struct buf *out, struct shards_seen *seen) {
    CU_ASSERT_EQUAL(tar_write_end(out, NULL), 0);
    CU_ASSERT(
        FORMAT_TAR.is("shard", (const uint8_t *)out->data, out->size < 512 ? out->size : 512));
    shards_scan_bytes(&FORMAT_TAR, out->data, out->size, seen);
}

static void samples_are_consecutive_files_of_one_key(void) {
    cleanup_buf struct buf out = {.max = 1 << 20};
    struct shards_seen seen;
    tar_add(&out, "a/0001.JPG", "first");
    tar_add(&out, "a/0001.cls", " 7\n");
    tar_add(&out, "a/0001.seg.png", "other");
    tar_add(&out, "a/0002.json", "{\"label\":3,\"class_name\":\"rose\"}");
    tar_add(&out, "a/0002.png", "second");
    tar_add(&out, "a/0003.txt", "no picture");
    tar_add(&out, "b/0003.index", "5");
    tar_add(&out, "b/0003.jpeg", "third");
    scan(&out, &seen);
    CU_ASSERT_EQUAL(seen.bad, 0);
    CU_ASSERT_EQUAL_FATAL(seen.count, 3);
    CU_ASSERT_EQUAL(seen.samples[0].label, 7);
    CU_ASSERT_EQUAL(seen.samples[1].label, 3);
    CU_ASSERT_STRING_EQUAL(seen.classes[1], "rose");
    CU_ASSERT_EQUAL(seen.samples[2].label, 5);
    shards_read(&FORMAT_TAR, &seen.samples[0], "first");
    shards_read(&FORMAT_TAR, &seen.samples[2], "third");
}

static void cls_goes_before_json_and_json_before_index(void) {
    cleanup_buf struct buf out = {.max = 1 << 20};
    struct shards_seen seen;
    tar_add(&out, "1.index", "1");
    tar_add(&out, "1.json", "{\"cls\":2}");
    tar_add(&out, "1.jpg", "x");
    tar_add(&out, "2.cls", "4");
    tar_add(&out, "2.json", "{\"class_id\":2}");
    tar_add(&out, "2.jpg", "x");
    scan(&out, &seen);
    CU_ASSERT_EQUAL_FATAL(seen.count, 2);
    CU_ASSERT_EQUAL(seen.samples[0].label, 2);
    CU_ASSERT_EQUAL(seen.samples[1].label, 4);
}

/* Without files of classes each picture is a sample, also where its name has further dots. */
static void a_tar_of_class_folders(void) {
    cleanup_buf struct buf out = {.max = 1 << 20};
    struct shards_seen seen;
    tar_add_bytes(&out, "./set/", '5', "", 0);
    tar_add(&out, "./set/rose/img.1.jpg", "first");
    tar_add(&out, "./set/rose/img.2.jpg", "second");
    tar_add(&out, "./set/rose/.hidden.jpg", "x");
    tar_add(&out, "./set/README", "x");
    tar_add_bytes(&out, "./set/link.jpg", '2', "", 0);
    scan(&out, &seen);
    CU_ASSERT_EQUAL_FATAL(seen.count, 2);
    CU_ASSERT_STRING_EQUAL(seen.names[0], "set/rose/img.1.jpg");
    CU_ASSERT_EQUAL(seen.samples[1].label, SHARD_NO_LABEL);
    shards_read(&FORMAT_TAR, &seen.samples[1], "second");
}

static void samples_that_cannot_be_used_are_bad(void) {
    static const struct {
        const char *name, *text, *why;
    } cases[] = {
        {"1.cls", "1.5", "'1.5' is not a class"},
        {"1.cls", "-1", "'-1' is not a class"},
        {"1.cls", "1000000000000", "is not a class"},
        {"1.cls", "", "'' is not a class"},
        {"1.cls", "12345678901234567890123456789012", "bytes are not a class"},
        {"1.json", "{\"label\":", "1.json"},
        {"1.png", "another", "a second picture in one sample"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_buf struct buf out = {.max = 1 << 20};
        struct shards_seen seen;
        tar_add(&out, "1.jpg", "x");
        tar_add(&out, cases[i].name, cases[i].text);
        tar_add(&out, "2.jpg", "y");
        tar_add(&out, "2.cls", "0");
        scan(&out, &seen);
        CU_ASSERT_EQUAL(seen.bad, 1);
        CU_ASSERT_EQUAL(seen.count, 1);
        ASSERT_CONTAINS(seen.why, cases[i].why);
    }
}

static void long_names_and_sizes(void) {
    cleanup_buf struct buf out = {.max = 1 << 20};
    struct shards_seen seen;
    char name[300];
    char pax[400];
    memset(name, 'n', sizeof(name));
    memcpy(name, "c/", 2);
    memcpy(name + 250, ".jpg", 5);
    tar_add_bytes(&out, "././@LongLink", 'L', name, strlen(name) + 1);
    tar_add(&out, "short", "gnu");
    int size = snprintf(pax, sizeof(pax), "%zu path=%s\n", strlen(name) + 10, name);
    tar_add_bytes(&out, "pax", 'x', pax, (size_t)size);
    tar_add(&out, "short", "pax");
    tar_add_bytes(&out, "global", 'g', "19 comment=nothing\n", 19);
    tar_add_bytes(&out, "pax", 'x', "10 size=3\n", 10);
    tar_add(&out, "c/last.jpg", "xyz");
    scan(&out, &seen);
    CU_ASSERT_EQUAL_FATAL(seen.count, 3);
    CU_ASSERT_STRING_EQUAL(seen.names[0], name);
    CU_ASSERT_STRING_EQUAL(seen.names[1], name);
    CU_ASSERT_STRING_EQUAL(seen.names[2], "c/last.jpg");
    shards_read(&FORMAT_TAR, &seen.samples[0], "gnu");
    shards_read(&FORMAT_TAR, &seen.samples[1], "pax");
    shards_read(&FORMAT_TAR, &seen.samples[2], "xyz");
}

static void headers_that_lie_end_the_shard(void) {
    static const struct {
        char type;
        const char *text, *why;
    } cases[] = {
        {'x', "9 path=a\n\n", "malformed"},
        {'x', "99 path=a\n", "malformed"},
        {'x', "path=a\n", "malformed"},
        {'x', "7 patha\n", "malformed"},
        {'x', "11 size=-1\n", "a bad size"},
        {'x', "26 size=99999999999999999\n", "ends within"},
        {'x', "22 GNU.sparse.major=1\n", "sparse files are not read"},
        {'S', "x", "sparse files are not read"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_buf struct buf out = {.max = 1 << 20};
        struct shards_seen seen;
        tar_add(&out, "c/0.jpg", "x");
        tar_add_bytes(&out, "header", cases[i].type, cases[i].text, strlen(cases[i].text));
        tar_add(&out, "c/1.jpg", "x");
        scan(&out, &seen);
        CU_ASSERT_EQUAL(seen.count, 1);
        CU_ASSERT_EQUAL(seen.bad, 1);
        ASSERT_CONTAINS(seen.why, cases[i].why);
    }
}

static void damage_is_named_with_its_place(void) {
    cleanup_buf struct buf out = {.max = 1 << 20};
    struct shards_seen seen;
    tar_add(&out, "c/0.jpg", "x");
    tar_add(&out, "c/1.jpg", "y");
    out.data[2 * TAR_BLOCK + 5] ^= 1;
    scan(&out, &seen);
    CU_ASSERT_EQUAL(seen.count, 1);
    ASSERT_CONTAINS(seen.why, "scanned: at byte 1024: the checksum of a tar header is wrong");
    for (size_t size = 1; size < 2 * TAR_BLOCK; size += 101) {
        shards_scan_bytes(&FORMAT_TAR, out.data, size, &seen);
        CU_ASSERT_EQUAL(seen.count, size >= TAR_BLOCK + 1);
        CU_ASSERT_EQUAL(seen.bad, size <= TAR_BLOCK);
    }
    shards_scan_bytes(&FORMAT_TAR, "\x1f\x8b\x08", 3, &seen);
    CU_ASSERT_EQUAL(seen.bad, 1);
    char gzip[TAR_BLOCK] = "\x1f\x8b\x08";
    shards_scan_bytes(&FORMAT_TAR, gzip, sizeof(gzip), &seen);
    ASSERT_CONTAINS(seen.why, "unpack it with gunzip");
}

/* The class of the last picture lies after the damage: it is lost with the rest. */
static void a_sample_that_damage_cuts_off_is_lost(void) {
    cleanup_buf struct buf out = {.max = 1 << 20};
    struct shards_seen seen;
    tar_add(&out, "0.jpg", "x");
    tar_add(&out, "0.cls", "4");
    tar_add(&out, "1.jpg", "y");
    const size_t damaged = out.size;
    tar_add(&out, "1.cls", "5");
    tar_add(&out, "2.jpg", "z");
    tar_add(&out, "2.cls", "6");
    out.data[damaged + 5] ^= 1;
    scan(&out, &seen);
    CU_ASSERT_EQUAL(seen.count, 1);
    CU_ASSERT_EQUAL(seen.bad, 1);
    CU_ASSERT_EQUAL(seen.lost.begin, damaged - TAR_BLOCK);
    CU_ASSERT_EQUAL(seen.lost.end, out.size);
}

static void what_is_written_is_read(void) {
    cleanup_buf struct buf out = {.max = 1 << 20};
    struct shards_seen seen;
    char deep[200];
    memset(deep, 'd', sizeof(deep));
    memcpy(deep + 150, "/x.jpg", 7);
    const char *const names[] = {"a.jpg", "a.b.c.PNG", "100%.jpg", "%2E.jpg", "s.u/b.jpg", deep};
    const size_t count = sizeof(names) / sizeof(names[0]);
    for (size_t i = 0; i < count; i++) {
        const struct shard_record record = {.class_name = "cl.ass",
                                            .name = names[i],
                                            .label = (int64_t)i,
                                            .picture = (const uint8_t *)names[i],
                                            .size = strlen(names[i])};
        CU_ASSERT_EQUAL(tar_write_sample(&out, &record, NULL), 0);
    }
    scan(&out, &seen);
    CU_ASSERT_EQUAL(seen.bad, 0);
    CU_ASSERT_EQUAL_FATAL(seen.count, count);
    for (size_t i = 0; i < count; i++) {
        char path[256];
        (void)snprintf(path, sizeof(path), "cl.ass/%s", names[i]);
        CU_ASSERT_STRING_EQUAL(seen.names[i], path);
        CU_ASSERT_EQUAL(seen.samples[i].label, (int64_t)i);
        shards_read(&FORMAT_TAR, &seen.samples[i], names[i]);
    }
}

UNIT_SUITE("data.format.tar_shard", UNIT(samples_are_consecutive_files_of_one_key),
           UNIT(cls_goes_before_json_and_json_before_index), UNIT(a_tar_of_class_folders),
           UNIT(samples_that_cannot_be_used_are_bad), UNIT(long_names_and_sizes),
           UNIT(headers_that_lie_end_the_shard), UNIT(damage_is_named_with_its_place),
           UNIT(a_sample_that_damage_cuts_off_is_lost), UNIT(what_is_written_is_read))

#include "tests/support/shards.h"
#include "tests/support/tar.h"
#include "trainer/data/archive/tar_extract.h"

#include <sys/stat.h>
#include <unistd.h>

static bool is_bin(const char *name) {
    return strstr(name, ".bin") != NULL;
}

static void wanted_members_become_files_of_one_folder(void) {
    cleanup_buf struct buf tar = {.max = 1 << 20};
    cleanup_buf struct buf out = {.max = 100};
    char folder[700];
    char archive[700];
    size_t count = 0;
    (void)snprintf(folder, sizeof(folder), "%s", shards_path("out"));
    (void)snprintf(archive, sizeof(archive), "%s", shards_path("a.tar"));
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(folder, NULL), 0);
    tar_add(&tar, "cifar/a.bin", "first");
    tar_add(&tar, "../../b.bin", "second"); /* only its name counts */
    tar_add(&tar, "cifar/readme.html", "no");
    tar_add_bytes(&tar, "cifar/link.bin", '2', "", 0);
    CU_ASSERT_EQUAL(tar_write_end(&tar, NULL), 0);
    shards_put(archive, tar.data, tar.size);
    CU_ASSERT_EQUAL_FATAL(tar_extract(archive, folder, is_bin, &count, NULL), 0);
    CU_ASSERT_EQUAL(count, 2);
    CU_ASSERT_EQUAL(file_read(shards_path("out/b.bin"), &out, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), "second");
    CU_ASSERT_EQUAL(access(shards_path("out/link.bin"), F_OK), -1);
    CU_ASSERT_EQUAL(access(shards_path("out/readme.html"), F_OK), -1);

    shards_put(shards_path("out/a.bin"), "kept!", 5); /* of its size: it is not written again */
    shards_put(shards_path("out/b.bin"), "cut", 3);
    CU_ASSERT_EQUAL_FATAL(tar_extract(archive, folder, is_bin, &count, NULL), 0);
    buf_consume(&out, out.size);
    CU_ASSERT_EQUAL(file_read(shards_path("out/a.bin"), &out, NULL), 0);
    CU_ASSERT_EQUAL(file_read(shards_path("out/b.bin"), &out, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), "kept!second");
}

static void damage_is_an_error_of_the_data(void) {
    cleanup_buf struct buf tar = {.max = 1 << 20};
    struct error err = {0};
    size_t count = 0;
    tar_add(&tar, "a.bin", "first");
    tar.data[5] ^= 1;
    shards_put(shards_path("bad.tar"), tar.data, tar.size);
    CU_ASSERT_EQUAL(tar_extract(shards_path("bad.tar"), unit_temp_dir(), is_bin, &count, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
}

UNIT_SUITE("data.archive.tar_extract", UNIT(wanted_members_become_files_of_one_folder),
           UNIT(damage_is_an_error_of_the_data))

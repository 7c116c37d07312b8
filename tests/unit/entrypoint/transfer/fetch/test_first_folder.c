#include "common/cleanup.h"
#include "common/file/file.h"
#include "entrypoint/transfer/disk/safe_dir.h"
#include "entrypoint/transfer/fetch/first_folder.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void list_is_read_as_it_was_written(void) {
    struct scan_file items[] = {
        {.path = (char[]){"a b/%41\n\xff"}, .stamp = {.size = 3, .modified = {.tv_sec = -5}}},
        {.path = (char[]){"c"}, .stamp = {.size = INT64_MAX, .modified = {.tv_sec = 1577934245}}},
    };
    const struct scan files = {.items = items, .count = 2};
    struct objects got;
    struct error err = {0};
    cleanup_buf struct buf text = {.max = 4096};
    CU_ASSERT_EQUAL(first_folder_print(&files, &text, &err), 0);
    CU_ASSERT_EQUAL_FATAL(first_folder_parse(buf_text(&text), text.size, &got, &err), 0);
    CU_ASSERT_EQUAL_FATAL(got.count, 2);
    CU_ASSERT_STRING_EQUAL(got.items[0].key, "a b/%41\n\xff");
    CU_ASSERT(got.items[0].size == 3 && got.items[0].modified == -5);
    CU_ASSERT_STRING_EQUAL(got.items[0].etag, "3--5");
    CU_ASSERT_STRING_EQUAL(got.items[1].etag, "9223372036854775807-1577934245");
    objects_done(&got);
}

static void bad_lists_are_refused_by_their_line(void) {
    static const char *const lists[] = {
        "x 1 a\n",
        "1 x a\n",
        "1 1\n",
        "1 1 \n",
        "-1 1 a\n",
        "1 1 a",
        "1 1 a%4\n",
        "1 1 a%0\n",
        "\n",
        "1 1 a%00\n",
        "1 1 .ringmaster-list\n",
    };
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        struct objects got;
        struct error err = {0};
        char text[64];
        (void)snprintf(text, sizeof(text), "1 1 good\n%s", lists[i]);
        CU_ASSERT_EQUAL(first_folder_parse(text, strlen(text), &got, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "list of files, line 2: "));
        objects_done(&got);
    }
}

static void count(void *context) {
    ++*(int *)context;
}

static void files_are_known_by_size_and_time(void) {
    char path[4096], sha[DIGEST_HEX_MAX];
    struct object object = {.size = 3, .modified = 1577934245};
    struct stat st;
    int turns = 0;
    (void)snprintf(path, sizeof(path), "%s/folder", unit_temp_dir());
    cleanup_fd int root = safe_dir_open(path, NULL);
    (void)snprintf(path, sizeof(path), "%s/folder/abc", unit_temp_dir());
    CU_ASSERT_EQUAL(file_put(path, "abc", 3, 0644, NULL), 0);
    CU_ASSERT_FALSE(first_folder_has(root, "abc", &object, count, &turns, sha));
    first_folder_date(root, "abc", object.modified);
    CU_ASSERT(stat(path, &st) == 0 && st.st_mtim.tv_sec == object.modified);
    CU_ASSERT(first_folder_has(root, "abc", &object, count, &turns, sha));
    CU_ASSERT_STRING_EQUAL(sha, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CU_ASSERT_EQUAL(turns, 1);
    object.size = 4;
    CU_ASSERT_FALSE(first_folder_has(root, "abc", &object, count, &turns, sha));
    CU_ASSERT_FALSE(first_folder_has(root, "../abc", &object, count, &turns, sha));
}

UNIT_SUITE("transfer.first_folder", UNIT(list_is_read_as_it_was_written),
           UNIT(bad_lists_are_refused_by_their_line), UNIT(files_are_known_by_size_and_time))

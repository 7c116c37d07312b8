#include "trainer/data/dataset/skipped_files.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static void files_are_counted_by_suffix_with_an_example(void) {
    static const char *const paths[] = {"a/1.webp", "a/2.WEBP", "b/notes.txt", "b/c.d/README"};
    struct skipped_files out = {0};
    char text[400];
    skipped_files_text(&out, text, sizeof(text));
    CU_ASSERT_STRING_EQUAL(text, "");
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(skipped_files_add_file(&out, paths[i], NULL), 0);
    CU_ASSERT_EQUAL(skipped_files_add(&out, "beside the class folders", true, "loose.jpg", NULL),
                    0);
    CU_ASSERT(out.count == 5 && out.pictures == 3 && out.kinds == 4);
    skipped_files_text(&out, text, sizeof(text));
    CU_ASSERT_STRING_EQUAL(text, "5 left out: 2 .webp (a/1.webp), 1 .txt (b/notes.txt), 1 without "
                                 "a suffix (b/c.d/README), 1 beside the class folders (loose.jpg)");
    CU_ASSERT_STRING_EQUAL(buf_text(&out.names),
                           "a/1.webp\na/2.WEBP\nb/notes.txt\nb/c.d/README\nloose.jpg\n");
    skipped_files_done(&out);
    CU_ASSERT(out.count == 0 && out.kinds == 0 && out.names.data == NULL);
    skipped_files_done(&out);
}

static void pictures_that_others_read_are_known_by_their_suffix(void) {
    static const char *const pictures[] = {"x.ppm",  "x.pgm",  "x.pbm", "x.pnm",  "x.bmp",
                                           "x.tif",  "x.TIFF", "x.gif", "x.webp", "x.avif",
                                           "x.heic", "x.heif", "x.jp2", "x.jxl",  "x.tga"};
    static const char *const others[] = {"x.tx", "x", "gif", "x.gif.txt", "x.gifs", ".gi"};
    struct skipped_files out = {0};
    for (size_t i = 0; i < sizeof(pictures) / sizeof(pictures[0]); i++) {
        CU_ASSERT_EQUAL(skipped_files_add_file(&out, pictures[i], NULL), 0);
        CU_ASSERT_EQUAL(out.pictures, i + 1);
    }
    size_t before = out.pictures;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        CU_ASSERT_EQUAL(skipped_files_add_file(&out, others[i], NULL), 0);
    CU_ASSERT_EQUAL(out.pictures, before);
    skipped_files_done(&out);
}

static void kinds_beyond_the_last_are_one(void) {
    struct skipped_files out = {0};
    char text[2000], path[32];
    for (int i = 0; i < SKIPPED_FILES_KINDS + 5; i++) {
        snprintf(path, sizeof(path), "a/file.k%d", i);
        CU_ASSERT_EQUAL(skipped_files_add_file(&out, path, NULL), 0);
    }
    CU_ASSERT_EQUAL(out.kinds, SKIPPED_FILES_KINDS);
    CU_ASSERT_EQUAL(out.count, SKIPPED_FILES_KINDS + 5);
    skipped_files_text(&out, text, sizeof(text));
    ASSERT_CONTAINS(text, "1 .k10 (a/file.k10), 6 of other kinds (a/file.k11)");
    CU_ASSERT_EQUAL(skipped_files_add_file(&out, "b/another.k3", NULL), 0);
    skipped_files_text(&out, text, sizeof(text));
    ASSERT_CONTAINS(text, "2 .k3 (a/file.k3)");
    skipped_files_done(&out);
}

static void long_names_and_texts_are_cut(void) {
    struct skipped_files out = {0};
    char path[300] = "a/x.", text[64];
    memset(path + 4, 'y', sizeof(path) - 5);
    CU_ASSERT_EQUAL(skipped_files_add_file(&out, path, NULL), 0);
    CU_ASSERT_EQUAL(strlen(out.kind[0].what), SKIPPED_FILES_WHAT_MAX - 1);
    CU_ASSERT_EQUAL(strlen(out.kind[0].example), SKIPPED_FILES_NAME_MAX - 1);
    for (size_t size = 1; size <= sizeof(text); size++) {
        memset(text, '?', sizeof(text));
        skipped_files_text(&out, text, size);
        CU_ASSERT_EQUAL(strlen(text), size - 1);
    }
    skipped_files_done(&out);
}

static void names_are_kept_up_to_the_ceiling(void) {
    struct skipped_files out = {0};
    char path[1024];
    memset(path, 'n', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    for (int i = 0; i < 1500; i++)
        CU_ASSERT_EQUAL_FATAL(skipped_files_add(&out, "many", false, path, NULL), 0);
    CU_ASSERT_EQUAL(out.count, 1500);
    CU_ASSERT(out.names.size <= SKIPPED_FILES_NAMES_MAX);
    CU_ASSERT(out.names.size > SKIPPED_FILES_NAMES_MAX - 2 * sizeof(path));
    skipped_files_done(&out);
}

UNIT_SUITE("data.skipped_files", UNIT(files_are_counted_by_suffix_with_an_example),
           UNIT(pictures_that_others_read_are_known_by_their_suffix),
           UNIT(kinds_beyond_the_last_are_one), UNIT(long_names_and_texts_are_cut),
           UNIT(names_are_kept_up_to_the_ceiling))

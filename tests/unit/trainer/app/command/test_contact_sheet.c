#include "trainer/app/command/contact_sheet.h"

#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/data/codec/picture.h"

#include <stdio.h>
#include <string.h>

enum { SIDE = 8 };

static const char *path_of(const char *name) {
    static char paths[4][600];
    static int turn;
    char *path = paths[turn++ % 4];
    (void)snprintf(path, 600, "%s/%s", unit_temp_dir(), name);
    return path;
}

/* Writes COUNT pictures of one colour of a class. */
static void put(const char *folder, int count, unsigned char red) {
    const unsigned char color[3] = {red, 20, 240};
    for (int k = 0; k < count; k++) {
        char path[1200];
        cleanup_buf struct buf out = {.max = 4096};
        CU_ASSERT_EQUAL(buf_printf(&out, NULL, "P6\n%d %d\n255\n", SIDE, SIDE), 0);
        for (int i = 0; i < SIDE * SIDE; i++)
            CU_ASSERT_EQUAL(buf_add(&out, color, 3, NULL), 0);
        snprintf(path, sizeof(path), "%s", path_of(folder));
        CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, NULL), 0);
        snprintf(path + strlen(path), 32, "/%02d.ppm", k);
        CU_ASSERT_EQUAL_FATAL(file_put(path, out.data, out.size, 0644, NULL), 0);
    }
}

static void names_of_files_say_the_format(void) {
    struct error err = {0};
    CU_ASSERT_EQUAL(contact_sheet_check("a.png", NULL), 0);
    CU_ASSERT_EQUAL(contact_sheet_check("b/c.jpg", NULL), 0);
    CU_ASSERT_EQUAL(contact_sheet_check("d.jpeg", NULL), 0);
    CU_ASSERT_EQUAL(contact_sheet_check("e.gif", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "'e.gif'");
}

/* How many of the sheet's pixels have that colour. */
static size_t pixels_of(const struct image *sheet, unsigned char red) {
    size_t count = 0;
    for (int y = 0; y < sheet->height; y++)
        for (int x = 0; x < sheet->width; x++) {
            const uint8_t *p = image_pixel(sheet, x, y);
            count += p[0] == red && p[1] == 20 && p[2] == 240;
        }
    return count;
}

static void each_class_has_a_row_of_its_pictures(void) {
    cleanup_dataset struct dataset set = {0};
    cleanup_picture_reader struct picture_reader reader = {0};
    cleanup_image struct image sheet = {0};
    put("set/few", 3, 100);
    put("set/many", CONTACT_SHEET_PICTURES + 5, 200);
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, path_of("set"), NULL), 0);
    CU_ASSERT_EQUAL_FATAL(contact_sheet_write(&set, path_of("sheet.png"), NULL), 0);
    CU_ASSERT_EQUAL_FATAL(picture_reader_read(&reader, path_of("sheet.png"), &sheet, NULL), 0);
    /* Tiles of 96 x 96 with gaps of 4. */
    CU_ASSERT_EQUAL(sheet.width, 4 + CONTACT_SHEET_PICTURES * 100);
    CU_ASSERT_EQUAL(pixels_of(&sheet, 100), 3 * 96 * 96);
    CU_ASSERT_EQUAL(pixels_of(&sheet, 200), CONTACT_SHEET_PICTURES * 96 * 96);
}

static void the_place_of_a_damaged_picture_stays_empty(void) {
    cleanup_dataset struct dataset set = {0};
    cleanup_picture_reader struct picture_reader reader = {0};
    cleanup_image struct image sheet = {0};
    put("torn/a", 2, 100);
    put("torn/b", 1, 200);
    CU_ASSERT_EQUAL_FATAL(file_put(path_of("torn/a/01.ppm"), "P6\n8 8\n255\nx", 12, 0644, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, path_of("torn"), NULL), 0);
    CU_ASSERT_EQUAL_FATAL(contact_sheet_write(&set, path_of("torn.png"), NULL), 0);
    CU_ASSERT_EQUAL_FATAL(picture_reader_read(&reader, path_of("torn.png"), &sheet, NULL), 0);
    CU_ASSERT_EQUAL(pixels_of(&sheet, 100), 96 * 96);
    CU_ASSERT_EQUAL(pixels_of(&sheet, 200), 96 * 96);
}

static void a_place_that_cannot_be_written_is_named(void) {
    cleanup_dataset struct dataset set = {0};
    struct error err = {0};
    put("one/a", 1, 100);
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, path_of("one"), NULL), 0);
    CU_ASSERT_EQUAL(contact_sheet_write(&set, path_of("none/sheet.jpg"), &err), -1);
    ASSERT_CONTAINS(err.text, "none/sheet.jpg");
}

UNIT_SUITE("command.contact_sheet", UNIT(names_of_files_say_the_format),
           UNIT(each_class_has_a_row_of_its_pictures),
           UNIT(the_place_of_a_damaged_picture_stays_empty),
           UNIT(a_place_that_cannot_be_written_is_named))

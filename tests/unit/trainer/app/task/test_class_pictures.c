#include "trainer/app/task/class_pictures.h"

#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/data/codec/jpeg.h"
#include "trainer/data/codec/picture.h"

#include <stdio.h>
#include <string.h>

static char cat[] = "cat", dog[] = "a dog of a long name";
static char *const NAMES[] = {cat, dog};

/* Two classes of two grey pictures: 24 x 8 pixels, and 8 x 24. */
static const char *make_set(const char *name) {
    static char folder[512];
    cleanup_image struct image picture = {0};
    char path[700];
    snprintf(folder, sizeof(folder), "%.400s/%s", unit_temp_dir(), name);
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, i < 2 ? "cat" : "dog");
        CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(image_resize(&picture, i % 2 ? 24 : 8, i % 2 ? 8 : 24, NULL), 0);
        memset(picture.pixels, 128, 24 * 8 * 3);
        snprintf(path, sizeof(path), "%s/%s/%d.png", folder, i < 2 ? "cat" : "dog", i);
        CU_ASSERT_EQUAL_FATAL(picture_write(&picture, true, path, NULL), 0);
    }
    return folder;
}

static struct {
    size_t count;
    int64_t id;
    struct image last;
} taken;

static int take(void *user, const struct task_picture *picture, struct error *err) {
    cleanup_jpeg_decoder struct jpeg_decoder decoder = {0};
    struct rect at;
    (void)user;
    taken.count++;
    taken.id = picture->id;
    CU_ASSERT_EQUAL_FATAL(jpeg_decoder_init(&decoder, err), 0);
    CU_ASSERT_EQUAL_FATAL(jpeg_open(&decoder, picture->bytes, picture->size, err), 0);
    CU_ASSERT(decoder.width == picture->width && decoder.height == picture->height);
    const struct rect whole = {0, 0, decoder.width, decoder.height};
    return jpeg_decode(&decoder, &whole, 1, &taken.last, &at, err);
}

static struct class_tally mistakes(void) {
    return (struct class_tally){.classes = 2,
                                .mistakes = {{0.75, 1, 0, 1}, {0.5, 2, 1, 0}, {0.25, 3, 1, 0}}};
}

static bool has_colour(int channel) {
    for (int i = 0; i < taken.last.width * taken.last.height; i++) {
        const uint8_t *p = taken.last.pixels + (size_t)i * 3;
        if (p[channel] > 150 && p[(channel + 1) % 3] < 120 && p[(channel + 2) % 3] < 120)
            return true;
    }
    return false;
}

static void the_worst_mistakes_are_shown_with_both_classes(void) {
    cleanup_dataset struct dataset set = {0};
    const struct class_tally tally = mistakes();
    struct task_show show = {.count = 1, .take = take};
    taken.count = 0;
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, make_set("set"), NULL), 0);
    CU_ASSERT_EQUAL(class_pictures(&set, NAMES, &tally, &show, NULL), 0);
    CU_ASSERT_EQUAL(taken.count, 1);
    CU_ASSERT_EQUAL(taken.id, 1);
    /* The long side is scaled; the plates come on top. */
    CU_ASSERT_EQUAL(taken.last.width, 320);
    CU_ASSERT(taken.last.height > 320 / 3 + 20 && taken.last.height < 200);
    CU_ASSERT(has_colour(0));
    CU_ASSERT(has_colour(1));
    show.count = 64;
    taken.count = 0;
    CU_ASSERT_EQUAL(class_pictures(&set, NAMES, &tally, &show, NULL), 0);
    CU_ASSERT_EQUAL(taken.count, 3);
    CU_ASSERT_EQUAL(taken.id, 3);
    image_done(&taken.last);
    taken.last = (struct image){0};
}

static void a_picture_that_is_gone_is_left_out(void) {
    cleanup_dataset struct dataset set = {0};
    const struct class_tally tally = mistakes();
    const struct task_show show = {.count = 64, .take = take};
    char path[700];
    const char *folder = make_set("gone");
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, folder, NULL), 0);
    snprintf(path, sizeof(path), "%s/dog/2.png", folder);
    CU_ASSERT_EQUAL_FATAL(remove(path), 0);
    taken.count = 0;
    CU_ASSERT_EQUAL(class_pictures(&set, NAMES, &tally, &show, NULL), 0);
    CU_ASSERT_EQUAL(taken.count, 2);
    CU_ASSERT_EQUAL(taken.id, 3);
    image_done(&taken.last);
    taken.last = (struct image){0};
}

static void without_mistakes_there_is_nothing_to_show(void) {
    cleanup_dataset struct dataset set = {0};
    const struct class_tally none = {.classes = 2};
    const struct task_show show = {.count = 64, .take = take};
    taken.count = 0;
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, make_set("none"), NULL), 0);
    CU_ASSERT_EQUAL(class_pictures(&set, NAMES, &none, &show, NULL), 0);
    CU_ASSERT_EQUAL(taken.count, 0);
}

UNIT_SUITE("task.class_pictures", UNIT(the_worst_mistakes_are_shown_with_both_classes),
           UNIT(a_picture_that_is_gone_is_left_out),
           UNIT(without_mistakes_there_is_nothing_to_show))

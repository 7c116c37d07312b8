#include "trainer/data/draw/draw_names.h"

#include "tests/support/fonts.h"

#include <string.h>

/* A category with NAME, labelled with SUFFIX. */
static void label_of(const char *name, const char *suffix, char label[COCO_LABEL_MAX]) {
    char starts_with_name[256];
    struct buf spelled = {.data = starts_with_name, .size = strlen(name) + 1};
    size_t start = 0;
    memcpy(starts_with_name, name, strlen(name) + 1);
    struct draw_names names = {.spelled = spelled, .starts = &start, .count = 1};
    draw_names_label(&names, 0, suffix, label);
    char other[COCO_LABEL_MAX];
    draw_names_label(&names, 1, "", other);
    CU_ASSERT_STRING_EQUAL(other, "?");
}

static void a_label_is_name_and_suffix(void) {
    char label[COCO_LABEL_MAX];
    label_of("K\xc3\xa4se", " 0.50", label);
    CU_ASSERT_STRING_EQUAL(label, "K\xc3\xa4se 0.50");
    label_of("", "", label);
    CU_ASSERT_STRING_EQUAL(label, "");
}

static void a_long_name_is_cut_between_characters(void) {
    char name[256] = "", wanted[256] = "", label[COCO_LABEL_MAX];
    for (int i = 0; i < COCO_NAME_MAX + 10; i++) {
        const char *one = i % 2 == 0 ? "\xf0\x9f\x90\x88" : "\xd0\xb6";
        strncat(name, one, sizeof(name) - strlen(name) - 1);
        if (i < COCO_NAME_MAX)
            strncat(wanted, one, sizeof(wanted) - strlen(wanted) - 1);
    }
    strncat(wanted, " (crowd)", sizeof(wanted) - strlen(wanted) - 1);
    label_of(name, " (crowd)", label);
    CU_ASSERT_STRING_EQUAL(label, wanted);
    /* The longest there is fits. */
    name[0] = wanted[0] = '\0';
    for (int i = 0; i < COCO_NAME_MAX; i++)
        strncat(name, "\xf0\x9f\x90\x88", sizeof(name) - strlen(name) - 1);
    label_of(name, " 12345678901.99", label);
    CU_ASSERT_EQUAL(strlen(label), COCO_LABEL_MAX - 1);
    CU_ASSERT_STRING_EQUAL(label + 4 * COCO_NAME_MAX, " 12345678901.99");
}

UNIT_SUITE("draw.draw_names", UNIT(a_label_is_name_and_suffix),
           UNIT(a_long_name_is_cut_between_characters))

#include "trainer/data/order/picture_sizes.h"

#include "tests/support/unit.h"

static void a_size_lasts_until_its_epoch(void) {
    static const int canvases[] = {1, 1, 2, 2, 2, 0, 0};
    struct picture_sizes sizes;
    CU_ASSERT_EQUAL_FATAL(picture_sizes_parse(&sizes, "96:2,128:5", 160, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(sizes.count, 2);
    CU_ASSERT(sizes.side[0] == 96 && sizes.side[1] == 128);
    for (uint32_t epoch = 0; epoch < 7; epoch++)
        CU_ASSERT_EQUAL(picture_sizes_canvas(&sizes, epoch), canvases[epoch]);
}

static void none_are_none(void) {
    struct picture_sizes sizes;
    CU_ASSERT_EQUAL_FATAL(picture_sizes_parse(&sizes, "none", 160, NULL), 0);
    CU_ASSERT_EQUAL(sizes.count, 0);
    CU_ASSERT_EQUAL(picture_sizes_canvas(&sizes, 0), 0);
}

static void they_are_reported(void) {
    struct picture_sizes sizes;
    cleanup_buf struct buf text = {.max = 1000};
    CU_ASSERT_EQUAL_FATAL(picture_sizes_parse(&sizes, "128:6,160:12", 192, NULL), 0);
    CU_ASSERT_EQUAL(picture_sizes_text(&text, &sizes, 192, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text),
                           "128 px up to epoch 6, 160 px up to epoch 12, then 192 px");
}

static void what_is_no_list_of_sizes_is_refused(void) {
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "'' is no SIDE:EPOCH"},
        {"128", "'128' is no SIDE:EPOCH with a side below --image-size 160"},
        {"128:", "'128:' is no SIDE:EPOCH"},
        {":6", "':6' is no SIDE:EPOCH"},
        {"128:6,", "'' is no SIDE:EPOCH"},
        {"160:6", "'160:6' is no SIDE:EPOCH"},
        {"0:6", "'0:6' is no SIDE:EPOCH"},
        {"-1:6", "'-1:6' is no SIDE:EPOCH"},
        {"128:0", "'128:0' is no SIDE:EPOCH"},
        {"128:6,144:6", "epoch 6 follows epoch 6; expected a later one"},
        {"1:1,2:2,3:3,4:4,5:5,6:6,7:7,8:8", "more sizes than allowed; expected at most 7"},
        {"99999999999999999999999999999999999999999999999999999999999999999999999999:1", "is no"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct picture_sizes sizes;
        struct error err = {0};
        CU_ASSERT_EQUAL(picture_sizes_parse(&sizes, rows[i].text, 160, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        ASSERT_CONTAINS(err.text, "--progressive: ");
        ASSERT_CONTAINS(err.text, rows[i].says);
    }
}

UNIT_SUITE("data.picture_sizes", UNIT(a_size_lasts_until_its_epoch), UNIT(none_are_none),
           UNIT(they_are_reported), UNIT(what_is_no_list_of_sizes_is_refused))

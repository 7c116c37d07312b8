#include "common/text/metric_scan.h"

#include "tests/support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t scan(const char *text, const char *name, double ret[8]) {
    const char *at = text, *end = text + strlen(text);
    size_t count = 0;
    while (count < 8 && metric_scan_next(&at, end, name, &ret[count]))
        count++;
    return count;
}

static void values_are_found_in_lines_of_any_form(void) {
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"step=20 loss=2.5 lr=1", 2.5},
        {"epoch 3, loss: 2.5, step 9", 2.5},
        {"{\"step\": 20, \"loss\": 2.5}", 2.5},
        {"{'loss': 25e-1}", 2.5},
        {"the loss = 2.5.", 2.5},
        {"train:loss=2.5", 2.5},
        {"loss=2.5s", 2.5},
        {"loss=\t-2.5", -2.5},
        {"loss=2", 2},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double found[8] = {0};
        CU_ASSERT_EQUAL(scan(cases[i].text, "loss", found), 1);
        CU_ASSERT_DOUBLE_EQUAL(found[0], cases[i].value, 0);
    }
}

static void other_names_and_words_are_none(void) {
    static const char *const cases[] = {
        "",         "loss",      "loss=",     "loss:", "loss 2.5", "val_loss=2.5", "loss_box=2.5",
        "loss-a=1", "my-loss=1", "loss=high", "loss=."};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double found[8];
        CU_ASSERT_EQUAL(scan(cases[i], "loss", found), 0);
    }
}

static void what_is_not_finite_is_a_value(void) {
    double found[8] = {0};
    CU_ASSERT_EQUAL_FATAL(scan("loss=nan loss=-inf \"loss\": null loss=NaN", "loss", found), 4);
    CU_ASSERT_TRUE(isnan(found[0]));
    CU_ASSERT_TRUE(isinf(found[1]) && found[1] < 0);
    CU_ASSERT_TRUE(isnan(found[2]));
    CU_ASSERT_TRUE(isnan(found[3]));
}

static void a_text_may_end_anywhere(void) {
    static const char text[] = "loss=2.5 \"loss\" : 12345678";
    for (size_t size = 0; size < sizeof(text); size++) {
        char *copy = malloc(size + 1);
        CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
        memcpy(copy, text, size);
        const char *at = copy;
        double value = 0;
        while (metric_scan_next(&at, copy + size, "loss", &value))
            CU_ASSERT(value > 0);
        CU_ASSERT_PTR_EQUAL(at, copy + size);
        free(copy);
    }
}

static void the_last_values_of_a_file_are_kept(void) {
    char path[] = "/tmp/metric-scan-XXXXXX";
    double values[2] = {0};
    size_t count = 9;
    struct error err = {0};
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(dprintf(fd, "rate=1\nother=9\nrate=2\nrate=3\n"), 29);
    (void)close(fd);
    CU_ASSERT_EQUAL(metric_scan_file(path, "rate", values, 2, &count, &err), 0);
    CU_ASSERT_EQUAL(count, 2);
    CU_ASSERT_DOUBLE_EQUAL(values[0], 2, 0);
    CU_ASSERT_DOUBLE_EQUAL(values[1], 3, 0);
    (void)unlink(path);
    CU_ASSERT_EQUAL(metric_scan_file(path, "rate", values, 2, &count, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    CU_ASSERT_EQUAL(count, 0);
    CU_ASSERT_EQUAL(metric_scan_file("/tmp", "rate", values, 2, &count, &err), -1);
}

UNIT_SUITE("common.metric_scan", UNIT(values_are_found_in_lines_of_any_form),
           UNIT(other_names_and_words_are_none), UNIT(what_is_not_finite_is_a_value),
           UNIT(a_text_may_end_anywhere), UNIT(the_last_values_of_a_file_are_kept))

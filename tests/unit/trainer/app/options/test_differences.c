#include "tests/support/unit.h"
#include "trainer/app/options/options.h"

#include <stdint.h>

static void differ(int argc, const char *const *words, const char *expected) {
    char *const *argv = (char *const *)(uintptr_t)words;
    struct options o;
    cleanup_buf struct buf out = {.max = 4096};
    CU_ASSERT_EQUAL_FATAL(options_parse(&o, COMMAND_TRAIN, argc, argv, NULL), 0);
    CU_ASSERT_EQUAL(options_differences(&out, COMMAND_TRAIN, &o, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), expected);
}

static void only_what_differs_is_reported(void) {
    const char *none[] = {"--lr", "0.1", "--backend", "cpu"};
    const char *some[] = {"--lr=0.2", "--nesterov", "true", "--schedule", "cosine"};
    const char *recipe[] = {"--recipe", "imagenet-90", "--lr", "0.1", "--epochs", "3"};
    const char *preset[] = {"--recipe", "mlperf", "--batch-size", "2"};
    differ(4, none, "");
    differ(5, some, "--lr 0.2 --nesterov true");
    differ(6, recipe, "--epochs 3");
    differ(4, preset, "--batch-size 2");
}

UNIT_SUITE("app.options.differences", UNIT(only_what_differs_is_reported))

#include "trainer/telemetry/status_text.h"

#include "common/clock.h"
#include "tests/support/pty.h"

static void a_training_says_where_it_stands(void) {
    char text[STATUS_LINE_MAX];
    struct status_training at = {.steps = 400};
    status_text_training(text, &at);
    CU_ASSERT_STRING_EQUAL(text, "step 0/400");
    at = (struct status_training){.step = 100,
                                  .steps = 400,
                                  .epoch = 2.5,
                                  .loss = 1.25,
                                  .step_seconds = 0.5,
                                  .step_images = 64};
    status_text_training(text, &at);
    CU_ASSERT_STRING_EQUAL(text, "step 100/400  epoch 2.50  128 images/s  loss 1.2500  2:30 left");
}

static void work_says_where_it_stands(void) {
    char text[STATUS_LINE_MAX];
    struct status_work at = {.verb = "evaluating", .thing = "images", .of = 800, .seconds = 0.5};
    status_text_work(text, &at);
    CU_ASSERT_STRING_EQUAL(text, "evaluating: 0/800 images");
    at.done = 64;
    at.seconds = 8;
    status_text_work(text, &at);
    CU_ASSERT_STRING_EQUAL(text, "evaluating: 64/800 images  8 images/s  1:32 left");
}

static void the_line_has_a_bar_and_fits_80_columns(void) {
    struct status_line line;
    struct pty pty = pty_open(80);
    (void)setenv("NO_COLOR", "1", 1);
    status_line_open(&line, pty.terminal);
    status_text_show(
        &line, clock_now(),
        &(struct status_work){
            .verb = "writing", .thing = "pictures", .done = 25, .of = 100, .seconds = 1});
    CU_ASSERT_STRING_EQUAL(pty_seen(&pty), "\r\x1b[K[==>        ] "
                                           "writing: 25/100 pictures  25 pictures/s  0:03 left");
    status_line_close(&line);
    pty_close(&pty);
}

static void a_share_of_nothing_is_none(void) {
    CU_ASSERT_EQUAL(status_fraction(3, 4), 0.75);
    CU_ASSERT_EQUAL(status_fraction(0, 0), 0);
}

UNIT_SUITE("telemetry.status_text", UNIT(a_training_says_where_it_stands),
           UNIT(work_says_where_it_stands), UNIT(the_line_has_a_bar_and_fits_80_columns),
           UNIT(a_share_of_nothing_is_none))

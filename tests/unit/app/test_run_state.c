#include "app/run_state.h"
#include "support/unit.h"

#include <stdio.h>
#include <string.h>

static const struct run_state sample = {.model = "resnet20",
                                        .classes = 10,
                                        .step = 120,
                                        .epoch = 3,
                                        .images = 960,
                                        .global_batch = 96,
                                        .ranks = 3,
                                        .accumulate = 1,
                                        .batch_size = 32,
                                        .threads = 2,
                                        .seed = 7,
                                        .image_size = 32,
                                        .dtype = "f32",
                                        .fusion = "all",
                                        .backend = "cpu \"quoted\"",
                                        .data = "0123456789abcdef",
                                        .run = "fedcba9876543210"};

static void what_is_written_is_read_again(void) {
    cleanup_buf struct buf text = {0};
    buf_init(&text, RUN_STATE_JSON_MAX);
    CU_ASSERT_EQUAL(run_state_format(&text, &sample, NULL), 0);
    struct run_state back;
    CU_ASSERT_EQUAL(run_state_parse(&back, buf_text(&text), "here", NULL), 0);
    CU_ASSERT_EQUAL(memcmp(&back, &sample, sizeof(back)), 0);
}

/* A checkpoint that was written before runs had names. */
static void a_run_need_not_have_a_name(void) {
    cleanup_buf struct buf text = {0};
    buf_init(&text, RUN_STATE_JSON_MAX);
    CU_ASSERT_EQUAL(run_state_format(&text, &sample, NULL), 0);
    char *name = strstr(text.data, ",\"run\":");
    CU_ASSERT_PTR_NOT_NULL_FATAL(name);
    memcpy(name, "}", 2);
    struct run_state back;
    CU_ASSERT_EQUAL(run_state_parse(&back, buf_text(&text), "here", NULL), 0);
    CU_ASSERT_STRING_EQUAL(back.run, "");
    CU_ASSERT_STRING_EQUAL(back.data, sample.data);
}

static void a_missing_key_is_named(void) {
    struct run_state back;
    struct error err = {0};
    CU_ASSERT_EQUAL(run_state_parse(&back, "{\"model\":\"resnet20\",\"classes\":10}", "here", &err),
                    -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "here: step");
    CU_ASSERT_EQUAL(run_state_parse(&back, "[1", "here", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
}

static void differences_name_now_and_before(void) {
    struct run_state other = sample;
    cleanup_buf struct buf text = {0};
    buf_init(&text, 4096);
    CU_ASSERT_EQUAL(run_state_differences(&text, &sample, &other, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "");
    other.threads = 4;
    other.step = 5;
    (void)snprintf(other.backend, sizeof(other.backend), "ref");
    CU_ASSERT_EQUAL(run_state_differences(&text, &sample, &other, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "threads 2 (was 4), backend cpu \"quoted\" (was ref)");
}

UNIT_MAIN("app.run_state", UNIT(what_is_written_is_read_again), UNIT(a_run_need_not_have_a_name),
          UNIT(a_missing_key_is_named), UNIT(differences_name_now_and_before))

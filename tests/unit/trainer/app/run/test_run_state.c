#include "tests/support/unit.h"
#include "trainer/app/run/run_state.h"

#include <stdio.h>
#include <string.h>

static const struct run_state sample = {.model = "resnet20",
                                        .classes = 3,
                                        .step = 120,
                                        .epoch = 3,
                                        .images = 960,
                                        .global_batch = 96,
                                        .lineage = 2,
                                        .samples = 11520,
                                        .loss_scale = "1234.56787",
                                        .good_steps = 77,
                                        .batches = 121,
                                        .epoch_images = 2880,
                                        .ranks = 3,
                                        .accumulate = 1,
                                        .batch_size = 32,
                                        .threads = 2,
                                        .seed = 7,
                                        .image_size = 32,
                                        .total_steps = 900,
                                        .dtype = "f32",
                                        .fusion = "all",
                                        .backend = "cpu \"quoted\"",
                                        .data = "0123456789abcdef",
                                        .data_name = "/data/train",
                                        .data_images = 2890,
                                        .program = "ringtrain 1",
                                        .options = "lr=0.1 lr-batch=256 nesterov=false",
                                        .run = "fedcba9876543210",
                                        .init = "/weights/r20.safetensors"};

static char red[] = "red", green[] = "green", blue[] = "blue";
static char *const names[] = {red, green, blue};

static void what_is_written_is_read_again(void) {
    cleanup_buf struct buf text = {0};
    buf_init(&text, RUN_STATE_JSON_MAX);
    CU_ASSERT_EQUAL(run_state_format(&text, &sample, names, NULL), 0);
    struct run_state back;
    CU_ASSERT_EQUAL(run_state_parse(&back, buf_text(&text), "here", NULL), 0);
    CU_ASSERT_EQUAL(memcmp(&back, &sample, sizeof(back)), 0);
}

/* A run state as format version 1 wrote it. */
static const char first_format[] =
    "{\"model\":\"resnet20\",\"classes\":3,\"step\":67,\"epoch\":1,\"images\":8,"
    "\"global_batch\":8,\"ranks\":2,\"accumulate\":1,\"batch_size\":4,\"threads\":1,"
    "\"seed\":0,\"image_size\":32,\"dtype\":\"f32\",\"fusion\":\"conv\","
    "\"backend\":\"cpu\",\"data\":\"0123456789abcdef\"}";

static void the_first_format_is_read(void) {
    struct run_state back;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(run_state_parse(&back, first_format, "here", &err), 0);
    CU_ASSERT_STRING_EQUAL(back.run, "");
    CU_ASSERT(back.lineage == 0 && back.samples == 536 && back.batches == 67);
    struct run_state now = back;
    now.total_steps = 900;
    (void)snprintf(now.options, sizeof(now.options), "lr=0.1");
    (void)snprintf(now.program, sizeof(now.program), "ringtrain 2");
    cleanup_buf struct buf text = {0};
    buf_init(&text, 4096);
    CU_ASSERT_EQUAL(run_state_differences(&text, &now, &back, SETTING_ALL, NULL), 0);
    char **none = NULL;
    size_t count = 1;
    CU_ASSERT_EQUAL(run_state_classes(first_format, &none, &count, NULL), 0);
    CU_ASSERT(none == NULL && count == 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "");
}

static void expect_refused(struct run_state state, const char *why) {
    cleanup_buf struct buf text = {0};
    struct run_state back;
    struct error err = {0};
    buf_init(&text, RUN_STATE_JSON_MAX);
    CU_ASSERT_EQUAL(run_state_format(&text, &state, names, NULL), 0);
    CU_ASSERT_EQUAL(run_state_parse(&back, buf_text(&text), "here", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, why);
}

static void numbers_that_do_not_agree_are_refused(void) {
    struct run_state state = sample;
    state.images = 2880;
    expect_refused(state, "here: images 2880 of an epoch of 2880");
    state.images = 100;
    expect_refused(state, "here: images 100 is no number of steps of 96");
    state = sample;
    state.global_batch = 0;
    expect_refused(state, "here: global_batch 0 is not ranks 3");
    state.global_batch = INT64_MAX;
    state.batch_size = INT64_MAX;
    expect_refused(state, "here: global_batch");
    state = sample;
    state.epoch = INT64_MAX;
    expect_refused(state, "is impossible");
    state = sample;
    state.samples = -1;
    expect_refused(state, "here: samples: missing or negative");
}

/* NOW takes other batches of, or has, other data than BEFORE. */
static void expect_place(struct run_state now, struct run_state before, int64_t epoch,
                         int64_t images, int64_t step) {
    run_state_go_on(&now, &before);
    CU_ASSERT_EQUAL(now.epoch, epoch);
    CU_ASSERT_EQUAL(now.images, images);
    CU_ASSERT_EQUAL(now.step, step);
    CU_ASSERT_EQUAL(now.samples, before.samples);
    CU_ASSERT_STRING_EQUAL(now.loss_scale, before.loss_scale);
    CU_ASSERT_EQUAL(now.good_steps, before.good_steps);
    CU_ASSERT_EQUAL(now.batches, before.batches);
    CU_ASSERT_EQUAL(now.lineage, before.lineage);
    CU_ASSERT(now.images < now.epoch_images);
}

static void a_place_is_found_again_with_other_steps(void) {
    struct run_state now = {.global_batch = 4, .epoch_images = 268, .data = "a"};
    struct run_state before = now;
    before.epoch = 2;
    before.images = 132;
    before.step = 2 * 67 + 33;
    before.samples = 668;
    before.batches = 167;
    before.lineage = 3;
    expect_place(now, before, 2, 132, 167);
    now.global_batch = 32;
    now.epoch_images = 256;
    expect_place(now, before, 2, 128, 20);
    before.images = 264; /* of 268; all 8 steps of 32 are done */
    expect_place(now, before, 3, 0, 24);
    now.global_batch = now.epoch_images = 128;
    expect_place(now, before, 4, 0, 4);
    (void)snprintf(now.data, sizeof(now.data), "b");
    now.global_batch = 10;
    now.epoch_images = 1000;
    before.images = 67;
    expect_place(now, before, 2, 250, 225);
    before.images = 264;
    now.global_batch = now.epoch_images = 500;
    expect_place(now, before, 2, 0, 2);
}

/* A run of format version 1 in which epochs no longer ended: its count of images is right. It may
 * be started without --init once it has begun, and with it again. */
static void a_run_that_goes_on_keeps_what_it_began_with(void) {
    const struct run_state before = {
        .global_batch = 4, .epoch_images = 8, .data = "a", .init = "w.safetensors"};
    struct run_state now = before;
    (void)snprintf(now.init, sizeof(now.init), "none");
    run_state_go_on(&now, &before);
    CU_ASSERT_STRING_EQUAL(now.init, "w.safetensors");
    (void)snprintf(now.init, sizeof(now.init), "v.safetensors");
    run_state_go_on(&now, &before);
    CU_ASSERT_STRING_EQUAL(now.init, "v.safetensors");
}

static void an_epoch_that_never_ended_is_counted_again(void) {
    struct run_state now = {.global_batch = 128, .epoch_images = 256, .data = "a"};
    struct run_state before = {.global_batch = 128, .images = 1536, .step = 12, .data = "a"};
    expect_place(now, before, 6, 0, 12);
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

static void a_text_that_is_none_or_too_long_is_named(void) {
    char too_long[1024];
    const char *const texts[] = {"{\"classes\":10}", "{\"model\":10,\"classes\":10}", too_long};
    (void)snprintf(too_long, sizeof(too_long), "{\"model\":\"%0*d\",\"classes\":10}",
                   (int)sizeof(sample.model), 0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct run_state back;
        struct error err = {0};
        CU_ASSERT_EQUAL(run_state_parse(&back, texts[i], "here", &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, "here: ");
        ASSERT_CONTAINS(err.text, "model");
    }
}

static void differences_name_now_and_before(void) {
    struct run_state other = sample;
    cleanup_buf struct buf text = {0};
    buf_init(&text, 4096);
    CU_ASSERT_EQUAL(run_state_differences(&text, &sample, &other, SETTING_ALL, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "");
    other.threads = 4;
    other.step = 5;
    (void)snprintf(other.backend, sizeof(other.backend), "ref");
    CU_ASSERT_EQUAL(run_state_differences(&text, &sample, &other, SETTING_ALL, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "threads 2 (was 4), backend cpu \"quoted\" (was ref)");

    buf_consume(&text, text.size);
    other = sample;
    other.total_steps = 800;
    (void)snprintf(other.options, sizeof(other.options), "lr=5 lr-batch=256 nesterov=true gone=1");
    (void)snprintf(other.data, sizeof(other.data), "f");
    (void)snprintf(other.data_name, sizeof(other.data_name), "/data/old");
    other.data_images = 12;
    CU_ASSERT_EQUAL(run_state_differences(&text, &sample, &other, SETTING_ALL, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text),
                           "total_steps 900 (was 800), lr 0.1 (was 5), nesterov false (was true), "
                           "data /data/train of 2890 images (was /data/old of 12 images)");
}

static void each_setting_has_a_kind(void) {
    static const struct {
        unsigned kinds;
        const char *told;
    } rows[] = {
        {SETTING_MACHINE, "global_batch 96 (was 64), ranks 3 (was 2), threads 2 (was 4), "
                          "total_steps 900 (was 800), tf32 true (was false)"},
        {SETTING_WAY, "dtype f32 (was bf16), bad-samples fail (was skip), data /data/train of 2890 "
                      "images (was /data/old of 12 images)"},
        {SETTING_RECIPE, "seed 7 (was 8), image_size 32 (was 64), lr 0.1 (was 5)"},
    };
    struct run_state now = sample, before = sample;
    before.global_batch = 64;
    before.ranks = 2;
    before.threads = 4;
    before.total_steps = 800;
    before.seed = 8;
    before.image_size = 64;
    (void)snprintf(before.dtype, sizeof(before.dtype), "bf16");
    (void)snprintf(before.data, sizeof(before.data), "f");
    (void)snprintf(before.data_name, sizeof(before.data_name), "/data/old");
    before.data_images = 12;
    (void)snprintf(now.options, sizeof(now.options), "lr=0.1 tf32=true bad-samples=fail");
    (void)snprintf(before.options, sizeof(before.options), "lr=5 tf32=false bad-samples=skip");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cleanup_buf struct buf text = {0};
        buf_init(&text, 4096);
        CU_ASSERT_EQUAL(run_state_differences(&text, &now, &before, rows[i].kinds, NULL), 0);
        CU_ASSERT_STRING_EQUAL(buf_text(&text), rows[i].told);
    }
}

static void names_of_classes_are_read_again(void) {
    cleanup_buf struct buf state = {0};
    char **back = NULL;
    size_t count = 0;
    buf_init(&state, RUN_STATE_JSON_MAX);
    CU_ASSERT_EQUAL(run_state_format(&state, &sample, names, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(run_state_classes(buf_text(&state), &back, &count, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(count, 3);
    for (size_t c = 0; c < count; c++)
        CU_ASSERT_STRING_EQUAL(back[c], names[c]);
    run_state_free_classes(back, count);
}

UNIT_SUITE("app.run_state", UNIT(what_is_written_is_read_again), UNIT(the_first_format_is_read),
           UNIT(numbers_that_do_not_agree_are_refused),
           UNIT(a_place_is_found_again_with_other_steps),
           UNIT(a_run_that_goes_on_keeps_what_it_began_with),
           UNIT(an_epoch_that_never_ended_is_counted_again), UNIT(a_missing_key_is_named),
           UNIT(a_text_that_is_none_or_too_long_is_named), UNIT(differences_name_now_and_before),
           UNIT(each_setting_has_a_kind), UNIT(names_of_classes_are_read_again))

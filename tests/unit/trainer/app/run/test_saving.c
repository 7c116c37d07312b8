#include "trainer/app/run/saving.h"

#include "common/clock.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VALUES = 1000 };

static float values[VALUES];
static char folder[600];

static struct saving_file file_of(int64_t step, const struct array *array) {
    char state[120];
    (void)snprintf(state, sizeof(state), "{\"course\":0,\"samples\":%d,\"step\":%d}", (int)step * 4,
                   (int)step);
    return (struct saving_file){
        .folder = folder, .step = step, .arrays = array, .count = 1, .state = strdup(state)};
}

static struct array weights(void) {
    return (struct array){
        .name = "w", .type = ARRAY_F32, .rank = 1, .shape = {VALUES}, .data = values};
}

static void set_folder(const char *name) {
    (void)snprintf(folder, sizeof(folder), "%s/%s", unit_temp_dir(), name);
}

static int64_t in_a_minute(void) {
    return clock_now() + 60 * CLOCK_SECOND;
}

/* Returns the first value in the checkpoint of STEP. */
static float value_in(int64_t step) {
    char path[CHECKPOINT_PATH_MAX];
    cleanup_safetensors struct safetensors file = {0};
    float read[VALUES] = {0};
    struct array array = weights();
    array.data = read;
    CU_ASSERT_EQUAL_FATAL(checkpoint_path(folder, step, path, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(checkpoint_open(path, &file, NULL), 0);
    CU_ASSERT_EQUAL(safetensors_read(&file, &array, NULL), 0);
    return read[0];
}

static void what_is_written_is_what_was_there_at_the_beginning(void) {
    struct saving s = {0};
    struct error err = {0};
    const struct array array = weights();
    set_folder("copy");
    for (int step = 1; step <= 3; step++) {
        const struct saving_file file = file_of(step, &array);
        values[0] = (float)step;
        CU_ASSERT_FALSE(saving_is_busy(&s));
        CU_ASSERT_EQUAL_FATAL(saving_begin(&s, &file, &err), 0);
        values[0] = -1;
        CU_ASSERT(saving_is_busy(&s));
        CU_ASSERT_EQUAL(saving_look(&s, in_a_minute(), &err), WRITER_DONE);
        CU_ASSERT_FALSE(s.file.refused);
        CU_ASSERT(s.file.written_at > 0 && s.file.took > 0);
        ASSERT_CONTAINS(s.file.path, folder);
        saving_end(&s);
        CU_ASSERT_EQUAL(value_in(step), (float)step);
    }
    saving_done(&s);
}

static void a_failed_write_is_reported(void) {
    struct saving s = {0};
    struct error err = {0};
    const struct array array = weights();
    (void)snprintf(folder, sizeof(folder), "/dev/null/checkpoints");
    const struct saving_file file = file_of(1, &array);
    CU_ASSERT_EQUAL_FATAL(saving_begin(&s, &file, &err), 0);
    CU_ASSERT_EQUAL(saving_look(&s, in_a_minute(), &err), WRITER_FAILED);
    ASSERT_CONTAINS(err.text, "/dev/null");
    CU_ASSERT(saving_is_busy(&s));
    saving_end(&s);
    CU_ASSERT_FALSE(saving_is_busy(&s));
    CU_ASSERT_EQUAL(saving_look(&s, 0, &err), WRITER_IDLE);
    saving_done(&s);
}

static void weights_that_are_not_finite_are_refused(void) {
    struct saving s = {0};
    const struct array array = weights();
    set_folder("finite");
    const struct saving_file file = file_of(1, &array);
    values[3] = INFINITY;
    CU_ASSERT_EQUAL_FATAL(saving_begin(&s, &file, NULL), 0);
    values[3] = 0;
    CU_ASSERT_EQUAL(saving_look(&s, in_a_minute(), NULL), WRITER_DONE);
    CU_ASSERT(s.file.refused);
    ASSERT_CONTAINS(s.file.why.text, "w: 1 of 1000 values are not finite");
    CU_ASSERT_NOT_EQUAL(access(folder, F_OK), 0);
    saving_end(&s);
    saving_done(&s);
}

UNIT_SUITE("app.saving", UNIT(what_is_written_is_what_was_there_at_the_beginning),
           UNIT(a_failed_write_is_reported), UNIT(weights_that_are_not_finite_are_refused))

#include "common/clock.h"
#include "tests/support/unit.h"
#include "trainer/telemetry/tfevents.h"
#include "trainer/telemetry/tfevents_read.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[600];

/* A file of the folder that begins at SECONDS. */
static void open_at(struct tfevents *events, int64_t seconds) {
    CU_ASSERT_EQUAL_FATAL(tfevents_open(events, folder, "h", seconds * CLOCK_SECOND, NULL), 0);
}

static void add(struct tfevents *events, int64_t step, const char *tag) {
    const struct tfevents_scalar scalars[] = {{tag, 1.5}, {"other", 2}};
    CU_ASSERT_EQUAL(tfevents_add(events, 0, step, scalars, 2, NULL), 0);
}

static void add_picture(struct tfevents *events, int64_t step, size_t size) {
    char *bytes = calloc(1, size);
    const struct tfevents_picture picture = {"pictures/1", 3, 5, bytes, size};
    CU_ASSERT_EQUAL(tfevents_add_picture(events, 0, step, &picture, NULL), 0);
    free(bytes);
}

static bool holds(int64_t step) {
    bool held = true;
    CU_ASSERT_EQUAL(tfevents_holds(folder, step, "eval/", &held, NULL), 0);
    return held;
}

static void use(const char *name) {
    (void)snprintf(folder, sizeof(folder), "%s/%s", unit_temp_dir(), name);
}

static void a_scalar_of_its_step_is_found(void) {
    struct tfevents events = TFEVENTS_CLOSED;
    use("found");
    CU_ASSERT_FALSE(holds(0)); /* no folder */
    open_at(&events, 1000);
    add(&events, 300, "train/loss");
    CU_ASSERT_FALSE(holds(300));
    add_picture(&events, 7, 5000);
    add(&events, 300, "eval/loss");
    add(&events, 0, "eval/loss");
    tfevents_done(&events);
    CU_ASSERT(holds(300));
    CU_ASSERT(holds(0));
    CU_ASSERT_FALSE(holds(299));
    CU_ASSERT_FALSE(holds(301));
}

/* What a later run has made void does not count; files count in the order of their names. */
static void a_later_run_drops_what_was_of_its_steps(void) {
    struct tfevents first = TFEVENTS_CLOSED, second = TFEVENTS_CLOSED;
    use("dropped");
    open_at(&second, 2000);
    CU_ASSERT_EQUAL(tfevents_start(&second, 0, 25, NULL), 0);
    open_at(&first, 1000);
    add(&first, 24, "eval/loss");
    add(&first, 25, "eval/loss");
    CU_ASSERT(holds(24));
    CU_ASSERT_FALSE(holds(25));
    CU_ASSERT_EQUAL(tfevents_start(&second, 0, 1, NULL), 0);
    CU_ASSERT_FALSE(holds(24));
    add(&second, 24, "eval/loss");
    CU_ASSERT(holds(24));
    tfevents_done(&first);
    tfevents_done(&second);
}

static void what_is_cut_short_or_no_record_ends_its_file(void) {
    struct tfevents events = TFEVENTS_CLOSED;
    char path[700];
    use("cut");
    open_at(&events, 1000);
    add(&events, 24, "eval/loss");
    tfevents_done(&events);
    (void)snprintf(path, sizeof(path), "%s/events.out.tfevents.0000001000.h", folder);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    CU_ASSERT_FATAL(fd >= 0);
    const off_t size = lseek(fd, 0, SEEK_END);
    for (off_t cut = size - 1; cut >= 0; cut--) {
        CU_ASSERT_EQUAL(ftruncate(fd, cut), 0);
        CU_ASSERT_FALSE(holds(24));
    }
    for (int i = 0; i < 64; i++)
        CU_ASSERT_EQUAL(write(fd, "\xff", 1), 1);
    (void)close(fd);
    CU_ASSERT_FALSE(holds(24));
}

static void a_damaged_record_ends_its_file(void) {
    struct tfevents events = TFEVENTS_CLOSED;
    char path[700];
    use("damaged");
    open_at(&events, 1000);
    add(&events, 24, "eval/loss");
    tfevents_done(&events);
    (void)snprintf(path, sizeof(path), "%s/events.out.tfevents.0000001000.h", folder);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    CU_ASSERT_FATAL(fd >= 0);
    const off_t size = lseek(fd, 0, SEEK_END);
    for (off_t at = 0; at < size; at++) {
        char byte;
        CU_ASSERT_EQUAL(pread(fd, &byte, 1, at), 1);
        byte ^= 16;
        CU_ASSERT_EQUAL(pwrite(fd, &byte, 1, at), 1);
        CU_ASSERT_FALSE(holds(24));
        byte ^= 16;
        CU_ASSERT_EQUAL(pwrite(fd, &byte, 1, at), 1);
    }
    (void)close(fd);
    CU_ASSERT(holds(24));
}

static void a_file_that_cannot_be_read_is_an_error(void) {
    struct error err = {0};
    bool held = false;
    char path[700];
    use("unreadable");
    (void)snprintf(path, sizeof(path), "%s", "/proc/self/cmdline");
    CU_ASSERT_EQUAL(tfevents_holds(path, 1, "eval/", &held, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, path);
}

UNIT_SUITE("telemetry.tfevents_read", UNIT(a_scalar_of_its_step_is_found),
           UNIT(a_later_run_drops_what_was_of_its_steps),
           UNIT(what_is_cut_short_or_no_record_ends_its_file), UNIT(a_damaged_record_ends_its_file),
           UNIT(a_file_that_cannot_be_read_is_an_error))

#include "common/file/file.h"
#include "entrypoint/direct/shims.h"
#include "tests/support/reaping.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

enum { COUNT = 3, PATH_SIZE = 512, SAID_MAX = 4096 };

static struct loop loop;
static struct reaper reaper;
static struct shims shims;
static struct buf said;
static struct argv environment;
static int codes[COUNT], signals[COUNT];
static unsigned ends;
static char last_words[64];

static void line(void *context, const char *text, size_t size) {
    (void)context;
    CU_ASSERT_EQUAL(buf_add(&said, text, size, NULL), 0);
}

static void ended(void *context, unsigned rank, int code, int signal, const char *last) {
    CU_ASSERT_PTR_EQUAL(context, &shims);
    CU_ASSERT_FATAL(rank >= 4 && rank < 4 + COUNT);
    codes[rank - 4] = code;
    signals[rank - 4] = signal;
    (void)snprintf(last_words, sizeof(last_words), "%s", last);
    if (++ends == COUNT)
        loop_end(&loop);
}

static int start(const char *script) {
    char path[PATH_SIZE];
    char text[PATH_SIZE];
    struct error err = {0};
    (void)snprintf(path, sizeof(path), "%s/ringmaster", unit_temp_dir());
    int size = snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", script);
    CU_ASSERT_EQUAL_FATAL(file_publish(path, text, (size_t)size, 0755, &err), 0);
    CU_ASSERT_EQUAL(argv_set_env(&environment, "PATH", "/usr/bin:/bin", &err), 0);
    const struct shims_options options = {.loop = &loop,
                                          .reaper = &reaper,
                                          .ringmaster = path,
                                          .host = "algo-2",
                                          .environment = &environment,
                                          .attempt = 2,
                                          .first = 4,
                                          .count = COUNT,
                                          .size = 9,
                                          .line = line,
                                          .ended = ended,
                                          .context = &shims};
    return shims_start(&shims, &options, &err);
}

static void open_all(void) {
    ends = 0;
    buf_init(&said, SAID_MAX);
    reaping_open(&loop, &reaper);
}

static void close_all(void) {
    shims_done(&shims);
    shims_done(&shims); /* nothing is left */
    argv_done(&environment);
    buf_done(&said);
    loop_done(&loop);
}

static void each_is_told_its_place(void) {
    open_all();
    CU_ASSERT_EQUAL(start("echo $1 $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE "
                          "$OMPI_COMM_WORLD_LOCAL_RANK/$OMPI_COMM_WORLD_LOCAL_SIZE "
                          "$RINGMASTER_ATTEMPT"),
                    0);
    CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
    ASSERT_CONTAINS(buf_text(&said), "[algo-2 rank 4] rank 4/9 0/3 2\n");
    ASSERT_CONTAINS(buf_text(&said), "[algo-2 rank 5] rank 5/9 1/3 2\n");
    ASSERT_CONTAINS(buf_text(&said), "[algo-2 rank 6] rank 6/9 2/3 2\n");
    close_all();
}

static void how_each_ended_is_reported(void) {
    open_all();
    CU_ASSERT_EQUAL(start("case $OMPI_COMM_WORLD_RANK in 5) exit 7 ;; 6) kill -KILL $$ ;; esac"),
                    0);
    CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
    CU_ASSERT(codes[0] == 0 && codes[1] == 7 && codes[2] == 137);
    CU_ASSERT(signals[0] == 0 && signals[1] == 0 && signals[2] == 9);
    close_all();
    open_all();
    CU_ASSERT_EQUAL(start("echo no room >&2"), 0);
    CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
    ASSERT_CONTAINS(last_words, "no room");
    close_all();
}

static void what_cannot_be_started_is_an_error(void) {
    open_all();
    struct error err = {0};
    const struct shims_options options = {.loop = &loop,
                                          .reaper = &reaper,
                                          .ringmaster = "/no/such/program",
                                          .host = "algo-2",
                                          .environment = &environment,
                                          .count = COUNT,
                                          .line = line,
                                          .ended = ended};
    CU_ASSERT_EQUAL(argv_set_env(&environment, "PATH", "/bin", &err), 0);
    CU_ASSERT_EQUAL(shims_start(&shims, &options, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_NOT_FOUND);
    CU_ASSERT_PTR_NULL(shims.items);
    CU_ASSERT_EQUAL(ends, 0);
    close_all();
}

UNIT_SUITE("direct.shims", UNIT(each_is_told_its_place), UNIT(how_each_ended_is_reported),
           UNIT(what_cannot_be_started_is_an_error))

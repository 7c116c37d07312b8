#include "trainer/app/step/room.h"

#include "tests/support/unit.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/program/sizes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- the batch that fits ---------------------------------------------------------------------- */

struct line {
    int64_t fixed, each, step; /* STEP is added from batch size 10 on */
    int asked;
};

static int64_t need_of_line(void *user, int batch) {
    struct line *l = user;
    l->asked++;
    return l->fixed + l->each * batch + (batch >= 10 ? l->step : 0);
}

static int largest(struct line line, int batch, int64_t left) {
    const struct room_need need = {need_of_line, &line};
    int fits = room_largest(&need, batch, left);
    CU_ASSERT(line.asked <= 10);
    CU_ASSERT(fits == 0 || need_of_line(&line, fits) <= left);
    return fits;
}

static void what_grows_in_line_is_found_at_once(void) {
    const struct line line = {.fixed = 1000, .each = 10};
    CU_ASSERT_EQUAL(largest(line, 100, 1999), 99);
    CU_ASSERT_EQUAL(largest(line, 100, 1500), 50);
    CU_ASSERT_EQUAL(largest(line, 100, 1010), 1);
    CU_ASSERT_EQUAL(largest(line, 100, 1009), 0);
    CU_ASSERT_EQUAL(largest(line, 100, 0), 0);
    CU_ASSERT_EQUAL(largest(line, 1, 5), 0);
}

static void what_does_not_is_tried(void) {
    const struct line line = {.fixed = 0, .each = 10, .step = 500};
    CU_ASSERT(largest(line, 100, 400) >= 8);
    CU_ASSERT(largest(line, 100, 700) >= 15);
    CU_ASSERT(largest((struct line){.fixed = 5, .each = 1, .step = 100000}, 20, 10) >= 1);
}

static int64_t need_unknown(void *user, int batch) {
    (void)user;
    return batch == 8 ? 100 : -1;
}

static void what_is_unknown_fits_nothing(void) {
    const struct room_need need = {need_unknown, NULL};
    CU_ASSERT_EQUAL(room_largest(&need, 8, 50), 0);
}

static int64_t need_of_two(void *user, int batch) {
    (void)user;
    return batch < 2 ? -1 : 10 * batch;
}

static void a_network_that_needs_two_pictures_fits_with_two(void) {
    const struct room_need need = {need_of_two, NULL};
    CU_ASSERT_EQUAL(room_largest(&need, 8, 50), 5);
    CU_ASSERT_EQUAL(room_largest(&need, 8, 25), 2);
    CU_ASSERT_EQUAL(room_largest(&need, 8, 15), 0);
    CU_ASSERT_EQUAL(room_largest(&need, 2, 15), 0);
}

/* --- a network -------------------------------------------------------------------------------- */

static const double MIDDLE[3] = {0.5, 0.5, 0.5};

static const struct threads THREADS = {.compute = 1, .data = 1};

/* Limits this process to MIB more MiB of data. */
static int limit_data(int mib) {
    struct rlimit limit = {0, RLIM_INFINITY};
    char line[256];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    if (status == NULL)
        return -1;
    while (fgets(line, sizeof(line), status) != NULL)
        if (strncmp(line, "VmData:", 7) == 0)
            kib = strtol(line + 7, NULL, 10);
    (void)fclose(status);
    limit.rlim_cur = ((rlim_t)kib << 10) + ((rlim_t)mib << 20);
    return setrlimit(RLIMIT_DATA, &limit);
}

/* Opens a network in a process that may allocate MIB more MiB; 0: without a limit. */
static int open_network(int batch, int mib, struct error *err) {
    struct backend *backend = NULL;
    struct comm *comm = NULL;
    struct network net;
    struct task_data data = {0};
    if (ref_open(&backend, err) != 0 || comm_self_open(&comm, err) != 0)
        return -1;
    struct network_options n = {.model = "resnet20",
                                .batch = batch,
                                .canvases = {{.height = 16, .width = 16}},
                                .canvas_count = 1,
                                .classes = 4,
                                .fusion = FUSION_ALL,
                                .mean = MIDDLE,
                                .std = MIDDLE};
    struct room room = {.backend = backend,
                        .comm = comm,
                        .data = &data,
                        .network = &n,
                        .threads = &THREADS,
                        .depth = 4};
    n.memory = (struct compile_memory){room_check, &room};
    data.training.source.layout.bytes = (size_t)batch * 16 * 16 * 3;
    if (mib > 0 && limit_data(mib) != 0)
        return error_set(err, EXIT_CODE_INTERNAL, "no limit");
    int result = network_open(&net, backend, &n, true, err);
    bool taken = net.store.arena[STORE_PARAMETERS] != NULL;
    network_done(&net);
    comm_close(comm);
    backend_close(backend);
    return result != 0 && taken ? error_set(err, EXIT_CODE_INTERNAL, "memory was taken") : result;
}

/* The same in a child process, which gets its own limit. */
static int tried(int batch, int mib, struct error *err) {
    int ends[2];
    struct {
        int result;
        struct error err;
    } told = {0};
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    pid_t child = fork();
    CU_ASSERT_FATAL(child >= 0);
    if (child == 0) {
        told.result = open_network(batch, mib, &told.err);
        _exit(write(ends[1], &told, sizeof(told)) == (ssize_t)sizeof(told) ? 0 : 1);
    }
    (void)close(ends[1]);
    CU_ASSERT_EQUAL_FATAL(read(ends[0], &told, sizeof(told)), (ssize_t)sizeof(told));
    (void)close(ends[0]);
    CU_ASSERT_EQUAL(waitpid(child, NULL, 0), child);
    *err = told.err;
    return told.result;
}

static void a_batch_that_is_too_large_names_one_that_fits(void) {
    static const int rooms[] = {100, 130, 180};
    for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
        static const char words[] = "MiB available (the limit on a process's data (ulimit -d)): "
                                    "--batch-size ";
        struct error err = {0};
        CU_ASSERT_EQUAL(tried(512, rooms[i], &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, "resnet20: compiling: memory: ");
        ASSERT_CONTAINS(err.text, "MiB needed for --batch-size 512, ");
        ASSERT_CONTAINS(err.text,
                        "MiB in all; batches and decoders 2 MiB, threads and the rest 80");
        const char *fits = strstr(err.text, words);
        CU_ASSERT_PTR_NOT_NULL_FATAL(fits);
        int batch = (int)strtol(fits + sizeof(words) - 1, NULL, 10);
        CU_ASSERT(batch > 0 && batch < 512);
        CU_ASSERT_EQUAL(tried(batch, rooms[i], &err), 0);
    }
}

static void where_none_fits_that_is_reported(void) {
    struct error err = {0};
    CU_ASSERT_EQUAL(tried(8, 60, &err), -1);
    ASSERT_CONTAINS(err.text, "not even --batch-size 1 fits: use smaller pictures (--image-size)");
    CU_ASSERT_EQUAL(tried(8, 0, &err), 0);
}

UNIT_SUITE("app.room", UNIT(what_grows_in_line_is_found_at_once), UNIT(what_does_not_is_tried),
           UNIT(what_is_unknown_fits_nothing),
           UNIT(a_network_that_needs_two_pictures_fits_with_two),
           UNIT(a_batch_that_is_too_large_names_one_that_fits),
           UNIT(where_none_fits_that_is_reported))

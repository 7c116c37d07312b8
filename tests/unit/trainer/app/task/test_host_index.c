/* What ranks of one process tell each other of an index; train_host_index has several. */
#include "trainer/app/task/host_index.h"

#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/comm/comm.h"
#include "trainer/comm/comm_driver.h"

#include <stdio.h>
#include <string.h>

/* A rank on which all calls from number FAILS on fail, counted from 0; -1: none does. */
struct counting {
    struct comm base;
    int fails, calls;
};

static int answer(struct comm *c, struct error *err) {
    struct counting *counting = (struct counting *)c;
    return counting->calls++ == counting->fails
               ? error_set(err, EXIT_CODE_STALLED, "a rank is gone")
               : 0;
}

static int gather(struct comm *c, const void *bytes, size_t size, void *all, struct error *err) {
    memcpy(all, bytes, size);
    return answer(c, err);
}

static const struct comm_driver DRIVER = {.gather = gather, .barrier = answer};

static int load(struct coco_index *ret, const char *name, int fails, struct error *err) {
    static char path[4096];
    struct counting c = {.base = {.driver = &DRIVER, .size = 1}, .fails = fails};
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), name);
    *err = (struct error){0};
    return host_index_load(ret, path, &c.base, err);
}

static void a_rank_that_is_gone_is_reported_unless_the_file_was_wrong_before(void) {
    static const char json[] = "{\"images\":[{\"id\":7,\"file_name\":\"a.jpg\",\"width\":9,"
                               "\"height\":8}],\"categories\":[],\"annotations\":[]}";
    char path[4096];
    struct error err = {0};
    (void)snprintf(path, sizeof(path), "%s/set.json", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(file_publish(path, json, strlen(json), 0644, &err), 0);
    for (int fails = -1; fails < 3; fails++) {
        cleanup_coco_index struct coco_index index = {0};
        CU_ASSERT_EQUAL(load(&index, "set.json", fails, &err), fails < 0 ? 0 : -1);
        CU_ASSERT_EQUAL(err.code, fails < 0 ? EXIT_CODE_OK : EXIT_CODE_STALLED);
        CU_ASSERT_STRING_EQUAL(err.text, fails < 0 ? "" : "a rank is gone");
        if (fails < 0)
            CU_ASSERT(index.image_count == 1 && index.images[0].id == 7);
    }
    for (int fails = -1; fails < 2; fails++) {
        struct coco_index index = {0};
        CU_ASSERT_EQUAL(load(&index, "none.json", fails, &err), -1);
        CU_ASSERT_EQUAL(err.code, fails == 0 ? EXIT_CODE_STALLED : EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, fails == 0 ? "a rank is gone" : "none.json");
    }
}

UNIT_SUITE("app.host_index", UNIT(a_rank_that_is_gone_is_reported_unless_the_file_was_wrong_before))

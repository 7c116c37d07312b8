#include "trainer/report/run_figures.h"

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char LOG[] =
    "{\"kind\":\"run\",\"ranks\":2,\"global_batch\":64,\"images\":1280,"
    "\"flags\":{\"epochs\":\"90\",\"backend\":\"cpu\"}}\n"
    "not JSON\n"
    "{\"kind\":\"start\",\"step\":0,\"sums\":3,\"sum_bytes\":4096}\n"
    "{\"kind\":\"train\",\"time\":\"2026-11-27T16:08:15.500Z\",\"step\":1,"
    "\"images_per_second\":1,\"training_seconds\":2,\"ranks_seconds\":1.5,\"loss\":9}\n"
    "{\"kind\":\"train\",\"step\":10,\"images_per_second\":90,\"training_seconds\":10,"
    "\"ranks_seconds\":2}\n"
    "{\"kind\":\"train\",\"step\":20,\"images_per_second\":100,\"training_seconds\":20,"
    "\"ranks_seconds\":3}\n"
    "{\"kind\":\"eval\",\"step\":20,\"top1\":0.5,\"loss\":2}\n"
    "{\"kind\":\"train\",\"step\":30,\"images_per_second\":120,\"training_seconds\":30,"
    "\"ranks_seconds\":4,\"loss\":1}\n"
    "{\"kind\":\"train\",\"step\":40,\"images_per_";

static void figures_leave_warm_up_out(void) {
    char folder[] = "/tmp/figures-XXXXXX", path[64];
    struct run_figures f;
    struct error err = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/run.jsonl", folder);
    CU_ASSERT_EQUAL_FATAL(file_put(path, LOG, sizeof(LOG) - 1, 0644, &err), 0);
    CU_ASSERT_EQUAL_FATAL(run_figures_read(&f, folder, 10, "loss", &err), 0);
    CU_ASSERT_DOUBLE_EQUAL(f.rate, 110, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(f.exposed, 0.1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(f.step, 30, 0);
    CU_ASSERT_DOUBLE_EQUAL(f.epochs * f.images, 90 * 1280, 0);
    CU_ASSERT_DOUBLE_EQUAL(f.global_batch / f.ranks, 32, 0);
    CU_ASSERT_DOUBLE_EQUAL(f.sum_bytes, 4096, 0);
    CU_ASSERT_DOUBLE_EQUAL(f.first_step, 1795795695.5, 1e-3);
    /* An evaluation's number counts more than that of a later step. */
    CU_ASSERT_DOUBLE_EQUAL(f.metric, 2, 0);
    CU_ASSERT_EQUAL(run_figures_read(&f, folder, 10, "top5", &err), 0);
    CU_ASSERT(isnan(f.metric));
    CU_ASSERT_EQUAL(run_figures_read(&f, "/nonexistent", 10, NULL, &err), -1);
    (void)unlink(path);
    (void)rmdir(folder);
}

static void times_are_utc(void) {
    CU_ASSERT_DOUBLE_EQUAL(run_figures_time("1970-01-02T00:00:01.250Z"), 86401.25, 1e-9);
    CU_ASSERT(isnan(run_figures_time("yesterday")));
    CU_ASSERT(isnan(run_figures_time(NULL)));
}

UNIT_SUITE("trainer.report.run_figures", UNIT(figures_leave_warm_up_out), UNIT(times_are_utc))

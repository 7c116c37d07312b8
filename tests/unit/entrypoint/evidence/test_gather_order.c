#include "entrypoint/evidence/gather_order.h"

#include "common/cleanup.h"
#include "common/system/sealed_memfd.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>

static void what_is_made_is_read(void) {
    struct gather_order o = {.base = "/opt/ml",
                             .folder = "/opt/ml/output/data/evidence-1",
                             .host = "algo-1",
                             .recorder = "/run/x/nccl_trace_rank_",
                             .fifo = "/run/x/nccl_dump_",
                             .ras = "localhost:28028",
                             .milliseconds = 1500,
                             .signal = SIGUSR2,
                             .quick = true,
                             .gpus = true,
                             .ranks = {{3, 71}, {4, 72}},
                             .rank_count = 2};
    struct gather_order back;
    struct error err = {0};
    cleanup_fd int fd = gather_order_make(&o, &err);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(gather_order_read(fd, &back, &err), 0);
    CU_ASSERT_STRING_EQUAL(back.base, o.base);
    CU_ASSERT_STRING_EQUAL(back.folder, o.folder);
    CU_ASSERT_STRING_EQUAL(back.host, o.host);
    CU_ASSERT_STRING_EQUAL(back.recorder, o.recorder);
    CU_ASSERT_STRING_EQUAL(back.fifo, o.fifo);
    CU_ASSERT_STRING_EQUAL(back.ras, o.ras);
    CU_ASSERT_EQUAL(back.milliseconds, 1500);
    CU_ASSERT_EQUAL(back.signal, SIGUSR2);
    CU_ASSERT_TRUE(back.quick);
    CU_ASSERT_TRUE(back.gpus);
    CU_ASSERT_EQUAL(back.rank_count, 2);
    CU_ASSERT_EQUAL(back.ranks[1].rank, 4);
    CU_ASSERT_EQUAL(back.ranks[1].shim, 72);
}

static void orders_that_are_none_are_refused(void) {
    static const char *const texts[] = {
        "{}",
        "[]",
        "not json",
        "{\"base\":\"\",\"folder\":\"relative\",\"host\":\"a\",\"milliseconds\":1}",
        "{\"base\":\"\",\"folder\":\"/a\",\"host\":\"\",\"milliseconds\":1}",
        "{\"base\":\"\",\"folder\":\"/a\",\"host\":\"a/b\",\"milliseconds\":1}",
        "{\"base\":\"\",\"folder\":\"/a\",\"host\":\"a\",\"milliseconds\":0}",
        "{\"base\":\"\",\"folder\":\"/a\",\"host\":\"a\",\"milliseconds\":10001}",
        "{\"base\":\"\",\"folder\":\"/a\",\"host\":\"a\",\"milliseconds\":1,\"signal\":-1}",
        "{\"base\":\"\",\"folder\":\"/a\",\"host\":\"a\",\"milliseconds\":1,\"signal\":1000}",
        "{\"base\":\"\",\"folder\":\"/a\",\"host\":\"a\",\"milliseconds\":1,\"ranks\":[[0,1]]}",
        "{\"base\":\"\",\"folder\":\"/a\",\"host\":\"a\",\"milliseconds\":1,\"ranks\":[[-1,7]]}",
        "{\"base\":\"\",\"folder\":\"/a\",\"host\":\"a\",\"milliseconds\":1,\"ranks\":7}",
    };
    struct gather_order back;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct error err = {0};
        cleanup_fd int fd = sealed_memfd_make("order", texts[i], strlen(texts[i]), &err);
        CU_ASSERT_EQUAL(gather_order_read(fd, &back, &err), -1);
        CU_ASSERT(err.text[0] != '\0');
    }
}

static void only_sealed_memory_is_read(void) {
    struct gather_order back;
    struct error err = {0};
    cleanup_fd int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CU_ASSERT_EQUAL(gather_order_read(fd, &back, &err), -1);
    ASSERT_CONTAINS(err.text, "is started by a supervisor");
    CU_ASSERT_EQUAL(gather_order_read(-1, &back, &err), -1);
}

UNIT_SUITE("evidence.gather_order", UNIT(what_is_made_is_read),
           UNIT(orders_that_are_none_are_refused), UNIT(only_sealed_memory_is_read))

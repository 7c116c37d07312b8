#include "entrypoint/evidence/host_state.h"

#include "common/buf.h"
#include "tests/support/printed.h"
#include "tests/support/tree.h"
#include "tests/support/unit.h"

static const char *root;

static int run(int argc, char *const *argv, struct error *err) {
    (void)argc;
    (void)argv;
    (void)err;
    return host_state_print(root);
}

static int print(struct buf *ret) {
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/printed", unit_temp_dir());
    int result = printed_to(path, run, 0, NULL, NULL);
    CU_ASSERT_EQUAL_FATAL(file_read(path, ret, NULL), 0);
    return result;
}

static void files_of_the_kernel_are_printed(void) {
    cleanup_buf struct buf text;
    buf_init(&text, 64 * 1024);
    root = unit_temp_dir();
    tree_put(root, "proc", "loadavg", "1.00 2.00 3.00\n");
    tree_put(root, "sys/fs/cgroup", "memory.max", "max");
    CU_ASSERT_EQUAL(print(&text), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "== /proc/loadavg\n1.00 2.00 3.00\n"
                                            "== /sys/fs/cgroup/memory.max\nmax\n");
}

static void nothing_is_reported(void) {
    cleanup_buf struct buf text;
    buf_init(&text, 64 * 1024);
    root = "/proc/none";
    CU_ASSERT_EQUAL(print(&text), 1);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "");
}

UNIT_SUITE("evidence.host_state", UNIT(files_of_the_kernel_are_printed), UNIT(nothing_is_reported))

/* What it finds by a library is in test_nvml.c. */
#include "entrypoint/gpu/gpu_child.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void users_are_named(void) {
    char text[256];
    char expected[64];
    struct gpu_state g;
    gpu_state_init(&g);
    gpu_child_users(&g, text, sizeof(text));
    CU_ASSERT_STRING_EQUAL(text, "processes that cannot be seen from here");
    g.process_count = 2;
    g.processes[0] = (struct gpu_process){.pid = getpid(), .memory_mib = 5};
    g.processes[1] = (struct gpu_process){.pid = 99999999, .memory_mib = -1};
    gpu_child_users(&g, text, sizeof(text));
    (void)snprintf(expected, sizeof(expected), "pid %ld (unit_gpu) with 5 MiB, pid 99999999",
                   (long)getpid());
    CU_ASSERT_STRING_EQUAL(text, expected);
}

UNIT_SUITE("gpu.gpu_child", UNIT(users_are_named))

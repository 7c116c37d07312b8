/* These tests use a stand-in for NVML (tests/support/nvml.c), or scripts that print what nvidia-smi
 * prints. Each call runs in a child process of its own, because the loader reads LD_LIBRARY_PATH,
 * by which it finds the library, at the start. */
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "entrypoint/gpu/gpu_snapshot.h"
#include "entrypoint/os/answer.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The other side of ask(): prints what a row of evidence would. */
static int role(int argc, char **argv) {
    if (argc != 2 || strcmp(argv[1], "snapshot") != 0)
        return -1;
    return gpu_snapshot_print(environ, 60 * CLOCK_SECOND, stdout);
}

static struct program_reply heard;

static const char *ask(const char *folder, const char *words, int64_t limit) {
    static char text[65536];
    char self[4096];
    char path[4096 + 16];
    cleanup_argv struct argv environment = {0};
    const char *const command[] = {self, "snapshot", NULL};
    CU_ASSERT_EQUAL_FATAL(file_self(self, sizeof(self), NULL), 0);
    (void)snprintf(path, sizeof(path), "%s:/usr/bin:/bin", unit_temp_dir());
    CU_ASSERT_EQUAL(argv_set_env(&environment, "LD_LIBRARY_PATH", folder, NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(&environment, "STANDIN_NVML", words, NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(&environment, "PATH", path, NULL), 0);
    heard = (struct program_reply){.code = -1};
    buf_init(&heard.words, sizeof(text) - 1);
    CU_ASSERT_EQUAL(answer_ask(command, &environment, limit, &heard, NULL), 0);
    (void)snprintf(text, sizeof(text), "%s", buf_text(&heard.words));
    buf_done(&heard.words);
    return text;
}

static void each_gpu_has_its_lines(void) {
    const char *text = ask(TEST_NVML, "well", 60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(heard.code, 0);
    ASSERT_CONTAINS(text,
                    "\n== GPU 1 of 2\n"
                    "bus: 00000000:41:00.0\n"
                    "name: NVIDIA Stand-in 80GB\n"
                    "uuid: GPU-00000000\n"
                    "utilization: kernels 100 %, memory 40 %\n"
                    "memory: 2 of 80000 MiB in use\n"
                    "clocks: SM 1755 of 1980 MHz, memory 2619 MHz; limited by: idle\n"
                    "temperature: 60 degrees Celsius\n"
                    "power: 651 W\n"
                    "ECC: on; errors since the driver was loaded: uncorrected 0, corrected 0\n"
                    "remapped rows: after corrected errors 0, after uncorrected ones 0\n"
                    "PCIe: generation 5 of 5, lanes 16 of 16, replays 0\n"
                    "NVLinks up: 4 of 4\n"
                    "processes: none\n"
                    "\n== GPU 2 of 2\nbus: 00000000:42:00.0\n");
}

static void what_is_wrong_is_told(void) {
    const char *text = ask(TEST_NVML, "sick busy", 60 * CLOCK_SECOND);
    char users[64];
    (void)snprintf(users, sizeof(users), "\nprocesses: pid %ld (", (long)getpid());
    ASSERT_CONTAINS(text, users);
    ASSERT_CONTAINS(text, "with 30000 MiB\n");
    ASSERT_CONTAINS(text, "uncorrected 3, corrected 7\n");
    ASSERT_CONTAINS(text, "after uncorrected ones 2; one waits for a reset of the GPU\n");
    ASSERT_CONTAINS(text, "one waits for a reset of the GPU; one could not be replaced\n");
    ASSERT_CONTAINS(text, "limited by: hardware slowdown, hardware's thermal slowdown\n");
    ASSERT_CONTAINS(text, "lanes 16 of 16, replays 12\n");
    text = ask(TEST_NVML, "lost", 60 * CLOCK_SECOND);
    ASSERT_CONTAINS(text, "== GPU 2 of 2\nbus: number 1\nfault: NVML returned 15 for it\n");
}

/* Output from before the call that hangs is kept, and so is the heading of that call's GPU. */
static void a_call_that_hangs_loses_no_other_gpu(void) {
    const char *text = ask(TEST_NVML "/hanging", "well", CLOCK_SECOND);
    CU_ASSERT_TRUE(heard.late);
    ASSERT_CONTAINS(text, "bus: 00000000:41:00.0\n");
    ASSERT_CONTAINS(text, "processes: none\n\n== GPU 2 of 2\n");
    CU_ASSERT_PTR_NULL(strstr(text, "00000000:42:00.0"));
    text = ask(TEST_NVML, "hang", CLOCK_SECOND);
    CU_ASSERT_TRUE(heard.late);
    CU_ASSERT_STRING_EQUAL(text, "NVML is asked: what follows is what it has answered\n");
    text = ask(TEST_NVML, "crash", 60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(heard.signal, SIGSEGV);
}

static void put_smi(const char *script) {
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/nvidia-smi", unit_temp_dir());
    CU_ASSERT_EQUAL(file_publish(path, script, strlen(script), 0755, NULL), 0);
}

static void without_the_library_the_program_is_asked(void) {
    put_smi(
        "#!/bin/sh\ncase $1 in\n"
        "*uuid*) echo '0:41:00.0, NVIDIA H100, GPU-1, 99, 12, 1980, 1980, 2619, 44, 123.45' ;;\n"
        "*query-gpu*) echo '0:41:00.0, 81559, 4, Enabled, 0, 0x4, 5, 5, 16, 16' ;;\n"
        "*rows*) echo '0:41:00.0, No, No, 1, 0' ;;\n"
        "*compute*) ;;\nesac\n");
    const char *text = ask("/nowhere", "well", 60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(heard.code, 0);
    ASSERT_CONTAINS(text, "libnvidia-ml.so.1");
    ASSERT_CONTAINS(text, "\nnvidia-smi is asked\n\n== GPU 1 of 1\nbus: 0:41:00.0\n"
                          "name: NVIDIA H100\nuuid: GPU-1\n"
                          "utilization: kernels 99 %, memory 12 %\n"
                          "memory: 4 of 81559 MiB in use\n");
    ASSERT_CONTAINS(text, "limited by: software's power cap\n");
    ASSERT_CONTAINS(text, "power: 123 W\n");
    ASSERT_CONTAINS(text, "uncorrected 0, corrected unknown\n");
    ASSERT_CONTAINS(text, "after corrected errors 1, after uncorrected ones 0\n");
    ASSERT_CONTAINS(text, "NVLinks up: unknown\n");
    put_smi("#!/bin/sh\necho 'no driver'; exit 9\n");
    text = ask("/nowhere", "well", 60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(heard.code, 1);
    ASSERT_CONTAINS(text, "nvidia-smi ended with 9: no driver");
}

UNIT_ROLE(role)
UNIT_SUITE("gpu.gpu_snapshot", UNIT(each_gpu_has_its_lines), UNIT(what_is_wrong_is_told),
           UNIT(a_call_that_hangs_loses_no_other_gpu),
           UNIT(without_the_library_the_program_is_asked))

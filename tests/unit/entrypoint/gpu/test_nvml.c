/* These tests use a stand-in for NVML (tests/support/nvml.c). Each call runs in a child process of
 * its own, because the loader reads LD_LIBRARY_PATH, by which it finds the library, at the
 * start. */
#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "entrypoint/gpu/gpu_child.h"
#include "entrypoint/os/answer.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* The other side of ask(): prints what a child of a supervisor would. */
static int role(int argc, char **argv) {
    struct error err = {0};
    if (argc != 2 || strncmp(argv[1], "as-", 3) != 0)
        return -1;
    if (strcmp(argv[1], "as-xids") == 0) {
        (void)alarm(60);
        return gpu_child_xids(STDOUT_FILENO, &err);
    }
    cleanup_json json_t *found =
        strcmp(argv[1], "as-memory") == 0 ? gpu_child_memory(environ) : gpu_child_gpus(environ);
    cleanup_free char *text = json_dumps(found, JSON_COMPACT);
    (void)puts(text);
    return 0;
}

static struct program_reply heard;

static const char *ask(const char *part, const char *folder, const char *words, int64_t limit) {
    static char text[65536];
    char self[4096];
    cleanup_argv struct argv environment = {0};
    const char *const command[] = {self, part, NULL};
    CU_ASSERT_EQUAL_FATAL(file_self(self, sizeof(self), NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(&environment, "LD_LIBRARY_PATH", folder, NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(&environment, "STANDIN_NVML", words, NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(&environment, "PATH", unit_temp_dir(), NULL), 0);
    heard = (struct program_reply){.code = -1};
    buf_init(&heard.words, sizeof(text) - 1);
    CU_ASSERT_EQUAL(answer_ask(command, &environment, limit * INT64_C(1000000000), &heard, NULL),
                    0);
    (void)snprintf(text, sizeof(text), "%s", buf_text(&heard.words));
    buf_done(&heard.words);
    return text;
}

static void all_is_read(void) {
    const char *text = ask("as-gpus", TEST_NVML, "well", 60);
    ASSERT_CONTAINS(text, "\"source\":\"NVML\"");
    ASSERT_CONTAINS(text, "{\"bus\":\"00000000:41:00.0\",\"memory_mib\":80000,\"used_mib\":2,"
                          "\"ecc\":1,\"uncorrected\":0,\"remap_pending\":0,\"remap_failed\":0,"
                          "\"clocks\":1,\"pcie_generation\":5,\"pcie_generation_max\":5,"
                          "\"pcie_width\":16,\"pcie_width_max\":16,\"links\":4,\"links_up\":4}");
    text = ask("as-gpus", TEST_NVML, "sick", 60);
    ASSERT_CONTAINS(text, "\"uncorrected\":3,\"remap_pending\":1,\"remap_failed\":1,\"clocks\":72");
    ASSERT_CONTAINS(text, "\"pcie_width\":8,\"pcie_width_max\":16");
    ASSERT_CONTAINS(text, "\"links\":4,\"links_up\":3");
}

static void a_gpu_that_is_lost_has_a_fault(void) {
    const char *text = ask("as-gpus", TEST_NVML, "lost", 60);
    ASSERT_CONTAINS(text, "{\"bus\":\"number 1\",\"fault\":\"NVML returned 15 for it\"}");
}

static void what_a_library_lacks_is_not_known(void) {
    const char *text = ask("as-gpus", TEST_NVML "/without_rows", "well", 60);
    ASSERT_CONTAINS(text, "\"uncorrected\":0,\"clocks\":1");
    CU_ASSERT_PTR_NULL(strstr(text, "remap"));
    text = ask("as-gpus", TEST_NVML "/without_init", "well", 60);
    ASSERT_CONTAINS(text, "libnvidia-ml.so.1 has no nvmlInit_v2");
    text = ask("as-gpus", "/nowhere", "well", 60);
    ASSERT_CONTAINS(text, "\"fault\":");
    ASSERT_CONTAINS(text, "; no nvidia-smi in PATH");
    ASSERT_CONTAINS(text, "libnvidia-ml.so.1");
}

static void one_that_crashes_or_hangs_takes_the_child_alone(void) {
    CU_ASSERT_STRING_EQUAL(ask("as-gpus", TEST_NVML, "crash", 60), "");
    CU_ASSERT_EQUAL(heard.signal, SIGSEGV);
    CU_ASSERT_STRING_EQUAL(ask("as-gpus", TEST_NVML, "hang", 1), "");
    CU_ASSERT(heard.late);
}

static void users_of_memory_are_named(void) {
    const char *text = ask("as-gpus", TEST_NVML, "busy", 60);
    char expected[128];
    (void)snprintf(expected, sizeof(expected), "\"users\":\"pid %ld (", (long)getpid());
    ASSERT_CONTAINS(text, expected);
    ASSERT_CONTAINS(text, ") with 30000 MiB\"");
    ASSERT_CONTAINS(text, "\"used_mib\":30000");
}

static void memory_is_waited_for(void) {
    int waited = 0;
    char words[4096];
    (void)snprintf(words, sizeof(words), "once=%s/held", unit_temp_dir());
    CU_ASSERT_EQUAL(file_put(words + strlen("once="), "", 0, 0600, NULL), 0);
    const char *text = ask("as-memory", TEST_NVML, words, 120);
    CU_ASSERT_EQUAL(sscanf(text, "{\"waited\":%d", &waited), 1);
    CU_ASSERT(waited > 0);
    ASSERT_CONTAINS(text, "\"busy\":[]");
    text = ask("as-memory", TEST_NVML, "well", 60);
    ASSERT_CONTAINS(text, "\"busy\":[]");
}

static void xids_come_as_lines_of_the_kernels_form(void) {
    CU_ASSERT_STRING_EQUAL(ask("as-xids", TEST_NVML, "xid=79", 60),
                           "NVRM: Xid (PCI:0000:42:00): 79, told by NVML\n");
    CU_ASSERT_EQUAL(heard.signal, SIGALRM); /* it was waiting for more */
}

UNIT_ROLE(role)
UNIT_SUITE("gpu.nvml", UNIT(all_is_read), UNIT(a_gpu_that_is_lost_has_a_fault),
           UNIT(what_a_library_lacks_is_not_known),
           UNIT(one_that_crashes_or_hangs_takes_the_child_alone), UNIT(users_of_memory_are_named),
           UNIT(memory_is_waited_for), UNIT(xids_come_as_lines_of_the_kernels_form))

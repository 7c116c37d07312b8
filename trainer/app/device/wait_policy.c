#include "trainer/app/device/wait_policy.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/system/cpus.h"
#include "trainer/app/device/rank_variables.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POLICY "OMP_WAIT_POLICY"

/* Even an idle machine has some load. */
static const double LOAD_OF_NOTHING = 0.5;

enum { COMMAND_LINE_MAX = 4 * 1024 * 1024, WORDS_MAX = 65536 };

/* The arguments in /proc/self/cmdline end with a NUL each. */
static void start_again(void) {
    cleanup_buf struct buf line = {0};
    buf_init(&line, COMMAND_LINE_MAX);
    if (file_read("/proc/self/cmdline", &line, NULL) != 0 || line.size == 0)
        return;
    cleanup_free char **words = calloc(WORDS_MAX + 1, sizeof(*words));
    if (words == NULL)
        return;
    size_t count = 0;
    for (size_t at = 0; at < line.size && count < WORDS_MAX; at += strlen(line.data + at) + 1)
        words[count++] = line.data + at;
    /* By its real path: a process started as /proc/self/exe is called "exe" everywhere. */
    char path[PATH_MAX];
    if (file_self(path, sizeof(path), NULL) == 0 && setenv(POLICY, "passive", 1) == 0)
        (void)execv(path, words);
}

bool wait_policy_is_crowded(int threads, int ranks, int cores, double load) {
    int all = threads > 0 ? threads * ranks : cores;
    /* A single thread has nothing to wait for. */
    bool pool = threads > 1 || (threads == 0 && cores / ranks > 1);
    return pool && (double)all + load > (double)cores + LOAD_OF_NOTHING;
}

void wait_policy_settle(int threads) {
    double load = 0;
    if (getenv(POLICY) != NULL || getenv("GOMP_SPINCOUNT") != NULL)
        return;
    if (getloadavg(&load, 1) != 1)
        load = 0;
    if (wait_policy_is_crowded(threads, rank_variables_local_size(), cpus_affinity(), load))
        start_again();
}

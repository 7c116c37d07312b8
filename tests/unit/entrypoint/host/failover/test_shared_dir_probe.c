#include "entrypoint/host/failover/shared_dir_probe.h"

#include "common/clock.h"
#include "entrypoint/job/job.h"
#include "tests/support/reaping.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct loop loop;
static struct reaper reaper;
static struct job job = {.cluster = {.count = 3}};
static const struct services services = {.loop = &loop, .reaper = &reaper, .job = &job};
static struct shared_dir_probe probe;
static struct error heard;
static bool is_good;

static void done(void *context, const struct error *fault) {
    (void)context;
    is_good = fault == NULL;
    if (fault != NULL)
        heard = *fault;
    loop_end(&loop);
}

static void give_up(void *context) {
    (void)context;
    CU_FAIL("waited too long");
    loop_end(&loop);
}

/* Returns whether step WHICH of host OF succeeded; `heard` says why not. */
static bool step(const char *base, enum shared_dir_probe_step which, size_t of, const char *word) {
    struct error err;
    const struct shared_dir_probe_options options = {
        .run = "00ff", .host = of, .step = which, .word = word, .done = done};
    job.settings.base_dir = base;
    reaping_open(&loop, &reaper);
    CU_ASSERT_EQUAL_FATAL(shared_dir_probe_start(&probe, &services, &options, &err), 0);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    shared_dir_probe_close(&probe);
    loop_done(&loop);
    return is_good;
}

/* Makes a new folder; its path stays valid until the next call but one. */
static const char *new_base(void) {
    static char bases[2][400];
    static unsigned count;
    char path[512];
    char *base = bases[count % 2];
    (void)snprintf(base, sizeof(bases[0]), "%s/%u", unit_temp_dir(), count++);
    (void)snprintf(path, sizeof(path), "%s/checkpoints", base);
    CU_ASSERT_EQUAL_FATAL(mkdir(base, 0755), 0);
    CU_ASSERT_EQUAL_FATAL(mkdir(path, 0755), 0);
    return base;
}

static bool is_there(const char *base, const char *name) {
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/checkpoints/%s", base, name);
    return access(path, F_OK) == 0;
}

static void what_one_writes_another_reads_in_the_same_folder(void) {
    struct error err;
    char word[SHARED_DIR_PROBE_WORD_SIZE];
    char other[SHARED_DIR_PROBE_WORD_SIZE];
    const char *base = new_base();
    CU_ASSERT_EQUAL(shared_dir_probe_word(word, &err), 0);
    CU_ASSERT_EQUAL(shared_dir_probe_word(other, &err), 0);
    CU_ASSERT_STRING_NOT_EQUAL(word, other);
    CU_ASSERT(step(base, SHARED_DIR_PROBE_WRITE, 1, word));
    CU_ASSERT(is_there(base, ".ringmaster-00ff-1"));
    CU_ASSERT(step(base, SHARED_DIR_PROBE_READ, 1, word));
    CU_ASSERT_FALSE(step(base, SHARED_DIR_PROBE_READ, 1, other));
    CU_ASSERT_FALSE(step(base, SHARED_DIR_PROBE_READ, 1, "short"));
    CU_ASSERT_FALSE(step(base, SHARED_DIR_PROBE_READ, 2, word));
    ASSERT_CONTAINS(heard.text, "/checkpoints: No such file");
    CU_ASSERT_EQUAL(heard.code, EXIT_CODE_CONFIG);
    CU_ASSERT(step(base, SHARED_DIR_PROBE_REMOVE, 1, ""));
    CU_ASSERT_FALSE(is_there(base, ".ringmaster-00ff-1"));
    CU_ASSERT(step(base, SHARED_DIR_PROBE_REMOVE, 1, ""));
}

/* If a host is lost before it has removed its own file, another does: each one also removes the
 * file of the host before it. */
static void nothing_of_a_lost_host_stays(void) {
    const char *base = new_base();
    for (size_t of = 0; of < 3; of++)
        CU_ASSERT(step(base, SHARED_DIR_PROBE_WRITE, of, "0123456789abcdef"));
    CU_ASSERT(step(base, SHARED_DIR_PROBE_REMOVE, 0, ""));
    CU_ASSERT_FALSE(is_there(base, ".ringmaster-00ff-0") || is_there(base, ".ringmaster-00ff-2"));
    CU_ASSERT(is_there(base, ".ringmaster-00ff-1"));
    CU_ASSERT(step(base, SHARED_DIR_PROBE_REMOVE, 2, ""));
    CU_ASSERT_FALSE(is_there(base, ".ringmaster-00ff-1"));
}

static void a_folder_of_ones_own_shows(void) {
    char word[SHARED_DIR_PROBE_WORD_SIZE];
    struct error err;
    const char *base = new_base();
    CU_ASSERT_EQUAL(shared_dir_probe_word(word, &err), 0);
    CU_ASSERT(step(base, SHARED_DIR_PROBE_WRITE, 0, word));
    CU_ASSERT_FALSE(step(new_base(), SHARED_DIR_PROBE_READ, 0, word));
}

/* An existing file is not overwritten, and a link is not followed. */
static void a_file_that_is_there_is_not_followed(void) {
    char path[600];
    char word[SHARED_DIR_PROBE_WORD_SIZE];
    struct error err;
    const char *base = new_base();
    (void)snprintf(path, sizeof(path), "%s/checkpoints/.ringmaster-00ff-3", base);
    CU_ASSERT_EQUAL(symlink("/dev/null", path), 0);
    CU_ASSERT_EQUAL(shared_dir_probe_word(word, &err), 0);
    CU_ASSERT_FALSE(step(base, SHARED_DIR_PROBE_WRITE, 3, word));
    CU_ASSERT_FALSE(step(base, SHARED_DIR_PROBE_READ, 3, word));
}

static void a_folder_that_is_not_there_is_reported(void) {
    CU_ASSERT_FALSE(step(unit_temp_dir(), SHARED_DIR_PROBE_WRITE, 0, "0123456789abcdef"));
    ASSERT_CONTAINS(heard.text, "/checkpoints: No such file or directory");
}

/* Nobody reaps the child here, as if a disk blocked it forever. */
static void a_child_that_does_not_end_is_not_waited_for(void) {
    struct error err;
    const struct shared_dir_probe_options options = {
        .run = "00ff", .step = SHARED_DIR_PROBE_WRITE, .word = "0123456789abcdef", .done = done};
    job.settings.base_dir = new_base();
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(shared_dir_probe_start(&probe, &services, &options, &err), 0);
    pid_t child = probe.child.pid;
    struct timer patience = {.fire = give_up};
    loop_after(&loop, &patience, 60 * CLOCK_SECOND);
    loop_at(&loop, &probe.deadline, clock_now());
    is_good = true;
    heard = (struct error){0};
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_FALSE(is_good);
    ASSERT_CONTAINS(heard.text, "/checkpoints: it did not answer within 10 s");
    shared_dir_probe_close(&probe);
    loop_done(&loop);
    CU_ASSERT_EQUAL(waitpid(child, NULL, 0), child);
}

UNIT_SUITE("host.shared_dir_probe", UNIT(what_one_writes_another_reads_in_the_same_folder),
           UNIT(nothing_of_a_lost_host_stays), UNIT(a_folder_of_ones_own_shows),
           UNIT(a_file_that_is_there_is_not_followed), UNIT(a_folder_that_is_not_there_is_reported),
           UNIT(a_child_that_does_not_end_is_not_waited_for))

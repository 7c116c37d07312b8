#include "entrypoint/evidence/gather_task.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int say(const struct evidence_subject *s) {
    (void)printf("rank %u of shim %d\n", s->rank, (int)s->shim);
    return 0;
}

static int hang(const struct evidence_subject *s) {
    (void)s;
    (void)printf("before\n");
    (void)fflush(stdout);
    while (getpid() > 0)
        (void)pause();
    return 0;
}

static int flood(const struct evidence_subject *s) {
    (void)s;
    while (getpid() > 0)
        (void)printf("0123456789abcdef\n");
    return 0;
}

static const struct evidence_row saying = {
    "say", "HOST-RANK.txt", "", EVIDENCE_OF_RANK, true, 5000, 4096, say, NULL};
static const struct evidence_row hanging = {
    "hang", "HOST-hang.txt", "", EVIDENCE_OF_HOST, true, 1, 4096, hang, NULL};
static const struct evidence_row flooding = {
    "flood", "HOST-flood.txt", "", EVIDENCE_OF_HOST, true, 60000, 100, flood, NULL};
static const struct gather_order order = {.host = "algo-1"};
static const char *folder;
static int folder_fd;
static size_t room;

static void begin(struct gather_task *t, const struct evidence_row *row) {
    const struct gather_rank rank = {.rank = 3, .shim = 71};
    folder = unit_temp_dir();
    folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    room = GATHER_ORDER_BYTES;
    gather_task_init(t, row, &order, &rank);
    CU_ASSERT_EQUAL_FATAL(gather_task_start(t, clock_now() + 60 * CLOCK_SECOND, NULL), 0);
}

/* Reads until the child has ended or printed SOME bytes. */
static void read_some(struct gather_task *t, size_t some) {
    while (t->out >= 0 && t->bytes < some) {
        struct pollfd p = {.fd = t->out, .events = POLLIN};
        (void)poll(&p, 1, -1);
        gather_task_read(t, folder_fd, &room);
    }
}

static void finish(struct gather_task *t, const char *name, const char *expected) {
    char path[PATH_MAX];
    cleanup_buf struct buf text;
    buf_init(&text, 64 * 1024);
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    CU_ASSERT_EQUAL(file_read(path, &text, NULL), 0);
    ASSERT_TEXT(buf_text(&text), expected);
    CU_ASSERT_EQUAL(t->bytes, strlen(expected));
    CU_ASSERT_EQUAL(room, GATHER_ORDER_BYTES - t->bytes);
    gather_task_done(t);
    (void)close(folder_fd);
}

static void output_becomes_a_file(void) {
    struct gather_task t;
    begin(&t, &saying);
    read_some(&t, SIZE_MAX);
    CU_ASSERT_STRING_EQUAL(buf_text(&t.kept), "rank 3 of shim 71\n");
    CU_ASSERT_FALSE(t.late || t.cut);
    finish(&t, "algo-1-3.txt", "rank 3 of shim 71\n");
}

/* What was printed before the deadline is kept. */
static void a_child_that_hangs_is_killed(void) {
    struct gather_task t;
    begin(&t, &hanging);
    pid_t child = t.child;
    read_some(&t, strlen("before\n")); /* CUnit's stdout is unbuffered: one line, two writes */
    gather_task_expire(&t, folder_fd, &room);
    CU_ASSERT_TRUE(t.late);
    CU_ASSERT_EQUAL(t.out, -1);
    finish(&t, "algo-1-hang.txt", "before\n");
    for (int tries = 0; tries < 10000 && kill(child, 0) == 0; tries++)
        (void)waitpid(child, NULL, 0);
    CU_ASSERT_EQUAL(kill(child, 0), -1);
    gather_task_expire(&t, -1, &room); /* once more changes nothing */
}

static void endless_output_is_cut(void) {
    struct gather_task t;
    begin(&t, &flooding);
    read_some(&t, SIZE_MAX);
    CU_ASSERT_TRUE(t.cut);
    CU_ASSERT(t.kept.size <= GATHER_TASK_KEPT);
    CU_ASSERT_EQUAL(t.bytes, 100);
    finish(&t, "algo-1-flood.txt",
           "0123456789abcdef\n0123456789abcdef\n0123456789abcdef\n0123456789abcdef\n"
           "0123456789abcdef\n0123456789abcde");
}

/* What a program has put there instead of a file is not followed. */
static void links_are_not_followed(void) {
    struct gather_task t;
    char link[PATH_MAX];
    char target[PATH_MAX];
    begin(&t, &saying);
    (void)snprintf(link, sizeof(link), "%s/algo-1-3.txt", folder);
    (void)snprintf(target, sizeof(target), "%s/target", folder);
    (void)unlink(link);
    CU_ASSERT_EQUAL_FATAL(symlink(target, link), 0);
    read_some(&t, SIZE_MAX);
    CU_ASSERT_EQUAL(access(target, F_OK), -1);
    finish(&t, "algo-1-3.txt", "rank 3 of shim 71\n");
}

UNIT_SUITE("evidence.gather_task", UNIT(output_becomes_a_file), UNIT(a_child_that_hangs_is_killed),
           UNIT(endless_output_is_cut), UNIT(links_are_not_followed))

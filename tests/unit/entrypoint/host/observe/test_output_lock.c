#include "entrypoint/host/observe/output_lock.h"

#include "common/file/file.h"
#include "tests/support/ended.h"
#include "tests/support/unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* In place of the C library's function: a file system without locks, a file that is removed right
 * before its first lock, and a process that is killed right before the first wait for a lock, and
 * is dead before the lock's time is over, however slow the machine is. */
static bool no_locks;
static char going[600];
static pid_t killed;
int fcntl(int fd, int cmd, ...) {
    int (*librarys)(int, int, ...) = NULL;
    va_list words;
    va_start(words, cmd);
    void *word = va_arg(words, void *);
    va_end(words);
    *(void **)&librarys = dlsym(RTLD_NEXT, "fcntl");
    if (going[0] != '\0' && cmd == F_OFD_SETLK) {
        (void)unlink(going);
        going[0] = '\0';
    }
    if (killed > 0 && cmd == F_OFD_SETLKW) {
        (void)kill(killed, SIGKILL);
        for (int second = 0; second < 60 && !ended_within(killed, 1000); second++)
            ;
        killed = 0;
    }
    if (no_locks && (cmd == F_OFD_SETLK || cmd == F_OFD_GETLK)) {
        errno = ENOLCK;
        return -1;
    }
    return librarys(fd, cmd, word);
}

static char base[512];

/* What a child has seen. */
static struct seen {
    enum output_lock claim;
    bool shared;
} seen;

static void on(const char *folder) {
    snprintf(base, sizeof(base), "%s/%s", unit_temp_dir(), folder);
    CU_ASSERT_EQUAL(file_make_dirs(base, NULL), 0);
    output_lock_begin(base);
}

/* A child takes it and tells, as a failure child does. */
static void take_for(bool anew) {
    int ends[2];
    char text[OUTPUT_LOCK_TEXT_SIZE] = "";
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        output_lock_close_others(ends[1]);
        char told[3] = "00";
        told[0] = (char)('0' + (int)output_lock_take(anew));
        told[1] = (char)('0' + output_lock_is_shared());
        output_lock_send(told);
        _exit(0);
    }
    (void)close(ends[1]);
    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
    output_lock_receive(ends[0], text);
    (void)close(ends[0]);
    CU_ASSERT_EQUAL_FATAL(strlen(text), 2);
    seen = (struct seen){.claim = (enum output_lock)(text[0] - '0'), .shared = text[1] == '1'};
}

static void take(void) {
    take_for(false);
}

/* Another process with a claim of its own, until it is killed. */
static pid_t another(void) {
    int ends[2];
    char byte = 0;
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        output_lock_end();
        output_lock_begin(base);
        byte = (char)('0' + (int)output_lock_take(true));
        (void)!write(ends[1], &byte, 1);
        for (;;)
            (void)pause();
    }
    CU_ASSERT_EQUAL(read(ends[0], &byte, 1), 1);
    seen.claim = (enum output_lock)(byte - '0');
    (void)close(ends[0]);
    (void)close(ends[1]);
    return pid;
}

static void end(pid_t pid) {
    (void)kill(pid, SIGKILL);
    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
}

static void the_first_one_has_it_to_its_end(void) {
    on("first");
    take();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_OURS);
    CU_ASSERT_FALSE(seen.shared);
    /* The child that took it is gone, and others find it taken. */
    pid_t other = another();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_ANOTHERS);
    take();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_OURS);
    CU_ASSERT(seen.shared);
    end(other);
    take();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_OURS);
    CU_ASSERT_FALSE(seen.shared);
}

static void the_next_one_inherits_it(void) {
    on("next");
    pid_t other = another();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_OURS);
    take();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_ANOTHERS);
    CU_ASSERT(seen.shared);
    end(other);
    take();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_INHERITED);
    take();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_INHERITED);
    other = another();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_ANOTHERS);
    end(other);
    take_for(true);
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_OURS);
    take();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_OURS);
}

static void one_of_another_folder_is_given_up(void) {
    on("left");
    take();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_OURS);
    output_lock_begin(base);
    on("entered");
    on("left");
    pid_t other = another();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_OURS);
    end(other);
}

/* In a child, as all that touches the disk. */
static void leave(void) {
    pid_t pid = fork();
    if (pid == 0) {
        output_lock_leave();
        _exit(0);
    }
    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
}
static bool file_is_there(void) {
    char path[600];
    snprintf(path, sizeof(path), "%s/output/.failure-owner", base);
    return access(path, F_OK) == 0;
}

static void the_last_one_leaves_nothing(void) {
    on("leaving");
    leave(); /* it has none */
    take();
    pid_t other = another();
    leave();
    CU_ASSERT(file_is_there());
    end(other);
    leave();
    CU_ASSERT_FALSE(file_is_there());
    /* The next process to come gets a file of its own. */
    other = another();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_OURS);
    end(other);
    on("not-ours");
    other = another();
    take();
    leave();
    CU_ASSERT(file_is_there());
    end(other);
}

/* It has opened the file of one that leaves, which goes before it is locked. */
static void a_file_that_goes_is_not_taken(void) {
    on("going");
    snprintf(going, sizeof(going), "%s/output/.failure-owner", base);
    pid_t other = another();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_OURS);
    going[0] = '\0';
    CU_ASSERT(file_is_there()); /* not the one that it had opened first */
    take();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_ANOTHERS);
    end(other);
}

static void without_locks_it_is_everybodys(void) {
    on("none");
    no_locks = true;
    take();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_NONE);
    CU_ASSERT_FALSE(seen.shared);
    leave();
    CU_ASSERT_FALSE(file_is_there());
    no_locks = false;
    output_lock_end();
    output_lock_begin(base);
    take();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_OURS);
}

/* Nothing is made there, and what a program has put in the file's place is not opened. */
static void what_is_no_file_is_not_locked(void) {
    char path[600];
    struct stat st;
    snprintf(base, sizeof(base), "%s/absent", unit_temp_dir());
    output_lock_begin(base);
    take();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_NONE);
    CU_ASSERT_NOT_EQUAL(access(base, F_OK), 0);
    on("odd");
    snprintf(path, sizeof(path), "%s/output", base);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    snprintf(path, sizeof(path), "%s/output/.failure-owner", base);
    CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
    take();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_NONE);
    (void)unlink(path);
    CU_ASSERT_EQUAL(symlink("elsewhere", path), 0);
    take();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_NONE);
    (void)unlink(path);
    take();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_OURS);
    CU_ASSERT(lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0);
}

static void who_says_nothing_changes_nothing(void) {
    int ends[2];
    char text[OUTPUT_LOCK_TEXT_SIZE] = "x";
    on("mute");
    take();
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    output_lock_receive(ends[0], text); /* not yet */
    CU_ASSERT_STRING_EQUAL(text, "");
    (void)close(ends[1]);
    output_lock_receive(ends[0], text); /* never */
    CU_ASSERT_STRING_EQUAL(text, "");
    (void)close(ends[0]);
    take();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_OURS);
}

/* A child of ours that was killed has it for a moment longer; another process for as long as it
 * lives. */
static void a_child_that_is_being_killed_is_waited_for(void) {
    on("killed");
    killed = another();
    const pid_t dies = killed;
    output_lock_child_killed();
    take();
    killed = 0;
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_OURS);
    CU_ASSERT_EQUAL(waitpid(dies, NULL, 0), dies);
    on("alive");
    pid_t alive = another();
    output_lock_child_killed();
    take();
    CU_ASSERT_EQUAL(seen.claim, OUTPUT_LOCK_ANOTHERS);
    end(alive);
}

UNIT_SUITE("host.output_lock", UNIT(the_first_one_has_it_to_its_end),
           UNIT(the_next_one_inherits_it), UNIT(one_of_another_folder_is_given_up),
           UNIT(the_last_one_leaves_nothing), UNIT(a_file_that_goes_is_not_taken),
           UNIT(without_locks_it_is_everybodys), UNIT(what_is_no_file_is_not_locked),
           UNIT(who_says_nothing_changes_nothing), UNIT(a_child_that_is_being_killed_is_waited_for))

#include "entrypoint/os/child.h"

#include "common/binary/elf_program.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "tests/support/held_clock.h"
#include "tests/support/unit.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* In place of the library's: a disk that stalls under one program. */
static const char stalling[] = "/no/such/disk/program";
int execve(const char *file, char *const *argv, char *const *environment) {
    if (strcmp(file, stalling) == 0)
        for (;;)
            (void)pause();
    return (int)syscall(SYS_execve, file, argv, environment);
}

static char path_variable[] = "PATH=/usr/bin:/bin";
static char *const no_environment[] = {path_variable, NULL};

/* What a child is given must not be what happened to lie on the stack. */
static __attribute__((noinline)) void soil_the_stack(void) {
    volatile char room[64 * 1024];
    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = (char)0xff;
}

static int run_shell(const char *script, char *output, size_t size) {
    char text[1024];
    (void)snprintf(text, sizeof(text), "%s", script);
    char sh[] = "sh";
    char c[] = "-c";
    char *argv[] = {sh, c, text, NULL};
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
    struct child_options options = {.file = "/bin/sh",
                                    .argv = argv,
                                    .environment = no_environment,
                                    .out = ends[1],
                                    .error_out = -1,
                                    .group = CHILD_NEW_GROUP,
                                    .death_signal = SIGKILL};
    struct error err = {0};
    pid_t pid = -1;
    soil_the_stack();
    CU_ASSERT_EQUAL_FATAL(child_spawn(&options, &pid, &err), 0);
    (void)close(ends[1]);
    size_t used = 0;
    for (ssize_t got; (got = read(ends[0], output + used, size - 1 - used)) > 0;)
        used += (size_t)got;
    output[used] = '\0';
    (void)close(ends[0]);
    int status = 0;
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    return status;
}

static void every_exit_code_and_signal_is_distinguished(void) {
    for (int code = 0; code <= 255; code += 51) {
        char script[64];
        char output[64];
        (void)snprintf(script, sizeof(script), "exit %d", code);
        CU_ASSERT_EQUAL(child_exit_code(run_shell(script, output, sizeof(output))), code);
    }
    char output[64];
    CU_ASSERT_EQUAL(child_exit_code(run_shell("kill -SEGV $$", output, sizeof(output))), 139);
    CU_ASSERT_EQUAL(child_exit_code(run_shell("kill -KILL $$", output, sizeof(output))), 137);
}

static void a_child_starts_with_nothing_of_ours(void) {
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    int stray = open("/dev/null", O_RDONLY); /* without close-on-exec */
    char output[1024];
    int status = run_shell("grep -E '^Sig(Blk|Ign)' /proc/self/status; "
                           "ls -l /proc/self/fd | grep -c -- '->'; readlink /proc/self/fd/0; env",
                           output, sizeof(output));
    CU_ASSERT_EQUAL(status, 0);
    ASSERT_CONTAINS(output, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
    ASSERT_CONTAINS(output, "\n4\n/dev/null\n"); /* 0, 1, 2 and the one that ls itself opens */
    ASSERT_CONTAINS(output, "PATH=/usr/bin:/bin");
    CU_ASSERT_PTR_NULL(strstr(output, "HOME="));
    (void)close(stray);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* 0 where a program is not started, for that reason. */
static int refused_start(int keep, const char *reason) {
    char sh[] = "sh", c[] = "-c", script[] = "exit 0";
    char *argv[] = {sh, c, script, NULL};
    struct child_options options = {.file = "/bin/sh",
                                    .argv = argv,
                                    .environment = no_environment,
                                    .out = -1,
                                    .error_out = -1,
                                    .keep = {keep}};
    struct error err = {0};
    pid_t pid = -1;
    if (child_spawn(&options, &pid, &err) != -1)
        return 1;
    return err.code == EXIT_CODE_NOT_EXECUTABLE && strstr(err.text, reason) != NULL ? 0 : 2;
}

static int start_without_descriptors(void) {
    (void)syscall(SYS_close_range, 3U, ~0U, 0U);
    /* Room for the pipe, one end of which moves to 10, and for no copy of a stream as well. */
    struct rlimit limit = {.rlim_cur = 11, .rlim_max = 11};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 3;
    return refused_start(0, "Too many open files");
}

static int start_with_nothing_to_keep(void) {
    (void)close(900);
    return refused_start(900, "Bad file descriptor");
}

static void a_child_that_cannot_have_its_streams_does_not_start(void) {
    CU_ASSERT_EQUAL(unit_in_child(start_without_descriptors), 0);
    CU_ASSERT_EQUAL(unit_in_child(start_with_nothing_to_keep), 0);
}

static int start_without_stdin(void) {
    char output[256] = "";
    (void)close(0);
    if (run_shell("readlink /proc/self/fd/0", output, sizeof(output)) != 0)
        return 1;
    return strcmp(output, "/dev/null\n") == 0 ? 0 : 2;
}

/* A container may be started without any stream. */
static void a_child_has_a_stdin_where_this_process_has_none(void) {
    CU_ASSERT_EQUAL(unit_in_child(start_without_stdin), 0);
}

static struct error spawn_fails(const char *file, enum exit_code code) {
    char name[] = "program";
    char *argv[] = {name, NULL};
    struct child_options options = {
        .file = file, .argv = argv, .environment = no_environment, .out = -1, .error_out = -1};
    struct error err = {0};
    pid_t pid = -1;
    CU_ASSERT_EQUAL(child_spawn(&options, &pid, &err), -1);
    CU_ASSERT_EQUAL(err.code, code);
    ASSERT_CONTAINS(err.text, file);
    CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1); /* no child remains */
    return err;
}

static void what_cannot_be_executed_is_distinguished_from_what_is_not_there(void) {
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/plain", unit_temp_dir());
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    (void)fputs("no magic number, no shell\n", file);
    (void)fclose(file);
    (void)spawn_fails("/no/such/program", EXIT_CODE_NOT_FOUND);
    (void)spawn_fails(path, EXIT_CODE_NOT_EXECUTABLE);
    CU_ASSERT_EQUAL(chmod(path, 0755), 0);
    struct error err = spawn_fails(path, EXIT_CODE_NOT_EXECUTABLE);
    ASSERT_CONTAINS(err.text, "which is no program and names no interpreter (#!)");
    (void)spawn_fails("/tmp", EXIT_CODE_NOT_EXECUTABLE);
}

/* A program for MACHINE that names LOADER. */
static void put_program(const char *path, unsigned short machine, const char *loader) {
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr segment;
        char loader[64];
    } all = {.segment = {.p_type = PT_INTERP,
                         .p_offset = sizeof(all.header) + sizeof(all.segment),
                         .p_filesz = strlen(loader) + 1}};
    memcpy(all.header.e_ident, ELFMAG, SELFMAG);
    all.header.e_ident[EI_CLASS] = ELFCLASS64;
    all.header.e_ident[EI_DATA] = ELFDATA2LSB;
    all.header.e_ident[EI_VERSION] = EV_CURRENT;
    all.header.e_type = ET_DYN;
    all.header.e_machine = machine;
    all.header.e_version = EV_CURRENT;
    all.header.e_phoff = sizeof(all.header);
    all.header.e_ehsize = sizeof(all.header);
    all.header.e_phentsize = sizeof(all.segment);
    all.header.e_phnum = 1;
    (void)snprintf(all.loader, sizeof(all.loader), "%s", loader);
    CU_ASSERT_EQUAL(file_put(path, &all, sizeof(all), 0755, NULL), 0);
}

/* EM_S390: no machine that this is tested on, nor one that it is likely to emulate. */
static void a_program_for_another_processor_is_told(void) {
    char path[512];
    char script[512];
    char line[1024];
    (void)snprintf(path, sizeof(path), "%s/foreign", unit_temp_dir());
    (void)snprintf(script, sizeof(script), "%s/script", unit_temp_dir());
    put_program(path, EM_S390, "/lib/ld64.so.1");
    struct error err = spawn_fails(path, EXIT_CODE_NOT_EXECUTABLE);
    ASSERT_CONTAINS(err.text, "foreign is built for s390, and this host runs programs for ");
    ASSERT_CONTAINS(err.text, "Exec format error");
    (void)snprintf(line, sizeof(line), "#!%s -u\n", path);
    CU_ASSERT_EQUAL(file_put(script, line, strlen(line), 0755, NULL), 0);
    err = spawn_fails(script, EXIT_CODE_NOT_EXECUTABLE);
    ASSERT_CONTAINS(err.text, "script: its interpreter ");
    ASSERT_CONTAINS(err.text, "foreign is built for s390");
}

/* As a program of another C library than the image's. */
static void a_loader_that_is_not_there_is_told(void) {
    char path[512];
    struct elf_program own;
    (void)snprintf(path, sizeof(path), "%s/alien", unit_temp_dir());
    CU_ASSERT_FATAL(elf_program_read("/proc/self/exe", &own));
    put_program(path, strcmp(own.processor, "arm64") == 0 ? EM_AARCH64 : EM_X86_64, "/no/such/ld");
    struct error err = spawn_fails(path, EXIT_CODE_NOT_FOUND);
    ASSERT_CONTAINS(err.text,
                    "alien exists, but its loader /no/such/ld does not: was it built for");
}

struct seen {
    int status;
    int calls;
};

static void note(void *context, int status) {
    struct seen *seen = context;
    seen->status = status;
    seen->calls++;
}

static pid_t fork_and_exit(int code) {
    pid_t pid = fork();
    if (pid == 0)
        _exit(code);
    return pid;
}

static void the_reaper_takes_known_children_and_orphans(void) {
    CU_ASSERT_EQUAL(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    struct reaper r = {0};
    struct seen seen = {0};
    struct seen forgotten = {0};
    struct child known = {.ended = note, .context = &seen};
    struct child other = {.ended = note, .context = &forgotten};
    known.pid = fork_and_exit(7);
    other.pid = fork_and_exit(8);
    reaper_add(&r, &known);
    reaper_add(&r, &other);
    reaper_forget(&r, &other);
    pid_t parent = fork();
    if (parent == 0) {
        for (int i = 0; i < 20; i++)
            (void)fork_and_exit(0);
        _exit(0);
    }
    while (reaper_run(&r)) {
        siginfo_t info;
        (void)waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
    }
    CU_ASSERT_EQUAL(seen.calls, 1);
    CU_ASSERT_EQUAL(child_exit_code(seen.status), 7);
    CU_ASSERT_EQUAL(forgotten.calls, 0);
    CU_ASSERT_EQUAL(r.orphans, 22);
    CU_ASSERT_PTR_NULL(r.children);
}

static void a_program_on_a_stalling_disk_is_given_up(void) {
    char *argv[] = {path_variable, NULL};
    struct child_options options = {
        .file = stalling, .argv = argv, .environment = no_environment, .out = -1, .error_out = -1};
    struct error err = {0};
    pid_t pid = -1;
    held_clock_begin();
    int64_t begun = clock_now();
    CU_ASSERT_EQUAL(child_spawn(&options, &pid, &err), -1);
    CU_ASSERT_EQUAL(clock_now() - begun, 5 * CLOCK_SECOND);
    held_clock_end();
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_NOT_EXECUTABLE);
    ASSERT_CONTAINS(err.text, "/no/such/disk/program did not start within 5 s");
    CU_ASSERT(waitpid(-1, NULL, 0) > 0); /* it was killed */
}

static void script_fails(const char *content, const char *words) {
    char file[4096];
    struct error err = {0};
    pid_t pid = -1;
    (void)snprintf(file, sizeof(file), "%s/program", unit_temp_dir());
    CU_ASSERT_EQUAL(file_put(file, content, strlen(content), 0755, NULL), 0);
    char *argv[] = {file, NULL};
    struct child_options options = {
        .file = file, .argv = argv, .environment = no_environment, .out = -1, .error_out = -1};
    CU_ASSERT_EQUAL(child_spawn(&options, &pid, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_NOT_FOUND);
    ASSERT_CONTAINS(err.text, file);
    ASSERT_CONTAINS(err.text, words);
    CU_ASSERT_PTR_NULL(strstr(err.text, "No such file"));
}

/* The script is there: saying that it is not sends people looking for it. */
static void a_missing_interpreter_is_what_is_missing(void) {
    script_fails("#!/no/such/python3 -u\nprint(1)\n", "its interpreter, /no/such/python3 (");
    script_fails("#! /no/such/bash\r\n", "its interpreter, /no/such/bash (");
}

/* The kernel's word for it is the one for a program that is not there. */
static void a_missing_working_folder_is_what_is_missing(void) {
    char word[] = "true";
    char *argv[] = {word, NULL};
    struct child_options options = {.file = "/bin/true",
                                    .argv = argv,
                                    .environment = no_environment,
                                    .directory = "/no/such/folder",
                                    .out = -1,
                                    .error_out = -1};
    struct error err = {0};
    pid_t pid = -1;
    CU_ASSERT_EQUAL(child_spawn(&options, &pid, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_NOT_FOUND);
    CU_ASSERT_STRING_EQUAL(
        err.text, "/bin/true: its working folder, /no/such/folder: No such file or directory");
}

UNIT_SUITE("os.child", UNIT(a_missing_working_folder_is_what_is_missing),
           UNIT(a_missing_interpreter_is_what_is_missing),
           UNIT(every_exit_code_and_signal_is_distinguished),
           UNIT(a_child_starts_with_nothing_of_ours),
           UNIT(what_cannot_be_executed_is_distinguished_from_what_is_not_there),
           UNIT(a_program_for_another_processor_is_told), UNIT(a_loader_that_is_not_there_is_told),
           UNIT(the_reaper_takes_known_children_and_orphans),
           UNIT(a_child_that_cannot_have_its_streams_does_not_start),
           UNIT(a_child_has_a_stdin_where_this_process_has_none),
           UNIT(a_program_on_a_stalling_disk_is_given_up))

#include "entrypoint/evidence/rank_stacks.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/str.h"
#include "common/system/sealed_memfd.h"
#include "entrypoint/evidence/rank_processes.h"
#include "entrypoint/evidence/stack_reading.h"
#include "entrypoint/job/user_program.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* For each process below a shim, py-spy is tried first, as it reads Python's frames without
 * stopping the process. Where it is missing, fails, or finds no collective operation, a tool for
 * native frames runs: a rank that waits in MPI or NCCL shows that only there. Without any result,
 * the kernel's view of each thread is printed, for which no tool is needed.
 *
 * A tool writes to a memfd and not to a pipe: it may print more than a pipe holds before it is
 * read, and what it has printed survives when it is killed. The text is then copied to standard
 * output and read once by stack_reading.c.
 *
 * A debugger attaches by ptrace and stops the process. If it is killed meanwhile, the process may
 * stay stopped, and would then be a hang that this code has made: try() continues it. */

enum { OUTPUT_MAX = 1024 * 1024, FRAMES_MAX = 64, THREADS_MAX = 256, KERNEL_SIZE = 4096 };
/* Of the tool: gdb reads the symbols of all libraries, which for PyTorch's are a gigabyte. */
enum { MEMORY_MAX = 256 * 1024 * 1024 };

/* --- which tool ------------------------------------------------------------------------------- */

/* Writes the folder of the program that PID runs, or with INVOKED that it was started as: a virtual
 * environment has links to the interpreter beside its own programs. */
static void program_folder(pid_t pid, bool invoked, char ret[PATH_MAX]) {
    char link[64];
    (void)snprintf(link, sizeof(link), "/proc/%d/%s", (int)pid, invoked ? "cmdline" : "exe");
    ret[0] = '\0';
    if (invoked) {
        (void)rank_processes_read(link, ret, PATH_MAX);
    } else {
        ssize_t size = readlink(link, ret, PATH_MAX - 1);
        ret[size > 0 ? size : 0] = '\0';
    }
    char *slash = strrchr(ret, '/');
    if (slash == NULL)
        slash = ret;
    *slash = '\0';
}

/* By the name of the executable, which is python3.11 or the like, whatever the script is called. A
 * program that embeds Python has another name, and gets native stacks only. */
static bool is_python(pid_t pid) {
    char link[64];
    char path[PATH_MAX];
    (void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    ssize_t size = readlink(link, path, sizeof(path) - 1);
    path[size > 0 ? size : 0] = '\0';
    const char *slash = strrchr(path, '/');
    return slash != NULL && str_starts_with(slash + 1, "python");
}

/* Finds NAME beside the program of PID, else in PATH. */
static bool find(pid_t pid, const char *name, const char *path, char **ret) {
    for (int invoked = 0; invoked <= 1; invoked++) {
        char folder[PATH_MAX];
        char beside[PATH_MAX + 32];
        program_folder(pid, invoked != 0, folder);
        (void)snprintf(beside, sizeof(beside), "%s/%s", folder, name);
        if (folder[0] == '/' && user_program_find(beside, path, ret, NULL) == 0)
            return true;
    }
    return user_program_find(name, path, ret, NULL) == 0;
}

/* PATH is this process's own, and not that of the rank, because it runs as the supervisor's
 * child. */
bool rank_stacks_tool(pid_t pid, bool native, const char *path, struct argv *ret) {
    cleanup_free char *file = NULL;
    if (!native) {
        const char *const words[] = {"dump", "--nonblocking", "--pid", NULL};
        return is_python(pid) && find(pid, "py-spy", path, &file) &&
               argv_add(ret, file, NULL) == 0 && argv_add_all(ret, words, NULL) == 0 &&
               argv_printf(ret, NULL, "%d", (int)pid) == 0;
    }
    if (user_program_find("eu-stack", path, &file, NULL) == 0)
        return argv_add(ret, file, NULL) == 0 && argv_add(ret, "-n", NULL) == 0 &&
               argv_printf(ret, NULL, "%d", FRAMES_MAX) == 0 && argv_add(ret, "-p", NULL) == 0 &&
               argv_printf(ret, NULL, "%d", (int)pid) == 0;
    if (user_program_find("gdb", path, &file, NULL) != 0)
        return false;
    /* No files that gdb runs by itself, and no arguments of functions, which may be secrets. */
    const char *const words[] = {
        "-batch", "-nx", "-iex", "set auto-load no", "-iex", "set print frame-arguments none",
        "-ex",    NULL};
    return argv_add(ret, file, NULL) == 0 && argv_add_all(ret, words, NULL) == 0 &&
           argv_printf(ret, NULL, "thread apply all bt %d", FRAMES_MAX) == 0 &&
           argv_add(ret, "-p", NULL) == 0 && argv_printf(ret, NULL, "%d", (int)pid) == 0;
}

/* --- running it ------------------------------------------------------------------------------- */

/* Returns true if CHILD exits with 0 in time. SIGCHLD is blocked by rank_stacks_print(), so that
 * sigtimedwait() takes it even if it came before the wait. Another signal only leads to one more
 * look. */
static bool await(pid_t child, int64_t deadline) {
    sigset_t set;
    int status = 0;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    for (;;) {
        int64_t left = deadline - clock_now();
        struct timespec time = {.tv_sec = left / CLOCK_SECOND, .tv_nsec = left % CLOCK_SECOND};
        if (waitpid(child, &status, WNOHANG) == child)
            return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (left <= 0 || (sigtimedwait(&set, NULL, &time) < 0 && errno == EAGAIN))
            break;
    }
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    return false;
}

/* Runs the tool with its output going to OUT; returns true if it exits with 0. The limit is for
 * data, so that mapped files, such as libraries, do not count. Both output streams go to OUT: why a
 * tool failed is evidence, too. */
static bool run(const struct argv *tool, int out, int64_t deadline) {
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit memory = {.rlim_cur = MEMORY_MAX, .rlim_max = MEMORY_MAX};
        sigset_t none;
        (void)setrlimit(RLIMIT_DATA, &memory);
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        if (dup2(out, 1) == 1 && dup2(out, 2) == 2)
            (void)execv(tool->items[0], tool->items);
        _exit(EXIT_CODE_NOT_EXECUTABLE);
    }
    return child > 0 && await(child, deadline);
}

/* Prints what is in OUT; returns true if it names a collective operation. */
static bool pass_on(int out) {
    struct stack_reading reading;
    off_t size = lseek(out, 0, SEEK_END);
    size_t shown = size < OUTPUT_MAX ? (size_t)size : OUTPUT_MAX;
    if (size <= 0)
        return false;
    char *text = mmap(NULL, shown, PROT_READ, MAP_PRIVATE, out, 0);
    if (text == MAP_FAILED)
        return false;
    (void)fwrite(text, 1, shown, stdout);
    (void)printf("%s", text[shown - 1] == '\n' ? "" : "\n");
    stack_reading_take(text, shown, &reading);
    (void)munmap(text, shown);
    return reading.collective[0] != '\0';
}

/* Returns true if a tool ran and found a collective operation; *RET_RAN: one has exited with 0. */
static bool try(pid_t pid, bool native, int64_t deadline, bool *ret_ran) {
    cleanup_argv struct argv tool = {0};
    cleanup_fd int out = sealed_memfd_open("stacks", NULL);
    if (out < 0 || !rank_stacks_tool(pid, native, getenv("PATH"), &tool))
        return false;
    (void)printf("-- %s\n", tool.items[0]);
    *ret_ran |= run(&tool, out, deadline);
    if (rank_processes_state(pid) == 'T') /* it was not stopped before */
        (void)kill(pid, SIGCONT);
    bool found = pass_on(out);
    if (clock_now() >= deadline)
        (void)printf("(the tool was killed at its deadline)\n");
    return found;
}

/* --- without a tool --------------------------------------------------------------------------- */

/* The kernel's files of a thread; `stack` can be read by root only, and is left out otherwise. */
static void print_thread(pid_t pid, const char *thread) {
    static const char *const files[] = {"comm", "wchan", "syscall", "stack"};
    (void)printf("thread %s:", thread);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[96];
        char text[KERNEL_SIZE];
        (void)snprintf(path, sizeof(path), "/proc/%d/task/%.16s/%s", (int)pid, thread, files[i]);
        size_t size = rank_processes_read(path, text, sizeof(text));
        while (size > 0 && text[size - 1] == '\n')
            text[--size] = '\0';
        if (size > 0)
            (void)printf(" %s: %s", files[i], text);
    }
    (void)printf("\n");
}

/* A process with very many threads is cut at THREADS_MAX lines. */
static void print_kernel(pid_t pid) {
    char path[64];
    unsigned threads = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return;
    (void)printf("(no stacks by py-spy, eu-stack or gdb: what the kernel says)\n");
    for (const struct dirent *e = readdir(folder); e != NULL && threads < THREADS_MAX;
         e = readdir(folder))
        if (isdigit((unsigned char)e->d_name[0])) {
            print_thread(pid, e->d_name);
            threads++;
        }
    (void)closedir(folder);
}

/* --- all of it -------------------------------------------------------------------------------- */

/* A process that a signal has stopped is not looked at further: a debugger would continue it or
 * wait for ever. */
static void print_process(pid_t pid, int64_t deadline) {
    char path[64];
    char name[RANK_PROCESSES_NAME_SIZE];
    bool ran = false;
    (void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    (void)rank_processes_read(path, name, sizeof(name));
    name[strcspn(name, "\n")] = '\0';
    (void)printf(STACK_READING_PROCESS "%d %s\n", (int)pid, name);
    if (rank_processes_state(pid) == 'T') {
        (void)printf(STACK_READING_STOPPED "\n");
        return;
    }
    if (!try(pid, false, deadline, &ran))
        (void)try(pid, true, deadline, &ran);
    if (!ran)
        print_kernel(pid);
    (void)fflush(stdout);
}

/* Each process gets an equal share of the time that is left, so that a large first one leaves some
 * for the others. */
int rank_stacks_print(pid_t shim, int64_t deadline) {
    pid_t pids[RANK_PROCESSES_MAX];
    size_t count = rank_processes(shim, pids);
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    for (size_t i = 0; i < count && clock_now() < deadline; i++) {
        int64_t left = deadline - clock_now();
        print_process(pids[i], clock_now() + left / (int64_t)(count - i));
    }
    return count == 0;
}

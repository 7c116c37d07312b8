/* Runs a program as on an older system: what that does not know, the kernel answers here as it
 * would there (seccomp), for all processes that come of it.
 *
 *     filtered linux-5.4 PROGRAM ARGS...     calls that came later: ENOSYS
 *     filtered old-engine PROGRAM ARGS...    calls since Linux 5.1, and those that need rights that
 * a container does not have: EPERM, as engines before Docker 20.10 answer. But for clone3, without
 * which no program of a newer glibc has threads there: ENOSYS
 *
 * The numbers from 424 on are the same on all processors. 64: wrong words; 126: it does not start.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FIRST_OF_5_1 = 424, CLONE3 = 435, FIRST_AFTER_5_4 = 436 };

#define NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define FAIL(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
/* What follows is skipped but where the number is this one, or at least this one. */
#define WHERE(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1)
#define FROM(number) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (number), 0, 1)

static struct sock_filter linux_5_4[] = {NUMBER, FROM(FIRST_AFTER_5_4), FAIL(ENOSYS), ALLOW};

/* ptrace is left to them, as engines leave it from Linux 4.8 on. */
#define REFUSED(number) WHERE(number), FAIL(EPERM)
static struct sock_filter old_engine[] = {
    NUMBER,
    WHERE(CLONE3),
    FAIL(ENOSYS),
    FROM(FIRST_OF_5_1),
    FAIL(EPERM),
    REFUSED(SYS_process_vm_readv),
    REFUSED(SYS_process_vm_writev),
    REFUSED(SYS_kcmp),
    REFUSED(SYS_unshare),
    REFUSED(SYS_setns),
    REFUSED(SYS_mount),
    REFUSED(SYS_keyctl),
    REFUSED(SYS_syslog),
    REFUSED(SYS_perf_event_open),
    ALLOW,
};

static const struct {
    const char *name;
    struct sock_fprog filter;
} filters[] = {
    {"linux-5.4", {sizeof(linux_5_4) / sizeof(linux_5_4[0]), linux_5_4}},
    {"old-engine", {sizeof(old_engine) / sizeof(old_engine[0]), old_engine}},
};

int main(int argc, char **argv) {
    for (size_t i = 0; argc > 2 && i < sizeof(filters) / sizeof(filters[0]); i++) {
        if (strcmp(argv[1], filters[i].name) != 0)
            continue;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filters[i].filter) == 0)
            (void)execv(argv[2], argv + 2);
        perror(argv[2]);
        return 126;
    }
    fprintf(stderr, "filtered linux-5.4|old-engine PROGRAM ARGS...\n");
    return 64;
}

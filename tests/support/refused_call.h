/* System call that this process cannot make any more.
 *
 * It fails as on an older kernel (ENOSYS) or under a container's filter (EPERM, EACCES). For child
 * processes (unit_in_child), as it cannot be undone. Source: seccomp(2). */
#ifndef TESTS_SUPPORT_REFUSED_CALL_H
#define TESTS_SUPPORT_REFUSED_CALL_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>

/* From now on system call NUMBER (SYS_...) gets ACTION: SECCOMP_RET_ERRNO | EPERM, for example. */
static inline bool filter_call(long number, unsigned action) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {.len = sizeof(rules) / sizeof(rules[0]), .filter = rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* From now on system call NUMBER fails with errno ERROR. */
static inline bool refuse_call(long number, int error) {
    return filter_call(number, SECCOMP_RET_ERRNO | (unsigned)error);
}

#endif

#include "entrypoint/host/ranks/core_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATTERN_MAX = 160 };

bool core_file_is_due(int number) {
    static const int with_core[] = {SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,
                                    SIGFPE,  SIGSEGV, SIGSYS,  SIGXCPU, SIGXFSZ};
    for (size_t i = 0; i < sizeof(with_core) / sizeof(with_core[0]); i++)
        if (with_core[i] == number)
            return true;
    return false;
}

/* A program gets the core whatever the limit is, unless that is 1. */
void core_file_words(const char *pattern, bool limited, char *ret, size_t size) {
    const int length = (int)strcspn(pattern, "\n");
    const int word = (int)strcspn(pattern, " \n");
    if (pattern[0] == '|')
        (void)snprintf(ret, size, "the machine's %.*s has got it, outside of the container",
                       word - 1, pattern + 1);
    else if (limited)
        (void)snprintf(ret, size, "none was written: the limit is 0 (docker run --ulimit core=-1)");
    else if (length == 0)
        ret[0] = '\0';
    else
        (void)snprintf(ret, size, "%s%.*s", pattern[0] == '/' ? "" : "in the rank's folder, as ",
                       length, pattern);
}

void core_file_here(char *ret, size_t size) {
    char pattern[PATTERN_MAX] = "";
    struct rlimit limit;
    int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, pattern, sizeof(pattern) - 1) : -1;
    if (fd >= 0)
        (void)close(fd);
    ret[0] = '\0';
    if (got <= 0)
        return;
    pattern[got] = '\0';
    core_file_words(pattern, getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur == 0, ret, size);
}

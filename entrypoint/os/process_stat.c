#include "entrypoint/os/process_stat.h"

#include "common/cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool process_stat_read(pid_t pid, struct process_stat *ret) {
    char path[64];
    char text[1024];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, text, sizeof(text) - 1)
                           : -1; /* the kernel gives all of it in one read */
    if (size <= 0)
        return false;
    text[size] = '\0';
    const char *at =
        strrchr(text, ')'); /* the name may contain any byte, blanks and ')' included */
    if (at == NULL || at[1] != ' ')
        return false;
    char *end = NULL;
    *ret = (struct process_stat){.pid = pid, .dead = at[2] == 'Z' || at[2] == 'X'};
    ret->parent = (pid_t)strtol(at + 3, &end, 10);
    ret->group = (pid_t)strtol(end, &end, 10);
    for (int field = 6; field <= 22; field++) { /* numbers of fields as in proc(5) */
        ret->born = strtoull(end, &end, 10);
        if (field == 14 || field == 15)
            ret->own += (int64_t)ret->born;
        else if (field == 16 || field == 17)
            ret->reaped += (int64_t)ret->born;
    }
    return true;
}

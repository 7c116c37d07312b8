#include "entrypoint/wire/passed_fds.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void keep(struct msghdr *header, int *fds, size_t *fd_count) {
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        /* A size_t with glibc and a socklen_t with musl, as msg_controllen below. */
        size_t count = ((size_t)c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
            if (*fd_count < PASSED_FDS_MAX)
                fds[(*fd_count)++] = fd;
            else
                (void)close(fd);
        }
    }
}

ssize_t passed_fds_receive(int socket, void *bytes, size_t size, int *fds, size_t *fd_count) {
    union {
        char room[CMSG_SPACE(PASSED_FDS_MAX * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec piece = {.iov_base = bytes, .iov_len = size};
    struct msghdr header = {.msg_iov = &piece,
                            .msg_iovlen = 1,
                            .msg_control = control.room,
                            .msg_controllen = (socklen_t)sizeof(control.room)};
    ssize_t got = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got >= 0)
        keep(&header, fds, fd_count);
    return got;
}

ssize_t passed_fds_send(int socket, const void *bytes, size_t size, const int *fds, size_t count,
                        int flags) {
    union {
        char room[CMSG_SPACE(PASSED_FDS_MAX * sizeof(int))];
        struct cmsghdr align;
    } control = {.room = {0}};
    struct iovec piece = {.iov_base = (void *)(size_t)bytes, .iov_len = size};
    struct msghdr header = {.msg_iov = &piece,
                            .msg_iovlen = 1,
                            .msg_control = control.room,
                            .msg_controllen = (socklen_t)CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = (socklen_t)CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(c), fds, count * sizeof(int));
    return sendmsg(socket, &header, flags);
}

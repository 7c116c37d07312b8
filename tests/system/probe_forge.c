/* A program of the job's that turns against it: it speaks to its container's ringmaster as if it
 * were one of ringmaster's own processes. For test_forgery.sh.
 *
 *     probe_forge SOCKET report RANK         registers as RANK and says that it ended with 0
 *     probe_forge SOCKET frame MEMBERS       sends a message with these members after its version
 *     probe_forge SOCKET flood COUNT         opens connections and says nothing
 *
 * Ends with 0 when it was heard out, with 1 when it was sent away at once. */
#include "entrypoint/wire/frame.h"

#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int dial(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        perror(path);
        exit(2);
    }
    return fd;
}

/* A frame: its size in four bytes, the highest first, then JSON. Pipes go along, as a shim's do. */
static void say(int fd, const char *text, const int *pipes) {
    unsigned char head[4];
    size_t size = strlen(text);
    for (int i = 0; i < 4; i++)
        head[i] = (unsigned char)(size >> (24 - 8 * i));
    union {
        char room[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr align;
    } control = {.room = {0}};
    struct iovec pieces[2] = {{head, 4}, {(void *)(uintptr_t)text, size}};
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    if (pipes != NULL) {
        message.msg_control = control.room;
        message.msg_controllen = sizeof(control.room);
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(2 * sizeof(int));
        memcpy(CMSG_DATA(c), pipes, 2 * sizeof(int));
    }
    (void)sendmsg(fd, &message, MSG_NOSIGNAL);
}

/* Returns whether the other side closes the connection within half a second. */
static int is_sent_away(int fd) {
    char bytes[4096];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    for (int turn = 0; turn < 50; turn++)
        if (poll(&p, 1, 10) > 0 && recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0)
            return 1;
    return 0;
}

static int report(const char *path, const char *rank) {
    char text[512];
    int pipes[2];
    int fd = dial(path);
    if (pipe(pipes) != 0)
        return 2;
    (void)snprintf(text, sizeof(text),
                   "{\"v\":%d,\"type\":\"hello\",\"rank\":%s,\"attempt\":1,\"pid\":%d}",
                   FRAME_VERSION, rank, (int)getpid());
    say(fd, text, pipes);
    (void)snprintf(
        text, sizeof(text),
        "{\"v\":%d,\"type\":\"report\",\"rank\":%s,\"host\":0,\"end\":\"exited\",\"value\":0,"
        "\"cause\":\"none\",\"time\":1,\"lines\":\"\"}",
        FRAME_VERSION, rank);
    say(fd, text, NULL);
    return is_sent_away(fd);
}

static int frame(const char *path, const char *members) {
    char text[1024];
    int fd = dial(path);
    (void)snprintf(text, sizeof(text), "{\"v\":%d,%s}", FRAME_VERSION, members);
    say(fd, text, NULL);
    return is_sent_away(fd);
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 64;
    if (strcmp(argv[2], "report") == 0)
        return report(argv[1], argv[3]);
    if (strcmp(argv[2], "frame") == 0)
        return frame(argv[1], argv[3]);
    for (int i = 0; i < atoi(argv[3]); i++)
        (void)dial(argv[1]);
    return 0;
}

#include "tests/support/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

void http_write(struct http_call *call, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t done = send(call->fd, bytes, size, MSG_NOSIGNAL);
        if (done <= 0)
            return;
        bytes += done;
        size -= (size_t)done;
    }
}

void http_await_end(struct http_call *call) {
    char bytes[4096];
    while (recv(call->fd, bytes, sizeof(bytes), 0) > 0)
        ;
}

void http_reply(struct http_call *call, int status, const char *headers, const char *body,
                size_t size) {
    char head[4096];
    int length = snprintf(head, sizeof(head),
                          "HTTP/1.1 %d Said\r\nConnection: close\r\n%sContent-Length: %zu\r\n\r\n",
                          status, headers, size);
    http_write(call, head, (size_t)length);
    http_write(call, body, size);
}

void http_reply_text(struct http_call *call, int status, const char *body) {
    http_reply(call, status, "", body, strlen(body));
}

const char *http_header(const struct http_call *call, const char *name) {
    static char value[HTTP_TEXT_MAX];
    size_t size = strlen(name);
    for (const char *line = call->headers; *line != '\0';) {
        size_t length = strcspn(line, "\r");
        if (strncasecmp(line, name, size) == 0 && line[size] == ':') {
            const char *at = line + size + 1;
            at += strspn(at, " ");
            (void)snprintf(value, sizeof(value), "%.*s", (int)(line + length - at), at);
            return value;
        }
        line += length + 2;
    }
    return "";
}

unsigned http_sum(unsigned sum, const char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ (unsigned char)bytes[i]) * 16777619u;
    return sum;
}

/* The head, and in BODY the bytes that came after it, as far as they fit; returns how many came. */
static ssize_t read_head(struct http_call *call) {
    static char text[2 * HTTP_TEXT_MAX];
    size_t size = 0;
    char *end = NULL;
    while (end == NULL && size < sizeof(text) - 1) {
        ssize_t got = recv(call->fd, text + size, sizeof(text) - 1 - size, 0);
        if (got <= 0)
            return -1;
        size += (size_t)got;
        text[size] = '\0';
        end = strstr(text, "\r\n\r\n");
    }
    char *line_end = strstr(text, "\r\n");
    if (end == NULL || sscanf(text, "%15s %2047s", call->method, call->target) != 2)
        return -1;
    (void)snprintf(call->headers, sizeof(call->headers), "%.*s",
                   (int)(end + 2 - (line_end + 2) > 0 ? end + 2 - (line_end + 2) : 0),
                   line_end + 2);
    size_t came = size - (size_t)(end + 4 - text);
    call->size = came;
    if (call->size > sizeof(call->body) - 1)
        call->size = sizeof(call->body) - 1;
    memcpy(call->body, end + 4, call->size);
    call->sum = http_sum(HTTP_SUM, end + 4, came);
    return (ssize_t)came;
}

static void read_body(struct http_call *call, size_t seen) {
    size_t wanted = (size_t)strtoull(http_header(call, "content-length"), NULL, 10);
    char spare[4096];
    while (seen < wanted) {
        size_t room = sizeof(call->body) - 1 - call->size;
        ssize_t got = room > 0 ? recv(call->fd, call->body + call->size, room, 0)
                               : recv(call->fd, spare, sizeof(spare), 0);
        if (got <= 0)
            return;
        seen += (size_t)got;
        call->sum = http_sum(call->sum, room > 0 ? call->body + call->size : spare, (size_t)got);
        if (room > 0)
            call->size += (size_t)got;
    }
    call->body[call->size] = '\0';
}

static _Noreturn void serve(int fd, int counted, struct http_shared *shared,
                            void (*answer)(struct http_call *call)) {
    static struct http_call call;
    call.fd = fd;
    call.shared = shared;
    ssize_t came = read_head(&call);
    if (came >= 0) {
        call.number = atomic_fetch_add(&shared->requests, 1);
        if (call.number < HTTP_KEPT_MAX)
            (void)snprintf(shared->targets[call.number], sizeof(shared->targets[0]), "%s %.480s",
                           call.method, call.target);
        (void)eventfd_write(counted, 1);
        read_body(&call, (size_t)came);
        answer(&call);
        (void)shutdown(fd, SHUT_WR);
    }
    _exit(0);
}

static _Noreturn void run(int listener, int counted, struct http_shared *shared,
                          void (*answer)(struct http_call *call)) {
    (void)signal(SIGCHLD, SIG_IGN);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            continue;
        if (fork() == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            serve(fd, counted, shared, answer);
        }
        (void)close(fd);
    }
}

void http_server_start(struct http_server *s, void (*answer)(struct http_call *call)) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    s->shared =
        mmap(NULL, sizeof(*s->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    s->counted = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (listener < 0 || s->counted < 0 || s->shared == MAP_FAILED ||
        bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(listener, 64) != 0 || getsockname(listener, (struct sockaddr *)&address, &size) != 0)
        abort();
    s->port = ntohs(address.sin_port);
    s->pid = fork();
    if (s->pid == 0)
        run(listener, s->counted, s->shared, answer);
    (void)close(listener);
}

void http_server_stop(struct http_server *s) {
    (void)kill(s->pid, SIGKILL);
    (void)waitpid(s->pid, NULL, 0);
    (void)close(s->counted);
    (void)munmap(s->shared, sizeof(*s->shared));
}

bool http_await_requests(const struct http_server *s, unsigned count, int milliseconds) {
    struct pollfd more = {.fd = s->counted, .events = POLLIN};
    eventfd_t added;
    while (atomic_load(&s->shared->requests) < count && poll(&more, 1, milliseconds) == 1)
        (void)eventfd_read(s->counted, &added);
    return atomic_load(&s->shared->requests) >= count;
}

#include "entrypoint/wire/resolve.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/net/look_up.h"

#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* The child's answer: below PIPE_BUF, so it arrives whole or not at all. */
struct resolved {
    struct net_address found[RESOLVE_MAX];
    size_t count;
};

static struct addrinfo *ask(const char *name, int family) {
    struct addrinfo hints = {.ai_family = family, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    return look_up_name(name, NULL, &hints, &list) == 0 ? list : NULL;
}

static bool is_known(const struct resolved *a, const struct net_address *address) {
    for (size_t i = 0; i < a->count; i++)
        if (net_address_equal(&a->found[i], address))
            return true;
    return false;
}

static void add(const char *name, int family, struct resolved *answer) {
    struct net_address address;
    for (const struct addrinfo *a = ask(name, family); a != NULL; a = a->ai_next)
        if (answer->count < RESOLVE_MAX && net_address_of(a->ai_addr, &address) &&
            !net_address_is_link_local(&address) && !is_known(answer, &address))
            answer->found[answer->count++] = address;
}

static _Noreturn void look_up(const char *name, int to) {
    struct resolved answer = {.count = 0};
    add(name, AF_INET, &answer);
    if (answer.count == 0)
        add(name, AF_INET6, &answer);
    (void)!write(to, &answer, sizeof(answer));
    _exit(0);
}

static void forget(void *context, int status) {
    struct resolve *r = context;
    (void)status;
    r->child.pid = 0;
}

void resolve_cancel(struct resolve *r) {
    if (r->loop == NULL)
        return;
    loop_cancel(r->loop, &r->deadline);
    loop_unwatch(r->loop, &r->watch);
    if (r->watch.fd >= 0)
        (void)close(r->watch.fd);
    r->watch.fd = -1;
    if (r->child.pid > 0) {
        (void)kill(r->child.pid, SIGKILL);
        reaper_forget(r->reaper, &r->child);
        r->child.pid = 0;
    }
}

static void finish(struct resolve *r) {
    resolve_cancel(r);
    r->done(r->context, r->found, r->count);
}

static void answered(void *context, uint32_t events) {
    struct resolve *r = context;
    struct resolved answer = {.count = 0};
    (void)events;
    if (read(r->watch.fd, &answer, sizeof(answer)) != (ssize_t)sizeof(answer))
        answer = (struct resolved){.count = 0};
    memcpy(r->found, answer.found, sizeof(r->found));
    r->count = answer.count;
    finish(r);
}

static void late(void *context) {
    finish(context);
}

int resolve_start(struct resolve *r, struct loop *loop, struct reaper *reaper, const char *name,
                  void (*done)(void *context, const struct net_address *found, size_t count),
                  void *context, struct error *err) {
    *r = (struct resolve){.loop = loop, .reaper = reaper, .done = done, .context = context};
    r->deadline = (struct timer){.fire = late, .context = r};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "looking up %s", name);
    r->watch = (struct watch){.fd = ends[0], .ready = answered, .context = r};
    r->child = (struct child){.ended = forget, .context = r};
    r->child.pid = fork();
    if (r->child.pid == 0)
        look_up(name, ends[1]);
    (void)close(ends[1]);
    if (r->child.pid < 0 || loop_watch(loop, &r->watch, EPOLLIN, err) != 0) {
        resolve_cancel(r);
        return error_set_errno(err, EXIT_CODE_INTERNAL, "looking up %s", name);
    }
    reaper_add(reaper, &r->child);
    loop_after(loop, &r->deadline, RESOLVE_SECONDS * CLOCK_SECOND);
    return 0;
}

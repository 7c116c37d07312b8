#include "entrypoint/os/file_writer.h"

#include "common/clock.h"
#include "entrypoint/os/file_writer_process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Lines become frames in a queue, and the queue goes to the child through a socket as it takes
 * them. `sent` counts bytes of the queue that are with the socket; a frame is removed once all of
 * it was sent. If the child ends, the frame that was sent in part is dropped and the others wait
 * for the next child, which starts with a whole one.
 *
 * `resting` is set before the process tree is swept: the queue is sent, the sending side of the
 * socket closed, and the child ends when it has written everything. A line that comes later starts
 * a new child. */

/* Memory that an empty queue keeps after a burst. */
enum { QUEUE_KEPT = 64 * 1024 };

/* The first child starts after this delay, because hosts meet and ranks start at the beginning. */
static const int64_t wake_after = CLOCK_SECOND;
/* Time for a child that was not asked to finish before it is closed. */
static const int64_t finish_within = CLOCK_SECOND;

/* --- the queue ------------------------------------------------------------------------------- */

/* The size of the first frame, with its header. */
static size_t first_size(const struct file_writer *s) {
    struct file_writer_frame frame;
    memcpy(&frame, s->queue.data, sizeof(frame));
    return sizeof(frame) + frame.name + frame.line;
}

/* Removes frames that were sent completely. The memory of a burst is given back once the queue is
 * empty. */
static void forget_sent(struct file_writer *s) {
    size_t gone = 0;
    while (gone < s->sent) {
        struct file_writer_frame frame;
        memcpy(&frame, s->queue.data + gone, sizeof(frame));
        size_t size = sizeof(frame) + frame.name + frame.line;
        if (gone + size > s->sent)
            break;
        gone += size;
    }
    buf_consume(&s->queue, gone);
    s->sent -= gone;
    if (s->queue.size == 0 && s->queue.capacity > QUEUE_KEPT) {
        buf_done(&s->queue);
        buf_init(&s->queue, s->options.queue_max);
    }
}

/* After a child's end, drops the frame that was sent in part, so that the next child starts with a
 * complete one. */
static void drop_begun(struct file_writer *s) {
    if (s->sent == 0)
        return;
    buf_consume(&s->queue, first_size(s));
    s->sent = 0;
    s->dropped++;
}

/* --- the child ------------------------------------------------------------------------------- */

/* The child ends when it reads the end of the socket. */
static void close_socket(struct file_writer *s) {
    if (s->watch.fd < 0)
        return;
    loop_unwatch(s->loop, &s->watch);
    (void)close(s->watch.fd);
    s->watch.fd = -1;
}

/* The child has said why it cannot write. What does not fit into TEXT is read with the next event.
 */
static void hear(struct file_writer *s) {
    char text[FILE_WRITER_SAID_SIZE];
    ssize_t size = recv(s->watch.fd, text, sizeof(text) - 1, MSG_DONTWAIT);
    if (size <= 0)
        return;
    text[size] = '\0';
    s->options.said(s->options.context, text);
}

/* Its last words may still be in the socket, and are read first. */
static void ended(void *context, int status) {
    struct file_writer *s = context;
    (void)status;
    s->child.pid = 0;
    if (s->watch.fd >= 0)
        hear(s);
    close_socket(s);
    drop_begun(s);
}

/* Sends until the socket is full. A full socket is not waited for, and ended() notices a child that
 * is gone. */
static void push(struct file_writer *s) {
    while (s->sent < s->queue.size) {
        ssize_t size = send(s->watch.fd, s->queue.data + s->sent, s->queue.size - s->sent,
                            MSG_DONTWAIT | MSG_NOSIGNAL);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            break;
        s->sent += (size_t)size;
    }
    forget_sent(s);
    if (s->queue.size == 0 && s->resting)
        (void)shutdown(s->watch.fd, SHUT_WR);
}

/* Room is of interest only while something waits; words of the child always are. */
static void watch(struct file_writer *s) {
    bool full = s->queue.size > 0;
    if (s->watch.active && s->full == full)
        return;
    s->full = full;
    (void)loop_watch(s->loop, &s->watch, full ? EPOLLIN | EPOLLOUT : EPOLLIN, NULL);
}

/* The socket can be read, or written, or has ended. */
static void ready(void *context, uint32_t events) {
    struct file_writer *s = context;
    if ((events & EPOLLIN) != 0)
        hear(s);
    if ((events & (EPOLLHUP | EPOLLERR)) !=
        0) { /* the child has ended, or is about to; ended() follows */
        close_socket(s);
        return;
    }
    push(s);
    watch(s);
}

/* Starts a child. If that fails, for want of memory or processes, lines wait for a later try. The
 * child is a fork that executes nothing (file_writer_process.h). */
static void begin(void *context) {
    struct file_writer *s = context;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return;
    pid_t pid = fork();
    if (pid == 0)
        file_writer_child(ends[1], s->options.base, s->options.folder);
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        return;
    }
    s->child = (struct child){.pid = pid, .ended = ended, .context = s};
    reaper_add(s->reaper, &s->child);
    s->watch = (struct watch){.fd = ends[0], .ready = ready, .context = s};
    push(s);
    watch(s);
}

/* --- interface ------------------------------------------------------------------------------- */

void file_writer_open(struct file_writer *s, struct loop *loop, struct reaper *reaper,
                      const struct file_writer_options *options) {
    *s = (struct file_writer){
        .loop = loop, .reaper = reaper, .options = *options, .watch = {.fd = -1}};
    s->wake = (struct timer){.fire = begin, .context = s};
    buf_init(&s->queue, options->queue_max);
}

/* If the process leaves without its loop, the child has not been asked to finish yet. Asks it, and
 * waits for it until DEADLINE; returns true if it has written everything. */
static bool finish(struct file_writer *s, int64_t deadline) {
    file_writer_rest(s);
    while (s->watch.fd >= 0 && clock_left_ms(deadline) > 0) {
        struct pollfd p = {.fd = s->watch.fd, .events = POLLIN};
        if (s->queue.size > 0)
            p.events |= POLLOUT;
        if (poll(&p, 1, clock_left_ms(deadline)) > 0)
            ready(s, (uint32_t)p.revents); /* the bits are those of epoll */
    }
    return s->watch.fd < 0 && s->queue.size == 0;
}

/* SIGKILL ends a child that has not finished in time. It may be held by the disk, so its end is not
 * waited for. */
bool file_writer_close(struct file_writer *s) {
    if (s->loop == NULL)
        return true;
    bool complete = s->child.pid <= 0 && s->queue.size == 0;
    if (!complete && !s->resting)
        complete = finish(s, clock_now() + finish_within);
    close_socket(s);
    loop_cancel(s->loop, &s->wake);
    if (s->child.pid > 0) {
        (void)kill(s->child.pid, SIGKILL);
        reaper_forget(s->reaper, &s->child);
    }
    buf_done(&s->queue);
    *s = (struct file_writer){.watch = {.fd = -1}};
    return complete;
}

/* A line is dropped if it is longer than any line may be, or the queue is full. The child is
 * started after a delay, so that the first lines of a job go together; at once if much waits
 * already. */
bool file_writer_put(struct file_writer *s, const char *name, int64_t limit, const char *line,
                     size_t size) {
    const struct file_writer_frame frame = {
        .name = (uint32_t)strlen(name), .line = (uint32_t)size, .limit = limit};
    bool fits = size <= LINE_SPLITTER_MAX && frame.name < LOG_FILE_NAME_SIZE &&
                buf_reserve(&s->queue, sizeof(frame) + frame.name + size, NULL) == 0;
    if (!fits) {
        s->dropped++;
        return false;
    }
    (void)buf_add(&s->queue, &frame, sizeof(frame), NULL);
    (void)buf_add(&s->queue, name, frame.name, NULL);
    (void)buf_add(&s->queue, line, size, NULL);
    if (s->child.pid <= 0) {
        s->resting = false;
        if (s->queue.size > QUEUE_KEPT) /* An empty queue does not keep so much memory. */
            loop_at(s->loop, &s->wake, clock_now());
        else if (!s->wake.active)
            loop_after(s->loop, &s->wake, wake_after);
    } else if (s->watch.fd >= 0 && !s->full) {
        push(s);
        watch(s);
    }
    return true;
}

/* The whole text is one line to the queue, so it has the same limit of size. */
bool file_writer_put_whole(struct file_writer *s, const char *name, const char *text, size_t size) {
    return file_writer_put(s, name, FILE_WRITER_WHOLE, text, size);
}

/* A child that does not run is started for what waits. */
void file_writer_rest(struct file_writer *s) {
    if (s->loop == NULL)
        return;
    s->resting = true;
    loop_cancel(s->loop, &s->wake);
    if (s->child.pid <= 0 && s->queue.size > 0)
        begin(s);
    if (s->watch.fd >= 0) {
        push(s);
        watch(s);
    }
}

#include "entrypoint/wire/http_page.h"

#include "entrypoint/wire/http_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* A reader goes through three states: its request is read until http_request_judge() has seen
 * enough, the answer is sent, and then what the client still sends is dropped until it hangs up.
 * All three are bounded by one timer for each reader, and by a number of readers.
 *
 * The third state is needed because close() with unread bytes sends a reset. On that the client's
 * kernel may throw the answer away before the client has read it (RFC 9112, section 9.6). */

/* How long the page does not accept when it is out of descriptors. */
static const int64_t rest_time = CLOCK_SECOND / 10;

/* Bytes read after the request before the client is cut off. */
enum { LEFTOVERS_MAX = 64 * 1024, HEAD_MAX = 512 };

struct reader {
    struct http_page *page;
    struct watch watch; /* owns its descriptor */
    struct timer patience;
    char request[HTTP_REQUEST_MAX];
    size_t size;
    struct buf answer;
    size_t sent;                              /* bytes of it that were sent */
    enum { ASKING, ANSWERED, LEAVING } state; /* LEAVING: the client is to hang up */
    struct reader *next;
};

/* Also the timer's callback: a reader that is too slow gets no answer, as it might not read that
 * either. */
static void send_away(void *context) {
    struct reader *r = context;
    struct http_page *p = r->page;
    struct reader **slot = &p->readers;
    while (*slot != r)
        slot = &(*slot)->next;
    *slot = r->next;
    p->count--;
    loop_cancel(p->loop, &r->patience);
    loop_unwatch(p->loop, &r->watch);
    (void)close(r->watch.fd);
    buf_done(&r->answer);
    free(r);
}

/* --- the answer ------------------------------------------------------------------------------- */

/* Makes the text anew unless it is fresh. Many clients at once, or a hostile one, make it no more
 * often. A failure leaves no text, and the next client tries again. */
static int renew(struct http_page *p, struct error *err) {
    int64_t now = clock_now();
    if (p->made != 0 && now - p->made < HTTP_PAGE_FRESH)
        return 0;
    p->text.size = 0;
    p->made = 0;
    if (p->options.write(p->options.context, &p->text, err) != 0)
        return -1;
    p->made = now;
    return 0;
}

/* A refusal's reason is its body, too, for people who try the address by hand. Each answer closes
 * the connection, so no client can hold one open for a next request. The head is bounded by
 * HEAD_MAX, which the buffer has on top of the text. */
static int add_answer(struct reader *r, enum http_request_status status, struct error *err) {
    struct http_page *p = r->page;
    const char *reason = http_request_reason(status);
    if (status == HTTP_REQUEST_GOOD && renew(p, err) != 0)
        return -1;
    const char *body = status == HTTP_REQUEST_GOOD ? buf_text(&p->text) : reason;
    size_t size = status == HTTP_REQUEST_GOOD ? p->text.size : strlen(reason);
    if (buf_printf(&r->answer, err,
                   "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%sConnection: "
                   "close\r\n\r\n",
                   reason, status == HTTP_REQUEST_GOOD ? p->options.type : "text/plain", size,
                   status == HTTP_REQUEST_NOT_ALLOWED ? "Allow: GET\r\n" : "") != 0)
        return -1;
    return buf_add(&r->answer, body, size, err);
}

/* Returns false if the client has gone. What it still sends stays unread until it has the answer.
 */
static bool flush(struct reader *r) {
    struct error ignored;
    while (r->sent < r->answer.size) {
        ssize_t sent = send(r->watch.fd, r->answer.data + r->sent, r->answer.size - r->sent,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN)
            return loop_watch(r->page->loop, &r->watch, EPOLLOUT, &ignored) == 0;
        if (sent < 0)
            return false;
        r->sent += (size_t)sent;
    }
    /* closing with unread data would discard the answer */
    r->state = LEAVING;
    (void)shutdown(r->watch.fd, SHUT_WR);
    return loop_watch(r->page->loop, &r->watch, EPOLLIN, &ignored) == 0;
}

/* --- a reader --------------------------------------------------------------------------------- */

/* Discards bytes that follow the request. `request` is only a place to read into by now. 0 bytes
 * are the client's end, which is the proper way to leave. */
static bool discard(struct reader *r) {
    ssize_t got = recv(r->watch.fd, r->request, sizeof(r->request), MSG_DONTWAIT);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    r->size += (size_t)got;
    return got > 0 && r->size < LEFTOVERS_MAX;
}

/* Returns false if the client has gone or has nothing more to say. A request that fills the buffer
 * without an end is judged as too large, so the room is never 0 here. */
static bool listen_to(struct reader *r) {
    struct error ignored;
    size_t room = sizeof(r->request) - r->size;
    ssize_t got = recv(r->watch.fd, r->request + r->size, room, MSG_DONTWAIT);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    r->size += (size_t)got;
    enum http_request_status status =
        http_request_judge(r->request, r->size, r->page->options.path);
    if (status == HTTP_REQUEST_MORE)
        return got > 0;
    r->state = ANSWERED;
    return add_answer(r, status, &ignored) == 0 && flush(r);
}

static void ready(void *context, uint32_t events) {
    static bool (*const acts[])(struct reader * r) = {
        [ASKING] = listen_to, [ANSWERED] = flush, [LEAVING] = discard};
    struct reader *r = context;
    if ((events & EPOLLERR) != 0 || !acts[r->state](r))
        send_away(r);
}

/* --- the listener ----------------------------------------------------------------------------- */

/* The list is newest first, so this is its end. There are few enough to walk over. */
static struct reader *oldest(const struct http_page *p) {
    struct reader *r = p->readers;
    while (r != NULL && r->next != NULL)
        r = r->next;
    return r;
}

/* The oldest reader makes room: a scraper that is alive was served long before. */
static void admit(struct http_page *p, int fd) {
    struct error ignored;
    if (p->count == HTTP_PAGE_READERS_MAX)
        send_away(oldest(p));
    struct reader *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        (void)close(fd);
        return;
    }
    r->page = p;
    r->watch = (struct watch){.fd = fd, .ready = ready, .context = r};
    r->patience = (struct timer){.fire = send_away, .context = r};
    buf_init(&r->answer, HTTP_PAGE_TEXT_MAX + HEAD_MAX);
    r->next = p->readers;
    p->readers = r;
    p->count++;
    loop_after(p->loop, &r->patience, HTTP_PAGE_SECONDS * CLOCK_SECOND);
    if (loop_watch(p->loop, &r->watch, EPOLLIN, &ignored) != 0)
        send_away(r);
}

/* Tries again and again until the loop takes the listener, since nothing else would wake it. */
static void listen_again(void *context) {
    struct http_page *p = context;
    struct error ignored;
    if (loop_watch(p->loop, &p->watch, EPOLLIN, &ignored) != 0)
        loop_after(p->loop, &p->rest, rest_time);
}

/* A connection that cannot be accepted stays ready: without descriptors the page rests. */
static void knock(void *context, uint32_t events) {
    struct http_page *p = context;
    (void)events;
    int fd = accept4(p->watch.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        admit(p, fd);
    } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
        loop_unwatch(p->loop, &p->watch);
        loop_after(p->loop, &p->rest, rest_time);
    }
}

/* The listener is blocking or not as the caller made it; accept4() is called only when it is
 * ready. */
int http_page_open(struct http_page *p, struct loop *loop, int listener,
                   const struct http_page_options *options, struct error *err) {
    *p = (struct http_page){.loop = loop, .options = *options};
    p->watch = (struct watch){.fd = listener, .ready = knock, .context = p};
    p->rest = (struct timer){.fire = listen_again, .context = p};
    buf_init(&p->text, HTTP_PAGE_TEXT_MAX);
    if (loop_watch(loop, &p->watch, EPOLLIN, err) == 0)
        return 0;
    http_page_close(p);
    return -1;
}

void http_page_close(struct http_page *p) {
    if (p->loop == NULL)
        return;
    while (p->readers != NULL)
        send_away(p->readers);
    loop_cancel(p->loop, &p->rest);
    loop_unwatch(p->loop, &p->watch);
    (void)close(p->watch.fd);
    buf_done(&p->text);
    *p = (struct http_page){0};
}

#include "entrypoint/wire/send_queue.h"

#include "entrypoint/wire/frame.h"

void send_queue_init(struct send_queue *q, size_t max, bool keeps) {
    *q = (struct send_queue){.max = max, .keeps = keeps};
    buf_init(&q->bytes, max + SEND_QUEUE_WINDOW);
}

void send_queue_done(struct send_queue *q) {
    buf_done(&q->bytes);
}

int send_queue_put(struct send_queue *q, const json_t *message, struct error *err) {
    size_t before = q->bytes.size;
    if (frame_put(&q->bytes, message, err) != 0)
        return -1;
    if (send_queue_waiting(q) > q->max) {
        q->bytes.size = before;
        return error_set(err, EXIT_CODE_INTERNAL, "more than %zu bytes wait to be sent", q->max);
    }
    q->end++;
    return 0;
}

size_t send_queue_waiting(const struct send_queue *q) {
    return q->bytes.size - q->written;
}

size_t send_queue_ready(const struct send_queue *q, const char **ret) {
    size_t waiting = send_queue_waiting(q);
    size_t room = q->written < SEND_QUEUE_WINDOW ? SEND_QUEUE_WINDOW - q->written : 0;
    *ret = waiting > 0 ? q->bytes.data + q->written : NULL;
    return waiting < room ? waiting : room;
}

void send_queue_wrote(struct send_queue *q, size_t size) {
    if (q->keeps) {
        q->written += size;
    } else {
        buf_consume(&q->bytes, size);
        buf_slim(&q->bytes);
    }
}

/* Returns the size of the frames below COUNT, all of which are in the queue. */
static size_t size_below(const struct send_queue *q, uint64_t count) {
    size_t size = 0;
    for (uint64_t i = q->first; i < count; i++)
        size += frame_size(q->bytes.data + size);
    return size;
}

static bool drop_below(struct send_queue *q, uint64_t count) {
    if (count < q->first || count > q->end || !q->keeps)
        return false;
    size_t size = size_below(q, count);
    if (size > q->written)
        return false;
    buf_consume(&q->bytes, size);
    buf_slim(&q->bytes);
    q->written -= size;
    q->first = count;
    return true;
}

bool send_queue_acknowledge(struct send_queue *q, uint64_t count) {
    return count < q->first || drop_below(q, count);
}

bool send_queue_rewind(struct send_queue *q, uint64_t count) {
    if (!drop_below(q, count))
        return false;
    q->written = 0;
    return true;
}

#include "entrypoint/wire/message_queue.h"

#include "common/clock.h"
#include "common/json/json.h"

static void deliver_first(void *context) {
    struct message_queue *p = context;
    cleanup_json json_t *message = json_incref(json_array_get(p->queue, 0));
    (void)json_array_remove(p->queue, 0);
    if (json_array_size(p->queue) > 0)
        loop_at(p->loop, &p->timer, clock_now());
    p->deliver(p->context, message);
}

int message_queue_init(struct message_queue *p, struct loop *loop,
                       void (*deliver)(void *context, const json_t *message), void *context,
                       struct error *err) {
    *p = (struct message_queue){.loop = loop, .deliver = deliver, .context = context};
    p->timer = (struct timer){.fire = deliver_first, .context = p};
    p->queue = json_array();
    return p->queue != NULL ? 0 : error_no_memory(err, "messages");
}

void message_queue_done(struct message_queue *p) {
    loop_cancel(p->loop, &p->timer); /* not set in a zeroed queue, which has no loop */
    json_decref(p->queue);
    p->queue = NULL;
}

void message_queue_put(struct message_queue *p, json_t *message) {
    if (message == NULL || json_array_append_new(p->queue, message) != 0)
        return;
    if (!p->timer.active)
        loop_at(p->loop, &p->timer, clock_now());
}

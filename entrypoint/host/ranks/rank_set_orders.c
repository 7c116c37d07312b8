/* The master's orders to the ranks of this host, which go to their shims. */
#include "entrypoint/host/ranks/rank_set.h"
#include "entrypoint/host/ranks/rank_slot.h"
#include "entrypoint/wire/message.h"

unsigned rank_set_signal(struct rank_set *c, int number) {
    unsigned count = 0;
    for (struct rank_slot *s = c->slots; c->started && s != NULL; s = s->next)
        if (s->link != NULL && !s->reported) {
            link_send(s->link, message_with(MESSAGE_SIGNAL, json_pack("{s:i}", "number", number)));
            count++;
        }
    return count;
}

void rank_set_stop(struct rank_set *c, int number) {
    c->stopping = true;
    c->stop_signal = number;
    for (struct rank_slot *s = c->slots; c->started && s != NULL; s = s->next)
        rank_slot_order_signal(s, MESSAGE_STOP, number, true);
}

void rank_set_warn(struct rank_set *c, int number, bool stops) {
    c->stopping |= stops;
    c->warning = number;
    for (struct rank_slot *s = c->slots; c->started && s != NULL; s = s->next)
        rank_slot_order_signal(s, MESSAGE_WARN, number, stops);
}

void rank_set_end(struct rank_set *c) {
    for (struct rank_slot *s = c->slots; s != NULL; s = s->next) {
        s->cause = RANK_CAUSE_TEARDOWN; /* also if its shim ends without a report */
        rank_slot_order(s, MESSAGE_END);
    }
}

void rank_set_kill(struct rank_set *c) {
    c->killed = true;
    for (struct rank_slot *s = c->slots; s != NULL; s = s->next)
        rank_slot_order(s, MESSAGE_KILL);
}

void rank_set_release(struct rank_set *c, unsigned rank) {
    struct rank_slot *s = rank_slot_find(c->slots, rank);
    if (s != NULL && s->reported)
        rank_slot_order(s, MESSAGE_LEAVE);
}

void rank_set_exchange(struct rank_set *c, enum message kind, json_t *pairs) {
    for (struct rank_slot *s = c->slots; s != NULL; s = s->next) {
        if (pairs == NULL)
            s->in_barrier = false;
        json_t *message = message_new(kind);
        if (pairs != NULL)
            (void)json_object_set(message, "pairs", pairs);
        if (s->link != NULL)
            link_send(s->link, message);
        else
            json_decref(message);
    }
}

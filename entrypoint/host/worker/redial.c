#include "entrypoint/host/worker/redial.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "entrypoint/wire/dial.h"
#include "entrypoint/wire/message.h"

/* Three connections may exist at once: the link itself, which is silent; `fresh`, the one being
 * made; and `late`, an earlier one that was open but not answered in time. The timer `again` drives
 * all of it. It fires after two heartbeats of silence, and then every 200 ms until the link is
 * resumed, refused or stopped.
 *
 * A new connection proves by the link's name that it belongs to it, and says how many messages have
 * arrived here. The peer answers with its own count, so each side sends again only what was lost.
 *
 * Nothing here decides that the master is lost. Its owner does, when the lease ends, and calls
 * redial_stop(). */

/* Interval between two dials, shorter than TCP's pause before it repeats the first packet. Each
 * dial sends a first packet of its own, so one is sent at most 200 ms after an outage is over. */
static const int64_t interval = CLOCK_SECOND / 5;
/* Time in which a peer must answer once it was reached. */
static const int64_t patience = LINK_HANDSHAKE_SECONDS * CLOCK_SECOND;

/* Longest silence of the peer: two heartbeats. */
static int64_t quiet_time(const struct redial *r) {
    return 2 * settings_beat(&r->s->job->settings, r->s->job->cluster.count);
}

static void drop_fresh(struct redial *r) {
    link_free(r->fresh);
    r->fresh = NULL;
    r->asked = 0;
}

/* Closing it also ends the link if the peer has moved that to it (set_aside), so it stays until the
 * link is resumed or given up. */
static void drop_late(struct redial *r) {
    link_free(r->late);
    r->late = NULL;
}

static void leave_alone(void *context, const json_t *message) {
    (void)context;
    (void)message;
}

static void late_closed(void *context, const struct error *why) {
    (void)why;
    drop_late(context);
}

static const struct link_events late_events = {.message = leave_alone, .closed = late_closed};

/* Keeps the connection, because the peer may have moved the link to it already and only the answer
 * was lost: closing it would close the link. */
static void set_aside(struct redial *r) {
    r->late = r->fresh;
    r->fresh = NULL;
    r->asked = 0;
    link_own(r->late, &late_events, r);
}

/* The redial is stopped first, as the owner may free the link in its callback. */
static void give_up(struct redial *r, const struct error *why) {
    const struct redial_events *events = r->events;
    void *context = r->context;
    redial_stop(r);
    events->refused(context, why);
}

static void opened(void *context) {
    struct redial *r = context;
    json_t *words = json_pack("{s:s, s:I}", "link", link_name(r->link), "taken",
                              (json_int_t)link_taken(r->link));
    r->asked = clock_now();
    link_hold(r->link, true); /* the peer would send again whatever this link takes from now on */
    link_send(r->fresh, message_with(MESSAGE_RESUME, words));
}

/* The owner is called before the link changes, and may stop the redial: its lease may be over. A
 * number that does not fit what was sent is a fault that no later try mends. */
static void take_resumed(struct redial *r, const json_t *message) {
    struct error why;
    struct link *fresh = r->fresh;
    json_int_t taken = json_integer_value(json_object_get(message, "taken"));
    r->events->resumed(r->context);
    if (r->link == NULL) /* its owner has stopped the redial */
        return;
    r->fresh = NULL;
    r->asked = 0;
    loop_after(&r->s->loop, &r->again, quiet_time(r));
    drop_late(r);
    if (taken >= 0 &&
        link_resume(r->link, fresh, (uint64_t)taken, r->s->job->settings.dead_seconds))
        return;
    (void)error_set(&why, EXIT_CODE_HOST_LOST, "the link cannot be resumed");
    give_up(r, &why);
}

/* The only other answer is a refusal: the peer does not know the link, as after a restart. */
static void heard(void *context, const json_t *message) {
    struct redial *r = context;
    struct error why;
    const char *text = json_string_value(json_object_get(message, "text"));
    if (message_kind(message) == MESSAGE_RESUMED) {
        take_resumed(r, message);
        return;
    }
    (void)error_set(&why, EXIT_CODE_HOST_LOST, "%s", text != NULL ? text : "it was refused");
    give_up(r, &why);
}

static void closed(void *context, const struct error *why) {
    struct redial *r = context;
    (void)why;
    drop_fresh(r);
}

const struct link_events redial_link_events = {
    .opened = opened, .message = heard, .closed = closed};

/* Returns true if the current connection may still succeed. A handshake interrupted by an outage
 * would have to wait for TCP's growing pauses. */
static bool is_on_its_way(const struct redial *r) {
    if (r->fresh == NULL || link_is_connecting(r->fresh))
        return false;
    if (r->asked == 0)
        return !link_is_stuck(r->fresh);
    return r->late != NULL || clock_now() - r->asked < patience;
}

/* One step of the timer. A connection that has asked and got no answer in time is set aside, once:
 * the next one that asks is kept until it is answered or closed. */
static void dial(void *context) {
    struct redial *r = context;
    struct error ignored;
    if (!is_on_its_way(r)) {
        if (r->asked != 0)
            set_aside(r);
        else
            drop_fresh(r);
        r->fresh = dial_address(&r->s->loop, &r->peer, r->s->job->ports.control, r->s->contexts.tls,
                                &redial_link_events, r, &ignored);
    }
    loop_after(&r->s->loop, &r->again, interval);
}

void redial_start(struct redial *r, struct supervisor *s, struct link *link,
                  const struct net_address *peer, const struct redial_events *events,
                  void *context) {
    redial_stop(r);
    *r = (struct redial){.s = s, .link = link, .peer = *peer, .events = events, .context = context};
    r->again = (struct timer){.fire = dial, .context = r};
    loop_after(&r->s->loop, &r->again, quiet_time(r));
}

/* A message on the link means that it works, so what was begun is dropped. If the new connection
 * has asked already, the peer may have moved the link, and only its answer counts. */
void redial_heard(struct redial *r) {
    if (r->link == NULL || r->asked != 0)
        return;
    if (link_is_stuck(r->link)) { /* data arrives here, but ours does not arrive there */
        if (r->fresh == NULL)
            dial(r);
        return;
    }
    drop_fresh(r);
    loop_after(&r->s->loop, &r->again, quiet_time(r));
}

void redial_stop(struct redial *r) {
    if (r->link == NULL)
        return;
    loop_cancel(&r->s->loop, &r->again);
    drop_fresh(r);
    drop_late(r);
    r->link = NULL;
}

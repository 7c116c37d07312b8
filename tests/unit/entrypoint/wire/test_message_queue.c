#include "entrypoint/wire/message_queue.h"

#include "common/clock.h"
#include "entrypoint/wire/frame.h"
#include "tests/support/unit.h"

#include <string.h>

static struct loop loop;
static struct message_queue post;
static char order[16];
static bool inside;

static void deliver(void *context, const json_t *message) {
    (void)context;
    CU_ASSERT_FALSE(inside);
    inside = true;
    (void)strncat(order, frame_type(message), 1);
    if (strcmp(frame_type(message), "a") == 0)
        message_queue_put(&post, frame_new("c"));
    inside = false;
    if (strcmp(frame_type(message), "c") == 0)
        loop_end(&loop);
}

static void messages_come_one_by_one_in_order(void) {
    struct error err;
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(message_queue_init(&post, &loop, deliver, NULL, &err), 0);
    message_queue_put(&post, frame_new("a"));
    message_queue_put(&post, frame_new("b"));
    message_queue_put(&post, NULL);
    CU_ASSERT_STRING_EQUAL(order, "");
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_STRING_EQUAL(order, "abc");
    loop_done(&loop);
    message_queue_done(&post);
}

static void end(void *context) {
    loop_end(context);
}

static void what_is_left_over_is_not_delivered(void) {
    struct error err;
    struct timer soon = {.fire = end, .context = &loop};
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(message_queue_init(&post, &loop, deliver, NULL, &err), 0);
    order[0] = '\0';
    message_queue_put(&post, frame_new("left over"));
    message_queue_done(&post);
    CU_ASSERT_FALSE(post.timer.active);
    loop_after(&loop, &soon, CLOCK_MILLISECOND);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_STRING_EQUAL(order, "");
    struct message_queue never = {0};
    message_queue_done(&never);
    loop_done(&loop);
}

UNIT_SUITE("wire.message_queue", UNIT(messages_come_one_by_one_in_order),
           UNIT(what_is_left_over_is_not_delivered))

/* Messages from a supervisor to the shim of a rank, one JSON message per line. A `start` comes with
 * a launch spec whose program does not exist. The shim answers it with one report, and no message
 * starts anything. */
#include "common/clock.h"
#include "common/json/json.h"
#include "entrypoint/host/ranks/launch_spec.h"
#include "entrypoint/host/ranks/shim.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/frames.h"

#include <fcntl.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MESSAGES_MAX = 32 };

static struct shim shim;
static int far_end;
static int spec = -1;
static int here = -1; /* this process's folder, which a start may change */

static void open_once(void) {
    static char path[] = "PATH=/usr/bin:/bin", program[] = "/no/such/program";
    static char *variables[] = {path, NULL}, *words[] = {program, NULL};
    const struct argv environment = {.items = variables, .count = 1};
    const struct argv argv = {.items = words, .count = 1};
    if (spec >= 0)
        return;
    spec = launch_spec_make(&environment, &argv, NULL);
    here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    CHECK(spec >= 0 && here >= 0);
}

static void open_shim(void) {
    static char *environment[] = {NULL};
    shim = (struct shim){.environment = environment,
                         .place = {.rank = 1, .local_size = 1, .attempt = 1},
                         .out = {-1, -1},
                         .error_out = {-1, dup(frames_nowhere())},
                         .progress = -1};
    CHECK(loop_init(&shim.loop, NULL) == 0);
    shim.link = frames_link(&shim.loop, &shim_events, &shim, &far_end);
}

static void close_shim(void) {
    loop_cancel(&shim.loop, &shim.leave);
    link_free(shim.link);
    loop_done(&shim.loop);
    (void)close(far_end);
    if (shim.error_out[1] >= 0)
        (void)close(shim.error_out[1]);
    CHECK(fchdir(here) == 0);
}

static void end_loop(void *context) {
    loop_end(context);
}

static void turn(void) {
    struct timer end = {.fire = end_loop, .context = &shim.loop};
    shim.loop.ended = false;
    loop_after(&shim.loop, &end, CLOCK_MILLISECOND);
    CHECK(loop_run(&shim.loop, NULL) == 0);
    loop_cancel(&shim.loop, &end);
}

/* Sends the message exactly as it is in the input: the link is the first to check it. */
static void say(const json_t *message) {
    if (frames_heard("shim", message))
        (void)link_send_fds(far_end, message, &spec, 1, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    const char *end = text + size;
    if (size == 0)
        return 0;
    check_without_log();
    open_once();
    open_shim();
    for (size_t count = 0; text < end && count < MESSAGES_MAX; count++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop != NULL ? stop : end) - text);
        json_t *message = NULL;
        if (json_parse(text, length, "a message", &message, NULL) == 0)
            say(message);
        json_decref(message);
        text += length + 1;
    }
    turn();
    CHECK(!shim.running && shim.code >= 0 && shim.code <= UINT8_MAX);
    CHECK(!shim.ended || shim.code != 0);
    close_shim();
    return 0;
}

/* Record of the frames that fuzz targets hand to their receivers.
 *
 * It is for frames.sh: if FRAMES_HEARD names a file, each frame (wire/frame.h) adds a line
 * "RECEIVER TYPE" to it. RECEIVER is master, worker, supervisor, shim or agent. */
#ifndef TESTS_FUZZ_FRAMES_H
#define TESTS_FUZZ_FRAMES_H

#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/link.h"
#include "tests/fuzz/check.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static inline void frames_note(const char *who, const char *type) {
    const char *path = getenv("FRAMES_HEARD");
    FILE *file = path != NULL ? fopen(path, "a") : NULL;
    CHECK(path == NULL || file != NULL);
    if (file == NULL)
        return;
    /* One word, whatever is in it. */
    CHECK(fprintf(file, "%s %.*s\n", who, (int)strcspn(type, " \t\r\n"), type) > 0);
    CHECK(fclose(file) == 0);
}

/* MESSAGE as a link would give it to its owner; false where none would: without a type, say. */
static inline bool frames_heard(const char *who, const json_t *message) {
    if (!json_is_string(json_object_get(message, "type")))
        return false;
    frames_note(who, frame_type(message));
    return true;
}

/* Returns a descriptor that discards programs' lines. */
static inline int frames_nowhere(void) {
    static int fd = -1;
    if (fd < 0)
        fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

/* An open link and, in *FAR_END, its other end, the caller's. */
static inline struct link *frames_link(struct loop *loop, const struct link_events *events,
                                       void *context, int *far_end) {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    struct link *link = link_new(loop, ends[0], NULL, true, events, context, NULL);
    CHECK(link != NULL);
    *far_end = ends[1];
    return link;
}

#endif

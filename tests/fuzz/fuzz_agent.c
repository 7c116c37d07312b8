/* A supervisor's answers to mpirun's agent, as raw bytes or framed JSON: the agent exits with the
 * code that it receives, or with an error. */
#include "common/buf.h"
#include "common/json/json.h"
#include "entrypoint/mpi/agent.h"
#include "entrypoint/wire/control_socket.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/frames.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/un.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sockaddr_un place = {.sun_family = AF_UNIX};
static int listener = -1;

static void remove_place(void) {
    (void)unlink(place.sun_path);
}

/* Opens the listener at the first call. */
static void open_place(void) {
    if (listener >= 0)
        return;
    (void)snprintf(place.sun_path, sizeof(place.sun_path), "/tmp/ringmaster-fuzz-agent-%ld",
                   (long)getpid());
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)unlink(place.sun_path);
    CHECK(listener >= 0 && bind(listener, (const struct sockaddr *)&place, sizeof(place)) == 0 &&
          listen(listener, 1) == 0);
    (void)atexit(remove_place);
}

static void *answer(void *context) {
    struct buf *bytes = context;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK(fd >= 0);
    (void)send(fd, bytes->data, bytes->size, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)shutdown(fd, SHUT_WR);
    char asked[4096];
    while (recv(fd, asked, sizeof(asked), 0) > 0)
        ;
    (void)close(fd);
    return NULL;
}

/* If the first byte is 'j', the rest is JSON to put into a frame; otherwise DATA is the answer. */
static void make_answer(const uint8_t *data, size_t size, struct buf *ret) {
    json_t *message = NULL;
    if (data[0] != 'j') {
        CHECK(buf_add(ret, data, size, NULL) == 0);
        return;
    }
    if (json_parse((const char *)data + 1, size - 1, "an answer", &message, NULL) == 0 &&
        frames_heard("agent", message))
        (void)frame_put(ret, message, NULL);
    json_decref(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const words[] = {"10.0.0.2", "orted", NULL};
    char socket_path[sizeof(place.sun_path) + 64], attempt[] = "RINGMASTER_ATTEMPT=1";
    char *environment[] = {socket_path, attempt, NULL};
    struct buf bytes;
    pthread_t thread;
    int code = -1;
    struct error err = {0};
    if (size == 0 || size > FRAME_MAX)
        return 0;
    open_place();
    (void)snprintf(socket_path, sizeof(socket_path), CONTROL_SOCKET_VARIABLE "=%s", place.sun_path);
    buf_init(&bytes, (size_t)2 * FRAME_MAX);
    make_answer(data, size, &bytes);
    CHECK(pthread_create(&thread, NULL, answer, &bytes) == 0);
    if (agent_run(words, environment, &code, &err) == 0)
        CHECK(code >= 0 && code <= UINT8_MAX);
    else
        CHECK(err.text[0] != '\0');
    CHECK(pthread_join(thread, NULL) == 0);
    buf_done(&bytes);
    return 0;
}

/* Messages of three workers to one of two asynchronous servers. The input is a list of pieces: a
 * byte that names the worker, two with a length, and that many bytes to send. A first byte of 128
 * or more also closes that worker's connection. Then all are silent, on a held clock. The server
 * ends, changes nothing but its own share, and fails only if rank 0 is lost. */
#include "tests/fuzz/check.h"
#include "tests/support/held_clock.h"
#include "trainer/comm/comm_driver.h"
#include "trainer/shard/async_server.h"

#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A socket holds the replies to a whole input: nobody reads them. */
enum { WORKERS = 3, RANKS = WORKERS + 2, COUNT = 48, HEAD = 3, INPUT_MAX = 4096 };

/* A communicator with nothing but connections. */
struct wired {
    struct comm base;
    int fd[WORKERS];
};

static int socket_of(struct comm *c, int rank) {
    return ((struct wired *)c)->fd[rank];
}

static void heard(void *user, uint64_t updates) {
    CHECK(updates >= *(uint64_t *)user);
    *(uint64_t *)user = updates;
}

static void connect_workers(struct wired *wired, int far[WORKERS]) {
    for (int i = 0; i < WORKERS; i++) {
        int pair[2];
        CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
        far[i] = pair[0];
        wired->fd[i] = pair[1];
    }
}

static void say(const uint8_t *data, size_t size, const int far[WORKERS]) {
    while (size > HEAD) {
        const size_t told = (size_t)data[1] | (size_t)data[2] << 8, rest = size - HEAD;
        const size_t length = told < rest ? told : rest;
        (void)send(far[data[0] % WORKERS], data + HEAD, length, MSG_NOSIGNAL);
        if (data[0] >= 128)
            (void)shutdown(far[data[0] % WORKERS], SHUT_WR);
        data += HEAD + length;
        size = rest - length;
    }
}

static void serve(struct wired *wired) {
    static const struct shard_tensor tensors[] = {{0, 20, 0}, {20, 28, 1}};
    static const size_t begins[] = {0, COUNT};
    static const struct shard_layout layout = {begins, 1, tensors, 2};
    static const float untouched[SHARD_ARENAS + 1][COUNT];
    float values[SHARD_ARENAS + 1][COUNT] = {{0}};
    struct shard_server server = {.service = {.rule = {.step = {.kind = OPTIMIZER_ADAMW,
                                                                .momentum = 0.9F,
                                                                .scale = 1,
                                                                .second = 0.99F,
                                                                .epsilon = 1e-8F,
                                                                .average = 0.9F},
                                                       .groups = {{1, 0.01F, 0}, {1, 0, 0}},
                                                       .clip_norm = 1},
                                              .count = COUNT,
                                              .keeps = {1, 1, 1, 1},
                                              .async = 1,
                                              .staleness = 2},
                                  .gradients = values[SHARD_ARENAS]};
    uint64_t updates = 0;
    const struct shard_listener listener = {heard, &updates};
    struct error err = {0};
    int code = 0;
    for (int i = 0; i < SHARD_ARENAS; i++)
        server.arena[i] = values[i];
    CHECK(shards_open(&server.shards, &wired->base, WORKERS, &layout, NULL) == 0);
    const size_t end = server.shards.buckets[0].bounds[WORKERS + 1];
    if (async_server_run(&server, &listener, &code, &err) != 0)
        CHECK(err.code == EXIT_CODE_INTERNAL && strstr(err.text, "rank 0 is lost") != NULL);
    CHECK(end > 0 && end < COUNT);
    for (int i = 0; i <= SHARD_ARENAS; i++)
        CHECK(memcmp(values[i] + end, untouched[i] + end, (COUNT - end) * sizeof(float)) == 0);
    shards_done(&server.shards);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct comm_driver driver = {.socket = socket_of};
    struct wired wired = {.base = {.driver = &driver, .rank = WORKERS, .size = RANKS}};
    int far[WORKERS];
    if (size > INPUT_MAX)
        return 0;
    check_without_log();
    connect_workers(&wired, far);
    say(data, size, far);
    held_clock_begin();
    serve(&wired);
    held_clock_end();
    for (int i = 0; i < WORKERS; i++) {
        (void)close(far[i]);
        (void)close(wired.fd[i]);
    }
    return 0;
}

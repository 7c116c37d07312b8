/* What answers a request for a file: HTTP, as it comes. The first byte names the server that was
 * asked ('p' another host of the job, 's' S3, 'h' any other server); the answers to one try after
 * another follow, separated by "\n====\n". A file that is accepted has the expected size and
 * SHA-256, and from another host a SHA-256 is always expected; what is not accepted leaves nothing.
 * After 'd' comes "sharing" of a download order (peers/sharing.h), which names the host to ask. */
#include "common/cleanup.h"
#include "common/json/json.h"
#include "entrypoint/transfer/fetch/stream.h"
#include "entrypoint/transfer/peers/sharing.h"
#include "entrypoint/transfer/s3/s3.h"
#include "tests/fuzz/check.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TRIES_MAX = 8, ANSWER_MAX = 64 * 1024 };

static const char file[] = "file";
static const char url[] = "http://127.0.0.1:9";
static const char between[] = "\n====\n";

static char folder[] = "/dev/shm/ringmaster-fuzz-answer-XXXXXX";
static int root = -1;
static struct argv environment;
static struct s3 s3;
static int far_end = -1; /* the server's */
static bool over;
static bool good;

static void close_all(void) {
    s3_close(&s3);
    argv_done(&environment);
    (void)close(root);
    (void)rmdir(folder);
}

/* Works only at the first call. */
static void open_all(void) {
    if (root >= 0)
        return;
    CHECK(mkdtemp(folder) != NULL);
    root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(root >= 0 && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    CHECK(argv_set_env(&environment, "AWS_ENDPOINT_URL_S3", url, NULL) == 0 &&
          argv_set_env(&environment, "AWS_ACCESS_KEY_ID", "AKID", NULL) == 0 &&
          argv_set_env(&environment, "AWS_SECRET_ACCESS_KEY", "hush-hush", NULL) == 0);
    (void)atexit(close_all);
}

/* --- a server that has said all before it is asked -------------------------------------------- */

struct said {
    const char *text;
    size_t size;
};

static curl_socket_t connect_to_it(void *context, curlsocktype purpose,
                                   struct curl_sockaddr *address) {
    const struct said *said = context;
    int ends[2];
    (void)purpose;
    (void)address;
    if (far_end >= 0)
        (void)close(far_end); /* of a connection that libcurl has tried before */
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    (void)!send(ends[1], said->text, said->size, MSG_NOSIGNAL);
    (void)shutdown(ends[1], SHUT_WR);
    far_end = ends[1];
    return ends[0];
}

static int it_is_connected(void *context, curl_socket_t fd, curlsocktype purpose) {
    (void)context;
    (void)fd;
    (void)purpose;
    return CURL_SOCKOPT_ALREADY_CONNECTED;
}

static enum exchange_end try_once(struct exchange *e, struct said *said, struct error *err) {
    if (exchange_start(e, NULL, err) != 0)
        return EXCHANGE_FAILED;
    CHECK(curl_easy_setopt(e->easy, CURLOPT_OPENSOCKETFUNCTION, connect_to_it) == CURLE_OK &&
          curl_easy_setopt(e->easy, CURLOPT_OPENSOCKETDATA, said) == CURLE_OK &&
          curl_easy_setopt(e->easy, CURLOPT_SOCKOPTFUNCTION, it_is_connected) == CURLE_OK &&
          curl_easy_setopt(e->easy, CURLOPT_FRESH_CONNECT, 1L) == CURLE_OK);
    return exchange_finish(e, curl_easy_perform(e->easy), err);
}

/* --- the file --------------------------------------------------------------------------------- */

static void ended(void *context, const struct error *failure) {
    (void)context;
    CHECK(!over && (failure == NULL || failure->text[0] != '\0'));
    over = true;
    good = failure == NULL;
}

static void check_file(const struct stream *f) {
    struct stat st;
    bool there = fstatat(root, file, &st, AT_SYMLINK_NOFOLLOW) == 0;
    CHECK(over && there == good);
    if (!there)
        return;
    CHECK(st.st_size == f->have && (f->size < 0 || f->size == f->have));
    CHECK(f->order.peer == NULL || f->sha256[0] != '\0');
    CHECK(!digest_given_differs(f->sha256, f->own_sha256));
    CHECK(unlinkat(root, file, 0) == 0);
}

static void run(struct stream *f, const char *text, size_t size) {
    struct error err = {0};
    enum exchange_end end = EXCHANGE_ONCE_MORE;
    const char *stop = text + size;
    for (int i = 0; i < TRIES_MAX && end == EXCHANGE_ONCE_MORE; i++) {
        const char *next = memmem(text, (size_t)(stop - text), between, sizeof(between) - 1);
        struct said said = {text, (size_t)((next != NULL ? next : stop) - text)};
        end = try_once(&f->exchange, &said, &err);
        text = next != NULL ? next + sizeof(between) - 1 : stop;
    }
    if (end == EXCHANGE_ONCE_MORE)
        (void)error_set(&err, EXIT_CODE_NOT_READY, "there are no more tries");
    exchange_done(&f->exchange);
    f->exchange.events->ended(f->exchange.context, end == EXCHANGE_DONE ? NULL : &err);
    if (far_end >= 0)
        (void)close(far_end);
    far_end = -1;
}

static void try_answers(char who, const char *text, size_t size) {
    static struct stream fetch;
    struct exchange_pool pool = {0};
    struct peer_client peer = {.name = "algo-1", .url = url, .patience = 1, .met = true};
    int64_t fetched = 0;
    struct stream_order order = {.bucket = "bucket",
                                 .key = file,
                                 .url = url,
                                 .task = "training",
                                 .name = file,
                                 .root = root,
                                 .path = file,
                                 .size = -1,
                                 .fetched = &fetched,
                                 .ended = ended};
    order.peer = who == 'p' ? &peer : NULL;
    order.s3 = who != 'h' ? &s3 : NULL;
    CHECK(s3_open(&s3, &environment, NULL) == 0);
    pool.waiting_end = &pool.waiting;
    over = good = false;
    stream_start(&fetch, &order, &pool);
    run(&fetch, text, size);
    check_file(&fetch);
    CHECK(fetched >= 0);
    s3_close(&s3);
}

/* --- sharing of downloads --------------------------------------------------------------------- */

static int listen_somewhere(void) {
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CHECK(fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 1) == 0);
    return fd;
}

/* The listener is one of this process's, whatever number stands there. */
static void try_sharing(const char *text, size_t size) {
    json_t *sharing = NULL;
    struct sharing p;
    struct error err = {0};
    if (json_parse(text, size, "a part of an order", &sharing, NULL) != 0)
        return;
    json_int_t told = json_integer_value(json_object_get(sharing, "listener"));
    int listener = told > 2 ? listen_somewhere() : -1;
    if (listener >= 0)
        (void)json_object_set_new(sharing, "listener", json_integer(listener));
    if (sharing_open(&p, sharing, &err) == 0) {
        CHECK(p.peer.patience > 0 && (p.peer.url == NULL || p.peer.name != NULL));
        sharing_close(&p);
    } else {
        CHECK(err.text[0] != '\0');
        if (listener >= 0)
            (void)close(listener);
    }
    json_decref(sharing);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0 || size > ANSWER_MAX)
        return 0;
    check_without_log();
    open_all();
    if (data[0] == 'd')
        try_sharing((const char *)data + 1, size - 1);
    else
        try_answers((char)data[0], (const char *)data + 1, size - 1);
    return 0;
}

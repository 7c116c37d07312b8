/* Every kind of request that this house makes of S3 meets every way in which a server fails it:
 * once, after which what was asked for is done, and the bytes are the same, or fails with words
 * where the server said something that no second try makes better; and without end, in which case
 * it fails with words by its deadline. Where it fails nothing is there, at neither end. */
#include "tests/unit/entrypoint/transfer/faults_stage.h"

#include "common/cleanup.h"
#include "entrypoint/transfer/fetch/fetch_file.h"
#include "entrypoint/transfer/s3/s3_listing.h"
#include "entrypoint/transfer/upload/multipart.h"
#include "entrypoint/transfer/upload/part.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum {
    OFTEN = 1000000,
    SECONDS = 300,
    SHORT_SECONDS = 1,
    LATE_SECONDS = 25,
    LONG_SECONDS = 600,
    SHARES = 3
};

static const char *const kinds[KINDS] = {"a listing", "a question", "a part of an object",
                                         "an object", "an upload",  "a beginning",
                                         "a part",    "an end",     "giving up"};
static const char *const faults[FAULTS] = {"500",
                                           "503",
                                           "a reset",
                                           "silence",
                                           "a cut",
                                           "another length",
                                           "other words",
                                           "a skewed clock",
                                           "an ended token",
                                           "429",
                                           "a redirect",
                                           "another ETag",
                                           "a drip",
                                           "more pages"};

/* What a fault that comes once ends with, where it is no success: these words. An answer that is
 * whole and wrong is believed to be what the server has to say. */
static const char *const ends[KINDS][FAULTS] = {
    [LIST] = {[OTHER_LENGTH] = "not XML",
              [OTHER_WORDS] = "does not begin with ListBucketResult",
              [ROUND] = "answers 307"},
    [RANGE] = {[ROUND] = "answers 307", [OTHER_ETAG] = "it changed"},
    [GET] = {[OTHER_LENGTH] = "bytes where",
             [OTHER_WORDS] = "bytes where",
             [ROUND] = "answers 307",
             [OTHER_ETAG] = "it changed"},
    [PUT] = {[ROUND] = "answers 307"},
    [CREATE] = {[OTHER_LENGTH] = "not XML",
                [OTHER_WORDS] = "Error without UploadId",
                [ROUND] = "answers 307"},
    [PART] = {[ROUND] = "answers 307"},
    [COMPLETE] = {[OTHER_LENGTH] = "not XML",
                  [OTHER_WORDS] = "Error without ETag",
                  [ROUND] = "answers 307",
                  [OTHER_ETAG] = "does not match its parts"},
    [ABORT] = {[ROUND] = "answers 307"},
};
static struct http_server server;
static struct s3 s3;
static struct argv environment;
static int root = -1;
static int up = -1; /* the file that is sent */
static int64_t seconds;
static unsigned failed; /* of this process */

#define EXPECT(what, ...)                                                                          \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            printf("%s:%d: %s, once in %u: ", __FILE__, __LINE__, #what, failed++);                \
            printf(__VA_ARGS__);                                                                   \
            printf("\n");                                                                          \
        }                                                                                          \
    } while (0)

static unsigned count(int which) {
    return atomic_load(&server.shared->counters[which]);
}

static int64_t deadline(void) {
    return clock_now() + seconds * CLOCK_SECOND;
}

/* --- what is asked for ------------------------------------------------------------------------ */

static int list_all(struct error *err) {
    struct address at;
    struct objects objects = {0};
    size_t front = 0;
    if (address_parse("s3://bucket/set/", &at, err) != 0)
        return -1;
    const struct s3_listing listing = {
        .s3 = &s3, .at = &at, .what = "set", .shards = 1, .deadline = deadline()};
    int result = s3_listing_read(&listing, &objects, &front, err);
    size_t more = (size_t)count(PAGES) * PAGE_KEYS;
    EXPECT(result != 0 || (objects.count == 2 + more && strcmp(objects.items[1].key, "set/b") == 0),
           "%zu objects", objects.count);
    objects_done(&objects);
    address_done(&at);
    return result;
}

static struct fetch_file bring;
static void brought(void *context, const struct error *failure) {
    if (failure != NULL)
        *(struct error *)context = *failure;
}
static bool more(void *context) {
    return fetch_file_more(context);
}
static bool aside(void *context) {
    return fetch_file_verify(context);
}

static bool is_same(const char *name, size_t size) {
    static char block[1 << 20];
    cleanup_fd int fd = openat(root, name, O_RDONLY | O_CLOEXEC);
    size_t at = 0;
    for (ssize_t got = 1; fd >= 0 && got > 0; at += (size_t)got) {
        got = read(fd, block, sizeof(block));
        if (got > 0 &&
            (at + (size_t)got > size || memcmp(block, faults_content + at, (size_t)got) != 0))
            return false;
    }
    return at == size;
}

static int fetch(bool large, struct error *err) {
    struct exchange_pool pool;
    struct error failure = {0};
    int64_t fetched = 0;
    const char *name = large ? "large" : "small";
    size_t size = large ? LARGE_SIZE : SMALL_SIZE;
    const struct fetch_file_order order = {.source = {.s3 = &s3,
                                                      .bucket = "bucket",
                                                      .key = name,
                                                      .name = name,
                                                      .root = root,
                                                      .path = name,
                                                      .size = (int64_t)size,
                                                      .etag = large ? faults_large : faults_small,
                                                      .fetched = &fetched},
                                           .ended = brought,
                                           .context = &failure};
    if (exchange_pool_open(&pool, NULL, err) != 0)
        return -1;
    pool.more = more;
    pool.aside = aside;
    pool.context = &bring;
    fetch_file_start(&bring, &order, &pool);
    int ran = exchange_pool_run(&pool, deadline(), err);
    exchange_pool_close(&pool);
    int result = ran == 0 && failure.code == 0 ? 0 : -1;
    if (failure.code != 0)
        *err = failure;
    EXPECT(result != 0 || is_same(name, size), "%s has other bytes", name);
    EXPECT(result == 0 || faccessat(root, name, F_OK, 0) != 0, "half of %s is there", name);
    (void)unlinkat(root, name, 0);
    part_file_forget(root, name);
    return result;
}

static void sent_one(void *context, const struct error *failure) {
    if (failure != NULL)
        *(struct error *)context = *failure;
}

static int put(struct error *err) {
    struct exchange_pool pool;
    struct part piece;
    struct error failure = {0};
    int64_t sent = 0;
    const struct part_order order = {.s3 = &s3,
                                     .bucket = "bucket",
                                     .key = "small",
                                     .name = "small",
                                     .fd = up,
                                     .size = SMALL_SIZE,
                                     .sent = &sent,
                                     .ended = sent_one,
                                     .context = &failure};
    if (exchange_pool_open(&pool, NULL, err) != 0)
        return -1;
    part_start(&piece, &order, &pool);
    int ran = exchange_pool_run(&pool, deadline(), err);
    exchange_pool_close(&pool);
    int result = ran == 0 && failure.code == 0 ? 0 : -1;
    if (failure.code != 0)
        *err = failure;
    EXPECT(result != 0 || (sent == SMALL_SIZE &&
                           count(SUM_FIRST) == http_sum(HTTP_SUM, faults_content, SMALL_SIZE)),
           "other bytes came");
    return result;
}

static int put_large(struct error *err) {
    int64_t sent = 0;
    const struct multipart_order order = {.s3 = &s3,
                                          .bucket = "bucket",
                                          .key = "up",
                                          .name = "up",
                                          .fd = up,
                                          .size = UP_SIZE,
                                          .deadline = deadline(),
                                          .sent = &sent};
    int result = multipart_send(&order, err);
    EXPECT(result != 0 || (sent == UP_SIZE && count(VISIBLE) == 1 &&
                           count(SUM_FIRST) == http_sum(HTTP_SUM, faults_content, ETAG_PART) &&
                           count(SUM_LAST) ==
                               http_sum(HTTP_SUM, faults_content + ETAG_PART, UP_SIZE - ETAG_PART)),
           "other bytes came");
    return result;
}

static int probe(struct error *err) {
    struct address to;
    if (address_parse("s3://bucket/up/", &to, err) != 0)
        return -1;
    int result = multipart_probe(&s3, &to, err);
    address_done(&to);
    return result;
}

static int ask_for(enum kind kind, struct error *err) {
    switch (kind) {
    case LIST:
        return list_all(err);
    case HEAD:
    case RANGE:
        return fetch(true, err);
    case GET:
        return fetch(false, err);
    case PUT:
        return put(err);
    case ABORT:
        return probe(err);
    default:
        return put_large(err);
    }
}

/* --- a cell ----------------------------------------------------------------------------------- */

static void open_server(void) {
    char url[128];
    server = (struct http_server){0};
    http_server_start(&server, faults_answer);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", server.port);
    CU_ASSERT_EQUAL(argv_set_env(&environment, "AWS_ENDPOINT_URL_S3", url, NULL), 0);
    if (faults_tokens) {
        (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/credentials", server.port);
        CU_ASSERT_EQUAL(argv_set_env(&environment, "AWS_CONTAINER_CREDENTIALS_FULL_URI", url, NULL),
                        0);
    } else {
        CU_ASSERT_EQUAL(argv_set_env(&environment, "AWS_ACCESS_KEY_ID", "AKID", NULL), 0);
        CU_ASSERT_EQUAL(argv_set_env(&environment, "AWS_SECRET_ACCESS_KEY", "hush-hush", NULL), 0);
    }
}

/* A server of its own for each cell: what the one before has given up may be on its way still, and
 * would meet the fault in place of what is asked for now. One that is busy is not one that is
 * silent. */
static void open_cell(enum kind kind, enum fault fault, unsigned times) {
    open_server();
    atomic_store(&server.shared->counters[AT_KIND], kind);
    atomic_store(&server.shared->counters[WHICH_FAULT], fault);
    atomic_store(&server.shared->counters[TIMES], times);
    CU_ASSERT_EQUAL(s3_open(&s3, &environment, NULL), 0);
    s3.silence = fault == SILENCE || fault == DRIP ? 3 : 0;
}

static void close_cell(void) {
    s3_close(&s3);
    http_server_stop(&server);
}

/* Returns false for a fault that this kind of request cannot have. An answer without a body has no
 * other length, a 204 has no body whatever its length says, and one without an ETag has no other
 * ETag. */
static bool has_cell(enum kind kind, enum fault fault) {
    bool bare = kind == PUT || kind == PART || kind == ABORT;
    if (fault == MORE_PAGES)
        return kind == LIST;
    if (fault == OTHER_ETAG)
        return kind != LIST && kind != CREATE && kind != ABORT;
    return !(bare && fault == OTHER_LENGTH) && !(kind == ABORT && fault == CUT_OFF);
}

static void meet_once(enum kind kind, enum fault fault) {
    struct error err = {0};
    const char *end = ends[kind][fault];
    open_cell(kind, fault, 1);
    seconds = SECONDS;
    int result = ask_for(kind, &err);
    EXPECT(count(TIMES) == 0, "%s met no %s", kinds[kind], faults[fault]);
    EXPECT((result == 0) == (end == NULL), "%s after %s: %s", kinds[kind], faults[fault], err.text);
    EXPECT(end == NULL || strstr(err.text, end) != NULL, "%s after %s: %s", kinds[kind],
           faults[fault], err.text);
    EXPECT(result == 0 || count(VISIBLE) == 0, "%s after %s is there", kinds[kind], faults[fault]);
    EXPECT(end == NULL || kind != COMPLETE || count(GIVEN_UP) > 0, "parts stay behind");
    EXPECT(fault != SKEWED || kind == HEAD || (s3.skew > SKEW - 60 && s3.skew <= SKEW),
           "%s: the clock is %lld s off", kinds[kind], (long long)s3.skew);
    close_cell();
}

/* What a server may say without end and have its file taken all the same: what it is asked before
 * the file, and half of what was asked for, as the rest is another request. Else it fails by its
 * deadline. */
static bool may_come(enum kind kind, enum fault fault) {
    return kind == HEAD || (kind == GET && fault == CUT_OFF) ||
           (kind == RANGE && fault >= CUT_OFF && fault <= OTHER_WORDS) ||
           (kind == ABORT && fault == OTHER_WORDS);
}

static void meet_always(enum kind kind, enum fault fault) {
    struct error err = {0};
    int64_t began = clock_now();
    open_cell(kind, fault, OFTEN);
    seconds = SHORT_SECONDS;
    int result = ask_for(kind, &err);
    int64_t took = (clock_now() - began) / CLOCK_SECOND;
    EXPECT(result != 0 || may_come(kind, fault), "%s with %s alone comes", kinds[kind],
           faults[fault]);
    EXPECT(result == 0 || err.text[0] != '\0', "%s with %s alone: no words", kinds[kind],
           faults[fault]);
    EXPECT(result == 0 || count(VISIBLE) == 0, "%s with %s alone is there", kinds[kind],
           faults[fault]);
    EXPECT(took <= LATE_SECONDS, "%s with %s alone takes %lld s", kinds[kind], faults[fault],
           (long long)took);
    close_cell();
}

/* --- all of them ------------------------------------------------------------------------------ */

static void open_all(const char *name) {
    char path[1024];
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), name);
    root = safe_dir_open(path, NULL);
    CU_ASSERT_FATAL(root >= 0);
    up = openat(root, "up", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    CU_ASSERT_FATAL(up >= 0);
    CU_ASSERT_EQUAL(write(up, faults_content, UP_SIZE), UP_SIZE);
    CU_ASSERT_EQUAL(unlinkat(root, "up", 0), 0);
}

static void close_all(void) {
    EXPECT(safe_dir_is_empty(root, "nothing"), "something stays here");
    (void)close(up);
    (void)close(root);
    argv_done(&environment);
}

/* A share of the faults, in a process of its own, as it mostly waits. */
static void meet_all(enum kind kind, int share) {
    char name[16];
    (void)snprintf(name, sizeof(name), "%d-%d", (int)kind, share);
    open_all(name);
    for (int fault = share; fault < FAULTS; fault += SHARES) {
        if (!has_cell(kind, (enum fault)fault))
            continue;
        meet_once(kind, (enum fault)fault);
        meet_always(kind, (enum fault)fault);
    }
    close_all();
    (void)fflush(stdout);
    _exit(failed > 0);
}

static void each_request_meets_each_fault(void) {
    pid_t children[KINDS * SHARES];
    (void)unit_temp_dir(); /* for all */
    (void)fflush(stdout);
    for (int i = 0; i < KINDS * SHARES; i++) {
        children[i] = fork();
        if (children[i] == 0)
            meet_all((enum kind)(i / SHARES), i % SHARES);
    }
    for (int i = 0; i < KINDS * SHARES; i++) {
        int status = -1;
        CU_ASSERT_EQUAL(waitpid(children[i], &status, 0), children[i]);
        CU_ASSERT_EQUAL(status, 0);
    }
}

/* There is time for all of it, but not room. */
static void a_listing_without_end_is_given_up(void) {
    struct error err = {0};
    open_cell(LIST, MORE_PAGES, OFTEN);
    seconds = LONG_SECONDS;
    CU_ASSERT_EQUAL(list_all(&err), -1);
    ASSERT_CONTAINS(err.text, "more than a million objects");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    CU_ASSERT_EQUAL(count(PAGES), OBJECTS_MAX / PAGE_KEYS + 1);
    close_cell();
    argv_done(&environment);
}

/* Each is good for three requests, and many are under way at once. */
static void credentials_are_renewed_through_a_whole_transfer(void) {
    struct error err = {0};
    faults_tokens = true;
    open_all("tokens");
    open_cell(KINDS, FAULTS, 0);
    seconds = SECONDS;
    for (int kind = 0; kind < KINDS; kind++)
        if (kind != RANGE && kind != PART && kind != COMPLETE) {
            atomic_store(&server.shared->counters[VISIBLE], 0);
            EXPECT(ask_for((enum kind)kind, &err) == 0, "%s: %s", kinds[kind], err.text);
        }
    CU_ASSERT_TRUE(count(ACCEPTED) >= 4 * EACH_TOKEN);
    CU_ASSERT_TRUE(s3.credentials.serial >= 4);
    close_cell();
    close_all();
    CU_ASSERT_EQUAL(failed, 0);
}

static void all(void) {
    faults_make();
    each_request_meets_each_fault();
    a_listing_without_end_is_given_up();
    credentials_are_renewed_through_a_whole_transfer();
}

UNIT_SUITE("transfer.faults", UNIT(all))

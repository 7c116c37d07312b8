#include "common/cleanup.h"
#include "common/file/file.h"
#include "entrypoint/transfer/upload/upload.h"
#include "tests/unit/entrypoint/transfer/s3_stage.h"

#include <poll.h>
#include <sys/stat.h>

static struct s3_stage stage;
static char said[1024];
static char folder[1024];

static void say(const char *line) {
    (void)snprintf(said, sizeof(said), "%s", line);
}

/* Replies byte by byte, and completely in the end. */
static void reply_slowly(struct http_call *call) {
    static const char text[] = "HTTP/1.1 200 Said\r\nContent-Length: 0\r\n\r\n";
    struct pollfd gone = {.fd = call->fd, .events = POLLRDHUP};
    for (size_t i = 0; i < sizeof(text) - 1 && poll(&gone, 1, 10) == 0; i++)
        http_write(call, text + i, 1);
}

/* Sends a listing that always has one more page, or a page without end. */
static void list_without_end(struct http_call *call) {
    static const char head[] = "HTTP/1.1 200 Said\r\n\r\n<ListBucketResult>";
    char page[256];
    if (strstr(call->target, "pages") != NULL) {
        (void)snprintf(page, sizeof(page),
                       "<ListBucketResult><IsTruncated>true</IsTruncated>"
                       "<NextContinuationToken>%u</NextContinuationToken></ListBucketResult>",
                       call->number);
        http_reply_text(call, 200, page);
        return;
    }
    http_write(call, head, sizeof(head) - 1);
    memset(page, ' ', sizeof(page));
    for (int i = 0; i < 1 << 20; i++)
        http_write(call, page, sizeof(page));
}

/* Misbehaves as the folder says, the first time or always. Returns whether it did. */
static bool misbehaves(struct http_call *call) {
    static const char half[] = "HTTP/1.1 200 Sa";
    static const char liar[] = "ETag: \"00000000000000000000000000000000\"\r\n";
    const char *folder_of = call->target + strlen("/bucket/");
    bool first = atomic_fetch_add(&call->shared->counters[0], 1) == 0;
    if (strncmp(folder_of, "busy/", 5) == 0 && first)
        http_reply(call, 503, "Retry-After: 0\r\n", "<Code>SlowDown</Code>", 21);
    else if (strncmp(folder_of, "cut/", 4) == 0 && first)
        return true; /* without a response */
    else if (strncmp(folder_of, "half/", 5) == 0 && first)
        http_write(call, half, sizeof(half) - 1);
    else if (strncmp(folder_of, "liar/", 5) == 0)
        http_reply(call, 200, liar, "", 0);
    else if (strncmp(folder_of, "round/", 6) == 0)
        http_reply(call, 307, "Location: /bucket/round/a\r\n", "", 0);
    else if (strncmp(folder_of, "silent/", 7) == 0)
        http_await_end(call);
    else if (strncmp(folder_of, "slow/", 5) == 0)
        reply_slowly(call);
    else
        return false;
    return true;
}

/* The bucket has one object: "a", with the text "old". */
static void answer(struct http_call *call) {
    static const char list[] =
        "<ListBucketResult><Contents><Key>to/a</Key><Size>3</Size>"
        "<ETag>\"149603e6c03516362a8da23f624db945\"</ETag></Contents></ListBucketResult>";
    bool refused = strstr(call->target, "/refused") != NULL;
    if (strcmp(call->method, "PUT") == 0 && misbehaves(call))
        return;
    if (strcmp(call->method, "GET") == 0 && strstr(call->target, "endless") != NULL)
        list_without_end(call);
    else if (strcmp(call->method, "GET") == 0)
        http_reply_text(call, 200, list);
    else if (strcmp(call->method, "DELETE") == 0)
        http_reply(call, 204, "", "", 0);
    else
        http_reply_text(call, refused ? 403 : 200, "");
}

static void put(const char *name, const char *text) {
    char path[2048];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    CU_ASSERT_EQUAL(file_put(path, text, strlen(text), 0644, NULL), 0);
}

static void begin(struct upload *u, const char *name, const char *to) {
    (void)snprintf(folder, sizeof(folder), "%s/%s", unit_temp_dir(), name);
    CU_ASSERT_EQUAL(file_make_dirs(folder, NULL), 0);
    *u = (struct upload){.what = "it",
                         .from = folder,
                         .mirror = true,
                         .s3 = &stage.s3,
                         .deadline = clock_now() + 60 * CLOCK_SECOND,
                         .say = say};
    CU_ASSERT_EQUAL_FATAL(address_parse(to, &u->to, NULL), 0);
}

static unsigned count(const char *begin_of) {
    return s3_stage_count(&stage, begin_of);
}

/* 70 nested folders: the deepest are left out, the rest is sent, and nothing is removed. */
static void a_folder_too_deep_is_named_and_the_rest_is_sent(void) {
    struct upload u;
    struct error err = {0};
    char path[2048];
    begin(&u, "deep", "s3://bucket/deep/");
    put("gone", "x");
    CU_ASSERT_EQUAL(upload_round(&u, false, NULL), 0);
    CU_ASSERT_EQUAL(count("PUT /bucket/deep/gone"), 1);
    (void)snprintf(path, sizeof(path), "%s/gone", folder);
    CU_ASSERT_EQUAL(remove(path), 0);
    int size = snprintf(path, sizeof(path), "%s/m", folder);
    for (int i = 0; i < 70; i++)
        size += snprintf(path + size, sizeof(path) - (size_t)size, "/d");
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    put("a", "first");
    put("m/b", "second");
    put("z", "third");
    CU_ASSERT_EQUAL(upload_round(&u, true, &err), -1);
    CU_ASSERT_EQUAL(count("PUT /bucket/deep/a"), 1);
    CU_ASSERT_EQUAL(count("PUT /bucket/deep/m/b"), 1);
    CU_ASSERT_EQUAL(count("PUT /bucket/deep/z"), 1);
    CU_ASSERT_EQUAL(count("DELETE /bucket/deep/gone"), 0);
    ASSERT_CONTAINS(err.text, "\"m/d/d/d");
    ASSERT_CONTAINS(err.text, "lies too deep");
    upload_done(&u);
}

static void what_is_new_is_sent_and_what_has_gone_goes(void) {
    struct upload u;
    char path[2048];
    begin(&u, "mirror", "s3://bucket/to/");
    put("a", "old");
    put("b", "new");
    CU_ASSERT_EQUAL(upload_meet(&u, NULL), 0);
    CU_ASSERT_EQUAL(upload_round(&u, false, NULL), 0);
    CU_ASSERT_EQUAL(count("PUT /bucket/to/a"), 0);
    CU_ASSERT_EQUAL(count("PUT /bucket/to/b"), 1);
    CU_ASSERT_STRING_EQUAL(said, "it: 1 file, 0.0 MiB uploaded to s3://bucket/to/");
    put("a", "other");
    CU_ASSERT_EQUAL(upload_round(&u, false, NULL), 0);
    CU_ASSERT_EQUAL(count("PUT /bucket/to/a"), 1);
    CU_ASSERT_EQUAL(count("PUT /bucket/to/b"), 1);
    (void)snprintf(path, sizeof(path), "%s/b", folder);
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_EQUAL(upload_round(&u, true, NULL), 0);
    CU_ASSERT_EQUAL(count("DELETE /bucket/to/b"), 1);
    CU_ASSERT_EQUAL(count("DELETE"), 1);
    upload_done(&u);
}

static void what_is_being_written_waits(void) {
    struct upload u;
    char path[2048];
    begin(&u, "written", "s3://bucket/written/");
    put("a", "half");
    (void)snprintf(path, sizeof(path), "%s/a", folder);
    int writer = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    CU_ASSERT_EQUAL(upload_round(&u, false, NULL), 0);
    CU_ASSERT_EQUAL(count("PUT /bucket/written/a"), 0);
    (void)close(writer);
    CU_ASSERT_EQUAL(upload_round(&u, false, NULL), 0);
    CU_ASSERT_EQUAL(count("PUT /bucket/written/a"), 1);
    upload_done(&u);
}

/* The other files are sent all the same, and the first failure is reported. */
static void names_that_s3_does_not_take_are_told(void) {
    static const char *const names[] = {"line\nend", "tab\t", "\xff\xfe"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct upload u;
        struct error err = {0};
        char to[64];
        char name[64];
        (void)snprintf(name, sizeof(name), "names%zu", i);
        (void)snprintf(to, sizeof(to), "s3://bucket/names%zu/", i);
        begin(&u, name, to);
        put(names[i], "x");
        put("good", "x");
        CU_ASSERT_EQUAL(upload_round(&u, true, &err), -1);
        ASSERT_CONTAINS(err.text, "no UTF-8 or has control characters");
        (void)snprintf(to, sizeof(to), "PUT /bucket/names%zu/good", i);
        CU_ASSERT_EQUAL(count(to), 1);
        upload_done(&u);
    }
}

/* S3 limits keys to 1,024 bytes, but paths may be longer. */
static void a_key_that_is_too_long_is_told(void) {
    struct upload u;
    struct error err = {0};
    char deep[1400];
    size_t size = 0;
    begin(&u, "long", "s3://bucket/long/");
    for (int i = 0; i < 5; i++)
        size += (size_t)snprintf(deep + size, sizeof(deep) - size, "%s%0250d", i > 0 ? "/" : "", i);
    char whole[2600];
    (void)snprintf(whole, sizeof(whole), "%s/%.*s", folder, (int)(size - 251), deep);
    CU_ASSERT_EQUAL(file_make_dirs(whole, NULL), 0);
    put(deep, "x");
    CU_ASSERT_EQUAL(upload_round(&u, true, &err), -1);
    ASSERT_CONTAINS(err.text, "a key of more than 1024 bytes");
    upload_done(&u);
}

static void a_target_that_refuses_is_told(void) {
    struct upload u;
    struct error err = {0};
    volatile sig_atomic_t over = 1;
    begin(&u, "refused", "s3://bucket/refused/");
    put("a", "x");
    CU_ASSERT_EQUAL(upload_round(&u, true, &err), -1);
    ASSERT_CONTAINS(err.text, "s3://bucket/refused/a: the server answers 403");
    CU_ASSERT_EQUAL(count("PUT /bucket/refused/a"), 3);
    u.give_up = &over;
    CU_ASSERT_EQUAL(upload_round(&u, true, &err), -1);
    CU_ASSERT_EQUAL(count("PUT /bucket/refused/a"), 3);
    upload_done(&u);
}

static void a_server_that_comes_to_its_senses_gets_it(void) {
    static const struct {
        const char *name;
        unsigned puts;
    } cases[] = {{"busy", 2}, {"cut", 2}, {"half", 2}, {"slow", 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct upload u;
        char text[64];
        (void)snprintf(text, sizeof(text), "s3://bucket/%s/", cases[i].name);
        begin(&u, cases[i].name, text);
        put("a", "x");
        stage.server.shared->counters[0] = 0;
        CU_ASSERT_EQUAL(upload_round(&u, true, NULL), 0);
        (void)snprintf(text, sizeof(text), "PUT /bucket/%s/a", cases[i].name);
        CU_ASSERT_EQUAL(count(text), cases[i].puts);
        CU_ASSERT_EQUAL(upload_round(&u, true, NULL), 0); /* it has been sent */
        CU_ASSERT_EQUAL(count(text), cases[i].puts);
        upload_done(&u);
    }
}

/* A redirect is not followed, as a signature is valid for one place only. Nothing counts as
 * sent. */
static void a_server_that_does_not_is_left_in_time(void) {
    static const struct {
        const char *name;
        const char *words;
    } cases[] = {
        {"liar",
         "in time; the last try: the server's ETag does not match the MD5 of the bytes sent"},
        {"silent", "s3://bucket/silent/a: it did not finish in time"},
        {"round", "the server answers 307"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct upload u;
        struct error err = {0};
        char text[64];
        (void)snprintf(text, sizeof(text), "s3://bucket/%s/", cases[i].name);
        begin(&u, cases[i].name, text);
        put("a", "x");
        u.deadline = clock_now() + 4 * CLOCK_SECOND;
        CU_ASSERT_EQUAL(upload_round(&u, true, &err), -1);
        ASSERT_CONTAINS(err.text, cases[i].words);
        (void)snprintf(text, sizeof(text), "PUT /bucket/%s/a", cases[i].name);
        unsigned before = count(text);
        CU_ASSERT(before >= 1);
        u.deadline = clock_now() + 4 * CLOCK_SECOND;
        CU_ASSERT_EQUAL(upload_round(&u, false, NULL), -1); /* it is tried again */
        CU_ASSERT(count(text) > before);
        upload_done(&u);
    }
}

/* The existing objects are listed before the first upload. */
static void a_listing_without_end_ends(void) {
    static const struct {
        const char *to;
        int64_t seconds;
        const char *words;
    } cases[] = {{"s3://bucket/endless-pages/", 2, "it did not finish in time"},
                 {"s3://bucket/endless/", 60, "bytes"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct upload u;
        struct error err = {0};
        begin(&u, "endless", cases[i].to);
        put("a", "x");
        u.deadline = clock_now() + cases[i].seconds * CLOCK_SECOND;
        CU_ASSERT_EQUAL(upload_meet(&u, &err), -1);
        ASSERT_CONTAINS(err.text, cases[i].words);
        upload_done(&u);
    }
}

static void a_folder_takes_it_too(void) {
    struct upload u;
    struct stat st;
    char to[1100];
    char path[2048];
    (void)snprintf(to, sizeof(to), "file://%s/copies/", unit_temp_dir());
    begin(&u, "plain", to);
    put("line\nend", "content");
    CU_ASSERT_EQUAL(upload_round(&u, true, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/copies/line\nend", unit_temp_dir());
    CU_ASSERT_EQUAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL(st.st_size, 7);
    upload_done(&u);
    begin(&u, "nothing", to);
    said[0] = '\0';
    CU_ASSERT_EQUAL(upload_round(&u, true, NULL), 0); /* an empty folder */
    CU_ASSERT_STRING_EQUAL(said, "");
    upload_done(&u);
}

static void all(void) {
    s3_stage_open(&stage, answer);
    what_is_new_is_sent_and_what_has_gone_goes();
    a_folder_too_deep_is_named_and_the_rest_is_sent();
    what_is_being_written_waits();
    names_that_s3_does_not_take_are_told();
    a_key_that_is_too_long_is_told();
    a_target_that_refuses_is_told();
    a_server_that_comes_to_its_senses_gets_it();
    a_server_that_does_not_is_left_in_time();
    a_listing_without_end_ends();
    a_folder_takes_it_too();
    s3_stage_close(&stage);
}

UNIT_SUITE("transfer.upload", UNIT(all))

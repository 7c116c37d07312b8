#include "entrypoint/transfer/http/exchange.h"

#include "common/clock.h"
#include "common/str.h"
#include "entrypoint/transfer/http/ca_bundle.h"
#include "entrypoint/transfer/http/retry.h"
#include "entrypoint/wire/tls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

/* One exchange, as exchange_pool.c drives it. A try begins with exchange_start, which makes a
 * libcurl handle and the request. The callbacks on_header, on_bytes, on_send and on_seek run inside
 * libcurl. At the end exchange_finish judges the result and decides between the end and another
 * try. Nothing of a try is reused by the next but the owner's state and the count.
 *
 * A callback can stop libcurl only by a wrong return value, which gives an error without a cause.
 * The cause is kept in e->fault, and exchange_finish looks there first.
 *
 * There are three kinds of failure. No complete answer, and the status of a busy server: repeated
 * by the rules of retry.h. Any other status: the owner's `refused` decides. An error of the owner:
 * final, unless it was made by exchange_fail_again. */

enum {
    CONNECT_SECONDS = 10, /* for name resolution, TCP and TLS together */
    SILENCE_SECONDS = 30, /* if the owner names no other */
    SLOWEST =
        512, /* bytes a second, averaged over the permitted silence; slower counts as no answer */
    HEADERS_MAX = 64 * 1024, /* bytes of all answers of a try, redirects included */
    GOT_ON =
        1024 *
        1024, /* a try that added so many bytes made progress: tries are counted from 1 again */
};

/* Leaves a request without body: FD and SIZE of -1, as prepare finds them. */
void request_done(struct request *r) {
    buf_done(&r->url);
    argv_done(&r->headers);
    *r = (struct request){.fd = -1, .size = -1};
}

int exchange_fail_again(struct error *err, const char *why) {
    (void)error_set(err, EXIT_CODE_DATA, "%s", why);
    if (err != NULL)
        err->os_errno = EXCHANGE_AGAIN;
    return -1;
}

void exchange_got_on(struct exchange *e) {
    e->tried = 0;
}

void exchange_done(struct exchange *e) {
    curl_easy_cleanup(e->easy);
    curl_slist_free_all(e->lines);
    e->easy = NULL;
    e->lines = NULL;
    request_done(&e->request);
    buf_done(&e->answer.words);
}

/* --- answer ----------------------------------------------------------------------------------- */

static bool is_success(const struct exchange *e) {
    return e->answer.status >= 200 && e->answer.status < 300;
}

/* Returns true if LINE of SIZE bytes is the header NAME; RET gets its value without blanks around
 * it, cut to fit. */
static bool field(const char *line, size_t size, const char *name, char ret[EXCHANGE_FIELD_MAX]) {
    size_t at = strlen(name);
    if (size <= at || line[at] != ':' || strncasecmp(line, name, at) != 0)
        return false;
    for (at++; at < size && (line[at] == ' ' || line[at] == '\t'); at++)
        ;
    while (size > at && strchr(" \t\r\n", line[size - 1]) != NULL)
        size--;
    (void)snprintf(ret, EXCHANGE_FIELD_MAX, "%.*s", (int)(size - at), line + at);
    return true;
}

/* Returns -1 for anything that is no number from 0 to INT64_MAX. */
static int64_t number(const char *text) {
    int64_t value = -1;
    return str_parse_int(text, 0, INT64_MAX, &value, NULL) == 0 ? value : -1;
}

/* Parses "bytes 10-99/100". Any other form leaves -1 in both fields. An unknown total ("*") does so
 * in its own. */
static void read_range(struct answer *a, char *text) {
    char *dash = strchr(text, '-');
    char *slash = strchr(text, '/');
    if (!str_starts_with(text, "bytes ") || dash == NULL || slash == NULL || dash > slash)
        return;
    *dash = '\0';
    a->range_begin = number(text + strlen("bytes "));
    a->range_total = number(slash + 1);
}

static void unquote(char *etag) {
    size_t size = strlen(etag);
    if (size >= 2 && etag[0] == '"' && etag[size - 1] == '"') {
        memmove(etag, etag + 1, size - 2);
        etag[size - 2] = '\0';
    }
}

/* Starts a new answer at its status line; the one before, a redirect or "100 Continue", is dropped.
 * The mark belongs to the request and stays. So does the memory of the words. */
static void begin_answer(struct answer *a) {
    struct buf words = a->words;
    words.size = 0;
    *a = (struct answer){.mark = a->mark,
                         .length = -1,
                         .range_begin = -1,
                         .range_total = -1,
                         .retry_after = -1,
                         .words = words};
}

/* Called by libcurl with one complete line, which has no NUL at its end. Headers that no caller
 * asks for are skipped. */
static size_t on_header(char *line, size_t one, size_t size, void *context) {
    struct exchange *e = context;
    struct answer *a = &e->answer;
    char text[EXCHANGE_FIELD_MAX];
    e->headers_size += size * one;
    if (e->headers_size > HEADERS_MAX) {
        (void)error_set(&e->fault, EXIT_CODE_DATA, "the answer has more than %d bytes of headers",
                        HEADERS_MAX);
        return 0;
    }
    if (size > 5 && strncmp(line, "HTTP/", 5) == 0)
        begin_answer(a);
    else if (field(line, size, "content-length", text))
        a->length = number(text);
    else if (field(line, size, "content-range", text))
        read_range(a, text);
    else if (field(line, size, "retry-after", text))
        a->retry_after = number(text);
    else if (field(line, size, "etag", a->etag))
        unquote(a->etag);
    else if (!field(line, size, "x-amz-checksum-sha256", a->sha256) &&
             !field(line, size, "x-amz-server-side-encryption", a->encryption) &&
             !field(line, size, "x-amz-bucket-region", a->region))
        (void)field(line, size, "date", a->date);
    return size;
}

/* Tells the owner of a successful answer, once a try: before its first byte, or at the end of an
 * empty one. */
static int begin(struct exchange *e) {
    if (e->begun)
        return 0;
    e->begun = true;
    if (e->events->begins == NULL)
        return 0;
    return e->events->begins(e->context, &e->answer, &e->fault);
}

/* Called by libcurl with a piece of the body. That of an unsuccessful answer is collected for its
 * error code and never reaches the owner. Returning less than SIZE ends the try. */
static size_t on_bytes(char *bytes, size_t one, size_t size, void *context) {
    struct exchange *e = context;
    size *= one;
    (void)curl_easy_getinfo(e->easy, CURLINFO_RESPONSE_CODE, &e->answer.status);
    if (!is_success(e)) {
        (void)buf_add(&e->answer.words, bytes, size, NULL); /* a longer answer is cut */
        return size;
    }
    if (begin(e) != 0 ||
        (e->events->bytes != NULL && e->events->bytes(e->context, bytes, size, &e->fault) != 0))
        return 0;
    e->moved += (int64_t)size;
    return size;
}

/* Called by libcurl for the next bytes of the body. The file is read with pread(), as several parts
 * of one file are sent at once over one descriptor. Fewer bytes than the announced length mean that
 * the file was cut meanwhile. */
static size_t on_send(char *bytes, size_t one, size_t size, void *context) {
    struct exchange *e = context;
    int64_t left = e->request.size - e->moved;
    size *= one;
    if ((int64_t)size > left)
        size = (size_t)left;
    if (e->request.body != NULL) {
        memcpy(bytes, e->request.body + e->moved, size);
    } else {
        ssize_t got = pread(e->request.fd, bytes, size, e->request.offset + e->moved);
        if (got <= 0 && size > 0) {
            (void)error_set(&e->fault, EXIT_CODE_DATA, "the file changed while it was sent");
            return CURL_READFUNC_ABORT;
        }
        size = (size_t)got;
    }
    e->moved += (int64_t)size;
    return size;
}

/* libcurl repeats a request that failed on a reused connection, and rewinds the body for that. */
static int on_seek(void *context, curl_off_t offset, int origin) {
    struct exchange *e = context;
    if (origin != SEEK_SET)
        return CURL_SEEKFUNC_CANTSEEK;
    e->moved = offset;
    return CURL_SEEKFUNC_OK;
}

/* --- request ---------------------------------------------------------------------------------- */

/* Sets an option of EASY, or returns from the calling function with an error. */
#define SET(option, value)                                                                         \
    do {                                                                                           \
        if (curl_easy_setopt(easy, option, value) != CURLE_OK)                                     \
            return error_set(err, EXIT_CODE_INTERNAL, "libcurl refuses " #option);                 \
    } while (0)

/* Called by libcurl before the handshake, with the TLS context of the connection. */
static CURLcode arm(CURL *easy, void *context, void *key) {
    (void)easy;
    return tls_arm_client(context, key, NULL) == 0 ? CURLE_OK : CURLE_SSL_CERTPROBLEM;
}

/* The handshake with the key authenticates the server, which has no certificate, so libcurl must
 * not check one. A server that presents a certificate in place of the key fails in the TLS context.
 */
static int set_key(CURL *easy, const unsigned char *key, struct error *err) {
    SET(CURLOPT_SSL_CTX_FUNCTION, arm);
    SET(CURLOPT_SSL_CTX_DATA, (void *)(uintptr_t)key);
    SET(CURLOPT_SSL_VERIFYPEER, 0L);
    SET(CURLOPT_SSL_VERIFYHOST, 0L);
    SET(CURLOPT_SSL_SESSIONID_CACHE, 0L);
    return 0;
}

/* Settings that all requests share. Nothing comes from outside the order: no proxy of the
 * environment, no .netrc. PATH_AS_IS keeps "/../" and "//" in keys, as the signature covers the
 * path that is sent. NOSIGNAL keeps libcurl from using SIGALRM in a program with threads. */
static int set_manners(CURL *easy, const char *certificates, struct error *err) {
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(CURLOPT_PATH_AS_IS, 1L);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(CURLOPT_USERAGENT, "ringmaster/" RINGMASTER_VERSION);
    if (certificates == NULL || certificates[0] == '\0')
        certificates = ca_bundle_default();
    if (certificates != NULL)
        SET(CURLOPT_CAINFO, certificates);
    return 0;
}

/* Redirects from https never lead to http. No other protocol is ever spoken, whatever a server
 * redirects to. */
static int set_reach(CURL *easy, const struct request *r, struct error *err) {
    bool safe = str_starts_with(buf_text(&r->url), "https:");
    SET(CURLOPT_URL, buf_text(&r->url));
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_REDIR_PROTOCOLS_STR, safe ? "https" : "http,https");
    SET(CURLOPT_FOLLOWLOCATION, r->may_redirect ? 1L : 0L);
    SET(CURLOPT_MAXREDIRS, (long)EXCHANGE_REDIRECTS_MAX);
    return 0;
}

/* libcurl sends them to the address's own host alone, whatever it redirects to. */
static int set_login(CURL *easy, const struct request *r, struct error *err) {
    if (r->user == NULL)
        return 0;
    SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
    SET(CURLOPT_USERNAME, r->user);
    SET(CURLOPT_PASSWORD, r->password != NULL ? r->password : "");
    return 0;
}

/* Sets method and body. UPLOAD makes libcurl send PUT, which CUSTOMREQUEST replaces; a HEAD without
 * NOBODY would wait for a body. */
static int set_body(CURL *easy, struct exchange *e, struct error *err) {
    const struct request *r = &e->request;
    if (r->size >= 0) {
        SET(CURLOPT_UPLOAD, 1L);
        SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)r->size);
        SET(CURLOPT_READFUNCTION, on_send);
        SET(CURLOPT_READDATA, e);
        SET(CURLOPT_SEEKFUNCTION, on_seek);
        SET(CURLOPT_SEEKDATA, e);
    }
    if (strcmp(r->method, "HEAD") == 0)
        SET(CURLOPT_NOBODY, 1L);
    else if (strcmp(r->method, "GET") != 0)
        SET(CURLOPT_CUSTOMREQUEST, r->method);
    return 0;
}

/* The list has to live as long as the handle, so it is e->lines. */
static int set_headers(CURL *easy, struct exchange *e, struct error *err) {
    struct argv *lines = &e->request.headers;
    if (argv_add(lines, "Expect:", err) != 0) /* saves the round trip of "100 Continue" */
        return -1;
    for (size_t i = 0; i < lines->count; i++) {
        struct curl_slist *grown = curl_slist_append(e->lines, lines->items[i]);
        if (grown == NULL)
            return error_no_memory(err, "headers");
        e->lines = grown;
    }
    SET(CURLOPT_HTTPHEADER, e->lines);
    return 0;
}

/* Sets callbacks and limits of time. There is no limit for a whole try, which may last hours: it
 * ends when too little comes for too long. */
static int set_ears(CURL *easy, struct exchange *e, struct error *err) {
    int64_t silence = e->silence > 0 ? e->silence : SILENCE_SECONDS;
    SET(CURLOPT_ERRORBUFFER, e->detail);
    SET(CURLOPT_PRIVATE, e);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, e);
    SET(CURLOPT_WRITEFUNCTION, on_bytes);
    SET(CURLOPT_WRITEDATA, e);
    SET(CURLOPT_CONNECTTIMEOUT, silence < CONNECT_SECONDS ? (long)silence : (long)CONNECT_SECONDS);
    SET(CURLOPT_LOW_SPEED_LIMIT, (long)SLOWEST);
    SET(CURLOPT_LOW_SPEED_TIME, (long)silence);
    return 0;
}

/* Frees what the try before has left, lets the owner make the request, and gives both to the
 * handle. A failure is final. `prepare` may open files and compute digests, so it can take a while.
 */
int exchange_start(struct exchange *e, const char *certificates, struct error *err) {
    exchange_done(e);
    buf_init(&e->request.url, EXCHANGE_URL_MAX);
    buf_init(&e->answer.words, EXCHANGE_WORDS_MAX);
    begin_answer(&e->answer);
    e->begun = false;
    e->moved = 0;
    e->headers_size = 0;
    e->detail[0] = '\0';
    e->fault = (struct error){0};
    e->easy = curl_easy_init();
    if (e->easy == NULL)
        return error_no_memory(err, "a request");
    if (e->events->prepare(e->context, &e->request, err) != 0 ||
        set_manners(e->easy, certificates, err) != 0 || set_reach(e->easy, &e->request, err) != 0 ||
        set_login(e->easy, &e->request, err) != 0 || set_body(e->easy, e, err) != 0 ||
        set_headers(e->easy, e, err) != 0 ||
        (e->request.key != NULL && set_key(e->easy, e->request.key, err) != 0))
        return -1;
    e->answer.mark = e->request.mark;
    return set_ears(e->easy, e, err);
}

/* --- result ----------------------------------------------------------------------------------- */

/* Decides about another try and sets the time of it. Progress of a mebibyte since the last failure
 * makes this the first failure again; otherwise a large file over a bad line could never be
 * finished. If there is no randomness the pause has no jitter. */
static enum exchange_end again(struct exchange *e, struct error *ret) {
    uint64_t random = 0;
    unsigned most = e->tries > 0 ? e->tries : RETRY_TRIES;
    if (e->furthest - e->reached >= GOT_ON)
        e->tried = 0;
    e->reached = e->furthest;
    if (++e->tried >= most) {
        (void)error_wrap(ret, "tried %u times", e->tried);
        return EXCHANGE_FAILED;
    }
    (void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
    e->again = clock_now() + retry_pause(e->tried, random, e->answer.retry_after);
    return EXCHANGE_ONCE_MORE;
}

/* Adds S3's error code, "<Code>SlowDown</Code>", if the answer has one that is a single word. */
static void set_status_error(const struct exchange *e, struct error *ret) {
    static const char mark[] = "<Code>";
    const char *code = strstr(buf_text(&e->answer.words), mark);
    int size = 0;
    if (code != NULL) {
        code += sizeof(mark) - 1;
        size = (int)strspn(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    }
    (void)error_set(ret, EXIT_CODE_DATA, "the server answers %ld%s%.*s", e->answer.status,
                    size > 0 ? " " : "", size < 64 ? size : 64, code != NULL ? code : "");
}

/* Judges an unsuccessful status. An error that `refused` has set is more telling than the status,
 * and replaces it. */
static enum exchange_end finish_status(struct exchange *e, struct error *ret) {
    struct error ignored = {0};
    set_status_error(e, ret);
    if (retry_status(e->answer.status))
        return again(e, ret);
    if (e->events->refused != NULL && e->events->refused(e->context, &e->answer, &ignored) == 0)
        return again(e, ret);
    if (ignored.code != 0)
        *ret = ignored;
    return EXCHANGE_FAILED;
}

/* The status is asked for once more, since an answer without a body never reached on_bytes. The
 * error in RET is also set for EXCHANGE_ONCE_MORE: the pool keeps it for the case that no try
 * succeeds. */
enum exchange_end exchange_finish(struct exchange *e, CURLcode code, struct error *ret) {
    *ret = (struct error){0};
    (void)curl_easy_getinfo(e->easy, CURLINFO_RESPONSE_CODE, &e->answer.status);
    if (e->fault.code != 0) {
        *ret = e->fault;
        return ret->os_errno == EXCHANGE_AGAIN ? again(e, ret) : EXCHANGE_FAILED;
    }
    if (code != CURLE_OK) {
        (void)error_set(ret, EXIT_CODE_DATA, "%s",
                        e->detail[0] != '\0' ? e->detail : curl_easy_strerror(code));
        return retry_failure((int)code) ? again(e, ret) : EXCHANGE_FAILED;
    }
    if (!is_success(e))
        return finish_status(e, ret);
    if (begin(e) == 0 && (e->events->complete == NULL ||
                          e->events->complete(e->context, &e->answer, &e->fault) == 0))
        return EXCHANGE_DONE;
    *ret = e->fault;
    return ret->os_errno == EXCHANGE_AGAIN ? again(e, ret) : EXCHANGE_FAILED;
}

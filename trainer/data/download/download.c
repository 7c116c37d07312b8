#include "trainer/data/download/download.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "common/log/status_line.h"
#include "common/str.h"
#include "common/text/redact.h"
#include "trainer/data/download/download_child.h"
#include "trainer/data/download/known_archives.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Turns the words of a command line into an order for ringmaster-transfer, runs it
 * (download_child.c) and shows its progress. Nothing of HTTP is known here.
 *
 * The password is kept out of everything that others can see. It is read from a file or a variable,
 * never from the command line, goes to the child in memory, and is wiped afterwards. redact_add has
 * it hidden in log lines. Addresses appear in messages up to a question mark, as what follows it
 * may be a signature. */

/* GRACE_SECONDS: time that the child has for its end, after its own deadline. NAME_SIZE_MAX is in
 * bytes, with the NUL; most file systems allow 255. */
enum { SHA256_DIGITS = 64, NAME_SIZE_MAX = 200, GRACE_SECONDS = 30 };

/* --- addresses -------------------------------------------------------------------------------- */

/* Any scheme counts, so that "ftp://..." is refused as an address and not reported as a missing
 * file. */
bool download_is_address(const char *word) {
    return strstr(word, "://") != NULL;
}

/* Returns the size of the part of ADDRESS up to its path: scheme, host and port. ADDRESS has a
 * "://". */
static size_t host_size(const char *address) {
    const char *host = strstr(address, "://") + 3;
    return (size_t)(host - address) + strcspn(host, "/?#");
}

/* Refuses addresses that are not safe, or not meant, to be fetched. A user in the address would end
 * up in logs and in the shell's history. */
static int check_scheme(const struct download_options *o, const char *address, struct error *err) {
    /* What follows a '?' may be a secret. */
    const int shown = (int)strcspn(address, "?#");
    if (memchr(address, '@', host_size(address)) != NULL)
        return error_set(err, EXIT_CODE_USAGE,
                         "an address may not contain a user or a password; expected "
                         "--user and --password-file");
    if (str_starts_with(address, "http://") && !o->plain)
        return error_set(err, EXIT_CODE_USAGE,
                         "%.*s: http:// lets anybody on the way change the file; expected "
                         "https://, or --http true",
                         shown, address);
    if (str_starts_with(address, "http://") && o->user != NULL)
        return error_set(err, EXIT_CODE_USAGE,
                         "%.*s: a password is not sent over http://; expected https://", shown,
                         address);
    if (!str_starts_with(address, "https://") && !str_starts_with(address, "http://"))
        return error_set(err, EXIT_CODE_USAGE,
                         "%.*s: cannot be fetched; expected an address of https:// or a file",
                         shown, address);
    return 0;
}

/* Sets NAME to the last part of the path, under which the file is kept. A name that begins with a
 * dot is refused, which also keeps ".." from leaving the folder. */
static int name_file(const char *address, char name[NAME_SIZE_MAX], struct error *err) {
    const size_t end = strcspn(address, "?#");
    size_t begin = end;
    while (begin > host_size(address) && address[begin - 1] != '/')
        begin--;
    /* Without a path there is no name: the address ends with its host. */
    const size_t size = begin > host_size(address) ? end - begin : 0;
    if (size == 0 || size >= NAME_SIZE_MAX || address[begin] == '.')
        return error_set(err, EXIT_CODE_USAGE,
                         "%.*s: ends with no name of a file; expected https://HOST/.../NAME",
                         (int)end, address);
    (void)snprintf(name, NAME_SIZE_MAX, "%.*s", (int)size, address + begin);
    return 0;
}

/* A password belongs to one host and must not reach another: if there is a user, all addresses have
 * the same scheme, host and port. */
static int check_hosts(const struct download_options *o, struct error *err) {
    const size_t size = host_size(o->addresses[0]);
    for (size_t i = 1; o->user != NULL && i < o->count; i++)
        if (host_size(o->addresses[i]) != size ||
            strncasecmp(o->addresses[0], o->addresses[i], size) != 0)
            return error_set(err, EXIT_CODE_USAGE,
                             "--user: %.*s and %.*s are several hosts; expected one, which the "
                             "password is for",
                             (int)size, o->addresses[0], (int)host_size(o->addresses[i]),
                             o->addresses[i]);
    return 0;
}

/* Files are named by their addresses alone, so that two addresses with one name would be one file.
 * The comparison is of all pairs: there are at most DOWNLOAD_FILES_MAX. */
int download_plan(const struct download_options *o, char (*paths)[PATH_MAX], struct error *err) {
    char name[NAME_SIZE_MAX];
    for (size_t i = 0; i < o->count; i++) {
        if (check_scheme(o, o->addresses[i], err) != 0 ||
            name_file(o->addresses[i], name, err) != 0)
            return -1;
        if (snprintf(paths[i], PATH_MAX, "%s/%s", o->folder, name) >= PATH_MAX)
            return error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", o->folder);
        for (size_t k = 0; k < i; k++)
            if (strcmp(paths[k], paths[i]) == 0)
                return error_set(err, EXIT_CODE_USAGE, "two addresses end with %s; expected one",
                                 name);
    }
    return o->count > 0 ? check_hosts(o, err) : 0;
}

/* --- the order -------------------------------------------------------------------------------- */

/* Reads the password, one line; empty without a user. A file's line end is cut off, whichever it
 * has. */
static int read_password(const struct download_options *o, struct buf *ret, struct error *err) {
    const char *variable = getenv(DOWNLOAD_PASSWORD_VARIABLE);
    buf_init(ret, DOWNLOAD_PASSWORD_MAX);
    /* Half of the two is a mistake that would otherwise be seen only as a server's refusal. */
    if (o->user == NULL)
        return o->password_file == NULL
                   ? 0
                   : error_set(err, EXIT_CODE_USAGE, "--password-file without --user; give both");
    if (o->password_file == NULL && variable == NULL)
        return error_set(err, EXIT_CODE_USAGE,
                         "--user %.64s: no password; expected --password-file FILE, or the "
                         "variable " DOWNLOAD_PASSWORD_VARIABLE,
                         o->user);
    if (o->password_file != NULL ? file_read(o->password_file, ret, err) != 0
                                 : buf_add_text(ret, variable, err) != 0)
        return error_wrap(err, "the password");
    ret->size = strcspn(buf_text(ret), "\r\n");
    if (ret->size == 0)
        return error_set(err, EXIT_CODE_CONFIG, "%s: the password is empty; expected one line",
                         o->password_file != NULL ? o->password_file : DOWNLOAD_PASSWORD_VARIABLE);
    ret->data[ret->size] = '\0';
    return redact_add(ret->data, err);
}

/* Sets RET to the digits that are given for file NUMBER, in lower case, or to "" if none are. All
 * digests are counted first, so that a missing comma is found. */
static int given_sha256(const struct download_options *o, size_t number,
                        char ret[SHA256_DIGITS + 1], struct error *err) {
    const char *at = o->sha256;
    size_t count = 1;
    ret[0] = '\0';
    if (at == NULL)
        return 0;
    for (const char *c = at; *c != '\0'; c++)
        count += *c == ',';
    if (count != o->count)
        return error_set(err, EXIT_CODE_USAGE,
                         "--sha256: %zu digests for %zu address%s; expected one for each, "
                         "separated by commas",
                         count, o->count, o->count == 1 ? "" : "es");
    for (; number > 0; number--)
        at = strchr(at, ',') + 1;
    const size_t size = strcspn(at, ",");
    if (size != SHA256_DIGITS || strspn(at, "0123456789abcdefABCDEF") < size)
        return error_set(err, EXIT_CODE_USAGE,
                         "--sha256: '%.*s' is no digest; expected 64 hexadecimal digits",
                         (int)(size < 80 ? size : 80), at);
    for (size_t i = 0; i < size; i++)
        ret[i] = (char)(at[i] >= 'A' && at[i] <= 'F' ? at[i] - 'A' + 'a' : at[i]);
    ret[size] = '\0';
    return 0;
}

/* Adds each file to the order, with the digest that was given or, for a published archive, is
 * known. Others are fetched without one. */
static int add_files(const struct download_options *o, json_t *files, struct error *err) {
    char name[NAME_SIZE_MAX];
    char digits[SHA256_DIGITS + 1];
    for (size_t i = 0; i < o->count; i++) {
        if (name_file(o->addresses[i], name, err) != 0 || given_sha256(o, i, digits, err) != 0)
            return -1;
        const char *sha256 = digits[0] != '\0' ? digits : known_archive_sha256(name);
        json_t *file =
            json_pack("{s:s, s:s, s:s?}", "url", o->addresses[i], "name", name, "sha256", sha256);
        /* json_pack fails for text that is not UTF-8, which no address should be. */
        if (file == NULL || json_array_append_new(files, file) != 0)
            return error_set(err, EXIT_CODE_USAGE, "%.*s: not valid UTF-8",
                             (int)strcspn(o->addresses[i], "?#"), o->addresses[i]);
    }
    return 0;
}

/* Returns the text of the order, owned by the caller; NULL on failure. The child's environment is
 * empty but for the language, so that the bundle of certificates is passed in the order. */
static char *write_order(const struct download_options *o, const char *password,
                         struct error *err) {
    const char *bundle = getenv("AWS_CA_BUNDLE");
    json_t *files = json_array();
    cleanup_json json_t *order =
        json_pack("{s:i, s:[], s:{s:s, s:s?, s:s?, s:b, s:I, s:o}}", "seconds", DOWNLOAD_SECONDS,
                  "environment", "web", "to", o->folder, "user", o->user, "password",
                  o->user != NULL ? password : NULL, "plain", (int)o->plain, "spare",
                  (json_int_t)o->spare, "files", files);
    if (order == NULL) {
        (void)error_set(err, EXIT_CODE_USAGE,
                        "--user, its password or the folder: not valid UTF-8");
        return NULL;
    }
    if (bundle != NULL)
        (void)json_array_append_new(json_object_get(order, "environment"),
                                    json_sprintf("AWS_CA_BUNDLE=%s", bundle));
    if (add_files(o, files, err) != 0)
        return NULL;
    char *text = json_dumps(order, JSON_COMPACT);
    if (text == NULL)
        (void)error_no_memory(err, "the archives to fetch");
    return text;
}

/* --- progress --------------------------------------------------------------------------------- */

/* Rate and time left are computed from what this run has fetched: an interrupted download begins
 * with bytes that cost nothing. */
struct download_progress {
    struct status_line line;
    int64_t begun; /* clock_now() of the first mark */
    int64_t was;   /* bytes that were there then */
};

/* A message of the child, for the log. */
static void say(void *context, const char *line) {
    (void)context;
    log_info("%s", line);
}

/* Takes a mark of the child, "BYTES OF": bytes of all files that are there, and of all, 0 while the
 * latter is not known. Lines of another form are ignored. */
static void show(void *context, const char *line) {
    struct download_progress *p = context;
    char text[STATUS_LINE_MAX];
    char left[32] = "";
    int64_t done = 0;
    int64_t of = 0;
    const double mb = 1e6;
    const int64_t now = clock_now();
    if (sscanf(line, "%" SCNd64 " %" SCNd64, &done, &of) != 2)
        return;
    /* The first mark begins the measurement; the status line is kept. */
    if (p->begun == 0)
        *p = (struct download_progress){p->line, now, done};
    if (!status_line_due(&p->line, now))
        return;
    const double seconds = (double)(now - p->begun) / (double)CLOCK_SECOND;
    const double rate = seconds > 0 ? (double)(done - p->was) / seconds : 0;
    /* Without a rate or a total there is nothing to say of the time left. */
    if (rate > 0 && of > done)
        status_duration(left, sizeof(left), (double)(of - done) / rate);
    if (of > 0)
        (void)snprintf(text, sizeof(text), "fetching: %.1f/%.1f MB  %.1f MB/s%s%s%s",
                       (double)done / mb, (double)of / mb, rate / mb, left[0] != '\0' ? "  " : "",
                       left, left[0] != '\0' ? " left" : "");
    else
        (void)snprintf(text, sizeof(text), "fetching: %.1f MB  %.1f MB/s", (double)done / mb,
                       rate / mb);
    status_line_show(&p->line, now, of > 0 ? (double)done / (double)of : -1, text);
}

/* The status line is closed before the error is logged, so that they do not share a line. */
static int run(const char *order, struct error *err) {
    struct download_progress progress = {.begun = 0};
    char program[PATH_MAX];
    if (download_child_find(getenv("PATH"), program, err) != 0)
        return -1;
    const struct download_child_options options = {.program = program,
                                                   .order = order,
                                                   .seconds = DOWNLOAD_SECONDS + GRACE_SECONDS,
                                                   .mark = show,
                                                   .say = say,
                                                   .context = &progress};
    status_line_open(&progress.line, STDERR_FILENO);
    const int result = download_child_run(&options, err);
    status_line_close(&progress.line);
    return result;
}

/* The variable with the password is removed from the environment as soon as it has been read, for
 * later children of this process. The order's text is wiped, too: it has the password in it. */
int download_all(const struct download_options *o, struct error *err) {
    cleanup_buf struct buf password = {0};
    if (o->count > DOWNLOAD_FILES_MAX)
        return error_set(err, EXIT_CODE_USAGE, "%zu addresses; expected at most %d", o->count,
                         DOWNLOAD_FILES_MAX);
    if (read_password(o, &password, err) != 0)
        return -1;
    char *order = write_order(o, buf_text(&password), err);
    (void)unsetenv(DOWNLOAD_PASSWORD_VARIABLE);
    for (size_t i = 0; order != NULL && i < o->count; i++)
        log_info("fetching %.*s to %s", (int)strcspn(o->addresses[i], "?#"), o->addresses[i],
                 o->folder);
    const int result = order != NULL ? run(order, err) : -1;
    if (order != NULL)
        explicit_bzero(order, strlen(order));
    free(order);
    if (password.data != NULL)
        explicit_bzero(password.data, password.capacity);
    return result;
}

#include "entrypoint/transfer/transfer.h"

#include "common/buf.h"
#include "common/error.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "common/str.h"
#include "common/system/process_guard.h"
#include "common/system/sealed_memfd.h"
#include "common/system/standard_streams.h"
#include "common/text/redact.h"
#include "entrypoint/transfer/download_order.h"
#include "entrypoint/transfer/status_order.h"
#include "entrypoint/transfer/upload_order.h"
#include "entrypoint/transfer/web_order.h"

#include <archive.h>
#include <curl/curl.h>
#include <expat.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAID_MAX = 64 * 1024, DESCRIPTOR_MAX = 1 << 20 };

static void put(int fd, const char *line) {
    cleanup_buf struct buf clean;
    buf_init(&clean, SAID_MAX);
    if (redact_text(&clean, line, NULL) == 0 && buf_add(&clean, "\n", 1, NULL) == 0)
        (void)file_write_all(fd, clean.data, clean.size, NULL);
}

/* Prints a line for people. */
static void say(const char *line) {
    put(STDERR_FILENO, line);
}

/* Reports progress to the parent process. */
static void mark(const char *line) {
    put(STDOUT_FILENO, line);
}

static int read_order(const char *descriptor, struct buf *ret, struct error *err) {
    struct stat st;
    int64_t fd = -1;
    buf_init(ret, JSON_FILE_MAX);
    if (descriptor == NULL || str_parse_int(descriptor, 3, DESCRIPTOR_MAX, &fd, NULL) != 0 ||
        !sealed_memfd_is((int)fd) || fstat((int)fd, &st) != 0 || st.st_size < 2 ||
        st.st_size > JSON_FILE_MAX || buf_reserve(ret, (size_t)st.st_size, err) != 0 ||
        pread((int)fd, ret->data, (size_t)st.st_size, 0) != st.st_size)
        return error_set(
            err, EXIT_CODE_USAGE,
            "ringmaster-transfer is started by ringmaster and ringtrain, with an order");
    ret->size = (size_t)st.st_size;
    (void)close((int)fd);
    return 0;
}

static int upload(const struct download_order *work, struct error *err) {
    struct upload_order out;
    if (upload_order_parse(work->uploads, &work->environment, work->seconds, &out, err) != 0)
        return -1;
    int result = upload_order_run(&out, say, err);
    upload_order_done(&out);
    return result;
}

static int report_status(const struct download_order *work, struct error *err) {
    struct status_order order;
    return status_order_parse(work->status, &order, err) == 0
               ? status_order_run(&order, work->seconds, err)
               : -1;
}

static int fetch_files(const struct download_order *work, struct error *err) {
    struct web_order order;
    if (web_order_parse(work->web, &order, err) != 0)
        return -1;
    order.certificates = argv_get_env(&work->environment, "AWS_CA_BUNDLE");
    int result = web_order_run(&order, work->seconds, say, mark, err);
    web_order_done(&order);
    return result;
}

static int carry_out(const struct download_order *work, struct error *err) {
    if (work->web != NULL)
        return fetch_files(work, err);
    if (work->status != NULL)
        return report_status(work, err);
    return work->uploads != NULL ? upload(work, err) : download_order_run(work, say, mark, err);
}

static int run(const char *descriptor, struct error *err) {
    struct buf order = {0};
    struct download_order work = {0};
    int result = read_order(descriptor, &order, err);
    if (result == 0)
        result = download_order_parse(buf_text(&order), order.size, &work, err);
    if (order.data != NULL)
        explicit_bzero(order.data, order.capacity);
    buf_done(&order);
    if (result == 0)
        result = carry_out(&work, err);
    download_order_done(&work);
    return result;
}

/* Implements `ringmaster-transfer version`, which `ringmaster version --all` runs. */
static int print_versions(void) {
    const curl_version_info_data *curl = curl_version_info(CURLVERSION_NOW);
    const XML_Expat_Version expat = XML_ExpatVersionInfo();
    int printed = printf("%-18s %s\n%-18s %s\n%-18s %s\n%-18s %d.%d.%d\n", "libcurl", curl->version,
                         "libcurl's TLS", curl->ssl_version != NULL ? curl->ssl_version : "none",
                         "libarchive", archive_version_string() + strlen("libarchive "), "Expat",
                         expat.major, expat.minor, expat.micro);
    return printed > 0 && fflush(stdout) == 0 ? EXIT_CODE_OK : EXIT_CODE_INTERNAL;
}

int transfer_main(int argc, char **argv) {
    struct error err = {.code = EXIT_CODE_INTERNAL};
    const struct rlimit none = {0};
    (void)standard_streams_fill();
    (void)signal(SIGXFSZ, SIG_IGN); /* exceeding the file size limit is an error like a full disk */
    process_guard_forbid_inspection();
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)umask(022);
    (void)setlocale(LC_ALL, "C");
    if (argc == 2 && strcmp(argv[1], "version") == 0)
        return print_versions();
    if (upload_order_listen(&err) != 0) {
        say(err.text);
        return EXIT_CODE_INTERNAL;
    }
    if (curl_global_init(CURL_GLOBAL_ALL) != CURLE_OK) {
        say("libcurl cannot be started");
        return EXIT_CODE_INTERNAL;
    }
    int result = run(argc == 2 ? argv[1] : NULL, &err);
    if (result != 0)
        say(err.text);
    redact_done();
    curl_global_cleanup();
    return result == 0 ? EXIT_CODE_OK : err.code != 0 ? (int)err.code : EXIT_CODE_INTERNAL;
}

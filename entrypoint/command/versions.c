#include "entrypoint/command/versions.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "entrypoint/command/libraries.h"
#include "entrypoint/command/probe.h"
#include "entrypoint/command/program_answer.h"
#include "entrypoint/host/provision/transfer_process.h"
#include "entrypoint/job/job.h"
#include "entrypoint/job/key.h"
#include "entrypoint/os/build_id.h"
#include "entrypoint/outcome/record.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/tls.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

enum { FILE_MAX = 64 * 1024, LINE_MAX_SIZE = 256 };

static int add(struct buf *ret, const char *name, const char *value, struct error *err) {
    return buf_printf(ret, err, "%-18s %s\n", name, value[0] != '\0' ? value : "not here");
}

static int add_number(struct buf *ret, const char *name, int number, struct error *err) {
    return buf_printf(ret, err, "%-18s %d\n", name, number);
}

/* The text after KEY in the first line of PATH that begins with it; "" if there is none. */
static void find_line(const char *path, const char *key, char value[LINE_MAX_SIZE]) {
    cleanup_buf struct buf text;
    buf_init(&text, FILE_MAX);
    value[0] = '\0';
    if (file_read(path, &text, NULL) != 0)
        return;
    for (const char *at = buf_text(&text); *at != '\0'; at += strspn(at, "\n")) {
        size_t size = strcspn(at, "\n");
        if (strncmp(at, key, strlen(key)) == 0) {
            at += strlen(key);
            size -= strlen(key);
            while (size > 0 && strchr(" \t:=\"", *at) != NULL) {
                at++;
                size--;
            }
            while (size > 0 && at[size - 1] == '"')
                size--;
            (void)snprintf(value, LINE_MAX_SIZE, "%.*s", (int)size, at);
            return;
        }
        at += size;
    }
}

static int add_openmpi(char *const *environment, struct buf *ret, struct error *err) {
    struct job job = {0};
    struct probe probe;
    char text[64] = "";
    probe_run(&job, environment, &probe);
    const struct openmpi *v = &probe.tools.version;
    if (probe.tools.daemon != NULL)
        (void)snprintf(text, sizeof(text), "%u.%u.%u", v->major, v->minor, v->release);
    probe_done(&probe);
    return add(ret, "Open MPI", text, err);
}

/* Adds the versions of the libraries that fetch and upload, if this build has them. */
static int add_transfer(struct buf *ret, struct error *err) {
    static const char *const libraries[] = {"libcurl", "libarchive", "Expat"};
    cleanup_argv struct argv question = {0};
    if (transfer_process_command(&question, NULL) == 0 &&
        argv_add(&question, "version", NULL) == 0 &&
        program_answer((const char *const *)question.items, ret, NULL) == 0)
        return 0;
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
        if (add(ret, libraries[i], "", err) != 0)
            return -1;
    return 0;
}

/* musl has no call for its own. */
static const char *c_library(void) {
#ifdef __GLIBC__
    return gnu_get_libc_version();
#else
    return RINGMASTER_C_LIBRARY;
#endif
}

static int add_system(struct buf *ret, struct error *err) {
    struct utsname kernel = {0};
    char system[LINE_MAX_SIZE];
    char driver[LINE_MAX_SIZE];
    (void)uname(&kernel);
    find_line("/etc/os-release", "PRETTY_NAME", system);
    find_line("/proc/driver/nvidia/version", "NVRM version", driver);
    if (add(ret, "system", system, err) != 0 || add(ret, "kernel", kernel.release, err) != 0 ||
        add(ret, "machine", kernel.machine, err) != 0 ||
        add(ret, "C library", c_library(), err) != 0)
        return -1;
    return add(ret, "NVIDIA driver", driver, err);
}

/* Each image may have its own seed, even if built from the same source; hosts with different seeds
 * cannot meet. */
static int add_seed(struct buf *ret, struct error *err) {
    char text[KEY_FINGERPRINT_SIZE];
    int found = key_fingerprint(NULL, text, NULL);
    return add(ret, "seed fingerprint", found < 0 ? "not for this user to read, or unfit" : text,
               err);
}

/* Adds the libraries that programs may load, whatever this build itself uses. */
static int add_libraries(char *const *environment, struct buf *ret, struct error *err) {
    char version[LIBRARIES_VERSION_SIZE];
    for (size_t i = 0; libraries_name(i) != NULL; i++) {
        libraries_version(i, "", environment, version);
        if (add(ret, libraries_name(i), version, err) != 0)
            return -1;
    }
    return 0;
}

int versions_print(char *const *environment, struct buf *ret, struct error *err) {
    char build[BUILD_ID_SIZE];
    build_id(build);
    if (add(ret, "ringmaster", RINGMASTER_VERSION, err) != 0 ||
        add(ret, "build", build, err) != 0 || add_seed(ret, err) != 0 ||
        add_number(ret, "control link", FRAME_VERSION, err) != 0 ||
        add_number(ret, "event log", RECORD_VERSION, err) != 0 ||
        add(ret, "OpenSSL", tls_library(), err) != 0 ||
        add(ret, "Jansson", jansson_version_str(), err) != 0 || add_transfer(ret, err) != 0 ||
        add_openmpi(environment, ret, err) != 0 || add_libraries(environment, ret, err) != 0)
        return -1;
    return add_system(ret, err);
}

#include "entrypoint/command/versions.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/str.h"
#include "entrypoint/command/command_output.h"
#include "entrypoint/command/manual.h"
#include "entrypoint/command/probe.h"
#include "entrypoint/command/program_answer.h"
#include "entrypoint/host/provision/transfer_process.h"
#include "entrypoint/job/job.h"
#include "entrypoint/job/key.h"
#include "entrypoint/job/machine/library_folders.h"
#include "entrypoint/job/machine/multiarch.h"
#include "entrypoint/os/build_id.h"
#include "entrypoint/outcome/event_schema.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/tls.h"

#include <dirent.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

/* The list is for reports of failures, so it is made without loading or starting what may be
 * broken: libraries are found by their file names and by the distribution's list of packages. Only
 * two programs are asked, mpirun and ringmaster-transfer, each with a deadline. What cannot be
 * found out is a line that says so, and never an error.
 *
 * A library's version is looked for where a program of the job would find it: in LD_LIBRARY_PATH,
 * then in the usual folders. The name of the file that a link leads to has the version for CUDA and
 * NCCL. For UCX it has only that of the interface, so dpkg's list is read. */

/* dpkg's list has some megabytes in large images; the other files have a few lines. */
enum { FILE_MAX = 64 * 1024, LINE_MAX_SIZE = 256, PACKAGES_MAX = 32 * 1024 * 1024 };

static const struct library {
    const char *name;
    const char *file; /* name of its file, up to the version */
    const char
        *package;  /* package of Debian's or NVIDIA's; NULL: the file's name has the version */
    bool numbered; /* the name has the library's version, not just that of its interface */
} known[] = {{"CUDA runtime", "libcudart.so.", NULL, true},
             {"NCCL", "libnccl.so.", "libnccl2", true},
             {"UCX", "libucp.so.", "libucx0", false}};
enum { KNOWN = sizeof(known) / sizeof(known[0]) };

/* Tests walk over the names as versions_print() does. */
const char *versions_library(size_t index) {
    return index < KNOWN ? known[index].name : NULL;
}

/* The version in the name of the file that a link leads to, the longest found: "2.21.5" for
 * libnccl.so.2. Text that is not a number is no version. A longer one is more exact: links of
 * several lengths lead to the same file, but a copy may have any name. */
static void number_of(const char *folder, const char *name, const char *start,
                      char ret[VERSIONS_LIBRARY_SIZE]) {
    char path[PATH_MAX];
    int size = snprintf(path, sizeof(path), "%s/%s", folder, name);
    bool fits = size > 0 && (size_t)size < sizeof(path);
    cleanup_free char *real = fits ? realpath(path, NULL) : NULL;
    const char *slash = real != NULL ? strrchr(real, '/') : NULL;
    if (slash != NULL && str_starts_with(slash + 1, start))
        name = slash + 1;
    const char *number = name + strlen(start);
    size_t length = strlen(number);
    if (strspn(number, "0123456789.") == length && length > strlen(ret) &&
        length < VERSIONS_LIBRARY_SIZE)
        memcpy(ret, number, length + 1);
}

/* All files of the folder are looked at, and the longest version counts (number_of). False: the
 * library is not there, or its name has none. */
static bool find_in(const char *folder, const struct library *l, char ret[VERSIONS_LIBRARY_SIZE]) {
    DIR *open = opendir(folder);
    if (open == NULL)
        return false;
    for (const struct dirent *entry = readdir(open); entry != NULL; entry = readdir(open))
        if (str_starts_with(entry->d_name, l->file))
            number_of(folder, entry->d_name, l->file, ret);
    closedir(open);
    return ret[0] != '\0';
}

/* Searches the folders in the order in which programs do, and stops at the first one that has the
 * library, even if a later one has a newer version. */
static bool find_file(const char *root, char *const *environment, const struct library *l,
                      char ret[VERSIONS_LIBRARY_SIZE]) {
    static const char *const usual[] = {"/usr/local/lib",      "/usr/lib/" MULTIARCH,
                                        "/usr/lib64",          "/usr/local/cuda/lib64",
                                        "/usr/local/cuda/lib", NULL};
    struct library_folders folders;
    library_folders_begin(&folders, root, environment, usual);
    for (const char *at; (at = library_folders_next(&folders)) != NULL;)
        if (find_in(at, l, ret))
            return true;
    return false;
}

/* Finds the version of an installed package in dpkg's list. Its paragraphs are parted by blank
 * lines, and a paragraph stays after a package was removed: the status tells. Other distributions
 * have no such file. */
static bool find_package(const char *root, const char *package, char ret[VERSIONS_LIBRARY_SIZE]) {
    char path[PATH_MAX];
    char head[64];
    cleanup_buf struct buf text;
    buf_init(&text, PACKAGES_MAX);
    int size = snprintf(path, sizeof(path), "%s/var/lib/dpkg/status", root);
    if (size < 0 || (size_t)size >= sizeof(path) || file_read(path, &text, NULL) != 0)
        return false;
    (void)snprintf(head, sizeof(head), "Package: %.48s\n", package);
    const char *at = strstr(buf_text(&text), head);
    if (at == NULL || (at != buf_text(&text) && at[-1] != '\n'))
        return false;
    const char *end = strstr(at, "\n\n");
    const char *version = strstr(at, "\nVersion: ");
    const char *status = strstr(at, "\nStatus: install ok installed\n");
    if (version == NULL || status == NULL || (end != NULL && (version > end || status > end)))
        return false;
    version += strlen("\nVersion: ");
    (void)snprintf(ret, VERSIONS_LIBRARY_SIZE, "%.*s", (int)strcspn(version, "\n"), version);
    return true;
}

/* A version from the file's name is preferred, unless it is a bare major number: "2" says less than
 * the package. INDEX is below the number of names. */
void versions_of_library(size_t index, const char *root, char *const *environment,
                         char ret[VERSIONS_LIBRARY_SIZE]) {
    const struct library *l = &known[index];
    char package[VERSIONS_LIBRARY_SIZE] = "";
    ret[0] = '\0';
    if (!find_file(root, environment, l, ret))
        return;
    bool listed = l->package != NULL && find_package(root, l->package, package);
    if (!l->numbered)
        (void)snprintf(ret, VERSIONS_LIBRARY_SIZE, "%s",
                       listed ? package : "here, of a version that nothing tells");
    else if (listed && strchr(ret, '.') == NULL)
        memcpy(ret, package, sizeof(package));
}

/* Names are padded to one column. An empty value means that the thing is missing in this
 * container. */
static int add(struct buf *ret, const char *name, const char *value, struct error *err) {
    return buf_printf(ret, err, "%-18s %s\n", name, value[0] != '\0' ? value : "not here");
}

/* For numbers of formats, on which hosts of different builds have to agree. */
static int add_number(struct buf *ret, const char *name, int number, struct error *err) {
    return buf_printf(ret, err, "%-18s %d\n", name, number);
}

/* The text after KEY in the first line of PATH that begins with it; "" if there is none. Blanks,
 * colons, equal signs and quotes around the value are dropped, which serves both os-release and the
 * driver's file. A value that is too long is cut. */
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

/* A job of no settings is enough to ask for mpirun's version. Only the version is taken: the rest
 * of the probe is about this container's place in a job. */
static int add_openmpi(char *const *environment, struct buf *ret, struct error *err) {
    struct job job = {0};
    struct probe probe;
    char text[64] = "";
    probe_run(&job, environment, &probe);
    const struct openmpi *v = &probe.mpi_install.version;
    if (probe.mpi_install.daemon != NULL)
        (void)snprintf(text, sizeof(text), "%u.%u.%u", v->major, v->minor, v->release);
    probe_done(&probe);
    return add(ret, "Open MPI", text, err);
}

/* Adds the versions of the libraries that fetch and upload, if this build has them. The program
 * beside this one prints them in the same form, so its answer is added as it is. */
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

/* musl has no call for its own version, so the build defines a text for it. */
static const char *c_library(void) {
#ifdef __GLIBC__
    return gnu_get_libc_version();
#else
    return RINGMASTER_C_LIBRARY;
#endif
}

/* The driver's version is that of the kernel module, which all containers of a machine share. */
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
 * cannot meet. The fingerprint is a hash and shows nothing of the seed. */
static int add_seed(struct buf *ret, struct error *err) {
    char text[KEY_FINGERPRINT_SIZE];
    int found = key_fingerprint(NULL, text, NULL);
    return add(ret, "seed fingerprint", found < 0 ? "not for this user to read, or unfit" : text,
               err);
}

/* Adds the libraries that programs may load, whatever this build itself uses. */
static int add_libraries(char *const *environment, struct buf *ret, struct error *err) {
    char version[VERSIONS_LIBRARY_SIZE];
    for (size_t i = 0; versions_library(i) != NULL; i++) {
        versions_of_library(i, "", environment, version);
        if (add(ret, versions_library(i), version, err) != 0)
            return -1;
    }
    return 0;
}

/* The order is that of interest: this program, what has to agree between hosts, then libraries and
 * the system. Only a full buffer is an error. */
int versions_print(char *const *environment, struct buf *ret, struct error *err) {
    char build[BUILD_ID_SIZE];
    build_id(build);
    if (add(ret, "ringmaster", RINGMASTER_VERSION, err) != 0 ||
        add(ret, "build", build, err) != 0 || add_seed(ret, err) != 0 ||
        add_number(ret, "control link", FRAME_VERSION, err) != 0 ||
        add_number(ret, "event log", EVENT_SCHEMA_VERSION, err) != 0 ||
        add(ret, "OpenSSL", tls_library(), err) != 0 ||
        add(ret, "Jansson", jansson_version_str(), err) != 0 || add_transfer(ret, err) != 0 ||
        add_openmpi(environment, ret, err) != 0 || add_libraries(environment, ret, err) != 0)
        return -1;
    return add_system(ret, err);
}

/* `version --all` takes no more words. The environment is this process's own. */
static int run_all(const char *const *words, struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, COMMAND_OUTPUT_MAX);
    if (manual_refuse_words(words, err) != 0)
        return -1;
    return versions_print(environ, &text, err) == 0 ? command_output_print(&text) : -1;
}

/* Prints one line without --all, for scripts. A word like --al is refused as a misspelt option
 * first, and any other word after that. */
int versions_run(const char *const *words, struct error *err) {
    if (manual_takes("version", words[0]))
        return run_all(words + 1, err);
    if (manual_refuse_option("version", words[0], err) != 0)
        return -1;
    if (manual_refuse_words(words, err) != 0)
        return -1;
    (void)printf("ringmaster %s\n", RINGMASTER_VERSION);
    return command_output_end();
}

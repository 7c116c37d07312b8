#include "entrypoint/host/preflight/net_plugin.h"

#include "common/clock.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "common/signal_name.h"
#include "common/str.h"
#include "entrypoint/job/machine/accelerators.h"
#include "entrypoint/job/machine/library_folders.h"
#include "entrypoint/job/machine/multiarch.h"
#include "entrypoint/os/answer.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* For each name that NCCL would try, `true` runs twice with it in LD_PRELOAD. The first run sets
 * LD_TRACE_LOADED_OBJECTS, so that the loader prints what it would load, and where, and ends;
 * nothing of the plugin runs. Only a plugin that was found and lacks nothing is loaded for real,
 * with LD_BIND_NOW, which also shows symbols that no library has. The loader's words are parsed in
 * the form of glibc, in the C locale.
 *
 * Then the file itself is read for two names: the version of aws-ofi-nccl, and the newest table of
 * functions that it offers to NCCL. NCCL would look for these with dlsym(), which a static program
 * does not have. */

static const char usual_name[] = "libnccl-net.so";

/* Bytes. A name or file above its limit is cut or not read; the words of a loader above it are
 * lost. */
enum { NAME_MAX_SIZE = 256, FAULT_SIZE = 512, WORDS_MAX = 64 * 1024, FILE_MAX = 64 * 1024 * 1024 };

/* Tables that NCCL 2.30.7 looks for, the newest first. */
enum { TABLE_NEWEST = 12, TABLE_OLDEST = 6 };

bool net_plugin_is_needed(const char *root, char *const *environment) {
    const char *provider = env_get(environment, "FI_PROVIDER");
    const char *network = env_get(environment, "NCCL_NET");
    const char *plugin = env_get(environment, "NCCL_NET_PLUGIN");
    bool named = plugin != NULL && plugin[0] != '\0';
    if ((named && strcmp(plugin, "none") == 0) ||
        (network != NULL && strcmp(network, "Socket") == 0))
        return false;
    return named || (accelerators_efa(root) && (provider == NULL || strcmp(provider, "efa") == 0));
}

/* An item that is no path stands for two files: the name itself and libnccl-net-NAME.so. Empty
 * items and "none" are left out, as NCCL leaves them out. */
int net_plugin_names(const char *value, struct argv *ret, struct error *err) {
    if (value == NULL || value[0] == '\0')
        return argv_add(ret, usual_name, err);
    for (const char *at = value; *at != '\0';) {
        char name[NAME_MAX_SIZE];
        size_t size = strcspn(at, ",");
        (void)snprintf(name, sizeof(name), "%.*s", (int)size, at);
        at += size + (at[size] == ',');
        if (name[0] == '\0' || strcmp(name, "none") == 0)
            continue;
        if (argv_add(ret, name, err) != 0)
            return -1;
        if (strchr(name, '/') == NULL && argv_printf(ret, err, "libnccl-net-%s.so", name) != 0)
            return -1;
    }
    return 0;
}

/* --- one of them ----------------------------------------------------------------------------- */

struct plugin_load {
    const char *name;
    char path[PATH_MAX];    /* "": it is not there */
    char fault[FAULT_SIZE]; /* "": it is loaded */
};

/* `true` of the image, which is linked as its other programs are; NULL: it has none. A program of
 * this image loads what its libraries would load; ringmaster itself may be static. */
static const char *find_true(void) {
    static const char *const places[] = {"/bin/true", "/usr/bin/true"};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

/* Runs `true` with the library NAME. With LISTS the loader only prints what it would load. The rest
 * of ENVIRONMENT is the ranks', LD_LIBRARY_PATH with it, but an LD_PRELOAD of theirs is left out.
 * LIMIT is in ns. */
static int load(const char *name, char *const *environment, bool lists, int64_t limit,
                struct program_reply *ret, struct error *err) {
    cleanup_argv struct argv own = {0};
    const char *const words[] = {find_true(), NULL};
    if (words[0] == NULL)
        return error_set(err, EXIT_CODE_NOT_FOUND, "the image has no /bin/true to load it with");
    for (; *environment != NULL; environment++)
        if (!str_starts_with(*environment, "LD_PRELOAD=") && argv_add(&own, *environment, err) != 0)
            return -1;
    if (argv_set_env(&own, "LC_ALL", "C", err) != 0 ||
        argv_set_env(&own, "LD_PRELOAD", name, err) != 0 ||
        argv_set_env(&own, "LD_BIND_NOW", "1", err) != 0 ||
        (lists && argv_set_env(&own, "LD_TRACE_LOADED_OBJECTS", "1", err) != 0))
        return -1;
    return answer_ask(words, &own, limit, ret, err);
}

/* Reads a line "\tNAME => PATH (0x...)", or "\tPATH (0x...)" of a library that is named by a path.
 * Missing libraries are collected in the fault, one after the other. */
static void read_line(struct plugin_load *a, const char *line, size_t size) {
    char text[PATH_MAX + NAME_MAX_SIZE];
    (void)snprintf(text, sizeof(text), "%.*s", (int)size, line);
    char *at = text + strspn(text, "\t ");
    char *arrow = strstr(at, " => ");
    char *end = strstr(arrow != NULL ? arrow : at, " (0x");
    if (end != NULL)
        *end = '\0';
    if (arrow != NULL)
        *arrow = '\0';
    if (arrow != NULL && str_starts_with(arrow + 4, "not found")) {
        size_t used = strlen(a->fault);
        (void)snprintf(a->fault + used, sizeof(a->fault) - used, "%s%.96s",
                       used > 0 ? ", " : "it needs libraries that are not found: ", at);
    } else if (strcmp(at, a->name) == 0) {
        (void)snprintf(a->path, sizeof(a->path), "%s", arrow != NULL ? arrow + 4 : at);
    }
}

/* The list is that of `true` with the plugin. If it has no path of the plugin, the plugin is not
 * there, and nothing is known against it. */
static void read_list(struct plugin_load *a, const char *words) {
    for (const char *at = words; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n')
        read_line(a, at, strcspn(at, "\n"));
    if (a->path[0] == '\0')
        a->fault[0] = '\0'; /* what `true` itself needs is not of interest */
}

/* Keeps the loader's last line without the program's name in front. There are two forms, for a
 * library that cannot be loaded and for a symbol that is missing. Without either, the fault stays
 * as it is. */
static void take_reason(struct plugin_load *a, const char *words) {
    const char *at = strstr(words, "error while loading shared libraries: ");
    const char *colon = at != NULL ? strchr(at, ':') : strstr(words, "symbol lookup error: ");
    if (at == NULL && colon != NULL)
        colon = strchr(colon, ':');
    if (colon != NULL)
        (void)snprintf(a->fault, sizeof(a->fault), "%.*s", (int)strcspn(colon + 2, "\n"),
                       colon + 2);
}

/* A plugin that crashes while it is loaded would crash each rank, so a signal is a fault like a
 * failure to load. */
static void judge(struct plugin_load *a, const struct program_reply *heard) {
    if (heard->late)
        (void)snprintf(a->fault, sizeof(a->fault), "it was not loaded within %.1f s",
                       NET_PLUGIN_LOAD_MS / 1000.0);
    else if (heard->signal != 0)
        (void)snprintf(a->fault, sizeof(a->fault), "loading it ends the process with SIG%s",
                       signal_name(heard->signal) != NULL ? signal_name(heard->signal) : "?");
    else if (heard->code != 0) {
        (void)snprintf(a->fault, sizeof(a->fault), "loading it ends the process with code %d",
                       heard->code);
        take_reason(a, buf_text(&heard->words));
    }
}

/* Time for one run in ns: what is left of all, at most NET_PLUGIN_LOAD_MS and at least a
 * millisecond, as 0 might mean no limit. */
static int64_t left_of(int64_t deadline) {
    const int64_t most = NET_PLUGIN_LOAD_MS * CLOCK_MILLISECOND;
    int64_t left = deadline - clock_now();
    return left < CLOCK_MILLISECOND ? CLOCK_MILLISECOND : left < most ? left : most;
}

/* Loads it without running it, which tells where it is and all that it lacks, and then for real.
 * The first run may be late, too: the loader then hangs on a file. An error means that `true` could
 * not be started, and says nothing of the plugin. */
static void try_one(struct plugin_load *a, char *const *environment, int64_t deadline) {
    struct error err = {0};
    struct program_reply listed = {.code = -1};
    struct program_reply heard = {.code = -1};
    buf_init(&listed.words, WORDS_MAX);
    buf_init(&heard.words, WORDS_MAX);
    if (load(a->name, environment, true, left_of(deadline), &listed, &err) == 0)
        read_list(a, buf_text(&listed.words));
    if (err.code == 0 && listed.late)
        judge(a, &listed);
    else if (err.code == 0 && a->path[0] != '\0' && a->fault[0] == '\0' &&
             load(a->name, environment, false, left_of(deadline), &heard, &err) == 0)
        judge(a, &heard);
    if (err.code != 0)
        (void)snprintf(a->fault, sizeof(a->fault), "it was not tried: %.400s", err.text);
    buf_done(&listed.words);
    buf_done(&heard.words);
}

/* --- what is in the file --------------------------------------------------------------------- */

/* Finds the text "aws-ofi-nccl " with a number after it, as the library prints it in NCCL's log.
 * The same words occur without a number, so the search continues until one fits. */
static void set_version(json_t *object, const struct buf *file) {
    static const char sign[] = "aws-ofi-nccl ";
    const char *end = file->data + file->size;
    const char *at = file->data;
    while ((at = memmem(at, (size_t)(end - at), sign, sizeof(sign) - 1)) != NULL) {
        size_t size = sizeof(sign) - 1;
        while (at + size < end && (isalnum((unsigned char)at[size]) || strchr(".-_", at[size])) &&
               at[size] != '\0' && size < 64)
            size++;
        if (isdigit((unsigned char)at[sizeof(sign) - 1]) && at + size < end) {
            (void)json_object_set_new(object, "version", json_stringn(at, size));
            return;
        }
        at += sizeof(sign) - 1;
    }
}

/* The names of what a library offers stand in it as they are. Returns false if there is none. */
static bool set_table(json_t *object, const struct buf *file) {
    for (int number = TABLE_NEWEST; number >= TABLE_OLDEST; number--) {
        char name[32];
        int size = snprintf(name, sizeof(name), "ncclNetPlugin_v%d", number);
        if (memmem(file->data, file->size, name, (size_t)size + 1) == NULL)
            continue;
        (void)json_object_set_new(object, "offers", json_string(name));
        return true;
    }
    return false;
}

/* A file that cannot be read leaves version and table unknown, and is no fault: the loader has
 * found it. */
static void read_file(json_t *object, struct plugin_load *a) {
    cleanup_buf struct buf file;
    buf_init(&file, FILE_MAX);
    if (file_read(a->path, &file, NULL) != 0 || file.size == 0)
        return;
    set_version(object, &file);
    if (!set_table(object, &file) && a->fault[0] == '\0')
        (void)snprintf(a->fault, sizeof(a->fault),
                       "it offers none of ncclNetPlugin_v%d to ncclNetPlugin_v%d", TABLE_OLDEST,
                       TABLE_NEWEST);
}

/* --- all of them ----------------------------------------------------------------------------- */

/* Writes a plugin that is there under a name or in a folder where NCCL does not look. RET continues
 * a clause and begins with a semicolon; "": there is none. The first one found counts. */
static void find_elsewhere(const char *root, char *const *environment, char *ret, size_t size) {
    static const char *const usual[] = {
        "/opt/amazon/ofi-nccl/lib", "/opt/amazon/ofi-nccl/lib/" MULTIARCH,
        "/opt/aws-ofi-nccl/lib",    "/usr/local/lib",
        "/usr/lib/" MULTIARCH,      NULL};
    static const char *const names[] = {usual_name, "libnccl-net-ofi.so", "libnccl-net-aws-ofi.so"};
    static const char *const hints[] = {"in a folder that LD_LIBRARY_PATH lacks",
                                        "which NCCL opens with NCCL_NET_PLUGIN=ofi",
                                        "which NCCL opens with NCCL_NET_PLUGIN=aws-ofi"};
    struct library_folders folders;
    ret[0] = '\0';
    library_folders_begin(&folders, root, environment, usual);
    for (const char *at; (at = library_folders_next(&folders)) != NULL;)
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            char path[PATH_MAX];
            int length = snprintf(path, sizeof(path), "%s/%s", at, names[i]);
            if (length < 0 || (size_t)length >= sizeof(path) || access(path, R_OK) != 0)
                continue;
            (void)snprintf(ret, size, "; %.160s is there, %s", path, hints[i]);
            return;
        }
}

/* The fault names the first file that NCCL would open, and one that is elsewhere, if any. */
static void set_none(json_t *object, const char *root, char *const *environment,
                     const struct argv *names) {
    char fault[FAULT_SIZE];
    char elsewhere[FAULT_SIZE / 2];
    find_elsewhere(root, environment, elsewhere, sizeof(elsewhere));
    (void)snprintf(fault, sizeof(fault), "%.100s is not there%s",
                   names->count > 0 ? names->items[0] : usual_name, elsewhere);
    (void)json_object_set_new(object, "fault", json_string_any(fault));
}

/* Replaces what an earlier name has left in the object. */
static void set_attempt(json_t *object, struct plugin_load *a) {
    (void)json_object_clear(object);
    if (a->path[0] != '\0')
        read_file(object, a);
    (void)json_object_set_new(object, "name", json_string_any(a->name));
    if (a->path[0] != '\0')
        (void)json_object_set_new(object, "path", json_string_any(a->path));
    if (a->fault[0] != '\0')
        (void)json_object_set_new(object, "fault", json_string_any(a->fault));
}

/* The first plugin that works is the result, as NCCL also stops there. If none works, it is the
 * first that is there, with its fault. */
json_t *net_plugin_try(const char *root, char *const *environment) {
    cleanup_argv struct argv names = {0};
    json_t *object = json_object();
    const int64_t deadline = clock_now() + NET_PLUGIN_ALL_MS * CLOCK_MILLISECOND;
    bool there = false;
    if (net_plugin_names(env_get(environment, "NCCL_NET_PLUGIN"), &names, NULL) != 0)
        return object;
    for (size_t i = 0; i < names.count && clock_now() < deadline; i++) {
        struct plugin_load a = {.name = names.items[i]};
        try_one(&a, environment, deadline);
        bool found = a.path[0] != '\0' || a.fault[0] != '\0';
        if (!found || (there && a.fault[0] != '\0'))
            continue;
        there = true;
        set_attempt(object, &a);
        if (json_object_get(object, "fault") == NULL)
            return object;
    }
    if (!there)
        set_none(object, root, environment, &names);
    return object;
}

/* A name that was not loaded from a path stands for itself. */
void net_plugin_text(const json_t *found, char *ret, size_t size) {
    const char *name = json_string_value(json_object_get(found, "name"));
    const char *path = json_string_value(json_object_get(found, "path"));
    const char *version = json_string_value(json_object_get(found, "version"));
    const char *fault = json_string_value(json_object_get(found, "fault"));
    const char *where = path != NULL ? path : name != NULL ? name : "";
    if (fault != NULL && where[0] == '\0')
        (void)snprintf(ret, size, "%s", fault);
    else if (fault != NULL)
        (void)snprintf(ret, size, "%.160s cannot be used: %s", where, fault);
    else
        (void)snprintf(ret, size, "%.60s%s%.120s%s can be loaded", version != NULL ? version : "",
                       version != NULL ? " (" : "", where, version != NULL ? ")" : "");
}

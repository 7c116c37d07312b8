#include "entrypoint/host/monitor/kmsg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
    RECORD_SIZE = 8192,  /* the kernel's own maximum */
    RECORDS_MAX = 16384, /* records read in one go */
    KMSG_MAJOR = 1,
    KMSG_MINOR = 11,
};

static const char *const always[] = {
    "NVRM: Xid",         "[Hardware Error]",           "Machine check events logged",
    "Uncorrected error", "GPU has fallen off the bus", "due to hardware memory corruption"};
static const char *const of_crashes[] = {"segfault at", "trap invalid opcode",
                                         "general protection fault"};
static const char *const of_memory[] = {"Out of memory: Killed process",
                                        "Memory cgroup out of memory: Killed process"};

void kmsg_open(struct kmsg *k, const char *path) {
    struct stat st;
    *k = (struct kmsg){.fd = -1};
    k->fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (k->fd < 0)
        return;
    /* Some runtimes put a link to another file there. */
    bool is_log = fstat(k->fd, &st) == 0 && S_ISCHR(st.st_mode) &&
                  major(st.st_rdev) == KMSG_MAJOR && minor(st.st_rdev) == KMSG_MINOR;
    if (!is_log || lseek(k->fd, 0, SEEK_END) < 0)
        kmsg_close(k);
}

void kmsg_close(struct kmsg *k) {
    if (k->fd >= 0)
        (void)close(k->fd);
    k->fd = -1;
}

static bool holds(const char *text, const char *const *signs, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strstr(text, signs[i]) != NULL)
            return true;
    return false;
}

/* The text of a record: it follows the numbers and ends at the end of the line. */
static char *text_of(char *record) {
    char *text = strchr(record, ';');
    if (text == NULL)
        return NULL;
    text++;
    text[strcspn(text, "\n")] = '\0';
    return text;
}

/* Returns true for uncorrected memory errors (UE): "EDAC MC0: 1 UE memory read error on ...".
 * Corrected ones (CE) explain no failure. */
static bool is_memory_error(const char *text) {
    const char *edac = strstr(text, "EDAC MC");
    return edac != NULL && strstr(edac, " UE ") != NULL;
}

static bool has_kind(const char *text, enum kmsg_kind *ret) {
    bool known = true;
    if (is_memory_error(text) || holds(text, always, sizeof(always) / sizeof(always[0])))
        *ret = KMSG_MACHINE;
    else if (holds(text, of_crashes, sizeof(of_crashes) / sizeof(of_crashes[0])))
        *ret = KMSG_CRASH;
    else if (holds(text, of_memory, sizeof(of_memory) / sizeof(of_memory[0])))
        *ret = KMSG_MEMORY;
    else
        known = false;
    return known;
}

void kmsg_take(struct kmsg *k, const char *text) {
    enum kmsg_kind kind;
    if (!has_kind(text, &kind) || k->of_kind[kind] == KMSG_LINES)
        return;
    struct kernel_line *line = &k->lines[k->count++];
    k->of_kind[kind]++;
    line->kind = kind;
    (void)snprintf(line->text, sizeof(line->text), "%s", text);
}

static void take_new(struct kmsg *k) {
    char record[RECORD_SIZE + 1];
    for (unsigned i = 0; k->fd >= 0 && i < RECORDS_MAX; i++) {
        ssize_t got = read(k->fd, record, RECORD_SIZE);
        if (got < 0 && (errno == EPIPE || errno == EINTR))
            continue; /* some records were overwritten before they were read */
        if (got <= 0)
            return;
        record[got] = '\0';
        const char *text = text_of(record);
        if (text != NULL)
            kmsg_take(k, text);
    }
}

void kmsg_forget(struct kmsg *k) {
    take_new(k);
    *k = (struct kmsg){.fd = k->fd};
}

void kmsg_read(struct kmsg *k, bool crashed, bool memory, char *ret, size_t size) {
    const bool counts[KMSG_KINDS] = {
        [KMSG_MACHINE] = true, [KMSG_CRASH] = crashed, [KMSG_MEMORY] = memory};
    unsigned reported = 0;
    size_t used = 0;
    ret[0] = '\0';
    take_new(k);
    for (unsigned i = 0; i < k->count && reported < KMSG_LINES && used + 2 < size; i++) {
        if (!counts[k->lines[i].kind])
            continue;
        (void)snprintf(ret + used, size - used, "%s%s", used > 0 ? "\n" : "", k->lines[i].text);
        used = strlen(ret);
        reported++;
    }
}

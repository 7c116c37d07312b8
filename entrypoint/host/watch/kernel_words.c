#include "watch/kernel_words.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
    RECORD_SIZE = 8192,  /* the kernel's own ceiling */
    RECORDS_MAX = 16384, /* in one go */
    LINES_MOST = 3,
    LINE_MOST = 160,
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

void kernel_words_open(struct kernel_words *k, const char *path) {
    struct stat st;
    k->fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (k->fd < 0)
        return;
    /* Some runtimes put a link to something else there. */
    bool is_log = fstat(k->fd, &st) == 0 && S_ISCHR(st.st_mode) &&
                  major(st.st_rdev) == KMSG_MAJOR && minor(st.st_rdev) == KMSG_MINOR;
    if (!is_log || lseek(k->fd, 0, SEEK_END) < 0)
        kernel_words_close(k);
}

void kernel_words_close(struct kernel_words *k) {
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

/* The text of a record: behind its numbers, up to the end of its line. */
static char *text_of(char *record) {
    char *text = strchr(record, ';');
    if (text == NULL)
        return NULL;
    text++;
    text[strcspn(text, "\n")] = '\0';
    return text;
}

/* Memory that could not be corrected (UE): "EDAC MC0: 1 UE memory read error on ...". What could be
 * (CE) explains no failure. */
static bool is_memory_error(const char *text) {
    const char *edac = strstr(text, "EDAC MC");
    return edac != NULL && strstr(edac, " UE ") != NULL;
}

static void add(const char *text, char *ret, size_t size, unsigned *count) {
    size_t used = strlen(ret);
    if (*count == LINES_MOST || used + 2 >= size)
        return;
    (void)snprintf(ret + used, size - used, "%s%.*s", used > 0 ? "\n" : "", LINE_MOST, text);
    (*count)++;
}

void kernel_words_read(const struct kernel_words *k, bool crashed, bool memory, char *ret,
                       size_t size) {
    char record[RECORD_SIZE + 1];
    unsigned count = 0;
    ret[0] = '\0';
    for (unsigned i = 0; k->fd >= 0 && i < RECORDS_MAX; i++) {
        ssize_t got = read(k->fd, record, RECORD_SIZE);
        if (got < 0 && (errno == EPIPE || errno == EINTR))
            continue; /* some were overwritten before they were read */
        if (got <= 0)
            return;
        record[got] = '\0';
        const char *text = text_of(record);
        if (text != NULL &&
            (is_memory_error(text) || holds(text, always, sizeof(always) / sizeof(always[0])) ||
             (crashed && holds(text, of_crashes, sizeof(of_crashes) / sizeof(of_crashes[0]))) ||
             (memory && holds(text, of_memory, sizeof(of_memory) / sizeof(of_memory[0])))))
            add(text, ret, size, &count);
    }
}

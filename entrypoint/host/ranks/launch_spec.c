#include "entrypoint/host/ranks/launch_spec.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/str.h"
#include "common/system/sealed_memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { EXEC_MIN = 128 * 1024, EXEC_MAX = 6 * 1024 * 1024, RANK_VARIABLES = 32 * 1024 };

static int add_all(struct buf *text, const struct argv *list, struct error *err) {
    for (size_t i = 0; i < list->count; i++)
        if (buf_add(text, list->items[i], strlen(list->items[i]) + 1, err) != 0)
            return -1;
    return 0;
}

/* Size as execve() counts it: each string with its NUL, and its pointer. */
static size_t weigh(const struct argv *list, const char **ret_largest) {
    size_t sum = 0;
    size_t most = 0;
    for (size_t i = 0; i < list->count; i++) {
        size_t size = strlen(list->items[i]) + 1;
        if (size > most) {
            most = size;
            *ret_largest = list->items[i];
        }
        sum += size + sizeof(char *);
    }
    return sum;
}

/* What Linux passes to a program: a quarter of the stack's limit, 128 KiB at least and 6 MiB at
 * most (execve(2)). musl's sysconf(_SC_ARG_MAX) is always 128 KiB. */
static size_t find_room(void) {
    struct rlimit stack = {0};
    if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur / 4 < EXEC_MIN)
        return EXEC_MIN;
    return stack.rlim_cur / 4 < EXEC_MAX ? (size_t)stack.rlim_cur / 4 : EXEC_MAX;
}

/* A rank's own variables are still to be added. */
static int check_size(const struct argv *environment, const struct argv *words, struct error *err) {
    const char *largest = "";
    const char *ignored = "";
    size_t room = find_room();
    size_t size = weigh(environment, &largest) + weigh(words, &ignored) + RANK_VARIABLES;
    if (size <= room)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG,
                     "the program's arguments and environment have %zu bytes; Linux passes at most "
                     "%zu here (a quarter of `ulimit -s`, at most 6 MiB); the largest variable is "
                     "%.*s; use fewer or shorter hyperparameters",
                     size, room, (int)strcspn(largest, "="), largest);
}

static void wipe(struct buf *text) {
    if (text->data != NULL)
        explicit_bzero(text->data, text->capacity);
    buf_done(text);
}

int launch_spec_make(const struct argv *environment, const struct argv *words, struct error *err) {
    struct buf text;
    if (check_size(environment, words, err) != 0)
        return -1;
    buf_init(&text, LAUNCH_SPEC_MAX);
    int fd = -1;
    if (buf_printf(&text, err, "%zu", environment->count) == 0 && buf_add(&text, "", 1, err) == 0 &&
        add_all(&text, environment, err) == 0 && add_all(&text, words, err) == 0)
        fd = sealed_memfd_make("the program's environment", text.data, text.size, err);
    wipe(&text);
    return fd;
}

static int malformed(struct error *err) {
    return error_set(err, EXIT_CODE_INTERNAL, "the supervisor's start has no environment");
}

/* Splits SIZE bytes, which end with a NUL. */
static int split(const char *bytes, size_t size, struct argv *environment, struct argv *words,
                 struct error *err) {
    int64_t variables = 0;
    if (str_parse_int(bytes, 0, LAUNCH_SPEC_MAX, &variables, NULL) != 0)
        return malformed(err);
    for (size_t at = strlen(bytes) + 1; at < size; at += strlen(bytes + at) + 1)
        if (argv_add(variables-- > 0 ? environment : words, bytes + at, err) != 0)
            return -1;
    return words->count > 0 ? 0 : malformed(err);
}

int launch_spec_read(int fd, struct argv *environment, struct argv *words, struct error *err) {
    struct stat st;
    if (!sealed_memfd_is(fd) || fstat(fd, &st) != 0 || st.st_size < 2 ||
        st.st_size > LAUNCH_SPEC_MAX)
        return malformed(err);
    size_t size = (size_t)st.st_size;
    const char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "the program's environment");
    int result =
        bytes[size - 1] == '\0' ? split(bytes, size, environment, words, err) : malformed(err);
    (void)munmap((void *)(uintptr_t)bytes, size);
    return result;
}

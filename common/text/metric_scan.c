#include "common/text/metric_scan.h"

#include "common/cleanup.h"

#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NUMBER_MAX = 63 };

static bool is_of_name(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

/* The whole word at AT as a number. */
static bool read_number(const char *at, const char *end, double *ret) {
    char text[NUMBER_MAX + 1];
    size_t size = 0;
    while (at + size < end && size < NUMBER_MAX &&
           (isalnum((unsigned char)at[size]) || strchr("+-.", at[size]) != NULL) &&
           at[size] != '\0') {
        text[size] = at[size];
        size++;
    }
    /* The point that ends a sentence. */
    while (size > 0 && text[size - 1] == '.')
        size--;
    text[size] = '\0';
    if (strcasecmp(text, "null") == 0) {
        *ret = (double)NAN;
        return true;
    }
    char *rest = text;
    *ret = strtod(text, &rest);
    /* "12.5s", "87%": a unit may follow. */
    return rest > text;
}

bool metric_scan_next(const char **at, const char *end, const char *name, double *ret) {
    const size_t size = strlen(name);
    const char *begin = *at;
    for (const char *found = begin;; found++) {
        found = memmem(found, (size_t)(end - found), name, size);
        if (found == NULL)
            break;
        const char *after = found + size;
        if ((found > begin && is_of_name(found[-1])) || (after < end && is_of_name(*after)))
            continue;
        after += after < end && (*after == '"' || *after == '\'');
        after = skip_blanks(after, end);
        if (after == end || (*after != '=' && *after != ':'))
            continue;
        after = skip_blanks(after + 1, end);
        if (!read_number(after, end, ret))
            continue;
        *at = after;
        return true;
    }
    *at = end;
    return false;
}

/* The end of the file, and its size. */
static int read_tail(const char *path, char **ret, size_t *ret_size, struct error *err) {
    struct stat about;
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &about) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", path);
    if (!S_ISREG(about.st_mode))
        return error_set(err, EXIT_CODE_CONFIG, "%s is not a regular file", path);
    const off_t room = about.st_size < METRIC_SCAN_TAIL ? about.st_size : METRIC_SCAN_TAIL;
    *ret_size = 0;
    *ret = malloc((size_t)room + 1);
    if (*ret == NULL)
        return error_no_memory(err, path);
    while (*ret_size < (size_t)room) {
        const ssize_t got = pread(fd, *ret + *ret_size, (size_t)room - *ret_size,
                                  about.st_size - room + (off_t)*ret_size);
        if (got < 0)
            return error_set_errno(err, EXIT_CODE_CONFIG, "%s", path);
        if (got == 0)
            break;
        *ret_size += (size_t)got;
    }
    return 0;
}

int metric_scan_file(const char *path, const char *name, double *ret, size_t room,
                     size_t *ret_count, struct error *err) {
    cleanup_free char *text = NULL;
    size_t size = 0;
    double value = 0;
    *ret_count = 0;
    if (read_tail(path, &text, &size, err) != 0)
        return -1;
    const char *at = text, *end = text + size;
    while (room > 0 && metric_scan_next(&at, end, name, &value)) {
        if (*ret_count == room)
            memmove(ret, ret + 1, (--*ret_count) * sizeof(*ret));
        ret[(*ret_count)++] = value;
    }
    return 0;
}

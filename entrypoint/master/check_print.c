#include "entrypoint/master/check_print.h"

#include "common/argv.h"
#include "common/str.h"
#include "entrypoint/master/check_rows.h"

#include <string.h>
#include <unistd.h>

enum { HOSTS_WIDTH = 96 }; /* of names in a row */

static const char *colour_of(const char *status) {
    if (strcmp(status, check_status_name(CHECK_OK)) == 0)
        return "\033[32m";
    return strcmp(status, check_status_name(CHECK_WARNING)) == 0 ? "\033[33m" : "\033[1;31m";
}

static int add_hosts(const json_t *hosts, size_t count, struct buf *ret, struct error *err) {
    size_t size = json_array_size(hosts);
    size_t begin = ret->size;
    if (size == count && count > 1)
        return buf_printf(ret, err, "all %zu hosts", count);
    for (size_t i = 0; i < size; i++) {
        const char *name = json_string_value(json_array_get(hosts, i));
        if (ret->size - begin > HOSTS_WIDTH)
            return buf_printf(ret, err, " and %zu more", size - i);
        if (buf_printf(ret, err, "%s%s", i > 0 ? " " : "", name != NULL ? name : "") != 0)
            return -1;
    }
    return 0;
}

static int add_row(const json_t *row, size_t count, struct buf *ret, struct error *err) {
    const char *value = check_text(row, NULL, "value");
    const char *advice = check_text(row, NULL, "advice");
    if (buf_printf(ret, err, "  %-10s ", check_text(row, NULL, "item")) != 0 ||
        add_hosts(json_object_get(row, "hosts"), count, ret, err) != 0 ||
        buf_add_text(ret, ": ", err) != 0 || str_add_utf8(ret, value, strlen(value), err) != 0)
        return -1;
    if (advice[0] == '\0')
        return buf_add(ret, "\n", 1, err);
    return buf_add_text(ret, "; ", err) == 0 && str_add_utf8(ret, advice, strlen(advice), err) == 0
               ? buf_add(ret, "\n", 1, err)
               : -1;
}

int check_print_rows(const json_t *rows, size_t count, bool colour, struct buf *ret,
                     struct error *err) {
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *status = check_text(row, NULL, "status");
        if (buf_printf(ret, err, "%s%-7s%s", colour ? colour_of(status) : "", status,
                       colour ? "\033[0m" : "") != 0 ||
            add_row(row, count, ret, err) != 0)
            return -1;
    }
    return 0;
}

bool check_has_colour(int fd, char *const *environment) {
    const char *terminal = env_get(environment, "TERM");
    const char *no = env_get(environment, "NO_COLOR");
    return isatty(fd) == 1 && (no == NULL || no[0] == '\0') &&
           (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

#include "entrypoint/master/preflight/check_print.h"

#include "common/argv.h"
#include "common/cleanup.h"
#include "common/str.h"
#include "common/system/terminal.h"
#include "common/text/wrap.h"
#include "entrypoint/master/preflight/check_rows.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { HOSTS_WIDTH = 96, TEXT_COLUMN = 20 }; /* names in a row; where its text begins */

static enum terminal_colour colour_of(const char *status) {
    if (strcmp(status, check_status_name(CHECK_OK)) == 0)
        return TERMINAL_GREEN;
    return strcmp(status, check_status_name(CHECK_WARNING)) == 0 ? TERMINAL_YELLOW : TERMINAL_RED;
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
    if (add_hosts(json_object_get(row, "hosts"), count, ret, err) != 0 ||
        buf_add_text(ret, ": ", err) != 0 || str_add_utf8(ret, value, strlen(value), err) != 0)
        return -1;
    if (advice[0] == '\0')
        return 0;
    return buf_add_text(ret, "; ", err) == 0 ? str_add_utf8(ret, advice, strlen(advice), err) : -1;
}

int check_print_rows(const json_t *rows, size_t count, struct check_look look, struct buf *ret,
                     struct error *err) {
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *status = check_text(row, NULL, "status");
        cleanup_buf struct buf text;
        buf_init(&text, ret->max);
        struct wrap wrap = {.at = TEXT_COLUMN,
                            .indent = TEXT_COLUMN,
                            .width = look.width > 0 ? look.width : SIZE_MAX};
        if (buf_printf(ret, err, "%s%-7s%s  %-10s ",
                       terminal_colour(look.colour, colour_of(status)), status,
                       terminal_colour(look.colour, TERMINAL_PLAIN),
                       check_text(row, NULL, "item")) != 0 ||
            add_row(row, count, &text, err) != 0 ||
            wrap_add(ret, buf_text(&text), wrap, err) != 0 || buf_add(ret, "\n", 1, err) != 0)
            return -1;
    }
    return 0;
}

struct check_look check_look_of(int fd, char *const *environment) {
    return (struct check_look){
        .colour = terminal_has_colour_by(fd, env_get(environment, "TERM"),
                                         env_get(environment, "NO_COLOR")),
        .width = isatty(fd) == 1 ? terminal_columns(fd) : 0,
    };
}

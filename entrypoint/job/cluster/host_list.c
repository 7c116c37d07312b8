#include "entrypoint/job/cluster/host_list.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t host_list_item(const char *text) {
    size_t size = 0;
    for (bool inside = false; text[size] != '\0' && (inside || text[size] != ','); size++) {
        if (text[size] == '[')
            inside = true;
        else if (text[size] == ']')
            inside = false;
    }
    return size;
}

/* State of an expansion: the name so far, and the description that receives the hosts. */
struct expansion {
    struct platform_description *ret;
    unsigned slots;
    const char *item; /* for errors */
    size_t item_size;
    char name[HOST_NAME_SIZE];
};

static int refuse(const struct expansion *e, const char *why, struct error *err) {
    return error_set(err, EXIT_CODE_CONFIG, "\"%.*s\" %s",
                     (int)(e->item_size < 80 ? e->item_size : 80), e->item, why);
}

static int expand(struct expansion *e, size_t length, const char *rest, const char *end,
                  struct error *err);

/* Parses a number of one to nine digits. */
static int take_number(const struct expansion *e, const char **at, const char *end, long *ret,
                       struct error *err) {
    enum { DIGITS_MAX = 9 };
    char digits[DIGITS_MAX + 1];
    size_t size = 0;
    while (*at + size < end && isdigit((unsigned char)(*at)[size]))
        size++;
    if (size == 0 || size > DIGITS_MAX)
        return refuse(e, "lacks a number in its brackets", err);
    memcpy(digits, *at, size);
    digits[size] = '\0';
    *ret = strtol(digits, NULL, 10);
    *at += size;
    return 0;
}

/* Parses FROM-TO or a single number, printed with at least WIDTH digits. */
static int expand_range(struct expansion *e, size_t length, const char **at, const char *close,
                        const char *end, struct error *err) {
    const char *start = *at;
    long from = 0;
    if (take_number(e, at, close, &from, err) != 0)
        return -1;
    int width = (int)(*at - start);
    long to = from;
    if (*at < close && **at == '-') {
        (*at)++;
        if (take_number(e, at, close, &to, err) != 0)
            return -1;
    }
    if (to < from || to - from >= CLUSTER_HOSTS_MAX)
        return refuse(e, "has a range that is too long or descending", err);
    for (long number = from; number <= to; number++) {
        size_t room = sizeof(e->name) - length;
        int written = snprintf(e->name + length, room, "%0*ld", width, number);
        if (written < 0 || (size_t)written >= room)
            return refuse(e, "expands to names that are too long", err);
        if (expand(e, length + (size_t)written, close + 1, end, err) != 0)
            return -1;
    }
    return 0;
}

/* Expands the ranges from BRACKET on, which is a '['. */
static int expand_brackets(struct expansion *e, size_t length, const char *bracket, const char *end,
                           struct error *err) {
    const char *close = memchr(bracket, ']', (size_t)(end - bracket));
    if (close == NULL)
        return refuse(e, "has an unclosed bracket", err);
    for (const char *at = bracket + 1;; at++) {
        if (expand_range(e, length, &at, close, end, err) != 0)
            return -1;
        if (at == close)
            return 0;
        if (*at != ',')
            return refuse(e, "has something other than numbers in its brackets", err);
    }
}

/* Expands the rest of a name: its first LENGTH bytes are done, and REST holds what follows. */
static int expand(struct expansion *e, size_t length, const char *rest, const char *end,
                  struct error *err) {
    const char *bracket = memchr(rest, '[', (size_t)(end - rest));
    size_t plain = (size_t)((bracket != NULL ? bracket : end) - rest);
    if (length + plain >= sizeof(e->name))
        return refuse(e, "expands to names that are too long", err);
    memcpy(e->name + length, rest, plain);
    length += plain;
    if (bracket != NULL)
        return expand_brackets(e, length, bracket, end, err);
    struct host_name host;
    if (host_name_parse(e->name, length, &host, err) != 0)
        return -1;
    return platform_description_add(e->ret, &host, e->slots, err);
}

int host_list_expand(const char *item, size_t size, unsigned slots,
                     struct platform_description *ret, struct error *err) {
    struct expansion e = {.ret = ret, .slots = slots, .item = item, .item_size = size};
    return expand(&e, 0, item, item + size, err);
}

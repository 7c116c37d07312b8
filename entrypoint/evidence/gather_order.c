#include "entrypoint/evidence/gather_order.h"

#include "common/cleanup.h"
#include "common/json/json.h"
#include "common/system/sealed_memfd.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] = "`ringmaster gather` is started by a supervisor, with an order";

int gather_order_make(const struct gather_order *o, struct error *err) {
    cleanup_json json_t *ranks = json_array();
    for (size_t i = 0; i < o->rank_count; i++)
        (void)json_array_append_new(ranks, json_pack("[I, I, o]", (json_int_t)o->ranks[i].rank,
                                                     (json_int_t)o->ranks[i].shim,
                                                     json_string_any(o->ranks[i].lines)));
    cleanup_json json_t *order = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:i, s:b, s:b, s:O}", "base", json_string_any(o->base),
        "folder", json_string_any(o->folder), "host", json_string_any(o->host), "recorder",
        json_string_any(o->recorder), "fifo", json_string_any(o->fifo), "ras",
        json_string_any(o->ras), "milliseconds", (json_int_t)o->milliseconds, "signal", o->signal,
        "quick", (int)o->quick, "gpus", (int)o->gpus, "ranks", ranks);
    cleanup_free char *text = order != NULL ? json_dumps(order, JSON_COMPACT) : NULL;
    if (text == NULL)
        return error_no_memory(err, "an order for evidence");
    return sealed_memfd_make("evidence to gather", text, strlen(text), err);
}

static int take_text(const json_t *order, const char *key, char *ret, size_t size,
                     struct error *err) {
    const char *text = "";
    if (json_member_string(order, "the order", key, &text, err) != 0)
        return -1;
    if (strlen(text) >= size)
        return error_set(err, EXIT_CODE_USAGE, "the order's %s is too long", key);
    (void)snprintf(ret, size, "%s", text);
    return 0;
}

static int take_ranks(const json_t *list, struct gather_order *ret, struct error *err) {
    if (json_array_size(list) > GATHER_ORDER_RANKS_MAX)
        return error_set(err, EXIT_CODE_USAGE, "the order has more than %d ranks",
                         GATHER_ORDER_RANKS_MAX);
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_int_t rank = json_integer_value(json_array_get(json_array_get(list, i), 0));
        json_int_t shim = json_integer_value(json_array_get(json_array_get(list, i), 1));
        if (rank < 0 || rank > INT32_MAX || shim < 2 || shim > INT32_MAX)
            return error_set(err, EXIT_CODE_USAGE, "rank %zu of the order has an impossible number",
                             i);
        struct gather_rank *r = &ret->ranks[ret->rank_count++];
        const char *lines = json_string_value(json_array_get(json_array_get(list, i), 2));
        *r = (struct gather_rank){.rank = (unsigned)rank, .shim = (pid_t)shim};
        (void)snprintf(r->lines, sizeof(r->lines), "%s", lines != NULL ? lines : "");
    }
    return 0;
}

static int parse(const json_t *order, struct gather_order *ret, struct error *err) {
    json_t *ranks = NULL;
    int64_t number = 0;
    if (take_text(order, "base", ret->base, sizeof(ret->base), err) != 0 ||
        take_text(order, "folder", ret->folder, sizeof(ret->folder), err) != 0 ||
        take_text(order, "host", ret->host, sizeof(ret->host), err) != 0 ||
        take_text(order, "recorder", ret->recorder, sizeof(ret->recorder), err) != 0 ||
        take_text(order, "fifo", ret->fifo, sizeof(ret->fifo), err) != 0 ||
        take_text(order, "ras", ret->ras, sizeof(ret->ras), err) != 0 ||
        json_member_int(order, "the order", "milliseconds", &ret->milliseconds, err) != 0 ||
        json_member_int(order, "the order", "signal", &number, err) != 0 ||
        json_member_bool(order, "the order", "quick", &ret->quick, err) != 0 ||
        json_member_bool(order, "the order", "gpus", &ret->gpus, err) != 0 ||
        json_member_array(order, "the order", "ranks", &ranks, err) != 0)
        return -1;
    if (ret->folder[0] != '/' || ret->host[0] == '\0' || strchr(ret->host, '/') != NULL)
        return error_set(err, EXIT_CODE_USAGE, "the order names no folder or no host");
    if (ret->milliseconds < 1 || ret->milliseconds > GATHER_ORDER_SECONDS * 1000)
        return error_set(err, EXIT_CODE_USAGE, "the order's time is %" PRId64 " ms, not 1 to %d",
                         ret->milliseconds, GATHER_ORDER_SECONDS * 1000);
    if (number < 0 || number >= NSIG)
        return error_set(err, EXIT_CODE_USAGE, "the order's signal has an unknown number");
    ret->signal = (int)number;
    return take_ranks(ranks, ret, err);
}

int gather_order_read(int fd, struct gather_order *ret, struct error *err) {
    struct stat st;
    cleanup_json json_t *order = NULL;
    cleanup_buf struct buf text;
    *ret = (struct gather_order){0};
    buf_init(&text, JSON_FILE_MAX);
    if (!sealed_memfd_is(fd) || fstat(fd, &st) != 0 || st.st_size < 2 ||
        st.st_size > JSON_FILE_MAX || buf_reserve(&text, (size_t)st.st_size, err) != 0 ||
        pread(fd, text.data, (size_t)st.st_size, 0) != st.st_size)
        return error_set(err, EXIT_CODE_USAGE, usage);
    if (json_parse(text.data, (size_t)st.st_size, "the order", &order, err) != 0)
        return -1;
    return parse(order, ret, err);
}

#include "entrypoint/master/preflight/check_data.h"

#include "common/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SLOW = 4 }; /* times slower than the master's is worth a warning */

static const json_t *channels_of(const json_t *host) {
    return json_object_get(json_object_get(host, "data"), "channels");
}

static const json_t *channel_called(const json_t *host, const char *name) {
    const json_t *channels = channels_of(host);
    for (size_t i = 0; i < json_array_size(channels); i++)
        if (strcmp(check_text(json_array_get(channels, i), NULL, "name"), name) == 0)
            return json_array_get(channels, i);
    return NULL;
}

static bool is_set(const json_t *channel, const char *key) {
    return json_is_true(json_object_get(channel, key));
}

/* Appends to the value, which is cut where it is full. */
static void append(struct check_finding *f, const char *text) {
    const size_t used = strlen(f->value);
    (void)snprintf(f->value + used, sizeof(f->value) - used, "%s%s", used > 0 ? "; " : "", text);
}

static void put_channel(const json_t *channel, struct check_finding *f) {
    char text[CHECK_VALUE_SIZE];
    const char *name = check_text(channel, NULL, "name");
    const char *from = check_text(channel, NULL, "from");
    const int64_t files = check_number(channel, NULL, "files");
    if (is_set(channel, "here"))
        (void)snprintf(text, sizeof(text), "%.64s: %s%" PRId64 " file%s, %" PRId64 " MiB%s", name,
                       is_set(channel, "more") ? "more than " : "", files, STR_PLURAL(files),
                       check_number(channel, NULL, "mib"),
                       is_set(channel, "prepared") ? ", prepared" : "");
    else
        (void)snprintf(text, sizeof(text), "%.64s: fetched from %.120s", name, from);
    append(f, text);
}

/* A channel that this host fetches from the first one needs room for what that one has. */
static void look_room(const json_t *host, const json_t *channel, const json_t *first,
                      struct check_finding *f) {
    const int64_t mib = check_number(first, NULL, "mib");
    const int64_t left = check_number(host, "means", "disk_free_mib");
    if (is_set(channel, "here") || !is_set(first, "here") || left < 0 || mib <= left ||
        !str_starts_with(check_text(channel, NULL, "from"), "first://"))
        return;
    check_warn(f, "%.64s: %" PRId64 " MiB are to come, and there is room for %" PRId64,
               check_text(channel, NULL, "name"), mib, left);
}

static void look_same(const json_t *channel, const json_t *first, struct check_finding *f) {
    if (first == NULL || !is_set(channel, "here") || !is_set(first, "here") ||
        is_set(channel, "more") || is_set(first, "more"))
        return;
    if (check_number(channel, NULL, "files") != check_number(first, NULL, "files") ||
        check_number(channel, NULL, "mib") != check_number(first, NULL, "mib"))
        check_warn(f,
                   "%.64s differs from the master's: hosts that hold parts of a set need "
                   "--sharded true",
                   check_text(channel, NULL, "name"));
}

void check_data_look(const json_t *host, const json_t *master, struct check_finding *f) {
    const json_t *channels = channels_of(host);
    for (size_t i = 0; i < json_array_size(channels); i++) {
        const json_t *channel = json_array_get(channels, i);
        const json_t *first = channel_called(master, check_text(channel, NULL, "name"));
        put_channel(channel, f);
        look_room(host, channel, first, f);
        look_same(channel, first, f);
        if (is_set(channel, "here") && check_number(channel, NULL, "files") == 0)
            check_warn(f, "%.64s is empty", check_text(channel, NULL, "name"));
    }
    /* One that only the master has. */
    char text[CHECK_VALUE_SIZE];
    const json_t *expected = channels_of(master);
    for (size_t i = 0; i < json_array_size(expected); i++) {
        const char *name = check_text(json_array_get(expected, i), NULL, "name");
        if (channel_called(host, name) != NULL)
            continue;
        (void)snprintf(text, sizeof(text), "%.64s: not there", name);
        append(f, text);
        check_warn(f, "%.64s is only on other hosts", name);
    }
}

void check_data_look_reading(const json_t *host, const json_t *master, struct check_finding *f) {
    const int64_t speed = check_number(host, "data", "read_mib");
    int64_t about = 1;
    if (speed < 0)
        return;
    /* Rounded down, so that hosts that read alike are one row. */
    while (2 * about <= speed)
        about *= 2;
    check_put(f, "data comes at %" PRId64 " MiB/s or more", about);
    if (SLOW * speed < check_number(master, "data", "read_mib"))
        check_warn(f, "less than a quarter of the master's: the slowest host holds up all");
}

#include "entrypoint/job/cluster/platform_variables.h"

#include "common/cleanup.h"
#include "common/str.h"
#include "entrypoint/job/cluster/host_list.h"
#include "entrypoint/job/cluster/host_list_formats.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Returns true for a name that every machine has; it identifies this host only if it has no other.
 */
static bool is_every_machine(const struct host_name *name) {
    static const struct host_name names[] = {{"localhost"}, {"127.0.0.1"}, {"::1"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (host_name_equal(&names[i], name))
            return true;
    return false;
}

static int find_self(struct platform_description *d, const struct local_names *own,
                     struct error *err) {
    size_t found = 0;
    if (d->count == 1 && is_every_machine(&d->hosts[0].name)) {
        d->self = d->hosts[0].name;
        return 0;
    }
    for (size_t i = 0; i < d->count; i++) {
        if (local_names_has(own, &d->hosts[i].name)) {
            d->self = d->hosts[i].name;
            found++;
        }
    }
    if (found == 1)
        return 0;
    char names[HOST_NAME_LIST_SIZE];
    return error_set(err, EXIT_CODE_CONFIG,
                     "RINGMASTER_HOSTS: %s of its hosts has this machine's name or address (%s); "
                     "set RINGMASTER_HOST to this host's name in the list",
                     found == 0 ? "none" : "more than one", local_names_text(own, names));
}

/* Parses one "name", "name:slots", "n[1-3]:slots", "fd00::1" or "[fd00::1]:slots" of SIZE bytes. */
static int parse_host(const char *text, size_t size, struct platform_description *ret,
                      struct error *err) {
    struct host_name name;
    size_t name_size = host_name_extent(text, size);
    int64_t slots = 0;
    if (name_size < size) {
        cleanup_free char *number = strndup(text + name_size + 1, size - name_size - 1);
        if (number == NULL)
            return error_no_memory(err, "a number of slots");
        if (str_parse_int(number, 1, CLUSTER_SLOTS_MAX, &slots, err) != 0)
            return error_wrap(err, "the slots of \"%.*s\"", (int)name_size, text);
    }
    if (memchr(text, ':', name_size) == NULL) /* a name or a range of names */
        return host_list_expand(text, name_size, (unsigned)slots, ret, err);
    if (host_name_parse(text, name_size, &name, err) != 0)
        return -1;
    return platform_description_add(ret, &name, (unsigned)slots, err);
}

/* Returns true if TEXT of SIZE bytes holds what other programs separate hosts with. */
static bool holds_separator(const char *text, size_t size) {
    size_t plain = strcspn(text, " ;|\t\n");
    return plain < size && text[plain] != '\0';
}

static int parse_list(const char *hosts, struct platform_description *ret, struct error *err) {
    static const char file[] = "file://";
    if (strncmp(hosts, file, strlen(file)) == 0)
        return host_list_format_file(hosts + strlen(file), "RINGMASTER_HOSTS", ret, err);
    for (const char *at = hosts;;) {
        size_t size = host_list_item(at);
        if (parse_host(at, size, ret, err) != 0)
            return error_wrap(err, "RINGMASTER_HOSTS%s",
                              holds_separator(at, size) ? " (hosts are separated by commas)" : "");
        if (at[size] == '\0')
            return 0;
        at += size + 1;
    }
}

int platform_variables_parse(const char *hosts, const char *host, const struct local_names *own,
                             struct platform_description *ret, struct error *err) {
    ret->source = CLUSTER_ENVIRONMENT;
    ret->hosts_key = "RINGMASTER_HOSTS";
    ret->self_key = host != NULL ? "RINGMASTER_HOST" : "RINGMASTER_HOSTS";
    if (parse_list(hosts, ret, err) != 0)
        return -1;
    if (host == NULL)
        return find_self(ret, own, err);
    return host_name_parse(host, strlen(host), &ret->self, err) == 0
               ? 0
               : error_wrap(err, "RINGMASTER_HOST");
}

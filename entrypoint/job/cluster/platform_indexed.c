#include "entrypoint/job/cluster/platform_indexed.h"

#include "common/argv.h"
#include "common/buf.h"
#include "common/file/file.h"
#include "common/file/file_look.h"
#include "common/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { HOSTS_FILE_MAX = 1024 * 1024 };

static int read_number(char *const *environment, const char *name, int64_t least, int64_t most,
                       int64_t *ret, struct error *err) {
    const char *text = env_get(environment, name);
    if (text == NULL || text[0] == '\0')
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s is not set; expected a number from %" PRId64 " to %" PRId64, name,
                         least, most);
    return str_parse_int(text, least, most, ret, err) == 0 ? 0 : error_wrap(err, "%s", name);
}

struct place {
    int64_t count, self, main;
};

static int read_place(const struct platform_indexed *p, char *const *environment, struct place *ret,
                      struct error *err) {
    *ret = (struct place){0};
    if (read_number(environment, p->count, 1, CLUSTER_HOSTS_MAX, &ret->count, err) != 0)
        return -1;
    const char *index = env_get(environment, p->index);
    bool named = index != NULL && index[0] != '\0';
    if ((named || ret->count > 1) &&
        read_number(environment, p->index, 0, ret->count - 1, &ret->self, err) != 0)
        return error_wrap(err, "%s=%lld", p->count, (long long)ret->count);
    if (ret->count == 1)
        return 1;
    if (p->main == NULL)
        return 0;
    return read_number(environment, p->main, 0, ret->count - 1, &ret->main, err);
}

/* Adds hosts named HEAD, their number, TAIL. */
static int add_hosts(const struct place *place, const char *head, size_t head_size,
                     const char *tail, struct platform_description *ret, struct error *err) {
    char text[2 * HOST_NAME_SIZE];
    for (int64_t i = 0; i < place->count; i++) {
        struct host_name name;
        int size =
            snprintf(text, sizeof(text), "%.*s%lld%s", (int)head_size, head, (long long)i, tail);
        if (host_name_parse(text, (size_t)size, &name, err) != 0 ||
            platform_description_add(ret, &name, 0, err) != 0)
            return -1;
    }
    ret->self = ret->hosts[place->self].name;
    ret->master = ret->hosts[place->main].name;
    return 0;
}

int platform_indexed_read(const struct platform_indexed *p, char *const *environment,
                          struct platform_description *ret, struct error *err) {
    static const char head[] = "node-";
    struct place place;
    int read = read_place(p, environment, &place, err);
    if (read < 0 || add_hosts(&place, head, sizeof(head) - 1, "", ret, err) != 0)
        return -1;
    if (read > 0)
        return read;
    ret->counted = true;
    const char *text = env_get(environment, p->master);
    if (place.self == place.main) { /* The master does not need its own address, and platforms give
                                       it in various forms. */
        if (text != NULL)
            (void)host_name_parse(text, host_name_extent(text, strlen(text)), &ret->master_at,
                                  NULL);
        return 0;
    }
    if (text == NULL || text[0] == '\0')
        return error_set(err, EXIT_CODE_CONFIG, "%s is not set: it says where the master is",
                         p->master);
    if (host_name_parse(text, host_name_extent(text, strlen(text)), &ret->master_at, err) != 0)
        return error_wrap(err, "%s", p->master);
    return 0;
}

/* --- names by a pattern ---------------------------------------------------------------------- */

/* Finds "NAME.DOMAIN" in a line of TEXT and writes ".DOMAIN" to RET, or "" if there is none. */
static void find_domain(const char *text, const char *name, char ret[HOST_NAME_SIZE]) {
    size_t size = strlen(name);
    ret[0] = '\0';
    for (const char *at = text; *at != '\0'; at++) {
        bool begins = at != text && (at[-1] == ' ' || at[-1] == '\t');
        size_t word = strcspn(at, " \t\r\n#");
        if (!begins || word <= size + 1 || word >= HOST_NAME_SIZE || strncmp(at, name, size) != 0 ||
            at[size] != '.')
            continue;
        memcpy(ret, at + size, word - size);
        ret[word - size] = '\0';
        return;
    }
}

int platform_indexed_pattern(const struct platform_indexed *p, char *const *environment,
                             const struct local_names *own, const char *hosts_file,
                             struct platform_description *ret, struct error *err) {
    struct place place;
    char end[32];
    char domain[HOST_NAME_SIZE];
    int read = read_place(p, environment, &place, err);
    if (read != 0)
        return read;
    const char *name = own->has_kernel_name ? own->names[0].text : "";
    size_t size = strcspn(name, ".");
    size_t end_size = (size_t)snprintf(end, sizeof(end), "-%lld", (long long)place.self);
    if (size <= end_size || memcmp(name + size - end_size, end, end_size) != 0)
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s=%lld, but this host's name, \"%s\", does not end with it: name all "
                         "hosts in RINGMASTER_HOSTS, NAME-[0-%lld].SERVICE",
                         p->index, (long long)place.self, name, (long long)place.count - 1);
    cleanup_buf struct buf hosts;
    buf_init(&hosts, HOSTS_FILE_MAX);
    struct error failed = {0};
    if (name[size] != '.' && file_read(hosts_file, &hosts, &failed) != 0) {
        if (failed.os_errno != 0 && !file_is_absence(failed.os_errno)) {
            if (err != NULL)
                *err = failed;
            return -1;
        }
        hosts.size = 0;
    }
    find_domain(buf_text(&hosts), name, domain);
    return add_hosts(&place, name, size - end_size + 1, name[size] == '.' ? name + size : domain,
                     ret, err);
}

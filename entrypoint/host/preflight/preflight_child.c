#include "entrypoint/host/preflight/preflight_child.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "common/str.h"
#include "common/system/sealed_memfd.h"
#include "common/table.h"
#include "entrypoint/gpu/gpu_child.h"
#include "entrypoint/host/preflight/data_look.h"
#include "entrypoint/host/preflight/net_plugin.h"
#include "entrypoint/host/preflight/network_check.h"
#include "entrypoint/host/preflight/resources.h"
#include "entrypoint/job/cluster/platform_description.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Each finding is printed as one line of JSON as soon as it is there, so a part that hangs loses
 * only itself and what comes after it. What is most likely to end comes first: the network, which
 * has a deadline, the kernel's files, and then the data, which may lie on a mounted folder.
 *
 * Parts that a driver may stall are commands of their own (`parts`), and run beside this one. */

static const char usage[] = "`ringmaster examine` is started by `ringmaster check`, with an order";
/* No descriptor of a process is as high, by the default of the kernel (fs.nr_open). */
enum { DESCRIPTOR_MAX = 1 << 20 };

/* Returns a descriptor above the standard streams, which this process has inherited; -1 if WORD
 * names none. */
static int take_descriptor(const char *word) {
    int64_t fd = -1;
    return word != NULL && str_parse_int(word, 3, DESCRIPTOR_MAX, &fd, NULL) == 0 ? (int)fd : -1;
}

/* Only sealed memory is read: its content cannot change after it was checked. pread() leaves the
 * offset alone, which this process shares with its parent. */
static json_t *read_order(int fd, struct error *err) {
    struct stat st;
    json_t *order = NULL;
    cleanup_buf struct buf text;
    buf_init(&text, JSON_FILE_MAX);
    if (!sealed_memfd_is(fd) || fstat(fd, &st) != 0 || st.st_size < 2 ||
        st.st_size > JSON_FILE_MAX || buf_reserve(&text, (size_t)st.st_size, err) != 0 ||
        pread(fd, text.data, (size_t)st.st_size, 0) != st.st_size) {
        (void)error_set(err, EXIT_CODE_USAGE, usage);
        return NULL;
    }
    return json_parse(text.data, (size_t)st.st_size, "the order", &order, err) == 0 ? order : NULL;
}

/* The word is a secret of the check, of a fixed length, and is compared whole. */
static int take_word(const json_t *order, const char *key, char ret[NETWORK_CHECK_WORD_SIZE],
                     struct error *err) {
    const char *text = json_string_value(json_object_get(order, key));
    if (text == NULL || strlen(text) != NETWORK_CHECK_WORD_SIZE - 1)
        return error_set(err, EXIT_CODE_INTERNAL,
                         "the order's member \"%s\" is not a text of %d characters", key,
                         NETWORK_CHECK_WORD_SIZE - 1);
    memcpy(ret, text, NETWORK_CHECK_WORD_SIZE);
    return 0;
}

/* A missing host has no address. Its port stays 0, and the host is not dialled. */
static void take_peers(const json_t *list, struct network_check_peer *ret) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *pair = json_array_get(list, i);
        const char *address = json_string_value(json_array_get(pair, 0));
        json_int_t port = json_integer_value(json_array_get(pair, 1));
        if (address != NULL && net_address_parse(address, &ret[i].address) && port > 0 &&
            port <= UINT16_MAX)
            ret[i].port = (uint16_t)port;
    }
}

/* Triples of peer, time in ns and reason. A time of 0 goes with a reason. */
static json_t *ways_json(const struct network_check_result *r) {
    json_t *list = json_array();
    for (size_t i = 0; i < r->count; i++)
        (void)json_array_append_new(list, json_pack("[I, I, s]", (json_int_t)r->ways[i].peer,
                                                    (json_int_t)r->ways[i].trip, r->ways[i].why));
    return list;
}

/* `sent` is absent if nothing was sent: in a job of one host, or where the next host did not
 * answer. */
static json_t *reach_json(const struct network_check_result *r) {
    const struct network_check_sent *s = &r->sent;
    json_t *object = json_pack("{s:o}", "ways", ways_json(r));
    if (object != NULL && s->tried)
        (void)json_object_set_new(
            object, "sent",
            json_pack("{s:I, s:I, s:I, s:I, s:I}", "peer", (json_int_t)s->peer, "bytes",
                      (json_int_t)s->bytes, "time", (json_int_t)s->time, "path_mtu",
                      (json_int_t)s->path_mtu, "resent", (json_int_t)s->resent));
    return object;
}

/* Takes ownership of VALUE. One write() of a whole line: the parent reads lines, and ignores half a
 * line of a child that was killed. */
static int print(const char *name, json_t *value, struct error *err) {
    cleanup_json json_t *object = json_pack("{s:o}", name, value);
    cleanup_free char *text = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL;
    if (text == NULL)
        return error_no_memory(err, "what was found");
    size_t size = strlen(text);
    text[size] = '\n'; /* replaces the final NUL */
    return file_write_all(STDOUT_FILENO, text, size + 1, err);
}

/* The number of hosts is limited before memory is taken for them. Every error is one of usage, as
 * only a supervisor starts this. */
int preflight_child_read(const json_t *order, struct network_check_options *ret,
                         struct network_check_peer **ret_peers, struct error *err) {
    const json_t *list = json_object_get(order, "peers");
    *ret = (struct network_check_options){
        .count = json_array_size(list),
        .self = (size_t)json_integer_value(json_object_get(order, "self"))};
    *ret_peers = NULL;
    if (ret->count == 0 || ret->count > CLUSTER_HOSTS_MAX || ret->self >= ret->count ||
        take_word(order, "ask", ret->ask, err) != 0 ||
        take_word(order, "answer", ret->answer, err) != 0)
        return error_set(err, EXIT_CODE_USAGE, usage);
    *ret_peers = calloc(ret->count, sizeof(**ret_peers));
    if (*ret_peers == NULL)
        return error_no_memory(err, "hosts");
    take_peers(list, *ret_peers);
    ret->peers = *ret_peers;
    return 0;
}

/* Blocks, for NETWORK_CHECK_MS at most. */
static int preflight_child_network(const json_t *order, int listener, struct error *err) {
    struct network_check_result result;
    struct network_check_options options;
    cleanup_free struct network_check_peer *peers = NULL;
    if (preflight_child_read(order, &options, &peers, err) != 0)
        return -1;
    options.listener = listener;
    int done = network_check_run(&options, &result, err);
    if (done == 0)
        done = print("network", reach_json(&result), err);
    network_check_done(&result);
    return done;
}

/* --- parts that a driver or library may stall ------------------------------------------------ */

/* The plugin is looked for in this container, without a prefix. */
static json_t *find_plugin(char *const *environment) {
    return net_plugin_try("", environment);
}

/* Names are those of the command, and of the members in what is printed. Each blocks for as long as
 * it takes: the parent has the deadline. */
static const struct part {
    const char *name;
    json_t *(*find)(char *const *environment);
} parts[] = {{"plugin", find_plugin}, {"gpus", gpu_child_gpus}, {"memory", gpu_child_memory}};

/* Returns NULL for any other word, NULL among them. */
static const struct part *find_part(const char *word) {
    return word != NULL ? TABLE_FIND(parts, name, word) : NULL;
}

/* Without a base directory there is nothing to look at for data. `xids` prints lines of its own
 * until it is killed, so it is no row of the table. */
int preflight_child_run(const char *const *words, char *const *environment, struct error *err) {
    const struct part *part = find_part(words[0]);
    if (part != NULL)
        return print(part->name, part->find(environment), err);
    if (words[0] != NULL && strcmp(words[0], "xids") == 0)
        return gpu_child_xids(STDOUT_FILENO, err);
    int order_fd = take_descriptor(words[0]);
    int listener = order_fd >= 0 ? take_descriptor(words[1]) : -1;
    if (order_fd < 0)
        return error_set(err, EXIT_CODE_USAGE, usage);
    cleanup_json json_t *order = read_order(order_fd, err);
    if (order == NULL)
        return -1;
    const char *base = json_string_value(json_object_get(order, "base"));
    const char *interface = json_string_value(json_object_get(order, "interface"));
    /* A job of one host has no network to measure. */
    if (listener >= 0 && json_array_size(json_object_get(order, "peers")) > 1 &&
        preflight_child_network(order, listener, err) != 0)
        return -1;
    /* Resources come before the data, which may lie on a disk that hangs. */
    if (print("means",
              resources_gather("", base != NULL ? base : "/", interface != NULL ? interface : ""),
              err) != 0)
        return -1;
    return base != NULL ? print("data", data_look(base, json_object_get(order, "sources")), err)
                        : 0;
}

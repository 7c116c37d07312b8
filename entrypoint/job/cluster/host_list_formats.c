#include "entrypoint/job/cluster/host_list_formats.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "common/str.h"
#include "entrypoint/job/cluster/host_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Platforms write lists of hosts in four forms: words, Slurm's lists with brackets, files with a
 * line for each host or rank, and JSON with hosts by tasks. All forms add to the same description,
 * which limits their number and refuses what is no name. WHERE is the variable at fault, for
 * messages.
 *
 * In a file the same host may have several lines, each worth a rank or more (LSF, PBS), so slots
 * are added up there. In the other forms a repeated name stays in the list, and cluster_make()
 * refuses it. */

enum { FILE_MAX = 1024 * 1024 };

/* Adds a host given as NAME or NAME:PORT. The port belongs to another program and is dropped. */
static int add_name(const char *text, size_t size, unsigned slots, struct platform_description *ret,
                    struct error *err) {
    struct host_name name;
    if (host_name_parse(text, host_name_extent(text, size), &name, err) != 0)
        return -1;
    return platform_description_add(ret, &name, slots, err);
}

int host_list_format_words(const char *text, const char *where, struct platform_description *ret,
                           struct error *err) {
    static const char between[] = " ,;\t\r\n";
    for (const char *at = text + strspn(text, between); *at != '\0'; at += strspn(at, between)) {
        size_t size = strcspn(at, between);
        if (add_name(at, size, 0, ret, err) != 0)
            return error_wrap(err, "%s", where);
        at += size;
    }
    return 0;
}

/* The items between top-level commas are expanded one by one. */
int host_list_format_hostlist(const char *text, const char *where, struct platform_description *ret,
                              struct error *err) {
    for (const char *at = text;;) {
        size_t size = host_list_item(at);
        if (host_list_expand(at, size, 0, ret, err) != 0)
            return error_wrap(err, "%s", where);
        if (at[size] == '\0')
            return 0;
        at += size + 1;
    }
}

/* Adds SLOTS to a host in the list, or a new host with that number of slots. A host's lines are
 * mostly adjacent, so the search starts at the end of the list. */
static int add_slots(const struct host_name *name, unsigned slots, struct platform_description *ret,
                     struct error *err) {
    for (size_t i = ret->count; i-- > 0;)
        if (host_name_equal(&ret->hosts[i].name, name)) {
            /* A sum above the most that a host may have stays at that. */
            unsigned room = CLUSTER_SLOTS_MAX - ret->hosts[i].slots;
            ret->hosts[i].slots += slots < room ? slots : room;
            return 0;
        }
    return platform_description_add(ret, name, slots, err);
}

/* TEXT is not terminated: SIZE bytes of it are the number. More digits than fit are no number of
 * slots. An error quotes no more of TEXT than a host's name may have. */
static int read_slots(const char *text, size_t size, unsigned *ret, struct error *err) {
    char number[16];
    int64_t slots = 0;
    int written = snprintf(number, sizeof(number), "%.*s", (int)size, text);
    if (written < 0 || (size_t)written >= sizeof(number) ||
        str_parse_int(number, 1, CLUSTER_SLOTS_MAX, &slots, err) != 0)
        return error_set(err, EXIT_CODE_CONFIG,
                         "slots: expected a number from 1 to %d, got \"%.*s\"", CLUSTER_SLOTS_MAX,
                         size < HOST_NAME_SIZE ? (int)size : HOST_NAME_SIZE, text);
    *ret = (unsigned)slots;
    return 0;
}

/* Parses a word after a name: mpirun's host files and machine files give slots there. A limit above
 * the number of slots (max_slots) has no effect, because each slot runs one process. The three keys
 * may come in any order, and the last slots= counts. */
static int read_word(const char *text, size_t size, unsigned *ret, struct error *err) {
    static const char *const keys[] = {"slots=", "max_slots=", "max-slots="};
    /* Read to be checked, and then dropped. */
    unsigned most = 0;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        size_t key = strlen(keys[i]);
        if (size > key && memcmp(text, keys[i], key) == 0)
            return read_slots(text + key, size - key, i == 0 ? ret : &most, err);
    }
    return error_set(err, EXIT_CODE_CONFIG,
                     "\"%.*s\" after a host's name: expected slots=N or nothing",
                     size < HOST_NAME_SIZE ? (int)size : HOST_NAME_SIZE, text);
}

/* Adds a line: NAME, NAME:N or NAME slots=N. A line without a number is one slot. Everything after
 * a # is a comment. */
static int add_line(const char *line, size_t size, struct platform_description *ret,
                    struct error *err) {
    static const char blanks[] = " \t\r";
    const char *end = line + size;
    size_t word = strcspn(line, " \t\r\n#");
    size_t extent = host_name_extent(line, word);
    /* A host that is merely listed. */
    unsigned slots = 1;
    struct host_name name;
    if (host_name_parse(line, extent, &name, err) != 0 ||
        (extent < word && read_slots(line + extent + 1, word - extent - 1, &slots, err) != 0))
        return -1;
    for (const char *at = line + word; at < end; at += word) {
        at += strspn(at, blanks);
        word = strcspn(at, " \t\r\n#");
        if (at >= end || *at == '#')
            break;
        if (read_word(at, word, &slots, err) != 0)
            return error_wrap(err, "\"%s\"", name.text);
    }
    return add_slots(&name, slots, ret, err);
}

/* A file that cannot be read is an error: the platform has said that the hosts are in it. */
int host_list_format_file(const char *path, const char *where, struct platform_description *ret,
                          struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, FILE_MAX);
    if (file_read(path, &text, err) != 0)
        return error_wrap(err, "%s", where);
    return host_list_format_lines(buf_text(&text), ret, err) == 0
               ? 0
               : error_wrap(err, "%s: %s", where, path);
}

/* Some editors write an invisible byte order mark at the start of a file. Blank lines, and those
 * that begin with #, are skipped. */
int host_list_format_lines(const char *text, struct platform_description *ret, struct error *err) {
    static const char mark[] = "\xef\xbb\xbf";
    size_t size = 0;
    text += strncmp(text, mark, sizeof(mark) - 1) == 0 ? sizeof(mark) - 1 : 0;
    for (const char *at = text; *at != '\0'; at += size) {
        at += strspn(at, " \t\r\n");
        size = strcspn(at, "\n");
        if (*at != '#' && size > 0 && add_line(at, size, ret, err) != 0)
            return -1;
    }
    return 0;
}

/* --- JSON ------------------------------------------------------------------------------------ */

/* A task that is not there has no hosts. Order matters: a host's place is counted over the tasks in
 * order. */
static int add_task(const json_t *cluster, const char *task, struct platform_description *ret,
                    struct error *err) {
    const json_t *names = json_object_get(cluster, task);
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        if (name == NULL)
            return error_set(err, EXIT_CODE_CONFIG,
                             "\"%s\"[%zu] is not a string; expected HOST:PORT", task, i);
        if (add_name(name, strlen(name), 0, ret, err) != 0)
            return error_wrap(err, "\"%s\"", task);
    }
    return 0;
}

/* Reads an index, which some platforms write as a number and others as text. */
static int read_index(const json_t *task, size_t *ret, struct error *err) {
    const json_t *value = json_object_get(task, "index");
    char *end = NULL;
    long index = -1;
    if (json_is_integer(value))
        index = (long)json_integer_value(value);
    /* An empty text is no number, though strtol() takes it for 0. */
    else if (json_is_string(value) && json_string_length(value) > 0)
        index = strtol(json_string_value(value), &end, 10);
    if (index < 0 || index >= CLUSTER_HOSTS_MAX || (end != NULL && *end != '\0'))
        return error_set(err, EXIT_CODE_CONFIG,
                         "\"task\": \"index\" is missing or invalid; expected 0 to %d",
                         CLUSTER_HOSTS_MAX - 1);
    *ret = (size_t)index;
    return 0;
}

/* Sets which host this one is: its index within its task, after all hosts of the tasks before. A
 * type that is not among TASKS, such as an evaluator or a parameter server, is an error: it would
 * wait for a job that it is no part of. */
static int find_task(const json_t *cluster, const json_t *task, const char *const *tasks,
                     struct platform_description *ret, struct error *err) {
    const char *type = json_string_value(json_object_get(task, "type"));
    size_t place = 0;
    size_t index = 0;
    if (type == NULL || read_index(task, &index, err) != 0)
        return type == NULL
                   ? error_set(err, EXIT_CODE_CONFIG,
                               "\"task\" has no \"type\"; expected one, such as \"worker\"")
                   : -1;
    for (; *tasks != NULL && strcmp(*tasks, type) != 0; tasks++)
        place += json_array_size(json_object_get(cluster, *tasks));
    if (*tasks == NULL)
        return error_set(err, EXIT_CODE_CONFIG,
                         "a task of type \"%.64s\" takes no part in the job; give it a command of "
                         "its own",
                         type);
    if (index >= json_array_size(json_object_get(cluster, *tasks)))
        return error_set(err, EXIT_CODE_CONFIG,
                         "\"task\": \"index\" is %zu; expected less than %zu, the hosts of \"%s\"",
                         index, json_array_size(json_object_get(cluster, *tasks)), type);
    ret->self = ret->hosts[place + index].name;
    return 0;
}

/* JSON with "cluster" and "task", as TensorFlow's TF_CONFIG has it. Without any host in the tasks
 * of interest the list stays empty, and the task is not looked at. */
int host_list_format_spec(const char *text, const char *where, const char *const *tasks,
                          struct platform_description *ret, struct error *err) {
    cleanup_json json_t *root = NULL;
    json_t *cluster = NULL;
    json_t *task = NULL;
    if (json_parse(text, strlen(text), where, &root, err) != 0 ||
        json_member_object(root, where, "cluster", &cluster, err) != 0 ||
        json_member_object(root, where, "task", &task, err) != 0)
        return -1;
    /* The hosts in the order of the tasks, as find_task() counts them. */
    for (const char *const *name = tasks; *name != NULL; name++)
        if (add_task(cluster, *name, ret, err) != 0)
            return error_wrap(err, "%s", where);
    if (ret->count == 0)
        return 0;
    return find_task(cluster, task, tasks, ret, err) == 0 ? 0 : error_wrap(err, "%s", where);
}

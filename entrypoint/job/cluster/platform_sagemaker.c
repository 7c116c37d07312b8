#include "entrypoint/job/cluster/platform_sagemaker.h"

#include "common/file/file_look.h"
#include "common/json/json.h"
#include "common/str.h"
#include "entrypoint/job/machine/interface.h"

#include <stdio.h>
#include <string.h>

/* The service runs docker stop -t 120; the SDK's local mode has the default of compose. */
enum { GRACE = 120, GRACE_LOCAL = 10 };

static int parse_name(const char *text, const char *where, const char *key, struct host_name *ret,
                      struct error *err) {
    if (host_name_parse(text, strlen(text), ret, err) != 0)
        return error_wrap(err, "%s: \"%s\"", where, key);
    return 0;
}

static int read_hosts(const json_t *root, const char *where, struct platform_description *ret,
                      struct error *err) {
    json_t *hosts = NULL;
    if (json_member_array(root, where, "hosts", &hosts, err) != 0)
        return -1;
    if (hosts == NULL)
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s: \"hosts\" is missing; expected a list of names", where);
    for (size_t i = 0; i < json_array_size(hosts); i++) {
        const json_t *item = json_array_get(hosts, i);
        if (!json_is_string(item))
            return error_set(err, EXIT_CODE_CONFIG,
                             "%s: \"hosts\"[%zu] is not a string; expected a host's name", where,
                             i);
        struct host_name name;
        if (parse_name(json_string_value(item), where, "hosts", &name, err) != 0)
            return -1;
        if (platform_description_add(ret, &name, 0, err) != 0)
            return error_wrap(err, "%s: \"hosts\"", where);
    }
    return 0;
}

static int read_self(const json_t *root, const char *where, struct platform_description *ret,
                     struct error *err) {
    const char *text = NULL;
    if (json_member_string(root, where, "current_host", &text, err) != 0)
        return -1;
    if (text == NULL)
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s: \"current_host\" is missing; expected one of \"hosts\"", where);
    return parse_name(text, where, "current_host", &ret->self, err);
}

/* Reads a text that may be missing; a text longer than SIZE is cut. */
static int read_text(const json_t *root, const char *where, const char *key, char *ret, size_t size,
                     struct error *err) {
    const char *text = NULL;
    if (json_member_string(root, where, key, &text, err) != 0)
        return -1;
    if (text == NULL)
        return 0;
    (void)snprintf(ret, size, "%s", text);
    return 0;
}

static int read_rest(const json_t *root, const char *where, struct platform_description *ret,
                     struct error *err) {
    char interface[CLUSTER_TYPE_SIZE] = "";
    if (read_text(root, where, "network_interface_name", interface, sizeof(interface), err) != 0 ||
        read_text(root, where, "current_instance_type", ret->instance_type,
                  sizeof(ret->instance_type), err) != 0 ||
        read_text(root, where, "current_group_name", ret->group, sizeof(ret->group), err) != 0)
        return -1;
    if (interface[0] != '\0' && interface_check_name(interface, err) != 0)
        return error_wrap(err, "%s: \"network_interface_name\"", where);
    (void)snprintf(ret->interface, sizeof(ret->interface), "%.*s", CLUSTER_INTERFACE_SIZE - 1,
                   interface);
    ret->grace = str_starts_with(ret->instance_type, "local") ? GRACE_LOCAL : GRACE;
    return 0;
}

/* Takes ownership of ROOT. */
static int from_json(json_t *root, const char *where, struct platform_description *ret,
                     struct error *err) {
    ret->source = CLUSTER_SAGEMAKER;
    (void)snprintf(ret->where, sizeof(ret->where), "%s", where);
    ret->hosts_key = "\"hosts\"";
    ret->self_key = "\"current_host\"";
    ret->resource_config = root;
    if (!json_is_object(root))
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s: not an object; expected {\"hosts\": [...], ...}", where);
    if (read_hosts(root, where, ret, err) != 0 || read_self(root, where, ret, err) != 0)
        return -1;
    return read_rest(root, where, ret, err);
}

int platform_sagemaker_parse(const char *bytes, size_t size, const char *source,
                             struct platform_description *ret, struct error *err) {
    json_t *root = NULL;
    if (json_parse(bytes, size, source, &root, err) != 0)
        return -1;
    return from_json(root, source, ret, err);
}

int platform_sagemaker_read(const char *path, struct platform_description *ret, struct error *err) {
    struct error failed = {0};
    json_t *root = NULL;
    if (json_read_file(path, &root, &failed) == 0)
        return from_json(root, path, ret, err);
    if (file_is_absence(failed.os_errno))
        return 1;
    if (err != NULL)
        *err = failed;
    return -1;
}

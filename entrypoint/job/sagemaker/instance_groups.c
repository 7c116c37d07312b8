#include "entrypoint/job/sagemaker/instance_groups.h"

#include "common/cleanup.h"
#include "common/json/json.h"

#include <string.h>

const json_t *instance_groups_of_group(const struct cluster *c, const char *name) {
    const json_t *groups = json_object_get(c->resource_config, "instance_groups");
    for (size_t i = 0; i < json_array_size(groups); i++) {
        const json_t *group = json_array_get(groups, i);
        const char *own = json_string_value(json_object_get(group, "instance_group_name"));
        if (own != NULL && strcmp(own, name) == 0)
            return json_object_get(group, "hosts");
    }
    return NULL;
}

static size_t group_count(const struct cluster *c) {
    return json_array_size(json_object_get(c->resource_config, "instance_groups"));
}

json_t *instance_groups_groups(const struct mpi_options *mpi_options, const struct cluster *c) {
    if (mpi_options->groups != NULL)
        return json_incref(mpi_options->groups);
    bool own = mpi_options->mpi == WISH_YES && instance_groups_of_group(c, c->group) != NULL;
    return own ? json_pack("[s]", c->group) : json_array();
}

/* Marks in KEPT the hosts of the group called NAME. */
static int keep_group(const struct cluster *c, const char *name, bool *kept, struct error *err) {
    const json_t *hosts = instance_groups_of_group(c, name);
    if (hosts == NULL)
        return error_set(err, EXIT_CODE_CONFIG,
                         "the hyperparameter sagemaker_distribution_instance_groups: there is no "
                         "instance group \"%.64s\" in this cluster",
                         name);
    for (size_t i = 0; i < json_array_size(hosts); i++) {
        const char *text = json_string_value(json_array_get(hosts, i));
        struct host_name host;
        int index = -1;
        if (text != NULL && host_name_parse(text, strlen(text), &host, NULL) == 0)
            index = cluster_find(c, &host);
        if (index >= 0)
            kept[index] = true;
    }
    return 0;
}

int instance_groups_choose(const struct mpi_options *mpi_options, struct cluster *c,
                           bool *ret_plain, struct error *err) {
    bool kept[CLUSTER_HOSTS_MAX] = {false};
    cleanup_json json_t *groups = instance_groups_groups(mpi_options, c);
    *ret_plain = false;
    if (groups == NULL)
        return error_no_memory(err, "the instance groups");
    for (size_t i = 0; i < json_array_size(groups); i++)
        if (keep_group(c, json_string_value(json_array_get(groups, i)), kept, err) != 0)
            return -1;
    bool divided =
        mpi_options->groups != NULL || (json_array_size(groups) > 0 && group_count(c) > 1);
    *ret_plain = mpi_options->mpi == WISH_NO || (divided && !kept[c->self]);
    if (*ret_plain) {
        memset(kept, 0, sizeof(kept));
        kept[c->self] = true;
    }
    if (*ret_plain || divided)
        cluster_keep(c, kept);
    return 0;
}

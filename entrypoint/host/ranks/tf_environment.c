#include "entrypoint/host/ranks/tf_environment.h"

#include "common/json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char workers_name[] = "RINGMASTER_TF_WORKERS";

static int set_json(struct argv *environment, const char *name, const json_t *value,
                    struct error *err) {
    char *text = json_dumps(value, JSON_COMPACT);
    if (text == NULL)
        return error_set(err, EXIT_CODE_INTERNAL, "%s: no memory", name);
    int result = argv_set_env(environment, name, text, err);
    free(text);
    return result;
}

static json_t *worker(const struct cluster_host *host, unsigned local_rank,
                      const struct ports *ports) {
    const char *name = host->name.text;
    unsigned port = (unsigned)ports->data + ports->data_count - 1 - local_rank;
    return json_sprintf(strchr(name, ':') != NULL ? "[%s]:%u" : "%s:%u", name, port);
}

int tf_environment_add_workers(const struct job *job, struct argv *environment, struct error *err) {
    const struct cluster *c = &job->cluster;
    if (!job->settings.tf_config)
        return 0;
    cleanup_json json_t *workers = json_array();
    size_t order[CLUSTER_HOSTS_MAX];
    size_t count = cluster_order(c, order);
    for (size_t i = 0; i < count; i++)
        for (unsigned local = 0; local < c->hosts[order[i]].slots; local++)
            if (json_array_append_new(workers, worker(&c->hosts[order[i]], local, &job->ports)) !=
                0)
                return error_set(err, EXIT_CODE_INTERNAL, "the list of TensorFlow's workers");
    return set_json(environment, workers_name, workers, err);
}

int tf_environment_add_rank(const struct rank_place *place, struct argv *environment,
                            struct error *err) {
    const char *text = argv_get_env(environment, workers_name);
    if (text == NULL)
        return 0;
    cleanup_json json_t *workers = json_loads(text, 0, NULL);
    if (json_array_size(workers) != place->size)
        return error_set(err, EXIT_CODE_INTERNAL,
                         "TF_CONFIG would have %zu workers, but there are %u ranks",
                         json_array_size(workers), place->size);
    argv_unset_env(environment, workers_name);
    cleanup_json json_t *config = json_pack("{s:{s:O}, s:{s:s, s:i}}", "cluster", "worker", workers,
                                            "task", "type", "worker", "index", (int)place->rank);
    return set_json(environment, "TF_CONFIG", config, err);
}

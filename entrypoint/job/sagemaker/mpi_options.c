#include "entrypoint/job/sagemaker/mpi_options.h"

#include "common/str.h"
#include "common/table.h"
#include "entrypoint/job/cluster/cluster.h"

#include <stdlib.h>
#include <string.h>

void mpi_options_done(struct mpi_options *w) {
    json_decref(w->groups);
    *w = (struct mpi_options){0};
}

/* The toolkit takes any text for yes, even "False"; here false means false. */
static int read_switch(const char *name, const char *text, enum wish *ret, struct error *err) {
    static const struct word {
        const char *text;
        enum wish wish;
    } known[] = {{"true", WISH_YES}, {"True", WISH_YES}, {"1", WISH_YES}, {"false", WISH_NO},
                 {"False", WISH_NO}, {"0", WISH_NO},     {"", WISH_NO}};
    *ret = WISH_UNSAID;
    if (text == NULL)
        return 0;
    const struct word *word = TABLE_FIND(known, text, text);
    if (word != NULL) {
        *ret = word->wish;
        return 0;
    }
    return error_set(err, EXIT_CODE_CONFIG,
                     "the hyperparameter %s: \"%.64s\" is neither true nor false", name, text);
}

static int read_count(const char *name, const char *text, int64_t max, unsigned *ret,
                      struct error *err) {
    int64_t count = 0;
    *ret = 0;
    if (text == NULL)
        return 0;
    if (str_parse_whole(text, 1, max, &count, err) != 0)
        return error_wrap(err, "the hyperparameter %s", name);
    *ret = (unsigned)count;
    return 0;
}

static bool is_list_of_texts(const json_t *list) {
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!json_is_string(json_array_get(list, i)))
            return false;
    return json_array_size(list) > 0;
}

static int read_groups(const char *name, const char *text, json_t **ret, struct error *err) {
    *ret = NULL;
    if (text == NULL || strcmp(text, "[]") == 0)
        return 0;
    *ret = json_loads(text, 0, NULL);
    if (is_list_of_texts(*ret))
        return 0;
    return error_set(
        err, EXIT_CODE_CONFIG,
        "the hyperparameter %s: \"%.64s\" is not a list of group names such as [\"workers\"]", name,
        text);
}

enum { MPI, SLOTS, RANKS, OPTIONS, GROUPS, NAMES };
static const char *const names[NAMES] = {
    [MPI] = "sagemaker_mpi_enabled",
    [SLOTS] = "sagemaker_mpi_num_of_processes_per_host",
    [RANKS] = "sagemaker_mpi_num_processes",
    [OPTIONS] = "sagemaker_mpi_custom_mpi_options",
    [GROUPS] = "sagemaker_distribution_instance_groups",
};

int mpi_options_read(const struct hyperparameters *h, struct mpi_options *ret, struct error *err) {
    const char *text[NAMES];
    for (size_t i = 0; i < NAMES; i++)
        text[i] = hyperparameters_get(h, names[i]);
    *ret = (struct mpi_options){.options = text[OPTIONS] != NULL ? text[OPTIONS] : ""};
    if (read_switch(names[MPI], text[MPI], &ret->mpi, err) != 0 ||
        read_count(names[SLOTS], text[SLOTS], CLUSTER_SLOTS_MAX, &ret->slots, err) != 0 ||
        read_count(names[RANKS], text[RANKS], (int64_t)CLUSTER_HOSTS_MAX * CLUSTER_SLOTS_MAX,
                   &ret->ranks, err) != 0)
        return -1;
    return read_groups(names[GROUPS], text[GROUPS], &ret->groups, err);
}

/* Cluster descriptions: the first byte chooses RINGMASTER_HOSTS ('E'), a list of Slurm's ('L'), a
 * host file ('F'), a specification of TensorFlow's kind ('S') or resourceconfig.json. A
 * cluster that was read holds its promises. */
#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/job/cluster/host_list_formats.h"
#include "entrypoint/job/cluster/platform_sagemaker.h"
#include "entrypoint/job/cluster/platform_variables.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_variable(const uint8_t *data, size_t size, struct platform_description *ret,
                         struct error *err) {
    static const struct local_names own = {
        .names = {{"algo-1"}, {"10.0.0.1"}}, .count = 2, .has_kernel_name = true};
    char *text = strndup((const char *)data, size);
    CHECK(text != NULL);
    int done = platform_variables_parse(text, NULL, &own, ret, err);
    free(text);
    return done;
}

static int read_form(const uint8_t *data, size_t size, struct platform_description *ret,
                     struct error *err) {
    static const char *const tasks[] = {"workerpool0", "workerpool1", NULL};
    char *text = strndup((const char *)data + 1, size - 1);
    CHECK(text != NULL);
    ret->hosts_key = ret->self_key = "list";
    int done = data[0] == 'F'   ? host_list_format_lines(text, ret, err)
               : data[0] == 'S' ? host_list_format_spec(text, "spec", tasks, ret, err)
                                : host_list_format_hostlist(text, "list", ret, err);
    free(text);
    if (done == 0 && ret->count > 0 && ret->self.text[0] == '\0')
        ret->self = ret->hosts[0].name;
    return done;
}

static void check_cluster(const struct cluster *c) {
    CHECK(c->count >= 1 && c->count <= CLUSTER_HOSTS_MAX && c->self < c->count);
    CHECK(strlen(c->interface) < sizeof(c->interface));
    for (size_t i = 0; i < c->count; i++) {
        struct host_name again;
        const char *name = c->hosts[i].name.text;
        CHECK(host_name_parse(name, strlen(name), &again, NULL) == 0);
        CHECK(c->hosts[i].slots <= CLUSTER_SLOTS_MAX);
        CHECK(i == 0 || host_name_compare(&c->hosts[i - 1].name, &c->hosts[i].name) < 0);
        CHECK(cluster_find(c, &c->hosts[i].name) == (int)i);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct platform_description d = {0};
    struct cluster c = {0};
    struct error err = {0};
    if (size == 0)
        return 0;
    int done = 0;
    if (data[0] == 'E')
        done = read_variable(data + 1, size - 1, &d, &err);
    else if (data[0] == 'L' || data[0] == 'S' || data[0] == 'F')
        done = read_form(data, size, &d, &err);
    else
        done = platform_sagemaker_parse((const char *)data + 1, size - 1, "file", &d, &err);
    if (done == 0 && cluster_make(&d, "job", &c, &err) == 0)
        check_cluster(&c);
    else
        CHECK(err.text[0] != '\0');
    platform_description_done(&d);
    cluster_done(&c);
    return 0;
}

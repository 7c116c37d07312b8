#include "entrypoint/job/cluster/platform_sagemaker.h"
#include "entrypoint/job/sagemaker/instance_groups.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

/* Two groups; their hosts are in no order, as the service lists them. */
static struct cluster cluster_of(const char *self, const char *group) {
    char text[512];
    struct platform_description d = {0};
    struct cluster c;
    snprintf(text, sizeof(text),
             "{\"current_host\":\"%s\",\"hosts\":[\"algo-1\",\"algo-2\",\"algo-3\"],"
             "\"current_group_name\":\"%s\",\"instance_groups\":["
             "{\"instance_group_name\":\"g1\",\"hosts\":[\"algo-2\"]},"
             "{\"instance_group_name\":\"g2\",\"hosts\":[\"algo-3\",\"algo-1\"]}]}",
             self, group);
    CU_ASSERT_EQUAL_FATAL(platform_sagemaker_parse(text, strlen(text), "r", &d, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(cluster_make(&d, "job", &c, NULL), 0);
    platform_description_done(&d);
    return c;
}

/* The names of C's hosts, each followed by a blank; this host's own has a star. */
static const char *names(const struct cluster *c) {
    static char text[4096];
    text[0] = '\0';
    for (size_t i = 0; i < c->count; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s ", c->hosts[i].name.text,
                 i == c->self ? "*" : "");
    return text;
}

static void chosen(const char *self, const char *group, const struct mpi_options *w,
                   const char *expected, bool plain) {
    struct cluster c = cluster_of(self, group);
    bool is_plain = !plain;
    CU_ASSERT_EQUAL(instance_groups_choose(w, &c, &is_plain, NULL), 0);
    CU_ASSERT_STRING_EQUAL(names(&c), expected);
    CU_ASSERT_EQUAL(is_plain, plain);
    cluster_done(&c);
}

static void without_a_word_all_hosts_are_one_job(void) {
    struct mpi_options none = {0};
    chosen("algo-2", "g1", &none, "algo-1 algo-2* algo-3 ", false);
    chosen("algo-3", "g2", &none, "algo-1 algo-2 algo-3* ", false);
}

static void a_distribution_is_the_hosts_of_its_groups(void) {
    struct mpi_options one = {.groups = json_pack("[s]", "g2")};
    struct mpi_options both = {.groups = json_pack("[ss]", "g2", "g1")};
    chosen("algo-1", "g2", &one, "algo-1* algo-3 ", false);
    chosen("algo-3", "g2", &one, "algo-1 algo-3* ", false);
    chosen("algo-2", "g1", &one, "algo-2* ", true);
    chosen("algo-2", "g1", &both, "algo-1 algo-2* algo-3 ", false);
    mpi_options_done(&one);
    mpi_options_done(&both);
}

static void mpi_alone_makes_a_job_of_each_group(void) {
    struct mpi_options yes = {.mpi = WISH_YES};
    chosen("algo-1", "g2", &yes, "algo-1* algo-3 ", false);
    chosen("algo-2", "g1", &yes, "algo-2* ", false);
    /* No group that is known: nothing to go by. */
    chosen("algo-2", "", &yes, "algo-1 algo-2* algo-3 ", false);
}

static void without_mpi_every_host_is_alone(void) {
    struct mpi_options no = {.mpi = WISH_NO};
    chosen("algo-1", "g2", &no, "algo-1* ", true);
    chosen("algo-3", "g2", &no, "algo-3* ", true);
}

static void a_group_that_nobody_knows_is_an_error(void) {
    struct mpi_options wrong = {.groups = json_pack("[ss]", "g1", "g3")};
    struct cluster c = cluster_of("algo-2", "g1");
    struct error err = {0};
    bool plain = false;
    CU_ASSERT_EQUAL(instance_groups_choose(&wrong, &c, &plain, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "\"g3\"");
    CU_ASSERT_EQUAL(c.count, 3); /* so that all can join and say so */
    cluster_done(&c);
    mpi_options_done(&wrong);
}

UNIT_SUITE("job.instance_groups", UNIT(without_a_word_all_hosts_are_one_job),
           UNIT(a_distribution_is_the_hosts_of_its_groups),
           UNIT(mpi_alone_makes_a_job_of_each_group), UNIT(without_mpi_every_host_is_alone),
           UNIT(a_group_that_nobody_knows_is_an_error))

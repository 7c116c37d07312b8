#include "mpi/custom_options.h"
#include "support/unit.h"

#include <stdio.h>
#include <string.h>

static const char *joined(const struct argv *words, char text[512]) {
    text[0] = '\0';
    for (size_t i = 0; i < words->count; i++)
        snprintf(text + strlen(text), 512 - strlen(text), "%s%s", i > 0 ? "|" : "",
                 words->items[i]);
    return text;
}

static void what_is_known_is_taken(void) {
    static const struct {
        const char *text, *environment, *places, *ignored;
    } cases[] = {
        {"", "", "|", ""},
        {" \t\n ", "", "|", ""},
        {"-verbose -x K=V", "K=V", "|", "-verbose"},
        {"--NCCL_DEBUG WARN", "NCCL_DEBUG=WARN", "|", ""},
        {"--NCCL_DEBUG=INFO -x OMPI_MCA_btl_vader_single_copy_mechanism=none",
         "NCCL_DEBUG=INFO|OMPI_MCA_btl_vader_single_copy_mechanism=none", "|", ""},
        {"--verbose --output-filename /opt/ml/model/logs -x TF_DEVICE_MIN_SYS_MEMORY_IN_MB=2560",
         "TF_DEVICE_MIN_SYS_MEMORY_IN_MB=2560", "|", "--verbose|--output-filename"},
        {"--mca btl_vader_single_copy_mechanism none",
         "OMPI_MCA_btl_vader_single_copy_mechanism=none", "|", ""},
        {"-mca pml ob1 --gmca btl ^openib,tcp", "OMPI_MCA_pml=ob1|OMPI_MCA_btl=^openib,tcp", "|",
         ""},
        {"--mca mpi_show_mca_params all", "OMPI_MCA_mpi_show_mca_params=all", "|", ""},
        {"-x LD_LIBRARY_PATH", "", "|", "LD_LIBRARY_PATH"},
        {"-x A= -x B=a=b", "A=|B=a=b", "|", ""},
        {"-x 'A=a b' -x \"B=c 'd'\" -x C=e\\ f\\\"", "A=a b|B=c 'd'|C=e f\"", "|", ""},
        {"-x A='$(id) `id` ;&|*'", "A=$(id) `id` ;&|*", "|", ""},
        {"-bind-to core --map-by slot:PE=2", "", "core|slot:PE=2", ""},
        {"--bind-to=socket --map-by=numa", "", "socket|numa", ""},
        {"-v --tag-output --display-map -q", "", "|", "-v|--tag-output|--display-map|-q"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512];
        struct custom_options got;
        struct error err = {0};
        CU_ASSERT_EQUAL(custom_options_parse(cases[i].text, &got, &err), 0);
        CU_ASSERT_STRING_EQUAL(err.text, "");
        CU_ASSERT_STRING_EQUAL(joined(&got.environment, text), cases[i].environment);
        snprintf(text, sizeof(text), "%s|%s", got.bind_to, got.map_by);
        CU_ASSERT_STRING_EQUAL(text, cases[i].places);
        CU_ASSERT_STRING_EQUAL(joined(&got.ignored, text), cases[i].ignored);
        custom_options_done(&got);
    }
}

/* Each names the word that it is about. */
static void what_is_not_is_refused_by_name(void) {
    static const char *const cases[][2] = {
        {"--host a,b", "--host"},
        {"-np 4", "-np"},
        {"--hostfile /x", "--hostfile"},
        {"--prefix /x", "--prefix"},
        {"--mca plm_rsh_agent /bin/sh", "plm_rsh_agent"},
        {"--mca oob_tcp_if_include eth1", "oob_tcp_if_include"},
        {"-x OMPI_MCA_orte_launch_agent=/x", "orte_launch_agent"},
        {"--mca btlx 1", "btlx"},
        {"--mca btl/../x 1", "btl/../x"},
        {"--mca btl", "--mca"},
        {"--mca btl=tcp x", "btl=tcp"},
        {"-x", "-x"},
        {"-x 1A=b", "1A=b"},
        {"-x =b", "=b"},
        {"-x A-B=c", "A-B=c"},
        {"-x RINGMASTER_KEY=x", "RINGMASTER_KEY"},
        {"-x OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_RANK"},
        {"-x PMIX_RANK=0", "PMIX_RANK"},
        {"-x PRTE_MCA_x=0", "PRTE_MCA_x"},
        {"--bind-to board", "board"},
        {"--bind-to core;id", "core;id"},
        {"--map-by node", "node"},
        {"--map-by slot:$x", "slot:$x"},
        {"--map-by slot:PE=11111111111111111111111111111111111111111", "slot:PE=1"},
        {"train.py", "train.py"},
        {"---v", "---v"},
        {"v", "v"},
        {"--verbose=1", "--verbose=1"},
        {"-x 'A=b", "quote"},
        {"-x \"A=b", "quote"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct custom_options got;
        struct error err = {0};
        CU_ASSERT_EQUAL(custom_options_parse(cases[i][0], &got, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, cases[i][1]);
        ASSERT_CONTAINS(err.text, "sagemaker_mpi_custom_mpi_options");
        custom_options_done(&got);
    }
}

UNIT_MAIN("mpi.custom_options", UNIT(what_is_known_is_taken), UNIT(what_is_not_is_refused_by_name))

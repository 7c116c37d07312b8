#include "entrypoint/mpi/custom_options.h"
#include "tests/support/unit.h"

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
        {"-x LD_PRELOAD -x SM_CURRENT_HOST", "", "|", "LD_PRELOAD|SM_CURRENT_HOST"},
        {"-x LD_LIBRARY_PATH=/a:/b -x PATH=/c -x PYTHONPATH=/d -x OMP_NUM_THREADS=2",
         "LD_LIBRARY_PATH=/a:/b|PATH=/c|PYTHONPATH=/d|OMP_NUM_THREADS=2", "|", ""},
        {"-x NCCL_SOCKET_IFNAME=eth0 -x FI_PROVIDER=efa -x SMDEBUG=1 -x SM_HP_X=1 -x RANKS=2",
         "NCCL_SOCKET_IFNAME=eth0|FI_PROVIDER=efa|SMDEBUG=1|SM_HP_X=1|RANKS=2", "|", ""},
        {"-x A=k\303\244se", "A=k\303\244se", "|", ""},
        {"-x A= -x B=a=b", "A=|B=a=b", "|", ""},
        {"-x 'A=a b' -x \"B=c 'd'\" -x C=e\\ f\\\"", "A=a b|B=c 'd'|C=e f\"", "|", ""},
        {"-x A='$(id) `id` ;&|*'", "A=$(id) `id` ;&|*", "|", ""},
        {"-bind-to core --map-by slot:PE=2", "", "core|slot:PE=2", ""},
        {"--bind-to core:overload-allowed,if-supported --map-by socket:PE=16,nooversubscribe", "",
         "core:overload-allowed,if-supported|socket:PE=16,nooversubscribe", ""},
        {"--bind-to numa:If-Supported --map-by l3cache:pe=1,OVERSUBSCRIBE", "",
         "numa:If-Supported|l3cache:pe=1,OVERSUBSCRIBE", ""},
        {"--bind-to core:overload-allowed:if-supported --map-by slot:PE=2:oversubscribe", "",
         "core:overload-allowed:if-supported|slot:PE=2:oversubscribe", ""},
        {"--mca btl self,vader,tcp --mca btl_tcp_if_include eth0,10.0.0.0/16,fd00::/8",
         "OMPI_MCA_btl=self,vader,tcp|OMPI_MCA_btl_tcp_if_include=eth0,10.0.0.0/16,fd00::/8", "|",
         ""},
        {"--mca btl_openib_receive_queues P,128,256,192,128:S,2048,1024,1008,64",
         "OMPI_MCA_btl_openib_receive_queues=P,128,256,192,128:S,2048,1024,1008,64", "|", ""},
        {"--mca coll_tuned_dynamic_rules_filename /opt/ml/input/data/rules/a_b-1.conf",
         "OMPI_MCA_coll_tuned_dynamic_rules_filename=/opt/ml/input/data/rules/a_b-1.conf", "|", ""},
        {"--mca pml_ucx_devices mlx5_* --mca opal_stacktrace_output file:/tmp/%h@x~ --mca "
         "mpi_abort_delay -1",
         "OMPI_MCA_pml_ucx_devices=mlx5_*|OMPI_MCA_opal_stacktrace_output=file:/tmp/%h@x~|OMPI_MCA_"
         "mpi_abort_delay=-1",
         "|", ""},
        {"--mca mpi_param_x a=1;b=2 --mca io_x /daten/k\303\244se --mca btl ''",
         "OMPI_MCA_mpi_param_x=a=1;b=2|OMPI_MCA_io_x=/daten/k\303\244se|OMPI_MCA_btl=", "|", ""},
        {"-x MASTER_ADDR -x MASTER_PORT -x MASTER_ADDRESS=a", "MASTER_ADDRESS=a", "|",
         "MASTER_ADDR|MASTER_PORT"},
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
        {"-x RINGMASTER_KEY", "RINGMASTER_KEY"},
        {"-x LD_PRELOAD=/x.so", "\"LD_PRELOAD=/x.so\" would bring other code into every rank"},
        {"-x LD_AUDIT=/x.so", "LD_AUDIT"},
        {"-x GCONV_PATH=/x", "GCONV_PATH"},
        {"-x BASH_ENV=/x", "BASH_ENV"},
        {"-x ENV=/x", "ENV=/x"},
        {"-x RANK=1", "\"RANK=1\" says which rank it is"},
        {"-x WORLD_SIZE=1", "WORLD_SIZE"},
        {"-x LOCAL_RANK=1", "LOCAL_RANK"},
        {"-x LOCAL_WORLD_SIZE=1", "LOCAL_WORLD_SIZE"},
        {"-x MASTER_ADDR=10.0.0.1", "\"MASTER_ADDR=10.0.0.1\" says where ranks meet"},
        {"-x MASTER_PORT=1", "\"MASTER_PORT=1\" says where ranks meet"},
        {"-x MASTER_ADDR=", "MASTER_ADDR="},
        {"-x CURRENT_HOST=algo-1", "\"CURRENT_HOST=algo-1\" says on which host"},
        {"-x SM_CURRENT_HOST=algo-1", "SM_CURRENT_HOST"},
        {"-x SM_CURRENT_INSTANCE_GROUP=x", "SM_CURRENT_INSTANCE_GROUP"},
        {"-x SM_HOSTS=[]", "SM_HOSTS"},
        {"-x SM_HOST_COUNT=1", "SM_HOST_COUNT"},
        {"-x SM_MASTER_ADDR=x", "SM_MASTER_ADDR"},
        {"-x SM_INSTANCE_GROUPS_DICT={}", "SM_INSTANCE_GROUPS_DICT"},
        {"-x SM_DISTRIBUTION_INSTANCE_GROUPS=[]", "SM_DISTRIBUTION_INSTANCE_GROUPS"},
        {"-x SM_RESOURCE_CONFIG={}", "SM_RESOURCE_CONFIG"},
        {"-x SM_TRAINING_ENV={}", "SM_TRAINING_ENV"},
        {"-x 'A=b\nc'", "the value of \"A\" contains a control character"},
        {"-x 'A=b\tc'", "the value of \"A\" contains a control character"},
        {"-x A=\177", "the value of \"A\" contains a control character"},
        {"--NCCL_DEBUG 'a\rb'", "the value of \"NCCL_DEBUG\" contains a control character"},
        {"--mca btl 'a\033b'", "the value of \"btl\" contains a control character"},
        {"-x OMPI_MCA_btl='a\nb'", "the value of \"btl\" contains a control character"},
        {"--mca btl 'tcp, self'", "the value of \"btl\" has ' ' in it"},
        {"--mca btl tcp\\ self", "the value of \"btl\" has ' ' in it"},
        {"-x OMPI_MCA_btl='a b'", "the value of \"btl\" has ' ' in it"},
        {"--mca btl '$(id)'", "the value of \"btl\" has '$' in it"},
        {"--mca btl '`id`'", "the value of \"btl\" has '`' in it"},
        {"--mca btl \"'tcp'\"", "the value of \"btl\" has ''' in it"},
        {"--mca btl '\"tcp\"'", "the value of \"btl\" has '\"' in it"},
        {"--mca pml 'a|b'", "the value of \"pml\" has '|' in it"},
        {"--mca pml 'a&b'", "the value of \"pml\" has '&' in it"},
        {"--mca pml 'a<b'", "the value of \"pml\" has '<' in it"},
        {"--mca pml 'a>b'", "the value of \"pml\" has '>' in it"},
        {"--mca pml 'a\\b'", "the value of \"pml\" has '\\' in it"},
        {"--mca btl tcp,^openib", "the value of \"btl\" has '^' in it"},
        {"--mca btl ^^tcp", "the value of \"btl\" has '^' in it"},
        {"--mca btl ^tcp,^openib", "the value of \"btl\" has '^' in it"},
        {"--bind-to board", "board"},
        {"--bind-to core;id", "core;id"},
        {"--map-by node", "node"},
        {"--map-by slot:$x", "slot:$x"},
        {"--map-by slot:", "slot:"},
        {"--map-by slot:::", "slot:::"},
        {"--map-by slot:PE=", "slot:PE="},
        {"--map-by slot:PE=0", "slot:PE=0"},
        {"--map-by slot:PE=02", "slot:PE=02"},
        {"--map-by slot:PE=2x", "slot:PE=2x"},
        {"--map-by slot:PE=10000", "slot:PE=10000"},
        {"--map-by slot:PE=2,", "slot:PE=2,"},
        {"--map-by slot:,PE=2", "slot:,PE=2"},
        {"--map-by slot:PE=2:", "slot:PE=2:"},
        {"--map-by slot:PE=2::PE=2", "slot:PE=2::PE=2"},
        {"--map-by slot:PE=2:span", "slot:PE=2:span"},
        {"--map-by socket:span", "socket:span"},
        {"--map-by slot:overload-allowed", "slot:overload-allowed"},
        {"--map-by slot,PE=2", "slot,PE=2"},
        {"--map-by :PE=2", ":PE=2"},
        {"--bind-to core:PE=2", "core:PE=2"},
        {"--bind-to core:oversubscribe", "core:oversubscribe"},
        {"--bind-to core:", "core:"},
        {"--bind-to ''", "\"\" is not a valid placement"},
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

static void a_value_has_a_ceiling(void) {
    static const char *const before[] = {"-x A=", "--mca btl ", "--NCCL_DEBUG="};
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
        for (size_t more = 0; more < 2; more++) {
            char text[CUSTOM_OPTIONS_VALUE_MAX + 64];
            struct custom_options got;
            struct error err = {0};
            size_t size = strlen(before[i]);
            memcpy(text, before[i], size + 1);
            memset(text + size, 'v', CUSTOM_OPTIONS_VALUE_MAX + more);
            text[size + CUSTOM_OPTIONS_VALUE_MAX + more] = '\0';
            CU_ASSERT_EQUAL(custom_options_parse(text, &got, &err), more == 0 ? 0 : -1);
            if (more > 0)
                ASSERT_CONTAINS(err.text, "has more than 4096 bytes");
            custom_options_done(&got);
        }
}

UNIT_SUITE("mpi.custom_options", UNIT(what_is_known_is_taken), UNIT(what_is_not_is_refused_by_name),
           UNIT(a_value_has_a_ceiling))

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "common/system/cpus.h"
#include "entrypoint/job/cluster/platform_sagemaker.h"
#include "entrypoint/job/sagemaker/instance_groups.h"
#include "entrypoint/job/sm_variables.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_cluster(const char *text, struct cluster *ret) {
    struct platform_description d = {0};
    CU_ASSERT_EQUAL(platform_sagemaker_parse(text, strlen(text), "r", &d, NULL), 0);
    CU_ASSERT_EQUAL(cluster_make(&d, "job", ret, NULL), 0);
    platform_description_done(&d);
}

static void read_request(const char *parameters, struct sagemaker_request *ret) {
    char *none[] = {NULL};
    CU_ASSERT_EQUAL(sagemaker_request_parse(parameters, strlen(parameters), "h", none, ret, NULL),
                    0);
}

static struct job sagemaker_job(void) {
    static const char resource[] =
        "{\"current_host\":\"algo-2\",\"hosts\":[\"algo-1\",\"algo-10\",\"algo-2\"],"
        "\"network_interface_name\":\"eth0\",\"current_instance_type\":\"ml.c5.large\","
        "\"current_group_name\":\"g\",\"instance_groups\":[{\"instance_group_name\":\"g\","
        "\"instance_type\":\"ml.c5.large\",\"hosts\":[\"algo-2\",\"algo-1\"]}],\"topology\":null}";
    static const char parameters[] =
        "{\"batch-size\":\"32\",\"s\":\"\\\"abc\\\"\",\"raw\":\"a "
        "b\",\"lr\":\"1e-5\",\"a b\":\"5\",\"t\":\"true\","
        "\"u\":\"\\u00e9\",\"l\":\"[1, 2]\",\"none\":null,\"sagemaker_region\":\"eu-west-1\","
        "\"sagemaker_container_log_level\":\"10\",\"sagemaker_program\":\"\\\"train.py\\\"\","
        "\"sagemaker_submit_directory\":\"s3://b/s.tar.gz\",\"sagemaker_job_name\":\"job\","
        "\"sagemaker_enable_cloudwatch_metrics\":\"false\",\"sagemaker_s3_output\":\"s3://b\","
        "\"default_user_module_name\":\"m\",\"_tuning_objective_metric\":\"loss\","
        "\"sagemaker_mpi_enabled\":\"true\",\"sagemaker_own\":\"1\"}";
    static const char input[] = "{\"train\":{\"TrainingInputMode\":\"File\"},\"My-val\":{}}";
    struct job job = {.settings = {.base_dir = "/opt/ml"}};
    read_cluster(resource, &job.cluster);
    read_request(parameters, &job.request);
    CU_ASSERT_EQUAL(channels_parse(input, strlen(input), "i", &job.channels, NULL), 0);
    cluster_fill_slots(&job.cluster, 2);
    job.program.entry_point = strdup("train.py");
    job.program.directory = strdup("/opt/ml/code");
    CU_ASSERT_EQUAL(argv_add(&job.program.user_args, "--s", NULL), 0);
    CU_ASSERT_EQUAL(argv_add(&job.program.user_args, "abc", NULL), 0);
    return job;
}

static void they_are_what_the_toolkit_sets(void) {
    static const char *const expected[][2] = {
        {"SM_CURRENT_HOST", "algo-2"},
        {"CURRENT_HOST", "algo-2"},
        {"SM_HOSTS", "[\"algo-1\",\"algo-10\",\"algo-2\"]"},
        {"SM_NETWORK_INTERFACE_NAME", "eth0"},
        {"SM_CURRENT_INSTANCE_TYPE", "ml.c5.large"},
        {"SM_CURRENT_INSTANCE_GROUP", "g"},
        {"SM_CURRENT_INSTANCE_GROUP_HOSTS", "[\"algo-2\",\"algo-1\"]"},
        {"SM_INSTANCE_GROUPS", "[\"g\"]"},
        {"SM_INSTANCE_GROUPS_HOSTS", "{\"g\":[\"algo-2\",\"algo-1\"]}"},
        {"SM_INSTANCE_GROUPS_RANKS", "{\"g\":[0,1,2,3]}"},
        {"SM_IS_HETERO", "false"},
        {"SM_INPUT_DIR", "/opt/ml/input"},
        {"SM_INPUT_CONFIG_DIR", "/opt/ml/input/config"},
        {"SM_OUTPUT_DIR", "/opt/ml/output"},
        {"SM_OUTPUT_DATA_DIR", "/opt/ml/output/data"},
        {"SM_OUTPUT_INTERMEDIATE_DIR", "/opt/ml/output/intermediate"},
        {"SM_MODEL_DIR", "/opt/ml/model"},
        {"SM_CHANNELS", "[\"My-val\",\"train\"]"},
        {"SM_CHANNEL_TRAIN", "/opt/ml/input/data/train"},
        {"SM_CHANNEL_MY-VAL", "/opt/ml/input/data/My-val"},
        {"SM_INPUT_DATA_CONFIG", "{\"My-val\":{},\"train\":{\"TrainingInputMode\":\"File\"}}"},
        {"SM_HPS", "{\"a b\":5,\"batch-size\":32,\"l\":[1,2],\"lr\":1e-5,\"none\":null,\"raw\":\"a "
                   "b\",\"s\":\"abc\",\"t\":true,\"u\":\"\\u00E9\"}"},
        {"SM_HP_BATCH-SIZE", "32"},
        {"SM_HP_S", "abc"},
        {"SM_HP_RAW", "a b"},
        {"SM_HP_L", "[1,2]"},
        {"SM_HP_LR", "1e-5"},
        {"SM_HP_T", "true"},
        {"SM_HP_NONE", ""},
        {"SM_HP_U", "\xc3\xa9"},
        {"SM_FRAMEWORK_PARAMS", "{\"sagemaker_mpi_enabled\":true,\"sagemaker_own\":1}"},
        {"SM_LOG_LEVEL", "10"},
        {"SAGEMAKER_REGION", "eu-west-1"},
        {"SAGEMAKER_JOB_NAME", "job"},
        {"SM_FRAMEWORK_MODULE", ""},
        {"SM_NUM_NEURONS", "0"},
        {"SM_INSTANCE_GROUPS_DICT",
         "{\"g\":{\"hosts\":[\"algo-2\",\"algo-1\"],\"instance_group_name\":\"g\","
         "\"instance_type\":\"ml.c5.large\"}}"},
        {"SM_DISTRIBUTION_INSTANCE_GROUPS", "[\"g\"]"},
        {"PYTHONPATH", "/opt/ml/code:/mine"},
        {"SM_USER_ARGS", "[\"--s\",\"abc\"]"},
        {"SM_USER_ENTRY_POINT", "train.py"},
        {"SM_MODULE_NAME", "train"},
        {"SM_MODULE_DIR", "/opt/ml/code"},
    };
    struct job job = sagemaker_job();
    cleanup_argv struct argv got = {0};
    job.request.mpi_options.groups = json_pack("[s]", "g");
    CU_ASSERT_EQUAL(argv_set_env(&got, "PYTHONPATH", "/mine", NULL), 0);
    CU_ASSERT_EQUAL(sm_variables_add(&job, &got, NULL), 0);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        const char *value = argv_get_env(&got, expected[i][0]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(value);
        CU_ASSERT_STRING_EQUAL(value, expected[i][1]);
    }
    /* Beside them what the machine has, the description as it came, and all in one. */
    CU_ASSERT_PTR_NOT_NULL(argv_get_env(&got, "SM_NUM_CPUS"));
    CU_ASSERT_PTR_NOT_NULL(argv_get_env(&got, "SM_NUM_GPUS"));
    CU_ASSERT_PTR_NOT_NULL(argv_get_env(&got, "SM_TRAINING_ENV"));
    CU_ASSERT_EQUAL(got.count, sizeof(expected) / sizeof(expected[0]) + 4);
    CU_ASSERT_PTR_NULL(argv_get_env(&got, "SM_HP_SAGEMAKER_PROGRAM"));
    CU_ASSERT_PTR_NULL(argv_get_env(&got, "SM_HP_A B"));
    ASSERT_CONTAINS(argv_get_env(&got, "SM_RESOURCE_CONFIG"), "\"current_host\":\"algo-2\"");
    job_done(&job);
}

static void the_training_env_holds_them_all(void) {
    static const char *const expected[][2] = {
        {"additional_framework_parameters", "{\"sagemaker_mpi_enabled\":true,\"sagemaker_own\":1}"},
        {"channel_input_dirs",
         "{\"My-val\":\"/opt/ml/input/data/My-val\",\"train\":\"/opt/ml/input/data/train\"}"},
        {"current_host", "\"algo-2\""},
        {"current_instance_group", "\"g\""},
        {"current_instance_group_hosts", "[\"algo-2\",\"algo-1\"]"},
        {"current_instance_type", "\"ml.c5.large\""},
        {"distribution_hosts", "[\"algo-2\",\"algo-1\"]"},
        {"distribution_instance_groups", "[\"g\"]"},
        {"framework_module", "\"\""},
        {"hosts", "[\"algo-1\",\"algo-10\",\"algo-2\"]"},
        {"hyperparameters",
         "{\"a b\":5,\"batch-size\":32,\"l\":[1,2],\"lr\":1e-5,"
         "\"none\":null,\"raw\":\"a b\",\"s\":\"abc\",\"t\":true,\"u\":\"\xc3\xa9\"}"},
        {"input_config_dir", "\"/opt/ml/input/config\""},
        {"input_data_config", "{\"My-val\":{},\"train\":{\"TrainingInputMode\":\"File\"}}"},
        {"input_dir", "\"/opt/ml/input\""},
        {"instance_groups", "[\"g\"]"},
        {"instance_groups_dict", "{\"g\":{\"hosts\":[\"algo-2\",\"algo-1\"],"
                                 "\"instance_group_name\":\"g\",\"instance_type\":"
                                 "\"ml.c5.large\"}}"},
        {"is_hetero", "false"},
        {"is_master", "false"},
        {"is_modelparallel_enabled", "false"},
        {"is_smddpmprun_installed", "false"},
        {"is_smddprun_installed", "false"},
        {"job_name", "\"job\""},
        {"log_level", "10"},
        {"master_hostname", "\"algo-1\""},
        {"model_dir", "\"/opt/ml/model\""},
        {"module_dir", "\"/opt/ml/code\""},
        {"module_name", "\"train\""},
        {"network_interface_name", "\"eth0\""},
        {"num_neurons", "0"},
        {"output_data_dir", "\"/opt/ml/output/data\""},
        {"output_dir", "\"/opt/ml/output\""},
        {"output_intermediate_dir", "\"/opt/ml/output/intermediate\""},
        {"user_entry_point", "\"train.py\""},
    };
    struct job job = sagemaker_job();
    cleanup_argv struct argv got = {0};
    job.request.mpi_options.groups = json_pack("[s]", "g");
    CU_ASSERT_EQUAL(sm_variables_add(&job, &got, NULL), 0);
    const char *text = argv_get_env(&got, "SM_TRAINING_ENV");
    cleanup_json json_t *object = NULL;
    CU_ASSERT_EQUAL_FATAL(json_parse(text, strlen(text), "env", &object, NULL), 0);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        cleanup_free char *value =
            json_dumps(json_object_get(object, expected[i][0]),
                       JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        CU_ASSERT_PTR_NOT_NULL_FATAL(value);
        CU_ASSERT_STRING_EQUAL(value, expected[i][1]);
    }
    /* Beside them what the machine has, and the description as it came. */
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(object, "num_cpus")), cpus_affinity());
    CU_ASSERT(json_is_integer(json_object_get(object, "num_gpus")));
    CU_ASSERT(json_equal(json_object_get(object, "resource_config"), job.cluster.resource_config));
    CU_ASSERT_EQUAL(json_object_size(object), sizeof(expected) / sizeof(expected[0]) + 3);
    job_done(&job);
}

static void every_group_has_its_hosts_and_ranks(void) {
    struct job job = {.settings = {.base_dir = "/opt/ml"}};
    cleanup_argv struct argv got = {0};
    read_cluster("{\"current_host\":\"algo-3\",\"hosts\":[\"algo-1\",\"algo-2\",\"algo-3\"],"
                 "\"current_group_name\":\"b\",\"instance_groups\":["
                 "{\"instance_group_name\":\"b\",\"hosts\":[\"algo-3\",\"algo-1\"]},"
                 "{\"instance_group_name\":\"a\",\"hosts\":[\"algo-2\"]}],"
                 "\"topology\":{\"nodes\":3}}",
                 &job.cluster);
    cluster_fill_slots(&job.cluster, 2);
    CU_ASSERT_EQUAL(sm_variables_add(&job, &got, NULL), 0);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "SM_IS_HETERO"), "true");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "SM_INSTANCE_GROUPS"), "[\"b\",\"a\"]");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "SM_INSTANCE_GROUPS_HOSTS"),
                           "{\"a\":[\"algo-2\"],\"b\":[\"algo-3\",\"algo-1\"]}");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "SM_INSTANCE_GROUPS_RANKS"),
                           "{\"a\":[2,3],\"b\":[0,1,4,5]}");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "SM_CURRENT_INSTANCE_GROUP"), "b");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "SM_TOPOLOGY"), "{\"nodes\":3}");
    ASSERT_CONTAINS(argv_get_env(&got, "SM_TRAINING_ENV"), "\"topology\":{\"nodes\":3}");
    job_done(&job);
}

/* A cluster of 1,000 hosts, PREFIX and a number: 600 of them, from the last one on, are group "b",
 * which the rest, group "a", follows. */
static void thousand(const char *prefix, struct job *job) {
    cleanup_buf struct buf text;
    buf_init(&text, 1 << 20);
    buf_printf(&text, NULL, "{\"current_host\":\"%s400\",\"current_group_name\":\"a\",\"hosts\":[",
               prefix);
    for (int i = 1; i <= 1000; i++)
        buf_printf(&text, NULL, "%s\"%s%d\"", i > 1 ? "," : "", prefix, i);
    buf_add_text(&text, "],\"instance_groups\":[", NULL);
    for (int group = 0; group < 2; group++) {
        buf_printf(&text, NULL,
                   "%s{\"instance_group_name\":\"%s\",\"instance_type\":\"t\",\"hosts\":[",
                   group > 0 ? "," : "", group > 0 ? "a" : "b");
        for (int i = group > 0 ? 400 : 1000; i > (group > 0 ? 0 : 400); i--)
            buf_printf(&text, NULL, "\"%s%d\"%s", prefix, i, i > (group > 0 ? 1 : 401) ? "," : "");
        buf_add_text(&text, "]}", NULL);
    }
    CU_ASSERT_EQUAL(buf_add_text(&text, "]}", NULL), 0);
    read_cluster(buf_text(&text), &job->cluster);
    CU_ASSERT_EQUAL_FATAL(job->cluster.count, 1000);
    cluster_fill_slots(&job->cluster, 8);
}

/* How many members the list called GROUP has in the variable NAME, and its first one. */
static size_t members(const struct argv *got, const char *name, const char *group, json_t **first) {
    const char *text = argv_get_env(got, name);
    cleanup_json json_t *all = NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_EQUAL_FATAL(json_parse(text, strlen(text), name, &all, NULL), 0);
    const json_t *list = group != NULL ? json_object_get(all, group) : all;
    *first = json_incref(json_array_get(list, 0));
    return json_array_size(list);
}

/* Of the two groups one is the job: 3,200 ranks, of 8,000 that the others would make. */
static void a_thousand_hosts_in_groups_have_their_variables(void) {
    static const struct {
        const char *name, *group;
        size_t count;
        const char *first;
    } rows[] = {
        {"SM_HOSTS", NULL, 1000, "algo-1"},
        {"SM_CURRENT_INSTANCE_GROUP_HOSTS", NULL, 400, "algo-400"},
        {"SM_INSTANCE_GROUPS_HOSTS", "a", 400, "algo-400"},
        {"SM_INSTANCE_GROUPS_HOSTS", "b", 600, "algo-1000"},
        {"SM_INSTANCE_GROUPS_RANKS", "a", 3200, NULL},
        {"SM_INSTANCE_GROUPS_RANKS", "b", 0, NULL},
    };
    struct job job = {.settings = {.base_dir = "/opt/ml"}};
    cleanup_argv struct argv got = {0};
    bool plain = true;
    thousand("algo-", &job);
    job.request.mpi_options.groups = json_pack("[s]", "a");
    CU_ASSERT_EQUAL(instance_groups_choose(&job.request.mpi_options, &job.cluster, &plain, NULL),
                    0);
    CU_ASSERT_FALSE(plain);
    CU_ASSERT_EQUAL(job.cluster.count, 400);
    CU_ASSERT_STRING_EQUAL(job.cluster.hosts[0].name.text, "algo-1");
    CU_ASSERT_STRING_EQUAL(job.cluster.hosts[job.cluster.self].name.text, "algo-400");
    CU_ASSERT_EQUAL(sm_variables_add(&job, &got, NULL), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cleanup_json json_t *first = NULL;
        CU_ASSERT_EQUAL(members(&got, rows[i].name, rows[i].group, &first), rows[i].count);
        if (rows[i].first != NULL)
            CU_ASSERT_STRING_EQUAL(json_string_value(first), rows[i].first);
    }
    /* All in one has room, and so has what the platform wrote. */
    ASSERT_CONTAINS(argv_get_env(&got, "SM_TRAINING_ENV"), "\"distribution_hosts\":[\"algo-400\"");
    ASSERT_CONTAINS(argv_get_env(&got, "SM_RESOURCE_CONFIG"), "\"algo-1000\"");
    for (size_t i = 0; i < got.count; i++)
        CU_ASSERT(strlen(got.items[i]) < SM_VARIABLE_MAX);
    job_done(&job);
}

static void arguments_that_are_not_utf_8_stop_nothing(void) {
    struct job job = sagemaker_job();
    cleanup_argv struct argv got = {0};
    CU_ASSERT_EQUAL(argv_add(&job.program.user_args, "a\x83z", NULL), 0);
    CU_ASSERT_EQUAL(sm_variables_add(&job, &got, NULL), 0);
    ASSERT_CONTAINS(argv_get_env(&got, "SM_USER_ARGS"), "a\\uFFFDz");
    job_done(&job);
}

static void integers_of_any_size_keep_their_digits(void) {
    static const char parameters[] = "{\"seed\":18446744073709551615,\"lr\":0.1,"
                                     "\"ids\":\"[99999999999999999999]\"}";
    static const char all[] =
        "{\"ids\":[99999999999999999999],\"lr\":0.1,\"seed\":18446744073709551615}";
    struct job job = sagemaker_job();
    cleanup_argv struct argv got = {0};
    sagemaker_request_done(&job.request);
    read_request(parameters, &job.request);
    CU_ASSERT_EQUAL(sm_variables_add(&job, &got, NULL), 0);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "SM_HPS"), all);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "SM_HP_SEED"), "18446744073709551615");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "SM_HP_IDS"), "[99999999999999999999]");
    ASSERT_CONTAINS(argv_get_env(&got, "SM_TRAINING_ENV"), all);
    job_done(&job);
}

static void without_sagemaker_they_describe_the_cluster_all_the_same(void) {
    static struct cluster_host hosts[] = {{.name = {"n1"}, .slots = 1},
                                          {.name = {"n2"}, .slots = 1}};
    struct job job = {.settings = {.base_dir = "/x"},
                      .cluster = {.hosts = hosts, .count = 2, .self = 0}};
    cleanup_argv struct argv got = {0};
    CU_ASSERT_EQUAL(sm_variables_add(&job, &got, NULL), 0);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "SM_HOSTS"), "[\"n1\",\"n2\"]");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "SM_MODEL_DIR"), "/x/model");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "SM_HPS"), "{}");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "SM_INSTANCE_GROUPS"), "[]");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "SM_USER_ENTRY_POINT"), "");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "SM_MODULE_DIR"), "/x/code");
    CU_ASSERT_PTR_NULL(argv_get_env(&got, "SM_TOPOLOGY"));
    CU_ASSERT_PTR_NULL(argv_get_env(&got, "PYTHONPATH"));
    CU_ASSERT_PTR_NULL(argv_get_env(&got, "SAGEMAKER_REGION"));
}

/* A description may have no groups, or an empty list of them, as in local mode. */
static void without_groups_there_is_one_that_nobody_lists(void) {
    static const char *const expected[][2] = {
        {"SM_CURRENT_INSTANCE_GROUP", "homogeneousCluster"},
        {"SM_CURRENT_INSTANCE_GROUP_HOSTS", "[]"},
        {"SM_INSTANCE_GROUPS", "[]"},
        {"SM_INSTANCE_GROUPS_DICT", "{}"},
        {"SM_IS_HETERO", "false"},
    };
    static const struct {
        const char *groups;
        enum wish mpi;
        const char *distributed;
    } cases[] = {
        {"", WISH_UNSAID, "[]"},
        {"", WISH_NO, "[]"},
        {"", WISH_YES, "[\"homogeneousCluster\"]"},
        {",\"instance_groups\":[]", WISH_YES, "[\"homogeneousCluster\"]"},
        {",\"current_group_name\":\"homogeneousCluster\"", WISH_YES, "[\"homogeneousCluster\"]"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct job job = {.settings = {.base_dir = "/opt/ml"},
                          .request.mpi_options.mpi = cases[i].mpi};
        char text[256];
        cleanup_argv struct argv got = {0};
        (void)snprintf(text, sizeof(text), "{\"current_host\":\"b\",\"hosts\":[\"a\",\"b\"]%s}",
                       cases[i].groups);
        read_cluster(text, &job.cluster);
        cluster_fill_slots(&job.cluster, 1);
        CU_ASSERT_EQUAL(sm_variables_add(&job, &got, NULL), 0);
        for (size_t k = 0; k < sizeof(expected) / sizeof(expected[0]); k++)
            CU_ASSERT_STRING_EQUAL(argv_get_env(&got, expected[k][0]), expected[k][1]);
        CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "SM_DISTRIBUTION_INSTANCE_GROUPS"),
                               cases[i].distributed);
        CU_ASSERT_PTR_NULL(argv_get_env(&got, "SM_INSTANCE_GROUPS_HOSTS"));
        const char *all = argv_get_env(&got, "SM_TRAINING_ENV");
        ASSERT_CONTAINS(all, "\"distribution_hosts\":[\"a\",\"b\"]");
        ASSERT_CONTAINS(all, "\"current_instance_group\":\"homogeneousCluster\"");
        ASSERT_CONTAINS(all, "\"current_instance_group_hosts\":[]");
        ASSERT_CONTAINS(all, "\"instance_groups\":[]");
        ASSERT_CONTAINS(all, "\"instance_groups_dict\":{}");
        ASSERT_CONTAINS(all, "\"is_hetero\":false");
        job_done(&job);
    }
}

/* With groups only their hosts are distributed: none where no group is. */
static void groups_that_are_not_distributed_have_no_hosts_in_it(void) {
    struct job job = sagemaker_job();
    cleanup_argv struct argv got = {0};
    job.request.mpi_options.mpi = WISH_UNSAID;
    CU_ASSERT_EQUAL(sm_variables_add(&job, &got, NULL), 0);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "SM_DISTRIBUTION_INSTANCE_GROUPS"), "[]");
    ASSERT_CONTAINS(argv_get_env(&got, "SM_TRAINING_ENV"), "\"distribution_hosts\":[]");
    job_done(&job);
}

static void the_region_is_the_job_s_or_the_container_s(void) {
    static const struct {
        const char *parameters, *variables[3][2], *region;
    } cases[] = {
        {"{\"sagemaker_region\":\"eu-west-1\"}", {{"AWS_REGION", "us-east-1"}}, "eu-west-1"},
        {"{\"sagemaker_region\":\"eu-west-1\"}", {{"SAGEMAKER_REGION", "x"}}, "eu-west-1"},
        {"{}", {{"AWS_REGION", "us-east-1"}}, "us-east-1"},
        {"{}", {{"AWS_REGION", "a"}, {"AWS_DEFAULT_REGION", "b"}}, "b"},
        {"{}", {{"AWS_REGION", "a"}, {"SAGEMAKER_REGION", "c"}}, "c"},
        {"{}", {{"AWS_REGION", ""}}, NULL},
        {"{}", {{NULL, NULL}}, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct job job = {.settings = {.base_dir = "/opt/ml"}};
        cleanup_argv struct argv got = {0};
        read_cluster("{\"current_host\":\"a\",\"hosts\":[\"a\"]}", &job.cluster);
        read_request(cases[i].parameters, &job.request);
        for (size_t k = 0; k < 3 && cases[i].variables[k][0] != NULL; k++)
            CU_ASSERT_EQUAL(
                argv_set_env(&got, cases[i].variables[k][0], cases[i].variables[k][1], NULL), 0);
        CU_ASSERT_EQUAL(sm_variables_add(&job, &got, NULL), 0);
        const char *region = argv_get_env(&got, "SAGEMAKER_REGION");
        CU_ASSERT_EQUAL(region == NULL, cases[i].region == NULL);
        if (region != NULL && cases[i].region != NULL)
            CU_ASSERT_STRING_EQUAL(region, cases[i].region);
        job_done(&job);
    }
}

static void hosts_that_are_gone_are_left_out(void) {
    struct job job = sagemaker_job();
    cleanup_argv struct argv got = {0};
    cluster_drop(&job.cluster, 0);
    CU_ASSERT_EQUAL(sm_variables_add(&job, &got, NULL), 0);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "SM_HOSTS"), "[\"algo-10\",\"algo-2\"]");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "SM_CURRENT_INSTANCE_GROUP_HOSTS"), "[\"algo-2\"]");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "SM_INSTANCE_GROUPS_RANKS"), "{\"g\":[0,1]}");
    ASSERT_CONTAINS(argv_get_env(&got, "SM_RESOURCE_CONFIG"), "algo-1\"");
    job_done(&job);
}

static char said[1024];

static void keep(void *context, const char *line, size_t size) {
    (void)context;
    (void)snprintf(said + strlen(said), sizeof(said) - strlen(said), "%.*s", (int)size, line);
}

/* 100 of 2,500 bytes: each fits into a variable of its own, all together into none. */
static void what_is_too_long_for_a_variable_is_left_out(void) {
    struct job job = {.settings = {.base_dir = "/opt/ml"}};
    cleanup_buf struct buf text;
    cleanup_argv struct argv got = {0};
    buf_init(&text, 1 << 20);
    for (int i = 0; i < 100; i++)
        CU_ASSERT_EQUAL(buf_printf(&text, NULL, "%s\"p%d\":\"%02500d\"", i == 0 ? "{" : ",", i, i),
                        0);
    CU_ASSERT_EQUAL(buf_add(&text, "}", 1, NULL), 0);
    read_cluster("{\"current_host\":\"a\",\"hosts\":[\"a\"]}", &job.cluster);
    read_request(buf_text(&text), &job.request);
    struct log_sink before = log_set_sink((struct log_sink){.put = keep});
    CU_ASSERT_EQUAL(sm_variables_add(&job, &got, NULL), 0);
    (void)log_set_sink(before);
    CU_ASSERT_PTR_NULL(argv_get_env(&got, "SM_HPS"));
    CU_ASSERT_PTR_NULL(argv_get_env(&got, "SM_TRAINING_ENV"));
    ASSERT_CONTAINS(said, "SM_HPS is left out");
    ASSERT_CONTAINS(said, "SM_TRAINING_ENV is left out");
    for (size_t i = 0; i < got.count; i++)
        CU_ASSERT(strlen(got.items[i]) < SM_VARIABLE_MAX);
    CU_ASSERT_PTR_NOT_NULL_FATAL(argv_get_env(&got, "SM_HP_P99"));
    CU_ASSERT_EQUAL(strlen(argv_get_env(&got, "SM_HP_P99")), 2500);
    job_done(&job);
}

/* With names of the maximum length, each list fits into a variable, but all of them together do
 * not. */
static void a_thousand_long_names_leave_out_what_has_no_room(void) {
    struct job job = {.settings = {.base_dir = "/opt/ml"}};
    cleanup_argv struct argv got = {0};
    said[0] = '\0';
    thousand("a-host-of-this-cluster-that-has-a-name-of-sixty-bytes-and-", &job);
    struct log_sink before = log_set_sink((struct log_sink){.put = keep});
    CU_ASSERT_EQUAL(sm_variables_add(&job, &got, NULL), 0);
    (void)log_set_sink(before);
    CU_ASSERT_PTR_NULL(argv_get_env(&got, "SM_TRAINING_ENV"));
    ASSERT_CONTAINS(said, "SM_TRAINING_ENV is left out");
    CU_ASSERT_PTR_NOT_NULL(argv_get_env(&got, "SM_HOSTS"));
    CU_ASSERT_PTR_NOT_NULL(argv_get_env(&got, "SM_INSTANCE_GROUPS_RANKS"));
    for (size_t i = 0; i < got.count; i++)
        CU_ASSERT(strlen(got.items[i]) < SM_VARIABLE_MAX);
    job_done(&job);
}

UNIT_SUITE("job.sm_variables", UNIT(a_thousand_hosts_in_groups_have_their_variables),
           UNIT(a_thousand_long_names_leave_out_what_has_no_room),
           UNIT(they_are_what_the_toolkit_sets), UNIT(the_training_env_holds_them_all),
           UNIT(every_group_has_its_hosts_and_ranks),
           UNIT(arguments_that_are_not_utf_8_stop_nothing),
           UNIT(integers_of_any_size_keep_their_digits),
           UNIT(without_sagemaker_they_describe_the_cluster_all_the_same),
           UNIT(without_groups_there_is_one_that_nobody_lists),
           UNIT(groups_that_are_not_distributed_have_no_hosts_in_it),
           UNIT(the_region_is_the_job_s_or_the_container_s), UNIT(hosts_that_are_gone_are_left_out),
           UNIT(what_is_too_long_for_a_variable_is_left_out))

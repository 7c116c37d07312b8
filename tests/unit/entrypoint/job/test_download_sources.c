#include "entrypoint/job/download_sources.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int read_it(char *const *environment, const char *hyperparameters, const char *sharded,
                   bool needs_code, struct channels *channels, struct download_sources *ret,
                   struct error *err) {
    struct settings settings = {.sharded = sharded};
    static struct sagemaker_request request;
    sagemaker_request_done(&request);
    CU_ASSERT_EQUAL(sagemaker_request_parse(hyperparameters, strlen(hyperparameters), "h",
                                            environment, &request, NULL),
                    0);
    return download_sources_read(&settings, &request, environment, needs_code, channels, ret, err);
}

static void channels_come_from_variables(void) {
    char train[] = "RINGMASTER_CHANNEL_TRAIN=s3://bucket/train";
    char mine[] = "RINGMASTER_CHANNEL_My_Set=https://host/x?y=1";
    char empty[] = "RINGMASTER_CHANNEL_VAL=";
    char local[] = "RINGMASTER_CHANNEL_TEST=file:///data";
    char *environment[] = {train, mine, empty, local, NULL, NULL};
    char first[] = "RINGMASTER_CHANNEL_FIRST=first:///data";
    struct channels channels = {0};
    struct download_sources got;
    CU_ASSERT_EQUAL(channels_parse("{\"zoo\": {}}", 11, "x", &channels, NULL), 0);
    CU_ASSERT_EQUAL(read_it(environment, "{}", "train", true, &channels, &got, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(got.count, 3);
    CU_ASSERT_PTR_NULL(got.code);
    CU_ASSERT_TRUE(download_sources_any(&got));
    CU_ASSERT_STRING_EQUAL(got.channels[0].name, "train");
    CU_ASSERT_STRING_EQUAL(got.channels[0].address, "s3://bucket/train");
    CU_ASSERT_TRUE(got.channels[0].sharded);
    CU_ASSERT_STRING_EQUAL(got.channels[1].name, "my_set");
    CU_ASSERT_FALSE(got.channels[1].sharded);
    CU_ASSERT_STRING_EQUAL(got.channels[2].address, "file:///data");
    CU_ASSERT_EQUAL_FATAL(channels.count, 4);
    CU_ASSERT_STRING_EQUAL(channels.names[0], "my_set");
    CU_ASSERT_STRING_EQUAL(channels.names[1], "test");
    CU_ASSERT_STRING_EQUAL(channels.names[2], "train");
    CU_ASSERT_STRING_EQUAL(channels.names[3], "zoo");
    CU_ASSERT_FALSE(got.of_first);
    channels_done(&channels);
    environment[4] = first;
    channels = (struct channels){0};
    CU_ASSERT_EQUAL(read_it(environment, "{}", "train", true, &channels, &got, NULL), 0);
    CU_ASSERT_TRUE(got.of_first);
    channels_done(&channels);
}

static void code_is_what_the_sdk_names(void) {
    static const struct {
        const char *hyperparameters;
        bool needed;
        const char *code;
    } cases[] = {
        {"{\"sagemaker_program\":\"a.py\",\"sagemaker_submit_directory\":\"\\\"s3://b/"
         "s.tar.gz\\\"\"}",
         true, "s3://b/s.tar.gz"},
        {"{\"sagemaker_program\":\"a.py\",\"sagemaker_submit_directory\":\"https://h/s.tar.gz\"}",
         true, "https://h/s.tar.gz"},
        {"{\"sagemaker_program\":\"a.py\",\"sagemaker_submit_directory\":\"/opt/ml/code\"}", true,
         NULL},
        {"{\"sagemaker_program\":\"a.py\",\"sagemaker_submit_directory\":"
         "\"\\\"/no/code/sourcedir.tar.gz\\\"\"}",
         true, "/no/code/sourcedir.tar.gz"},
        {"{\"sagemaker_program\":\"a.py\",\"sagemaker_submit_directory\":"
         "\"file:///no/s.tgz\"}",
         true, "file:///no/s.tgz"},
        {"{\"sagemaker_program\":\"a.py\",\"sagemaker_submit_directory\":\"s.tar.gz\"}", true,
         NULL},
        {"{\"sagemaker_program\":\"a.py\",\"sagemaker_submit_directory\":\"file:///no/c\"}", true,
         NULL},
        {"{\"sagemaker_submit_directory\":\"s3://b/s.tar.gz\"}", true, NULL},
        {"{\"sagemaker_program\":\"a.py\",\"sagemaker_submit_directory\":\"s3://b/s.tar.gz\"}",
         false, NULL},
        {"{}", true, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *none[] = {NULL};
        struct channels channels = {0};
        struct download_sources got;
        CU_ASSERT_EQUAL(
            read_it(none, cases[i].hyperparameters, NULL, cases[i].needed, &channels, &got, NULL),
            0);
        CU_ASSERT_EQUAL(download_sources_any(&got), cases[i].code != NULL);
        if (cases[i].code != NULL)
            CU_ASSERT_STRING_EQUAL(got.code, cases[i].code);
        channels_done(&channels);
    }
    char program[] = "SAGEMAKER_PROGRAM=a.py";
    char submit[] = "SAGEMAKER_SUBMIT_DIRECTORY=s3://b/env.tar.gz";
    char *environment[] = {program, submit, NULL};
    struct channels channels = {0};
    struct download_sources got;
    CU_ASSERT_EQUAL(read_it(environment, "{}", NULL, true, &channels, &got, NULL), 0);
    CU_ASSERT_STRING_EQUAL(got.code, "s3://b/env.tar.gz");
}

static void a_folder_is_no_archive_whatever_its_name(void) {
    char path[4200];
    (void)snprintf(path, sizeof(path), "file://%s/folder.tar.gz", unit_temp_dir());
    CU_ASSERT_TRUE(download_sources_is_archive(path));
    CU_ASSERT_EQUAL(mkdir(download_sources_path(path), 0755), 0);
    CU_ASSERT_FALSE(download_sources_is_archive(path));
    CU_ASSERT_FALSE(download_sources_is_archive(download_sources_path(path)));
}

static void what_is_none_is_refused_by_name(void) {
    static const struct {
        char variable[64];
        const char *sharded, *words;
    } cases[] = {
        {"RINGMASTER_CHANNEL_TRAIN=/data?x", NULL, "RINGMASTER_CHANNEL_TRAIN: \"/data\" begins"},
        {"RINGMASTER_CHANNEL_TRAIN=ftp://x", NULL, "neither s3://"},
        {"RINGMASTER_CHANNEL_=s3://bucket/x", NULL, "a channel's name has"},
        {"RINGMASTER_CHANNEL_../X=s3://b/x", NULL, "is not a channel's name"},
        {"RINGMASTER_CHANNEL_ZOO=s3://b/x", NULL, "\"zoo\" is in inputdataconfig.json, too"},
        {"RINGMASTER_CHANNEL_TRAIN=s3://b/x", "trian", "RINGMASTER_SHARDED: \"trian\""},
        {"RINGMASTER_CHANNEL_TRAIN=https://h/x?y", "a,train",
         "RINGMASTER_SHARDED: RINGMASTER_CHANNEL_TRAIN is \"https://h/x\", but only a channel from "
         "s3://"},
        {"RINGMASTER_CHANNEL_TRAIN=file:///mnt/set", "train",
         "\"file:///mnt/set\", but only a channel from s3"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char variable[64];
        char *environment[] = {variable, NULL};
        struct channels channels = {0};
        struct download_sources got;
        struct error err = {0};
        memcpy(variable, cases[i].variable, sizeof(variable));
        CU_ASSERT_EQUAL(channels_parse("{\"zoo\": {}}", 11, "x", &channels, NULL), 0);
        CU_ASSERT_EQUAL(read_it(environment, "{}", cases[i].sharded, true, &channels, &got, &err),
                        -1);
        ASSERT_CONTAINS(err.text, cases[i].words);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        channels_done(&channels);
    }
}

UNIT_SUITE("job.download_sources", UNIT(channels_come_from_variables),
           UNIT(code_is_what_the_sdk_names), UNIT(a_folder_is_no_archive_whatever_its_name),
           UNIT(what_is_none_is_refused_by_name))

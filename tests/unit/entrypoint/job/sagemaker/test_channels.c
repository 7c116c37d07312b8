#include "common/buf.h"
#include "entrypoint/job/sagemaker/channels.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int parse(const char *text, struct channels *ret, struct error *err) {
    return channels_parse(text, strlen(text), "i.json", ret, err);
}

static void channels_are_listed_by_name(void) {
    struct channels c;
    CU_ASSERT_EQUAL(parse("{\"validation\":{\"TrainingInputMode\":\"File\",\"S3DistributionType\":"
                          "\"FullyReplicated\",\"RecordWrapperType\":\"None\",\"x\":null},"
                          "\"train\":{\"TrainingInputMode\":\"FastFile\"},\"log_1.a-b\":{}}",
                          &c, NULL),
                    0);
    CU_ASSERT_EQUAL(c.count, 3);
    CU_ASSERT_STRING_EQUAL(c.names[0], "log_1.a-b");
    CU_ASSERT_STRING_EQUAL(c.names[1], "train");
    CU_ASSERT_STRING_EQUAL(c.names[2], "validation");
    channels_done(&c);
}

static void pipe_mode_is_noted(void) {
    static const char *const modes[] = {"Pipe", "pipe", "PIPE", "File", "FastFile", "Pipes"};
    for (size_t i = 0; i < 6; i++) {
        char text[128];
        snprintf(text, sizeof(text), "{\"a\":{},\"train\":{\"TrainingInputMode\":\"%s\"}}",
                 modes[i]);
        struct channels c;
        CU_ASSERT_EQUAL(parse(text, &c, NULL), 0);
        CU_ASSERT_EQUAL(c.count, 2);
        if (i < 3)
            CU_ASSERT_STRING_EQUAL(c.piped, "train");
        if (i >= 3)
            CU_ASSERT_PTR_NULL(c.piped);
        channels_done(&c);
    }
}

static void hostile_names_and_files_are_errors(void) {
    static const char *const bad[] = {"",
                                      "[]",
                                      "{\"train\":1}",
                                      "{\"train\":null}",
                                      "{\"train\":{\"TrainingInputMode\":1}}",
                                      "{\"../../etc\":{}}",
                                      "{\"a/b\":{}}",
                                      "{\"..\":{}}",
                                      "{\".hidden\":{}}",
                                      "{\"\":{}}",
                                      "{\"-rf\":{}}",
                                      "{\"a b\":{}}",
                                      "{\"a\":{},\"a\":{}}",
                                      "{\"a\\u0000b\":{}}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct channels c;
        struct error err = {0};
        CU_ASSERT_EQUAL(parse(bad[i], &c, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, "i.json");
        CU_ASSERT_PTR_NULL(c.config);
    }
}

static void no_more_than_the_ceiling(void) {
    for (int count = CHANNELS_MAX; count <= CHANNELS_MAX + 1; count++) {
        cleanup_buf struct buf text;
        buf_init(&text, 4096);
        buf_add_text(&text, "{\"a\":{}", NULL);
        for (int i = 1; i < count; i++)
            buf_printf(&text, NULL, ",\"a%d\":{}", i);
        buf_add_text(&text, "}", NULL);
        struct channels c;
        CU_ASSERT_EQUAL(parse(buf_text(&text), &c, NULL), count <= CHANNELS_MAX ? 0 : -1);
        channels_done(&c);
    }
}

static void no_file_is_no_channel_and_a_fifo_is_not_opened(void) {
    struct channels c;
    CU_ASSERT_EQUAL(channels_read("/nonexistent/i.json", &c, NULL), 0);
    CU_ASSERT_EQUAL(c.count, 0);
    char path[4200];
    snprintf(path, sizeof(path), "%s/fifo", unit_temp_dir());
    CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
    CU_ASSERT_EQUAL(channels_read(path, &c, NULL), -1);
}

UNIT_SUITE("job.channels", UNIT(channels_are_listed_by_name), UNIT(pipe_mode_is_noted),
           UNIT(hostile_names_and_files_are_errors), UNIT(no_more_than_the_ceiling),
           UNIT(no_file_is_no_channel_and_a_fifo_is_not_opened))

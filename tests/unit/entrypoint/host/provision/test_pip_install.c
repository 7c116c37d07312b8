/* python3 is a script of the test's own that prints how it was called. */
#include "common/cleanup.h"
#include "tests/unit/entrypoint/stage.h"

#include <sys/stat.h>

static struct stage_host host;

/* Makes NAME/code with a program and its requirements, and NAME/bin with SCRIPT as python3. */
static void prepare(const char *name, const char *script, char search[STAGE_PATH_SIZE - 32]) {
    char path[4400];
    const struct {
        const char *name;
        const char *text;
    } files[] = {{"code/train.py", "x"},
                 {"code/requirements.txt", "torch\n--index-url https://u:canary-of-pip@h/\n"},
                 {"bin/python3", script},
                 {"input/config/hyperparameters.json", "{\"sagemaker_program\": \"train.py\"}"}};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s/%s", unit_temp_dir(), name, files[i].name);
        *strrchr(path, '/') = '\0';
        CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
        path[strlen(path)] = '/';
        CU_ASSERT_EQUAL(file_publish(path, files[i].text, strlen(files[i].text), 0755, NULL), 0);
    }
    (void)snprintf(search, STAGE_PATH_SIZE - 32, "PATH=%s/%s/bin:/usr/bin:/bin", unit_temp_dir(),
                   name);
}

static const char *const words[] = {NULL};

static int run(const char *name, const char *script, const char *setting) {
    char search[STAGE_PATH_SIZE - 32];
    const char *const settings[] = {search, setting, NULL};
    prepare(name, script, search);
    stage_start(&host, name, settings, words);
    return stage_end(&host);
}

static void pip_runs_first_in_the_codes_folder_with_the_programs_environment(void) {
    CU_ASSERT_EQUAL(run("good",
                        "#!/bin/sh\n[ \"$2\" = pip ] || { echo \"program $*\"; exit; }\n"
                        "echo \"pip at ${PWD##*/} of $SM_CURRENT_HOST: $3 $4, "
                        "$PIP_BREAK_SYSTEM_PACKAGES $PIP_ROOT_USER_ACTION\"\n"
                        "echo \"from canary-of-pip\" >&2\n",
                        NULL),
                    0);
    const char *said = stage_output(&host);
    ASSERT_CONTAINS(said, " pip] pip at code of ");
    ASSERT_CONTAINS(said, ": install --no-input, 1 ignore");
    ASSERT_CONTAINS(said, " pip] from ***\n");
    CU_ASSERT_PTR_NULL(strstr(said, "canary"));
    const char *installed = strstr(said, "pip at code");
    const char *program = strstr(said, "program ");
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "/code/train.py"));
    CU_ASSERT(installed != NULL && program != NULL && installed < program);
}

/* If the output has many lines, the last ones are reported. */
static void its_failure_is_the_jobs_with_its_last_words(void) {
    CU_ASSERT_EQUAL(
        run("bad",
            "#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do\n"
            "echo \"line $i xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"\ndone\necho \"ERROR: canary-of-pip\"\nexit 2\n",
            NULL),
        EXIT_CODE_CONFIG);
    const char *failure = stage_failure(&host);
    ASSERT_CONTAINS(failure, "cannot be installed: pip exited with 2: line ");
    ASSERT_CONTAINS(failure, ";line 14 ");
    ASSERT_CONTAINS(failure, ";ERROR: ***");
    CU_ASSERT_PTR_NULL(strstr(failure, "line 5 "));
    CU_ASSERT(strlen(failure) <= 1024);
}

static void its_time_ends(void) {
    CU_ASSERT_EQUAL(
        run("late", "#!/bin/sh\necho downloading\nexec sleep 600\n", "RINGMASTER_FETCH_SECONDS=4"),
        EXIT_CODE_NOT_READY);
    ASSERT_CONTAINS(stage_failure(&host), "were not installed within 4 s");
    ASSERT_CONTAINS(stage_failure(&host), "pip's last output: downloading");
}

/* Hosts wait longer for a host that builds a package silently than for one that is missing: the job
 * ends when pip fails, not at a timeout. */
static void silence_is_no_standstill(void) {
    static struct stage_host other;
    static const char script[] = "#!/bin/sh\nsleep 13\nexit 2\n";
    char search[2][STAGE_PATH_SIZE - 32];
    const char *const first[] = {search[0], "RINGMASTER_HOSTS=127.0.0.1,127.0.0.2",
                                 "RINGMASTER_HOST=127.0.0.1", "RINGMASTER_READY_SECONDS=6", NULL};
    const char *const second[] = {search[1], "RINGMASTER_HOSTS=127.0.0.1,127.0.0.2",
                                  "RINGMASTER_HOST=127.0.0.2", "RINGMASTER_READY_SECONDS=6", NULL};
    prepare("silent", script, search[0]);
    prepare("other", script, search[1]);
    stage_start(&host, "silent", first, words);
    stage_start(&other, "other", second, words);
    CU_ASSERT_EQUAL(stage_end(&host), EXIT_CODE_CONFIG);
    CU_ASSERT_EQUAL(stage_end(&other), EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(stage_failure(&host), "pip exited with 2");
}

STAGE_SUITE("host.pip_install",
            UNIT(pip_runs_first_in_the_codes_folder_with_the_programs_environment),
            UNIT(its_failure_is_the_jobs_with_its_last_words), UNIT(its_time_ends),
            UNIT(silence_is_no_standstill))

#include "common/cleanup.h"
#include "common/file/file.h"
#include "entrypoint/job/user_program.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define cleanup_user_program __attribute__((cleanup(user_program_done)))

static char base[4096];
static char path_variable[4200];
static char *environment[] = {path_variable, NULL};

/* BASE/code with a.py, a.sh, a (executable), plain (not), and BASE/bin with ringtrain, python3, sh
 * and tool. */
static void make_house(void) {
    static const struct {
        const char *name;
        mode_t mode;
    } files[] = {{"code/a.py", 0644},  {"code/a.sh", 0644},     {"code/a", 0755},
                 {"code/plain", 0644}, {"bin/ringtrain", 0755}, {"bin/python3", 0755},
                 {"bin/sh", 0755},     {"bin/tool", 0755},      {"bin/dull", 0644},
                 {"submit/b.py", 0644}};
    if (base[0] != '\0')
        return;
    snprintf(base, sizeof(base), "%s", unit_temp_dir());
    snprintf(path_variable, sizeof(path_variable), "PATH=/nonexistent:%s/bin", base);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[4400];
        snprintf(path, sizeof(path), "%s/%.*s", base, (int)strcspn(files[i].name, "/"),
                 files[i].name);
        CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
        snprintf(path, sizeof(path), "%s/%s", base, files[i].name);
        CU_ASSERT_EQUAL(file_publish(path, "x", 1, files[i].mode, NULL), 0);
    }
}

static int resolve(const char *parameters, const char *const *arguments, struct user_program *ret,
                   struct error *err) {
    struct sagemaker_request request;
    make_house();
    CU_ASSERT_EQUAL(
        sagemaker_request_parse(parameters, strlen(parameters), "h", environment, &request, NULL),
        0);
    struct user_program_inputs in = {
        .arguments = arguments, .request = &request, .base_dir = base, .environment = environment};
    int resolved = user_program_resolve(&in, ret, err);
    sagemaker_request_done(&request);
    return resolved;
}

/* Resolves and compares the argv, joined with '|', every BASE left out. */
static void expect(const char *parameters, const char *const *arguments, const char *expected) {
    cleanup_user_program struct user_program p = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(resolve(parameters, arguments, &p, &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    char joined[4096] = {0};
    for (size_t i = 0; i < p.argv.count; i++) {
        const char *word = p.argv.items[i];
        if (strncmp(word, base, strlen(base)) == 0)
            word += strlen(base);
        strncat(joined, i > 0 ? "|" : "", sizeof(joined) - strlen(joined) - 1);
        strncat(joined, word, sizeof(joined) - strlen(joined) - 1);
    }
    CU_ASSERT_STRING_EQUAL(joined, expected);
}

static void expect_error(const char *parameters, const char *const *arguments, int code,
                         const char *words) {
    struct user_program p = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(resolve(parameters, arguments, &p, &err), -1);
    CU_ASSERT_EQUAL((int)err.code, code);
    ASSERT_CONTAINS(err.text, words);
    CU_ASSERT_PTR_NULL(p.argv.items);
}

static const char *const none[] = {NULL};
static const char *const flags[] = {"--epochs", "3", NULL};

static void the_trainer_is_the_default(void) {
    expect("{}", none, "/bin/ringtrain|train");
    expect("{\"lr\":\"0.1\",\"sagemaker_region\":\"x\"}", flags,
           "/bin/ringtrain|train|--lr|0.1|--epochs|3");
    cleanup_user_program struct user_program p = {0};
    CU_ASSERT_EQUAL(resolve("{}", flags, &p, NULL), 0);
    CU_ASSERT(p.is_trainer);
    CU_ASSERT_PTR_NULL(p.directory);
    CU_ASSERT_EQUAL(p.user_args.count, 2);
}

/* The first line of everybody who comes from torchrun; an entry point takes such arguments. */
static void a_program_where_flags_stand_is_named_with_the_way(void) {
    static const char *const words[] = {"python3", "x.py", "--lr", "1", NULL};
    static const char *const many[] = {"python3",
                                       "a-long-word-of-thirty-letters.",
                                       "a-long-word-of-thirty-letters.",
                                       "a-long-word-of-thirty-letters.",
                                       "a-long-word-of-thirty-letters.",
                                       NULL};
    expect_error("{}", words, EXIT_CODE_USAGE,
                 "\"python3\" is not a flag of ringtrain; a program of your own comes after --: "
                 "ringmaster train -- python3 x.py --lr 1");
    expect_error("{}", many, EXIT_CODE_USAGE, "ringmaster train -- python3 a-long-word");
    expect("{\"sagemaker_program\":\"/bin/true\"}", words, "/bin/true|python3|x.py|--lr|1");
}

static void any_program_runs_exactly_as_given(void) {
    static const char *const words[] = {"--", "tool", "a b", "--x", "--", "", NULL};
    expect("{\"lr\":\"0.1\",\"sagemaker_program\":\"a.py\"}", words, "/bin/tool|a b|--x|--|");
    static const char *const absolute[] = {"--", "/bin/true", NULL};
    expect("{}", absolute, "/bin/true");
}

static bool needs_no_mpi(const char *parameters, const char *const *arguments) {
    cleanup_user_program struct user_program p = {0};
    CU_ASSERT_EQUAL(resolve(parameters, arguments, &p, NULL), 0);
    return p.needs_no_mpi;
}

/* Named by `train FLAGS`, by its name, by its path or by a link. */
static void the_trainer_is_known_however_it_is_named(void) {
    static const char *const named[] = {"--", "ringtrain", "train", "--steps", "3", NULL};
    static const char *const other[] = {"--", "tool", "ringtrain", NULL};
    static const char *const mpi[] = {"--", "ringtrain", "check-comm", "--comm", "mpi", NULL};
    static const char *const together[] = {"--comm=mpi", NULL};
    static const char *const tcp[] = {"--", "ringtrain", "train", "--comm", "tcp", NULL};
    char link[4400];
    char path[4400];
    make_house();
    snprintf(link, sizeof(link), "%s/code/link", base);
    snprintf(path, sizeof(path), "%s/bin/ringtrain", base);
    CU_ASSERT_EQUAL_FATAL(symlink(path, link), 0);
    const char *const by_link[] = {"--", link, "train", NULL};
    const char *const by_path[] = {"--", path, "train", NULL};
    CU_ASSERT(needs_no_mpi("{}", none) && needs_no_mpi("{}", named) && needs_no_mpi("{}", tcp));
    CU_ASSERT(needs_no_mpi("{}", by_link) && needs_no_mpi("{}", by_path));
    CU_ASSERT_FALSE(needs_no_mpi("{}", other) || needs_no_mpi("{}", mpi));
    CU_ASSERT_FALSE(needs_no_mpi("{}", together) || needs_no_mpi("{\"comm\":\"mpi\"}", none));
    cleanup_user_program struct user_program p = {0};
    CU_ASSERT_EQUAL(resolve("{}", named, &p, NULL), 0);
    CU_ASSERT_FALSE(p.is_trainer); /* its flags are its own affair */
}

static void sagemaker_program_is_looked_up_and_gets_the_flags(void) {
    expect("{\"sagemaker_program\":\"\\\"a.py\\\"\",\"lr\":\"0.1\"}", flags,
           "/bin/python3|/code/a.py|--lr|0.1|--epochs|3");
    expect("{\"sagemaker_program\":\"a.sh\"}", none, "/bin/sh|/code/a.sh");
    expect("{\"sagemaker_program\":\"a.sh\",\"none\":null,\"too\":\"null\"}", none,
           "/bin/sh|/code/a.sh|--none||--too|");
    expect("{\"none\":null,\"lr\":\"0.1\"}", none, "/bin/ringtrain|train|--lr|0.1");
    expect("{\"sagemaker_program\":\"a\"}", none, "/code/a");
    expect("{\"sagemaker_program\":\"tool\"}", none, "/bin/tool");
    cleanup_user_program struct user_program p = {0};
    CU_ASSERT_EQUAL(resolve("{\"sagemaker_program\":\"a.py\"}", none, &p, NULL), 0);
    CU_ASSERT_FALSE(p.is_trainer);
    CU_ASSERT_STRING_EQUAL(p.entry_point, "a.py");
    CU_ASSERT_STRING_EQUAL(p.directory + strlen(base), "/code");
}

static void write_entry(const char *name, const char *text, mode_t mode) {
    char path[4400];
    make_house();
    snprintf(path, sizeof(path), "%s/code/%s", base, name);
    CU_ASSERT_EQUAL(file_publish(path, text, strlen(text), mode, NULL), 0);
}

/* Whatever the file's name and mode. */
static void a_script_runs_with_the_interpreter_that_it_names(void) {
    write_entry("bash.sh", "#!/bin/bash\na=(1 2)\n", 0644);
    write_entry("env", "#! /usr/bin/env  -S python3 -u \t\nx", 0400);
    write_entry("bare.sh", "echo", 0755);
    write_entry("named.py", "#!/bin/bash\n", 0755); /* the image's python3 all the same */
    write_entry("end.sh", "#!/bin/sh", 0644);
    expect("{\"sagemaker_program\":\"bash.sh\"}", flags, "/bin/bash|/code/bash.sh|--epochs|3");
    expect("{\"sagemaker_program\":\"env\"}", none, "/usr/bin/env|-S python3 -u|/code/env");
    expect("{\"sagemaker_program\":\"bare.sh\"}", none, "/bin/sh|/code/bare.sh");
    expect("{\"sagemaker_program\":\"named.py\"}", none, "/bin/python3|/code/named.py");
    expect("{\"sagemaker_program\":\"end.sh\"}", none, "/bin/sh|/code/end.sh");
    char longest[600] = "#!/";
    memset(longest + 3, 'x', sizeof(longest) - 5);
    longest[sizeof(longest) - 2] = '\n';
    write_entry("windows.sh", "#!/bin/bash\r\n", 0755);
    write_entry("lost.sh", "#!/no/such/shell -e\n", 0755);
    write_entry("empty.sh", "#! \n", 0755);
    write_entry("long.sh", longest, 0755);
    expect_error("{\"sagemaker_program\":\"windows.sh\"}", none, 126, "carriage return");
    expect_error("{\"sagemaker_program\":\"lost.sh\"}", none, 127, "/no/such/shell");
    expect_error("{\"sagemaker_program\":\"empty.sh\"}", none, 127, "empty.sh");
    expect_error("{\"sagemaker_program\":\"long.sh\"}", none, 126, "254 bytes");
}

static void the_submit_directory_comes_first_quoted_or_not(void) {
    make_house();
    char parameters[8500];
    snprintf(parameters, sizeof(parameters),
             "{\"sagemaker_program\":\"b.py\",\"sagemaker_submit_directory\":\"%s/submit\"}", base);
    expect(parameters, none, "/bin/python3|/submit/b.py");
    snprintf(
        parameters, sizeof(parameters),
        "{\"sagemaker_program\":\"b.py\",\"sagemaker_submit_directory\":\"\\\"%s/submit\\\"\"}",
        base);
    expect(parameters, none, "/bin/python3|/submit/b.py");
    snprintf(parameters, sizeof(parameters),
             "{\"sagemaker_program\":\"b.py\",\"sagemaker_submit_directory\":\"file://%s/submit\"}",
             base);
    expect(parameters, none, "/bin/python3|/submit/b.py");
}

/* As the SDK sends it: beside or as an archive, which by now is unpacked. */
static void code_may_lie_in_its_channel(void) {
    char path[4400];
    make_house();
    snprintf(path, sizeof(path), "%s/input/data/code", base);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    snprintf(path, sizeof(path), "%s/input/data/code/channel.py", base);
    CU_ASSERT_EQUAL(file_publish(path, "x", 1, 0644, NULL), 0);
    expect("{\"sagemaker_program\":\"channel.py\"}", none,
           "/bin/python3|/input/data/code/channel.py");
    snprintf(path, sizeof(path), "%s/input/data/code/setup.py", base);
    CU_ASSERT_EQUAL(file_publish(path, "x", 1, 0644, NULL), 0);
    expect("{\"sagemaker_program\":\"channel.py\"}", none, "/bin/python3|-m|channel");
    CU_ASSERT_EQUAL(unlink(path), 0);
}

static void fetched_code_lies_in_the_code_folder(void) {
    make_house();
    write_entry("fetched.py", "", 0644);
    expect("{\"sagemaker_program\":\"fetched.py\",\"sagemaker_submit_directory\":"
           "\"s3://bucket/source.tar.gz\"}",
           none, "/bin/python3|/code/fetched.py");
    expect("{\"sagemaker_program\":\"fetched.py\",\"sagemaker_submit_directory\":"
           "\"\\\"/opt/ml/input/data/code/sourcedir.tar.gz\\\"\"}",
           none, "/bin/python3|/code/fetched.py");
    expect_error("{\"sagemaker_program\":\"a.txt\",\"sagemaker_submit_directory\":"
                 "\"/x/sourcedir.tar.gz\"}",
                 none, 127, "is in none of /");
}

static void a_package_runs_as_its_module(void) {
    char folder[4300];
    char parameters[9000];
    make_house();
    snprintf(folder, sizeof(folder), "%s/package", base);
    CU_ASSERT_EQUAL(file_make_dirs(folder, NULL), 0);
    static const char *const files[] = {"setup.py", "a.py", "run.sh", "tool"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[4400];
        snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
        CU_ASSERT_EQUAL(file_publish(path, "x", 1, 0755, NULL), 0);
    }
    static const struct {
        const char *name;
        const char *expected;
    } cases[] = {{"a.py", "/bin/python3|-m|a"},
                 {"a", "/bin/python3|-m|a"},
                 {"job.main", "/bin/python3|-m|job.main"},
                 {"run.sh", "/bin/sh|/package/run.sh"},
                 {"tool", "/package/tool"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(parameters, sizeof(parameters),
                 "{\"sagemaker_program\":\"%s\",\"sagemaker_submit_directory\":\"%s\"}",
                 cases[i].name, folder);
        expect(parameters, none, cases[i].expected);
        cleanup_user_program struct user_program p = {0};
        CU_ASSERT_EQUAL(resolve(parameters, none, &p, NULL), 0);
        CU_ASSERT_EQUAL(p.code.package, strstr(cases[i].expected, "python3") != NULL);
        CU_ASSERT_STRING_EQUAL(p.directory, folder);
        CU_ASSERT_STRING_EQUAL(p.root, folder);
    }
}

/* Beside the program that was named, not beside the folder that it lies in. */
static void requirements_lie_in_the_folder_of_code(void) {
    char path[4400];
    make_house();
    snprintf(path, sizeof(path), "%s/submit/deep", base);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    snprintf(path, sizeof(path), "%s/submit/deep/c.py", base);
    CU_ASSERT_EQUAL(file_publish(path, "x", 1, 0644, NULL), 0);
    snprintf(path, sizeof(path), "%s/submit/requirements.txt", base);
    CU_ASSERT_EQUAL(file_publish(path, "x", 1, 0644, NULL), 0);
    snprintf(
        path, sizeof(path),
        "{\"sagemaker_program\":\"deep/c.py\",\"sagemaker_submit_directory\":\"%.4200s/submit\"}",
        base);
    cleanup_user_program struct user_program p = {0};
    CU_ASSERT_EQUAL(resolve(path, none, &p, NULL), 0);
    CU_ASSERT_TRUE(p.code.requirements);
    CU_ASSERT_STRING_EQUAL(p.root + strlen(base), "/submit");
    CU_ASSERT_STRING_EQUAL(p.directory + strlen(base), "/submit/deep");
    cleanup_user_program struct user_program shell = {0};
    CU_ASSERT_EQUAL(resolve("{\"sagemaker_program\":\"a.sh\"}", none, &shell, NULL), 0);
    CU_ASSERT_FALSE(shell.code.requirements);
}

static void what_cannot_run_has_its_code(void) {
    static const char *const absent[] = {"--", "absent", NULL};
    static const char *const absent_path[] = {"--", "/nonexistent/x", NULL};
    static const char *const folder[] = {"--", "/tmp/", NULL};
    static const char *const nothing[] = {"--", NULL};
    static const char *const empty[] = {"--", "", NULL};
    expect_error("{}", absent, 127, "\"absent\" is not in PATH");
    expect_error("{}", absent_path, 127, "/nonexistent/x");
    expect_error("{}", folder, 126, "/tmp/");
    expect_error("{}", nothing, 64, "missing");
    expect_error("{}", empty, 127, "empty");
    expect_error("{\"sagemaker_program\":\"plain\"}", none, 126, "code/plain");
    expect_error("{\"sagemaker_program\":\"c.py\"}", none, 127, "\"c.py\" is in none of");
    expect_error("{\"sagemaker_program\":\"/nonexistent/c.py\"}", none, 127, "/nonexistent/c.py");
}

static void a_script_that_is_not_executable_is_started_by_its_interpreter(void) {
    char path[4400];
    struct error err = {0};
    char *found = NULL;
    make_house();
    (void)snprintf(path, sizeof(path), "%s/submit/b.py", base);
    CU_ASSERT_EQUAL(user_program_find(path, NULL, &found, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_NOT_EXECUTABLE);
    ASSERT_CONTAINS(err.text, "is not executable (start it by -- python3 /");
    (void)snprintf(path, sizeof(path), "%s/bin/dull", base);
    CU_ASSERT_EQUAL(user_program_find(path, NULL, &found, &err), -1);
    ASSERT_CONTAINS(err.text, "bin/dull is not executable: ");
}

static void relative_paths_become_absolute(void) {
    cleanup_free char *found = NULL;
    CU_ASSERT_EQUAL(user_program_find("../../../../../../../../../../bin/true", NULL, &found, NULL),
                    0);
    CU_ASSERT_EQUAL(found[0], '/');
}

UNIT_SUITE("job.user_program", UNIT(the_trainer_is_the_default),
           UNIT(a_program_where_flags_stand_is_named_with_the_way),
           UNIT(any_program_runs_exactly_as_given), UNIT(the_trainer_is_known_however_it_is_named),
           UNIT(sagemaker_program_is_looked_up_and_gets_the_flags),
           UNIT(a_script_runs_with_the_interpreter_that_it_names),
           UNIT(the_submit_directory_comes_first_quoted_or_not), UNIT(code_may_lie_in_its_channel),
           UNIT(fetched_code_lies_in_the_code_folder), UNIT(a_package_runs_as_its_module),
           UNIT(requirements_lie_in_the_folder_of_code), UNIT(what_cannot_run_has_its_code),
           UNIT(a_script_that_is_not_executable_is_started_by_its_interpreter),
           UNIT(relative_paths_become_absolute))

/* The program itself, as people call it. */
#include "common/buf.h"
#include "common/exit_code.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "tests/support/unit.h"

#ifdef RINGMASTER_HAS_TRANSFER
#include <curl/curl.h>
#endif
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_MAX = 256 * 1024, WORDS_MAX = 8 };

static char out[TEXT_MAX], err[TEXT_MAX];
static char base[512];

static const char *path_of(const char *name) {
    static char path[4][600];
    static unsigned turn;
    char *ret = path[turn++ % 4];
    snprintf(ret, sizeof(path[0]), "%s/%s", unit_temp_dir(), name);
    return ret;
}

static void read_into(char *ret, const char *path) {
    struct buf text;
    buf_init(&text, TEXT_MAX - 1);
    ret[0] = '\0';
    if (file_read(path, &text, NULL) == 0)
        snprintf(ret, TEXT_MAX, "%s", buf_text(&text));
    buf_done(&text);
}

static _Noreturn void become(char *const *words, const char *out_path) {
    static char path[] = "PATH=/usr/bin:/bin";
    char place[600];
    snprintf(place, sizeof(place), "SAGEMAKER_BASE_DIR=%s", base);
    char *environment[] = {path, place, NULL};
    for (int fd = 0; fd < 3; fd++)
        (void)close(fd);
    if (out_path != NULL) {
        (void)open("/dev/null", O_RDONLY);
        (void)open(out_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        (void)open(path_of("err"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    }
    (void)execve(RINGMASTER_PROGRAM, words, environment);
    _exit(99);
}

/* Its exit code, with the words of LINE after the name it is CALLED by; stdout goes to OUT_PATH,
 * NULL: no stream is open. */
static int run_to(const char *out_path, const char *called, const char *line) {
    char text[256], name[64];
    char *words[WORDS_MAX] = {name};
    int count = 1, status = -1;
    snprintf(text, sizeof(text), "%s", line);
    snprintf(name, sizeof(name), "%s", called);
    for (char *at = text; *at != '\0' && count < WORDS_MAX - 1;) {
        words[count++] = at;
        at += strcspn(at, " ");
        if (*at != '\0')
            *at++ = '\0';
    }
    snprintf(base, sizeof(base), "%s", path_of("ml"));
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(base, NULL), 0);
    pid_t pid = fork();
    if (pid == 0)
        become(words, out_path);
    (void)waitpid(pid, &status, 0);
    read_into(out, path_of("out"));
    read_into(err, path_of("err"));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run(const char *line) {
    return run_to(path_of("out"), "ringmaster", line);
}

static void wrong_words_are_named(void) {
    static const char *const rows[][2] = {
        {"", "a command is missing"},
        {"", "  ringmaster train -- PROGRAM ARGS"},
        {"fly", "unknown command fly; see"},
        {"python3 x.py", "start a program of your own by `ringmaster train -- PROGRAM ARGS`"},
        {"trian", "unknown command trian; did you mean train?"},
        {"vers", "did you mean version?"},
        {"check --jsn", "did you mean --json?"},
        {"version --al", "did you mean --all?"},
        {"train python3 x.py", "comes after --: ringmaster train -- python3 x.py"},
        {"help trian", "did you mean train?"},
        {"version now", "unexpected now"},
        {"metrics now", "unexpected now"},
        {"help train now", "unexpected now"},
        {"explain no such words", "no such words: not known"},
        {"version --all now", "unexpected now"},
        {"man now", "no page \"now\""},
        {"man environment now", "unexpected now"},
        {"completion now", "unexpected now"},
        {"explain 42", "42: not known"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CU_ASSERT_EQUAL(run(rows[i][0]), EXIT_CODE_USAGE);
        ASSERT_CONTAINS(err, rows[i][1]);
        CU_ASSERT_STRING_EQUAL(out, "");
    }
}

/* The libraries of the program beside it that fetches and uploads. */
static void check_transfer_versions(void) {
#ifdef RINGMASTER_HAS_TRANSFER
    const curl_version_info_data *curl = curl_version_info(CURLVERSION_NOW);
    char expected[128];
    (void)snprintf(expected, sizeof(expected), "\n%-18s %s\n", "libcurl", curl->version);
    ASSERT_CONTAINS(out, expected);
    (void)snprintf(expected, sizeof(expected), "\n%-18s %s\n", "libcurl's TLS", curl->ssl_version);
    ASSERT_CONTAINS(out, expected);
    CU_ASSERT_PTR_NULL(strstr(out, "libarchive         not here"));
    ASSERT_CONTAINS(out, "\nlibarchive ");
    ASSERT_CONTAINS(out, "\nExpat ");
#else
    ASSERT_CONTAINS(out, "\nlibcurl            not here\n");
#endif
}

static void help_is_one_text_wherever_it_is_asked_for(void) {
    static const char *const others[] = {"-h", "--help"};
    static char first[TEXT_MAX];
    CU_ASSERT_EQUAL(run("help"), 0);
    memcpy(first, out, sizeof(first));
    ASSERT_CONTAINS(first, "ringmaster train -- PROGRAM ARGS");
    ASSERT_CONTAINS(first, "RINGMASTER_HOSTS");
    ASSERT_CONTAINS(first, "Exit codes:");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        CU_ASSERT_EQUAL(run(others[i]), 0);
        CU_ASSERT_STRING_EQUAL(out, first);
    }
    CU_ASSERT_EQUAL(run("--version"), 0);
    ASSERT_CONTAINS(out, "ringmaster ");
    CU_ASSERT_EQUAL(run("version --all"), 0);
    check_transfer_versions();
    ASSERT_CONTAINS(out, "Open MPI ");
    CU_ASSERT_EQUAL(run("man"), 0);
    ASSERT_CONTAINS(out, ".TH RINGMASTER");
    CU_ASSERT_EQUAL(run("man exit-codes"), 0);
    ASSERT_CONTAINS(out, ".TH RINGMASTER-EXIT-CODES 7");
    CU_ASSERT_EQUAL(run("man ports"), 64);
    CU_ASSERT_EQUAL(run("man environment more"), 64);
    CU_ASSERT_EQUAL(run("completion"), 0);
    ASSERT_CONTAINS(out, "complete -o default");
}

static void a_commands_help_is_its_own(void) {
    static const char *const rows[][2] = {{"train --help", "ringmaster train -- PROGRAM ARGS"},
                                          {"train -h", "`ringtrain train --help` lists FLAGS"},
                                          {"help train", "--once-per-host"},
                                          {"plan --help", "ringmaster plan [train]"},
                                          {"plan train x --help", "ringmaster plan [train]"},
                                          {"check -h", "ringmaster check [--json]"},
                                          {"explain --help", "ringmaster explain [CODE]"},
                                          {"version --help", "ringmaster version [--all]"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CU_ASSERT_EQUAL(run(rows[i][0]), 0);
        ASSERT_CONTAINS(out, rows[i][1]);
        ASSERT_CONTAINS(out, "`ringmaster help` lists all commands");
        CU_ASSERT_PTR_NULL(strstr(out, "RINGMASTER_PORT"));
    }
}

static void what_cannot_be_printed_is_an_error(void) {
    static const char *const lines[] = {"help",    "version",    "metrics",     "plan -- true",
                                        "explain", "explain 73", "train --help"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        CU_ASSERT_EQUAL(run(lines[i]), 0);
        CU_ASSERT_EQUAL(run_to("/dev/full", "ringmaster", lines[i]), EXIT_CODE_CONFIG);
    }
}

static void a_plan_is_json_with_or_without_the_command_in_it(void) {
    static char first[TEXT_MAX];
    cleanup_json json_t *plan = NULL;
    CU_ASSERT_EQUAL(run("plan -- true --help"), 0);
    memcpy(first, out, sizeof(first));
    CU_ASSERT_EQUAL_FATAL(json_parse(first, strlen(first), "plan", &plan, NULL), 0);
    CU_ASSERT_EQUAL(run("plan train -- true --help"), 0);
    CU_ASSERT_STRING_EQUAL(out, first);
}

/* As a container's first process is. */
static void called_train_it_trains(void) {
    CU_ASSERT_EQUAL(run_to(path_of("out"), "/opt/bin/train", "-- true --help"), 0);
    CU_ASSERT_EQUAL(run("train -- sh -c true"), 0);
    CU_ASSERT_EQUAL(run("train -- false"), 1);
    (void)unlink(path_of("ml/output/failure"));
    CU_ASSERT_EQUAL(run("train -- /no/such/program"), EXIT_CODE_NOT_FOUND);
    ASSERT_CONTAINS(err, "/no/such/program");
    read_into(out, path_of("ml/output/failure"));
    ASSERT_CONTAINS(out, "/no/such/program");
}

static void leave(const char *file, const char *words) {
    CU_ASSERT_EQUAL(file_publish(path_of(file), words, strlen(words), 0644, NULL), 0);
}

/* The output folder outlives jobs: one that ends before it has begun leaves its own story alone. */
static void what_an_earlier_job_left_goes_in_any_case(void) {
    static const struct {
        const char *line, *config, *says;
        int code;
    } rows[] = {
        {"train -- true", "{\"a\": ", "hyperparameters.json:", EXIT_CODE_CONFIG},
        {"train -- /no/such/program", "{}", "/no/such/program", EXIT_CODE_NOT_FOUND},
        {"train", "{\"sagemaker_program\": \"none.py\"}", "none.py", EXIT_CODE_NOT_FOUND},
    };
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path_of("ml/input/config"), NULL), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CU_ASSERT_EQUAL(run("train -- true"), 0);
        CU_ASSERT_EQUAL(access(path_of("ml/output/success"), F_OK), 0);
        leave("ml/output/failure", "yesterday's");
        leave("ml/input/config/hyperparameters.json", rows[i].config);
        CU_ASSERT_EQUAL(run(rows[i].line), rows[i].code);
        read_into(out, path_of("ml/output/failure"));
        ASSERT_CONTAINS(out, rows[i].says);
        CU_ASSERT_NOT_EQUAL(access(path_of("ml/output/success"), F_OK), 0);
        (void)unlink(path_of("ml/input/config/hyperparameters.json"));
    }
}

static void without_streams_it_does_the_same(void) {
    CU_ASSERT_EQUAL(run_to(NULL, "ringmaster", "version"), 0);
    CU_ASSERT_EQUAL(run_to(NULL, "ringmaster", "fly"), EXIT_CODE_USAGE);
    CU_ASSERT_EQUAL(run_to(NULL, "train", "-- false"), 1);
}

UNIT_SUITE("entrypoint.main", UNIT(wrong_words_are_named),
           UNIT(help_is_one_text_wherever_it_is_asked_for), UNIT(a_commands_help_is_its_own),
           UNIT(what_cannot_be_printed_is_an_error),
           UNIT(a_plan_is_json_with_or_without_the_command_in_it), UNIT(called_train_it_trains),
           UNIT(what_an_earlier_job_left_goes_in_any_case), UNIT(without_streams_it_does_the_same))

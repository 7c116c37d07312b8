/* ringmaster: the table of commands. Each command is in the file of its name. */
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/log/log.h"
#include "common/str.h"
#include "common/system/process_guard.h"
#include "common/system/standard_streams.h"
#include "common/system/terminal.h"
#include "common/table.h"
#include "common/text/exit_code_print.h"
#include "common/text/redact.h"
#include "entrypoint/command/check_request.h"
#include "entrypoint/command/docs.h"
#include "entrypoint/command/manual.h"
#include "entrypoint/command/metrics.h"
#include "entrypoint/command/plan.h"
#include "entrypoint/command/probe.h"
#include "entrypoint/command/trainer_flags.h"
#include "entrypoint/evidence/gather.h"
#include "entrypoint/evidence/ras_run.h"
#include "entrypoint/host/observe/failure_writer.h"
#include "entrypoint/host/observe/output_lock.h"
#include "entrypoint/host/preflight/preflight_child.h"
#include "entrypoint/host/ranks/rank.h"
#include "entrypoint/job/job.h"
#include "entrypoint/master/role_loop.h"
#include "entrypoint/mpi/agent.h"
#include "entrypoint/mpi/custom_options.h"
#include "entrypoint/os/nonblocking_writer.h"
#include "entrypoint/os/user_signals.h"
#include "entrypoint/outcome/explain.h"
#include "entrypoint/study/study.h"
#include "entrypoint/study/study_words.h"
#ifdef RINGMASTER_ONE_FILE
#include "entrypoint/transfer/transfer.h"
#endif
#include "entrypoint/command/versions.h"
#include "entrypoint/wire/tls.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static const size_t print_max = (size_t)4 * 1024 * 1024;

/* The last flush reports only its own error; an earlier failure, on a full disk, leaves just the
 * stream's error flag. */
static int end_printing(void) {
    errno = 0;
    bool whole = fflush(stdout) == 0;
    int number = errno != 0 ? errno : ENOSPC;
    if (whole && ferror(stdout) == 0)
        return EXIT_CODE_OK;
    log_error("standard output: cannot be written: %s", strerror(number));
    return (int)file_write_code(number);
}

static int print_buf(const struct buf *text) {
    (void)fwrite(buf_text(text), 1, text->size, stdout);
    return end_printing();
}

/* Refuses arguments of a command without any. */
static int refuse_words(const char *const *words, struct error *err) {
    if (words[0] == NULL)
        return 0;
    return error_set(err, EXIT_CODE_USAGE, "unexpected %.128s; see `ringmaster help`", words[0]);
}

/* Refuses WORD, which looks like an option of COMMAND but is not; it may be NULL. */
static int refuse_option(const char *command, const char *word, struct error *err) {
    const char *nearest = word != NULL ? manual_nearest_option(command, word) : NULL;
    if (nearest == NULL)
        return 0;
    return error_set(err, EXIT_CODE_USAGE, "unknown option %.64s; did you mean %s?", word, nearest);
}

static int print_help(void) {
    cleanup_buf struct buf text;
    buf_init(&text, print_max);
    (void)manual_help(&text, NULL);
    (void)printf("%s\nExit codes:\n", buf_text(&text));
    exit_code_print(stdout, false);
    return end_printing();
}

static int print_help_of(const char *command) {
    cleanup_buf struct buf text;
    buf_init(&text, print_max);
    return manual_help_of(command, &text) ? print_buf(&text) : print_help();
}

static int unknown_command(const char *word, struct error *err) {
    const char *nearest = manual_nearest(word);
    if (nearest == NULL)
        return error_set(err, EXIT_CODE_USAGE,
                         "unknown command %.128s; see `ringmaster help`, and start a program of "
                         "your own by `ringmaster train -- PROGRAM ARGS`",
                         word);
    return error_set(err, EXIT_CODE_USAGE,
                     "unknown command %.128s; did you mean %s? See `ringmaster help`", word,
                     nearest);
}

static int run_help(const char *const *words, struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, print_max);
    if (words[0] == NULL)
        return print_help();
    if (refuse_words(words + 1, err) != 0)
        return -1;
    return manual_help_of(words[0], &text) ? print_buf(&text) : unknown_command(words[0], err);
}

/* Looks only at words before `--`; later ones are the program's. */
static bool asks_for_help(const char *const *words) {
    for (; *words != NULL && strcmp(*words, "--") != 0; words++)
        if (strcmp(*words, "--help") == 0 || strcmp(*words, "-h") == 0)
            return true;
    return false;
}

static int run_man(const char *const *words, struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, print_max);
    if (refuse_words(words, err) != 0)
        return -1;
    return manual_page(&text, err) == 0 ? print_buf(&text) : -1;
}

static int run_completion(const char *const *words, struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, print_max);
    if (refuse_words(words, err) != 0)
        return -1;
    return manual_completion(&text, err) == 0 ? print_buf(&text) : -1;
}

static int run_versions(const char *const *words, struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, print_max);
    if (refuse_words(words, err) != 0)
        return -1;
    return versions_print(environ, &text, err) == 0 ? print_buf(&text) : -1;
}

static int run_version(const char *const *words, struct error *err) {
    if (manual_takes("version", words[0]))
        return run_versions(words + 1, err);
    if (refuse_option("version", words[0], err) != 0)
        return -1;
    if (refuse_words(words, err) != 0)
        return -1;
    (void)printf("ringmaster %s\n", RINGMASTER_VERSION);
    return end_printing();
}

static int run_metrics(const char *const *words, struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, print_max);
    if (refuse_words(words, err) != 0)
        return -1;
    return metrics_print(&text, err) == 0 ? print_buf(&text) : -1;
}

/* Several words are a line of a program's output. */
static int run_explain(const char *const *words, struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, print_max);
    cleanup_buf struct buf line;
    buf_init(&line, print_max);
    for (size_t i = 0; words[0] != NULL && words[i] != NULL; i++)
        if (buf_printf(&line, err, "%s%s", i > 0 ? " " : "", words[i]) != 0)
            return -1;
    return explain_print(words[0] != NULL ? buf_text(&line) : NULL, &text, err) == 0
               ? print_buf(&text)
               : -1;
}

static int run_docs(const char *const *words, struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, print_max);
    if (words[0] != NULL && refuse_words(words + 1, err) != 0)
        return -1;
    return docs_print(words[0], &text, err) == 0 ? print_buf(&text) : -1;
}

static int run_plan(const char *const *words, struct error *err) {
    cleanup_buf struct buf text;
    cleanup_buf struct buf clean; /* the words may include secret hyperparameters */
    struct job job = {0};
    struct probe probe;
    buf_init(&text, print_max);
    buf_init(&clean, print_max);
    int code = -1;
    if (manual_takes("plan", words[0]))
        words++; /* the full command line that is planned */
    if (job_read(words, environ, &job, err) == 0 && trainer_flags_check(&job, err) == 0 &&
        probe_settings(&job, environ, err) == 0) {
        probe_run(&job, environ, &probe);
        if (plan_print(&job, probe.complete ? &probe.request : NULL, environ, &text, err) == 0 &&
            redact_text(&clean, buf_text(&text), err) == 0)
            code = print_buf(&clean);
        probe_done(&probe);
    }
    job_done(&job);
    return code;
}

/* No other process knows of this error, so this one writes the failure file itself. BEGUN: programs
 * may have run, and one of them may have written that file. */
static void leave_failure(const struct job *job, bool begun, const struct error *error) {
    struct verdict verdict;
    const char *base = job->settings.base_dir != NULL ? job->settings.base_dir : "/opt/ml";
    verdict_from_error(error, &job->cluster, -1, &verdict);
    failure_writer_run(base, !begun, &verdict);
}

/* The kernel drops a signal that PID 1 neither handles nor blocks; in any other process a user
 * signal would end the program. Signals are therefore blocked from the start, and the loop handles
 * early ones when it begins. A command without a loop is ended by them. */
static void mask_stops(int how) {
    sigset_t stops;
    (void)sigemptyset(&stops);
    user_signals_add(&stops);
    (void)sigaddset(&stops, SIGTERM);
    (void)sigaddset(&stops, SIGINT);
    (void)sigaddset(&stops, SIGHUP);
    (void)sigprocmask(how, &stops, NULL);
}

/* Before and after its loop, too, PID 1 waits for the reader of its log only briefly. */
static void put_words(void *context, const char *line, size_t size) {
    static const int64_t patience = CLOCK_SECOND / 4;
    (void)context;
    nonblocking_writer_put(STDERR_FILENO, line, size, patience);
}

/* Returns true once cluster and ports are known, so that the other hosts can learn what is wrong
 * with this one. */
static bool has_others(const struct job *job) {
    return job->cluster.count > 1 && job->ports.control != 0;
}

/* Reports words in the user's options for mpirun that have no effect. */
static void log_ignored_options(const struct job *job) {
    struct custom_options custom = {0};
    const char *options =
        job->request.mpi_options.options != NULL ? job->request.mpi_options.options : "";
    int parsed = custom_options_parse(options, &custom, NULL);
    for (size_t i = 0; parsed == 0 && i < custom.ignored.count; i++)
        log_info("sagemaker_mpi_custom_mpi_options: %s changes nothing here",
                 custom.ignored.items[i]);
    custom_options_done(&custom);
}

/* Called before the job and other settings are read, so that their errors have this form, too. */
static void choose_log_form(void) {
    const char *form = getenv("RINGMASTER_LOG");
    if (form != NULL && strcmp(form, "json") == 0)
        log_set_form(LOG_JSON);
    else if (form == NULL && terminal_can_rewrite(STDERR_FILENO))
        log_set_terminal(STDERR_FILENO);
}

static void begin_words(const struct job *job) {
    log_set_who(job->cluster.hosts[job->cluster.self].name.text);
    log_set_level(job->settings.debug ? LOG_DEBUG : LOG_INFO);
    for (size_t i = 0; i < job->warnings.count; i++)
        log_warning("%s", job->warnings.text[i]);
    if (job->warnings.dropped > 0)
        log_warning("%zu more such warnings", job->warnings.dropped);
    log_ignored_options(job);
    if (job->cluster.source == CLUSTER_ALONE && job->settings.platform == NULL)
        log_info(
            "this host is a job of its own: neither RINGMASTER_HOSTS nor a platform names others");
}

static int run_roles(struct supervisor_options *options, struct error *err) {
    int code = -1;
    begin_words(options->job);
    return role_loop_run(options, &code, err) == 0 ? code : -1;
}

/* CHECK is NULL for a job. */
static int run_job(const char *const *words, const struct check_request *check, struct error *err) {
    struct job job = {0};
    struct error fault = {0};
    int code = -1;
    bool begun = false;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)log_set_sink((struct log_sink){.put = put_words});
    process_guard_forbid_inspection(); /* this process holds the key */
    if (redact_add_environment(environ, err) != 0)
        return -1;
    const bool table = check != NULL && check->comm == NULL;
    bool complete = job_read(words, environ, &job, &fault) == 0 &&
                    (!table || trainer_flags_check(&job, &fault) == 0);
    if (check != NULL && !table)
        check_request_adapt(&job);
    struct supervisor_options options = {.job = &job,
                                         .environment = environ,
                                         .arguments = words,
                                         .fault = complete ? NULL : &fault,
                                         .check = table,
                                         .json = table && check->json,
                                         .begun = &begun};
    /* Usage errors are the same on all hosts, so none has to wait to learn of them. */
    if (complete || (has_others(&job) && fault.code != EXIT_CODE_USAGE))
        code = run_roles(&options, err);
    else
        *err = fault;
    if (code < 0)
        leave_failure(&job, begun, err);
    job_done(&job);
    output_lock_end();
    return code;
}

static int run_train(const char *const *words, struct error *err) {
    return run_job(words, NULL, err);
}

static int run_check(const char *const *words, struct error *err) {
    struct check_request request;
    cleanup_argv struct argv program = {0};
    if (check_request_read(words, &request, err) != 0)
        return -1;
    if (request.comm == NULL)
        return run_job(request.words, &request, err);
    if (check_request_program(&request, &program, err) != 0)
        return -1;
    return run_job((const char *const *)program.items, &request, err);
}

/* A job of which every rank is `ringmaster study`. */
static int run_study_job(enum study_kind kind, const char *const *words, struct error *err) {
    cleanup_argv struct argv job = {0};
    if (study_words_job(kind, words, &job, err) != 0)
        return -1;
    return run_job((const char *const *)job.items, NULL, err);
}

static int run_trials(const char *const *words, struct error *err) {
    return run_study_job(STUDY_TRIALS, words, err);
}

static int run_scaling(const char *const *words, struct error *err) {
    return run_study_job(STUDY_SCALING, words, err);
}

static int run_study(const char *const *words, struct error *err) {
    return study_run(words, err) == 0 ? EXIT_CODE_OK : -1;
}

static int run_examine(const char *const *words, struct error *err) {
    return preflight_child_run(words, environ, err) == 0 ? EXIT_CODE_OK : -1;
}

static int run_gather(const char *const *words, struct error *err) {
    return gather_run(words, err) == 0 ? EXIT_CODE_OK : -1;
}

static int run_ras(const char *const *words, struct error *err) {
    return ras_run(words, err) == 0 ? EXIT_CODE_OK : -1;
}

static int run_rank(const char *const *words, struct error *err) {
    int code = -1;
    (void)words;
    return rank_run(environ, &code, err) == 0 ? code : -1;
}

static int run_agent(const char *const *words, struct error *err) {
    int code = -1;
    return agent_run(words, environ, &code, err) == 0 ? code : -1;
}

static const struct command {
    const char *name;
    /* WORDS are those after the command's name. Returns the exit code, or -1. */
    int (*run)(const char *const *words, struct error *err);
    bool hears_stops; /* its loop handles signals that stop it */
    bool helps;       /* accepts --help, too */
} commands[] = {
    {"train", run_train, true, true},
    {"check", run_check, true, true},
    {"trials", run_trials, true, true},
    {"scaling", run_scaling, true, true},
    {"study", run_study, false, false},
    {"plan", run_plan, false, true},
    {"rank", run_rank, false, false},
    {"agent", run_agent, false, false},
    {"examine", run_examine, false, false},
    {"gather", run_gather, false, false},
    {"ras", run_ras, false, false},
    {"metrics", run_metrics, false, true},
    {"explain", run_explain, false, true},
    {"man", run_man, false, true},
    {"completion", run_completion, false, true},
    {"docs", run_docs, false, true},
    {"help", run_help, false, true},
    {"version", run_version, false, true},
    {"-h", run_help, false, false},
    {"--help", run_help, false, false},
    {"--version", run_version, false, false},
};

static const struct command *find_command(const char *name) {
    return TABLE_FIND(commands, name, name);
}

static void print_commands(void) {
    cleanup_buf struct buf text;
    buf_init(&text, print_max);
    if (manual_commands(&text, NULL) == 0)
        (void)fprintf(stderr, "%s\n", buf_text(&text));
}

/* The links named train and agent select the commands of those names. */
static const struct command *choose(const char *const **words, struct error *err) {
    const char *slash = strrchr((*words)[0], '/');
    const char *name = slash != NULL ? slash + 1 : (*words)[0];
    *words += 1;
    if (strcmp(name, "train") == 0 || strcmp(name, "agent") == 0)
        return find_command(name);
    if ((*words)[0] == NULL) {
        print_commands();
        (void)error_set(err, EXIT_CODE_USAGE, "a command is missing; see `ringmaster help`");
        return NULL;
    }
    const struct command *found = find_command((*words)[0]);
    if (found == NULL)
        (void)unknown_command((*words)[0], err);
    *words += 1;
    return found;
}

/* We and the programs reopen files that we create, so a umask that removes the owner's rights would
 * make the job fail later, with a puzzling error. */
static void keep_own_rights(void) {
    (void)umask(umask(0) & ~(mode_t)S_IRWXU);
}

#ifdef RINGMASTER_ONE_FILE
/* `ringmaster transfer`, or a link named ringmaster-transfer: how many words stand before those of
 * that program; -1: something else is asked for. */
static int find_transfer(int argc, char **argv) {
    if (argc >= 1 && str_ends_with(argv[0], "ringmaster-transfer"))
        return 0;
    return argc >= 2 && strcmp(argv[1], "transfer") == 0 ? 1 : -1;
}
#endif

int main(int argc, char **argv) {
#ifdef RINGMASTER_ONE_FILE
    int before = find_transfer(argc, argv);
    if (before >= 0)
        return transfer_main(argc - before, argv + before);
#endif
    (void)standard_streams_fill();
    (void)signal(SIGXFSZ, SIG_IGN); /* exceeding the file size limit is an error like a full disk */
    keep_own_rights();
    mask_stops(SIG_BLOCK);
    tls_ignore_configuration();
    struct error err = {.code = EXIT_CODE_INTERNAL};
    const char *const *words = (const char *const *)argv;
    if (argc < 1)
        return EXIT_CODE_USAGE;
    choose_log_form();
    const struct command *command = choose(&words, &err);
    if (command == NULL || !command->hears_stops)
        mask_stops(SIG_UNBLOCK);
    int code = -1;
    if (command != NULL && command->helps && asks_for_help(words))
        code = print_help_of(command->name);
    else if (command != NULL)
        code = command->run(words, &err);
    if (code < 0) {
        log_error("%s", err.text);
        code = err.code != 0 ? (int)err.code : EXIT_CODE_INTERNAL;
    }
    redact_done();
    return code;
}

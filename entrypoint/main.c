/* ringmaster: the table of commands.
 *
 * Each command is in a file of entrypoint/command, and this file only chooses one. */
#include "common/log/log.h"
#include "common/str.h"
#include "common/system/standard_streams.h"
#include "common/system/terminal.h"
#include "common/table.h"
#include "common/text/redact.h"
#include "entrypoint/command/docs.h"
#include "entrypoint/command/help.h"
#include "entrypoint/command/inner_command.h"
#include "entrypoint/command/job_run.h"
#include "entrypoint/command/manual.h"
#include "entrypoint/command/plan.h"
#include "entrypoint/command/versions.h"
#include "entrypoint/os/user_signals.h"
#ifdef RINGMASTER_ONE_FILE
#include "entrypoint/transfer/transfer.h"
#endif
#include "entrypoint/wire/tls.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Called before the job and other settings are read, so that their errors have this form, too. */
static void choose_log_form(void) {
    const char *form = getenv("RINGMASTER_LOG");
    if (form != NULL && strcmp(form, "json") == 0)
        log_set_form(LOG_JSON);
    else if (form == NULL && terminal_can_rewrite(STDERR_FILENO))
        log_set_terminal(STDERR_FILENO);
}

static const struct command {
    const char *name;
    /* WORDS are those after the command's name. Returns the exit code, or -1. */
    int (*run)(const char *const *words, struct error *err);
    bool hears_stops; /* its loop handles signals that stop it */
    bool helps;       /* accepts --help, too */
} commands[] = {
    {"train", job_run_train, true, true},
    {"check", job_run_check, true, true},
    {"trials", job_run_trials, true, true},
    {"scaling", job_run_scaling, true, true},
    {"study", inner_command_study, false, false},
    {"plan", plan_run, false, true},
    {"rank", inner_command_rank, false, false},
    {"agent", inner_command_agent, false, false},
    {"examine", inner_command_examine, false, false},
    {"gather", inner_command_gather, false, false},
    {"ras", inner_command_ras, false, false},
    {"metrics", docs_run_metrics, false, true},
    {"explain", help_explain, false, true},
    {"man", help_man, false, true},
    {"completion", help_completion, false, true},
    {"docs", docs_run, false, true},
    {"help", help_run, false, true},
    {"version", versions_run, false, true},
    {"-h", help_run, false, false},
    {"--help", help_run, false, false},
    {"--version", versions_run, false, false},
};

static const struct command *find_command(const char *name) {
    return TABLE_FIND(commands, name, name);
}

/* The links named train and agent select the commands of those names. */
static const struct command *choose(const char *const **words, struct error *err) {
    const char *slash = strrchr((*words)[0], '/');
    const char *name = slash != NULL ? slash + 1 : (*words)[0];
    *words += 1;
    if (strcmp(name, "train") == 0 || strcmp(name, "agent") == 0)
        return find_command(name);
    if ((*words)[0] == NULL) {
        help_list();
        (void)error_set(err, EXIT_CODE_USAGE, "a command is missing; see `ringmaster help`");
        return NULL;
    }
    const struct command *found = find_command((*words)[0]);
    if (found == NULL)
        (void)manual_refuse_command((*words)[0], err);
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
    if (command != NULL && command->helps && help_is_asked(words))
        code = help_print_of(command->name);
    else if (command != NULL)
        code = command->run(words, &err);
    if (code < 0) {
        log_error("%s", err.text);
        code = err.code != 0 ? (int)err.code : EXIT_CODE_INTERNAL;
    }
    redact_done();
    return code;
}

#include "entrypoint/host/provision/pip_install.h"

#include "common/clock.h"
#include "common/log/log.h"
#include "common/text/redact.h"
#include "entrypoint/host/ranks/environment.h"

#include <stdio.h>
#include <string.h>

enum { LAST_WORDS_MAX = 560 }; /* bytes of pip's output in an error */

/* Logs LINE, SIZE bytes without a NUL, without secrets. */
static void hear(void *context, const char *line, size_t size) {
    const struct pip_install *i = context;
    cleanup_buf struct buf raw, clean;
    buf_init(&raw, LINE_SPLITTER_MAX);
    buf_init(&clean, (size_t)LINE_SPLITTER_MAX * 2);
    if (buf_add(&raw, line, size, NULL) == 0 && redact_text(&clean, buf_text(&raw), NULL) == 0)
        i->line(i->context, buf_text(&clean), clean.size);
}

/* Joins the last lines that fit into one. */
static void last_words(const struct tail *tail, char ret[LAST_WORDS_MAX]) {
    cleanup_buf struct buf clean;
    char text[LINE_SPLITTER_TAIL_SIZE + 1];
    buf_init(&clean, sizeof(text) * 4);
    (void)snprintf(text, sizeof(text), "%.*s", (int)tail->size, tail->text);
    ret[0] = '\0';
    if (redact_text(&clean, text, NULL) != 0)
        return;
    const char *from = buf_text(&clean);
    for (const char *next = NULL; strlen(from) >= LAST_WORDS_MAX; from = next + 1)
        if ((next = strchr(from, '\n')) == NULL)
            break;
    (void)snprintf(ret, LAST_WORDS_MAX, "%s", from);
    for (char *at = ret; (at = strchr(at, '\n')) != NULL;)
        *at = ';'; /* errors are a single line */
}

static void ended(void *context, int code) {
    struct pip_install *i = context;
    struct error err = {0};
    char words[LAST_WORDS_MAX];
    loop_cancel(i->services->loop, &i->pulse);
    if (code == EXIT_CODE_OK) {
        i->done(i->context, NULL);
        return;
    }
    last_words(&i->task.tail, words);
    if (i->task.late)
        (void)error_set(&err, EXIT_CODE_NOT_READY,
                        "the program's requirements were not installed within %lld s "
                        "(RINGMASTER_FETCH_SECONDS); pip's last output: %s",
                        (long long)i->seconds, words);
    else
        (void)error_set(&err, EXIT_CODE_CONFIG,
                        "the program's requirements cannot be installed: pip exited with %d: %s",
                        code, words);
    i->done(i->context, &err);
}

static void pulse(void *context) {
    struct pip_install *i = context;
    loop_after(i->services->loop, &i->pulse, i->period);
    i->runs(i->context);
}

/* pip gets the program's environment and user, because a package's setup.py is the user's code.
 * Debian's pip refuses to install next to the system's packages, and warns of root; in a container
 * both are intended. */
static int make_environment(const struct services *services, struct argv *ret, struct error *err) {
    static const char *const defaults[][2] = {{"PIP_BREAK_SYSTEM_PACKAGES", "1"},
                                              {"PIP_ROOT_USER_ACTION", "ignore"}};
    if (environment_host(services->job, services->environment, ret, err) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
        if (argv_get_env(ret, defaults[i][0]) == NULL &&
            argv_set_env(ret, defaults[i][0], defaults[i][1], err) != 0)
            return -1;
    return 0;
}

int pip_install_start(struct pip_install *i, const struct services *services,
                      const struct pip_install_options *o, struct error *err) {
    const struct user_program *p = &services->job->program;
    char prefix[LINE_SPLITTER_PREFIX_SIZE];
    cleanup_argv struct argv argv = {0};
    cleanup_argv struct argv environment = {0};
    *i = (struct pip_install){.services = services,
                              .seconds = services->job->settings.fetch_seconds,
                              .period = services->job->settings.ready_seconds * CLOCK_SECOND / 4,
                              .line = o->line,
                              .runs = o->runs,
                              .done = o->done,
                              .context = o->context};
    i->pulse = (struct timer){.fire = pulse, .context = i};
    (void)snprintf(prefix, sizeof(prefix), "[%s pip] ",
                   services->job->cluster.hosts[services->job->cluster.self].name.text);
    const struct subprocess_options options = {.prefix = prefix,
                                               .directory = p->root,
                                               .line = hear,
                                               .ended = ended,
                                               .context = i,
                                               .limit = i->seconds * CLOCK_SECOND,
                                               .as_user = true};
    if (python_code_redact(p->root, services->environment, err) != 0 ||
        python_code_pip(p->argv.items[0], p->root, &p->code, &argv, err) != 0 ||
        make_environment(services, &environment, err) != 0 ||
        subprocess_start(&i->task, services->loop, services->reaper, &argv, &environment, &options,
                         err) != 0)
        return error_wrap(err, "installing the program's requirements");
    log_info("installing the program's requirements: %s%s%s",
             p->code.package ? "the package in " : "requirements.txt in ", p->root,
             p->code.package && p->code.requirements ? ", requirements.txt" : "");
    loop_after(services->loop, &i->pulse, i->period);
    return 0;
}

void pip_install_close(struct pip_install *i) {
    if (i->services == NULL)
        return;
    loop_cancel(i->services->loop, &i->pulse);
    subprocess_done(&i->task);
    i->services = NULL;
}

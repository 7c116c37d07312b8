#include "entrypoint/host/ranks/xid_watch.h"

#include "common/argv.h"
#include "common/file/file.h"
#include "common/log/log.h"
#include "common/str.h"
#include "entrypoint/job/machine/accelerators.h"
#include "entrypoint/outcome/xid.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* What is no Xid is the child's reason why none will come. */
static void take_line(void *context, const char *line, size_t size) {
    struct xid_watch *w = context;
    char text[KMSG_LINE_SIZE];
    (void)snprintf(text, sizeof(text), "%.*s", (int)strcspn(line, "\n"), line);
    if (size == 0 || !str_starts_with(text, "NVRM: Xid")) {
        log_debug("Xids by NVML: %s", text);
        return;
    }
    log_warning("GPU: %s", text);
    kmsg_take(w->kernel, text);
}

static void ended(void *context, int code) {
    (void)context;
    (void)code;
}

static int start(struct xid_watch *w, const struct services *services, struct error *err) {
    char self[PATH_MAX];
    cleanup_argv struct argv argv = {0};
    cleanup_argv struct argv environment = {0};
    const struct subprocess_options options = {
        .prefix = "", .line = take_line, .ended = ended, .context = w, .as_user = true};
    if (file_self(self, sizeof(self), err) != 0 || argv_add(&argv, self, err) != 0 ||
        argv_add(&argv, "examine", err) != 0 || argv_add(&argv, "xids", err) != 0 ||
        argv_add_all(&environment, (const char *const *)services->environment, err) != 0)
        return -1;
    return subprocess_start(&w->task, services->loop, services->reaper, &argv, &environment,
                            &options, err);
}

void xid_watch_start(struct xid_watch *w, const struct services *services, struct kmsg *kernel) {
    struct error err = {0};
    xid_watch_close(w);
    if (kernel->fd >= 0 || services->environment == NULL || accelerators_gpus("/dev") == 0)
        return;
    w->kernel = kernel;
    if (start(w, services, &err) != 0)
        log_debug("Xids by NVML: %s", err.text);
}

void xid_watch_drain(struct xid_watch *w) {
    if (w->kernel != NULL && w->task.running)
        pipe_reader_drain(&w->task.out);
}

bool xid_watch_is_dead(struct xid_watch *w, struct kmsg *kernel, struct error *ret) {
    char lines[KMSG_LINES * KMSG_LINE_SIZE];
    char bus[XID_BUS_SIZE];
    char text[XID_TEXT_SIZE];
    xid_watch_drain(w);
    kmsg_read(kernel, false, false, lines, sizeof(lines));
    const struct xid_row *row = xid_in_vain(lines, bus);
    if (row == NULL)
        return false;
    xid_describe(row, bus, "", text, sizeof(text));
    (void)error_set(ret, EXIT_CODE_DEVICE, "%s", text);
    return true;
}

void xid_watch_close(struct xid_watch *w) {
    if (w->kernel == NULL)
        return;
    subprocess_signal(&w->task, SIGKILL);
    subprocess_done(&w->task);
    *w = (struct xid_watch){0};
}

#include "entrypoint/host/ranks/rank_evidence.h"

#include "common/clock.h"
#include "entrypoint/host/ranks/core_file.h"
#include "entrypoint/outcome/error_file.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { CLOSED_SECONDS = 2 };
static const char exception_mark[] = "exception: ";

static void add_core(struct rank_report *r, size_t used) {
    char core[RANK_REPORT_EVIDENCE_SIZE / 2];
    core_file_here(core, sizeof(core));
    if (core[0] != '\0')
        (void)snprintf(r->evidence + used, sizeof(r->evidence) - used, "%score file: %s",
                       used > 0 ? "\n" : "", core);
}

void rank_evidence_printed(const struct rank_exception *e, struct rank_report *r) {
    char text[TRACEBACK_TEXT_SIZE];
    bool killed = r->end == RANK_SIGNALLED && (r->value == SIGKILL || r->value == SIGTERM);
    if (killed || r->cause != RANK_CAUSE_NONE || !rank_exception_text(e, text))
        return;
    r->raised = clock_boot() - (clock_now() - e->at);
    if (r->evidence[0] == '\0')
        (void)snprintf(r->evidence, sizeof(r->evidence), "%s", text);
}

/* At its end a program closes it, too. */
void rank_evidence_closed(int64_t closed, int64_t now, struct rank_report *r) {
    const int64_t ago = (now - closed) / CLOCK_SECOND;
    size_t used = strlen(r->evidence);
    if (closed == 0 || ago < CLOSED_SECONDS || r->cause != RANK_CAUSE_NONE ||
        r->end != RANK_EXITED || strstr(r->evidence, exception_mark) != NULL)
        return;
    (void)snprintf(r->evidence + used, sizeof(r->evidence) - used,
                   "%sstderr: the program closed or redirected it %lld s before its end: its last "
                   "words are not here",
                   used > 0 ? "\n" : "", (long long)ago);
}

void rank_evidence_add(struct kmsg *kernel, struct rank_report *r) {
    char words[RANK_REPORT_EVIDENCE_SIZE - 64];
    char exception[ERROR_FILE_LINE_SIZE];
    bool memory = r->memory == RANK_MEMORY_KILLED;
    size_t used = 0;
    (void)snprintf(exception, sizeof(exception), "%.*s", (int)strcspn(r->evidence, "\n"),
                   r->evidence);
    r->evidence[0] = '\0';
    kmsg_read(kernel, r->end == RANK_SIGNALLED, memory, words, sizeof(words));
    for (const char *line = words; *line != '\0' && used < sizeof(r->evidence);) {
        char text[sizeof(words)];
        int size = (int)strcspn(line, "\n");
        (void)snprintf(text, sizeof(text), "%.*s", size, line);
        used += (size_t)snprintf(r->evidence + used, sizeof(r->evidence) - used, "%skernel: %s",
                                 used > 0 ? "\n" : "", text);
        line += size + (line[size] == '\n');
    }
    if (exception[0] != '\0' && used < sizeof(r->evidence))
        (void)snprintf(r->evidence + used, sizeof(r->evidence) - used, "%s%s%s",
                       used > 0 ? "\n" : "", exception_mark, exception);
    if (r->end == RANK_SIGNALLED && core_file_is_due(r->value) && used < sizeof(r->evidence))
        add_core(r, used);
    rank_report_clean(r->evidence, words, sizeof(words));
    (void)snprintf(r->evidence, sizeof(r->evidence), "%s", words);
}

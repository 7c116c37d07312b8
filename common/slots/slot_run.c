#include "common/slots/slot_run.h"

#include "common/clock.h"
#include "common/slots/slot_log.h"

#include <stdbool.h>
#include <stdio.h>

enum { LAST_WORDS = 160 };

static bool has_failed(const struct slots *s, int size) {
    for (int i = 0; i < size; i++)
        if (s->reports[i].state == SLOT_ENDED && s->reports[i].code != 0)
            return true;
    return false;
}

/* Waits for the end of all ranks; they are ended if one fails, a stop is asked for, or, with
 * *RET_LATE, after the limit. */
static int await(struct slots *s, const struct slot_task *task, bool *ret_late, struct error *err) {
    const int64_t began = clock_now();
    bool ended = false;
    while (slots_running(s, 0, task->size)) {
        if (slots_round(s, err) != 0)
            return -1;
        const bool ends = slots_stopping(s) || has_failed(s, task->size);
        *ret_late =
            *ret_late || (!ends && slots_running(s, 0, task->size) &&
                          (double)(clock_now() - began) / (double)CLOCK_SECOND > task->limit);
        if ((ends || *ret_late) && !ended && slots_end(s, 0, task->size, err) != 0)
            return -1;
        ended = ended || ends || *ret_late;
    }
    return 0;
}

int slot_run(struct slots *s, const struct slot_task *task, char failure[SLOT_FAILURE_SIZE],
             struct error *err) {
    char name[64], words[LAST_WORDS];
    bool late = false;
    int rank = 0;
    (void)snprintf(name, sizeof(name), "%d ranks %lld", task->size, (long long)clock_now());
    failure[0] = '\0';
    const struct slot_job job = {0,
                                 task->size,
                                 task->folder,
                                 name,
                                 (const char *const *)task->argv->items,
                                 task->environment};
    if (slots_start(s, &job, err) != 0 || await(s, task, &late, err) != 0)
        return -1;
    const int code = slots_code(s, 0, task->size, &rank);
    if (slots_stopping(s))
        return error_set(err, EXIT_CODE_STOPPED, "stopped on request");
    slot_log_last(task->folder, rank, words, sizeof(words));
    if (late)
        (void)snprintf(failure, SLOT_FAILURE_SIZE, "not done after %.0f s (--limit)", task->limit);
    else if (code != 0)
        (void)snprintf(failure, SLOT_FAILURE_SIZE, "rank %d ended with %d%s%s", rank, code,
                       words[0] != '\0' ? ": " : "", words);
    return 0;
}

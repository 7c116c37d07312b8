#include "trainer/app/board/board.h"

#include "common/clock.h"
#include "trainer/telemetry/tfevents_read.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/* An evaluation's scalars in files of earlier versions. */
#define EARLIER "eval/"

static int path_of(char path[PATH_MAX], const char *folder, const char *run, struct error *err) {
    if (snprintf(path, PATH_MAX, "%s/%s", folder, run) < PATH_MAX)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", folder);
}

static int open_run(struct tfevents *events, const char *folder, const char *run, int64_t wall,
                    struct error *err) {
    char path[PATH_MAX];
    char host[64] = "";
    (void)gethostname(host, sizeof(host) - 1);
    return path_of(path, folder, run, err) != 0 ? -1 : tfevents_open(events, path, host, wall, err);
}

int board_open(struct board *board, const char *folder, bool evaluates, struct error *err) {
    const int64_t wall = clock_wall();
    char host[64] = "";
    *board = (struct board)BOARD_CLOSED;
    if (folder[0] == '\0')
        return 0;
    (void)gethostname(host, sizeof(host) - 1);
    (void)snprintf(board->session, sizeof(board->session), "%lld.%s",
                   (long long)(wall / CLOCK_SECOND), host);
    if (open_run(&board->steps, folder, "train", wall, err) != 0)
        return -1;
    return evaluates ? open_run(&board->evaluations, folder, "eval", wall, err) : 0;
}

int board_open_watch(struct board *board, const char *folder, struct error *err) {
    *board = (struct board)BOARD_CLOSED;
    return folder[0] == '\0' ? 0
                             : open_run(&board->evaluations, folder, "watch", clock_wall(), err);
}

void board_done(struct board *board) {
    tfevents_done(&board->steps);
    tfevents_done(&board->evaluations);
}

int board_end_again(struct board *board, const char *folder, int64_t step, struct error *err) {
    char path[PATH_MAX];
    bool held = false, held_earlier = false;
    if (board->evaluations.fd < 0)
        return 0;
    if (path_of(path, folder, "eval", err) != 0 ||
        tfevents_holds(path, step, "", &held, err) != 0 ||
        tfevents_holds(folder, step, EARLIER, &held_earlier, err) != 0)
        return -1;
    if (held || held_earlier)
        tfevents_done(&board->evaluations);
    return 0;
}

int board_begin(struct board *board, int64_t step, struct error *err) {
    struct tfevents *runs[] = {&board->steps, &board->evaluations};
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++)
        if (runs[i]->fd >= 0 && tfevents_start(runs[i], clock_wall(), step, err) != 0)
            return -1;
    return 0;
}

int board_text(struct board *board, int64_t step, const char *tag, const char *text,
               struct error *err) {
    return board_is_open(board)
               ? tfevents_add_text(&board->steps, clock_wall(), step, tag, text, err)
               : 0;
}

int board_settings(struct board *board, int64_t step, const struct tfevents_setting *settings,
                   size_t count, struct error *err) {
    struct tfevents *runs[] = {&board->steps, &board->evaluations};
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++)
        if (runs[i]->fd >= 0 && tfevents_add_settings(runs[i], clock_wall(), step, board->session,
                                                      settings, count, err) != 0)
            return -1;
    return 0;
}

int board_scalars(struct tfevents *events, int64_t step, const struct metric_field *fields,
                  int count, struct error *err) {
    struct tfevents_scalar scalars[BOARD_SCALARS_MAX];
    if (events->fd < 0)
        return 0;
    if (count > BOARD_SCALARS_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "%d scalars at once; at most %d are allowed",
                         count, BOARD_SCALARS_MAX);
    for (int i = 0; i < count; i++)
        scalars[i] = (struct tfevents_scalar){fields[i].name, fields[i].value};
    return tfevents_add(events, clock_wall(), step, scalars, (size_t)count, err);
}

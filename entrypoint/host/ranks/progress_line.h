/* Progress line of the launcher on a terminal: how far this host's ranks are, with the time left.
 *
 *     [====>    ] step 46/216  3 ranks  1:44 left
 *
 * It shows the rank that is furthest among those that report progress (common/system/progress.h);
 * without such a rank, and where standard output is no terminal, there is no line and no timer. */
#ifndef ENTRYPOINT_HOST_RANKS_PROGRESS_LINE_H
#define ENTRYPOINT_HOST_RANKS_PROGRESS_LINE_H

#include "common/log/status_line.h"
#include "common/system/progress.h"
#include "entrypoint/host/services/services.h"
#include "entrypoint/os/console.h"
#include "entrypoint/os/loop.h"

#include <stddef.h>
#include <stdint.h>

struct rank_set;

/* Pace of a program since its first mark, or since it went back, as the next attempt does. */
struct progress_pace {
    uint64_t step; /* as last seen */
    uint64_t from; /* the step at BEGUN_AT */
    int64_t begun_at;
};

/* Returns the seconds that the rest takes at the pace so far; below 0: not known yet. Updates PACE.
 */
double progress_pace_left(struct progress_pace *pace, const struct progress_state *state,
                          int64_t now);

/* Writes the text without its bar; "" before the first mark. *RET_FRACTION is the part that is
 * done; -1 if the program has not reported how many steps there are. RANKS: of the whole job. */
void progress_line_text(struct progress_pace *pace, const struct progress_state *state,
                        size_t ranks, int64_t now, char ret[STATUS_LINE_MAX], double *ret_fraction);

struct progress_line {
    const struct services *services; /* borrowed, as all pointers; NULL: not open */
    const struct rank_set *ranks;
    struct timer look;
    struct progress_pace pace;
};

/* Starts the looks if the console is a terminal. */
void progress_line_open(struct progress_line *p, const struct services *services,
                        const struct rank_set *ranks);
/* Removes the line from the screen. Zeroed is fine. */
void progress_line_close(struct progress_line *p);

#endif

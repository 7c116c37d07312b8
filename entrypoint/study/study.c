#include "entrypoint/study/study.h"

#include "common/clock.h"
#include "entrypoint/study/star.h"
#include "entrypoint/study/study_scaling.h"
#include "entrypoint/study/study_trials.h"

#include <signal.h>

/* All ranks are launched together. */
static const int64_t READY = 300 * CLOCK_SECOND;

/* Every rank of the job runs this with the same words. The place in the job comes from the
 * variables that the launcher sets, and rank 0 leads. SIGPIPE is ignored, because a rank that is
 * lost is an error of the connection and not the end of this process. */
int study_run(const char *const *words, struct error *err) {
    struct star_place place;
    struct study_words w;
    cleanup_star struct star star = {0};
    const int kind = words[0] != NULL ? study_kind_of(words[0]) : -1;
    if (kind < 0)
        return error_set(err, EXIT_CODE_USAGE,
                         "`study` is started by ringmaster trials and ringmaster scaling");
    (void)signal(SIGPIPE, SIG_IGN);
    if (study_words_read((enum study_kind)kind, words + 1, &w, err) != 0 ||
        star_place_read(&place, err) != 0 ||
        star_open(&star, &place, clock_now() + READY, err) != 0)
        return -1;
    const struct slot_group group = star_group(&star);
    return kind == STUDY_TRIALS ? study_trials(&w, &group, err) : study_scaling(&w, &group, err);
}

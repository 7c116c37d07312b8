/* Reports of a training run, from its opening to its end: what it tells people, metrics, the
 * supervisor and the timeline as it goes. */
#ifndef TRAINER_APP_RUN_RUN_REPORTS_H
#define TRAINER_APP_RUN_RUN_REPORTS_H

#include "common/system/progress.h"
#include "trainer/app/run/eval_artifacts.h"
#include "trainer/app/run/report.h"
#include "trainer/app/run/start_times.h"
#include "trainer/app/step/run_timeline.h"

struct run_reports {
    struct report report;
    struct eval_artifacts artifacts; /* of evaluations, on rank 0 */
    struct progress progress;
    struct run_timeline timeline;
    struct start_times start;
};

#endif

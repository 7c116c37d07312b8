/* What a command tells of its data: what is left out of a folder when it is opened, and which files
 * cannot be used or were damaged while it is read. Files are named in the log, the first
 * BAD_SAMPLES_TOLD_MAX of each kind a rank, and all are counted. */
#ifndef TRAINER_APP_TASK_SAMPLE_HEALTH_H
#define TRAINER_APP_TASK_SAMPLE_HEALTH_H

#include "common/error.h"
#include "trainer/comm/comm.h"
#include "trainer/data/dataset/bad_samples.h"
#include "trainer/data/dataset/batch.h"
#include "trainer/data/dataset/dataset.h"
#include "trainer/data/dataset/sampler.h"
#include "trainer/data/dataset/source.h"

#include <stdbool.h>
#include <stdint.h>

/* A set of samples and what is wrong with them. */
struct sample_health {
    struct source source; /* no samples: there is no such set */
    struct bad_samples faults;
    int64_t dropped;              /* objects and masks without room in this rank's batches since
                                     sample_health_share */
    int64_t dropped_all;          /* and of all ranks' in the time before */
    int64_t masks_dropped;        /* in this rank's batches, since the beginning */
    struct sampler_groups groups; /* by canvas; borrowed */
    struct canvas {               /* of each group; one without groups */
        int height, width;
    } canvases[SAMPLER_GROUPS_MAX];
    int canvas_count;
};

/* dataset_open_folder, with a line in the log when ALOUD. */
int sample_health_open(struct dataset *set, const char *folder, bool aloud, struct error *err);

/* The value of --bad-samples: so many files of a set may be unusable. fail is 0, skip is all. */
int sample_health_parse_allowed(const char *text, int64_t *ret, struct error *err);

/* Counts what found no room in BATCH. The first masks are told of: their objects still count. */
void sample_health_count(struct sample_health *samples, const struct batch *batch);

/* Names what this rank has found since the last call. */
void sample_health_tell(struct sample_health *samples, int64_t allowed);

/* In place of a batch came NEXT_BATCH_BAD with ERR: names what is known, and adds to ERR how many
 * files that are and what can be done. Returns -1. */
int sample_health_refuse(struct sample_health *samples, int64_t allowed, struct error *err);

/* All ranks together: each tells what it found, and from then on all count alike. An error on all
 * of them, of the data, when more than ALLOWED (not 0: then the rank that meets the file says so)
 * cannot be used. */
int sample_health_share(struct comm *comm, struct sample_health *samples, int64_t allowed,
                        struct error *err);

/* At the end of a run, by one rank: how many there were of each kind, and the first by name; how
 * many masks found no room. */
void sample_health_sum_up(struct sample_health *samples, int64_t allowed);

#endif

/* Reports on the files of a data set: those left out when a folder is opened, and those found
 * unusable or damaged while it is read. All are counted, and the first BAD_SAMPLES_TOLD_MAX of
 * each kind on a rank are logged by name. */
#ifndef TRAINER_APP_TASK_SAMPLE_HEALTH_H
#define TRAINER_APP_TASK_SAMPLE_HEALTH_H

#include "common/error.h"
#include "trainer/comm/comm.h"
#include "trainer/data/dataset/bad_samples.h"
#include "trainer/data/dataset/batch.h"
#include "trainer/data/dataset/dataset.h"
#include "trainer/data/dataset/dataset_part.h"
#include "trainer/data/dataset/source.h"
#include "trainer/data/order/sampler.h"

#include <stdbool.h>
#include <stdint.h>

/* A set of samples and its faults. */
struct sample_health {
    struct source source; /* without samples if there is no such set */
    struct bad_samples faults;
    int64_t dropped;              /* objects and masks beyond the limits in this rank's batches
                                   * since sample_health_share */
    int64_t masks_dropped;        /* in this rank's batches, since the beginning */
    struct sampler_groups groups; /* samples by canvas; borrowed */
    struct lanes lanes;           /* order of the training; borrowed */
    struct dataset_part part;     /* of the training, as this rank has it */
    struct canvas {               /* of each group; a single one without groups */
        int height, width;
    } canvases[SAMPLER_GROUPS_MAX];
    int canvas_count;
};

/* What all ranks have found in a set. */
struct sample_counts {
    int64_t bad, damaged; /* files, since the beginning */
    int64_t dropped;      /* objects and masks beyond the limits, since the call before */
};

/* Calls dataset_open_as, and logs the result if ALOUD. */
int sample_health_open(struct dataset *set, const char *path, const struct shards_reading *reading,
                       bool aloud, struct error *err);

/* Collective. The same for all ranks of COMM, which share the set on each host (hosts/host_set.h).
 * Rank 0 logs the result. */
int sample_health_open_shared(struct dataset *set, const char *path,
                              const struct shards_reading *reading, struct comm *comm,
                              struct error *err);

/* Parses --bad-samples, the number of files of a set that may be unusable: fail is 0, skip is
 * all. */
int sample_health_parse_allowed(const char *text, int64_t *ret, struct error *err);

/* Counts the objects and masks of BATCH beyond the limits. Warns of the first such masks: their
 * objects are still used. */
void sample_health_count(struct sample_health *samples, const struct batch *batch);

/* Logs the names of the faults that this rank has found since the last call. */
void sample_health_log(struct sample_health *samples, int64_t allowed);

/* Call when the loader returned NEXT_BATCH_BAD with ERR: logs the known faults, and adds to ERR
 * their number and what to do. Returns -1. */
int sample_health_refuse(struct sample_health *samples, int64_t allowed, struct error *err);

/* Collective. Distributes the faults, after which all ranks have the same counts, RET. Fails on all
 * of them, with a data error, if more than ALLOWED are unusable; RET is set then, too. (With
 * ALLOWED 0 the rank that meets the file fails.) */
int sample_health_share(struct comm *comm, struct sample_health *samples, int64_t allowed,
                        struct sample_counts *ret, struct error *err);

/* Call at the end of a run, on one rank: logs the number of faults of each kind, the first by
 * name, and how many masks did not fit. */
void sample_health_sum_up(struct sample_health *samples, int64_t allowed);

#endif

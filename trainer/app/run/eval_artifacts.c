#include "trainer/app/run/eval_artifacts.h"

#include "common/clock.h"
#include "common/file/file.h"
#include "common/file/output_path.h"
#include "common/log/log.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#define DETECTIONS "detections.json"
#define PICTURES "pictures"

static const char *const DETECTION_STARTS[] = {"[\n{\"image_id\":", "[]", NULL};
static const struct output_path_kind DETECTION_KIND = {"a list of detections", DETECTION_STARTS};
static const char *const PICTURE_STARTS[] = {"\xff\xd8\xff", NULL};
static const struct output_path_kind PICTURE_KIND = {"a picture of an evaluation", PICTURE_STARTS};

static int path_in(const struct eval_artifacts *f, const char *name, char path[PATH_MAX],
                   struct error *err) {
    if (snprintf(path, PATH_MAX, "%s/%s", f->folder, name) < PATH_MAX)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG, "--out: %.64s...: path too long", f->folder);
}

int eval_artifacts_check(const struct eval_artifacts *f, const struct task *task,
                         struct error *err) {
    char path[PATH_MAX];
    if (f->folder[0] == '\0')
        return 0;
    if ((task->score_show != NULL || task->mistakes_show != NULL) && f->pictures > 0 &&
        (path_in(f, PICTURES, path, err) != 0 || file_make_dirs(path, err) != 0))
        return error_wrap(err, "--out");
    if (task->score_write == NULL)
        return 0;
    if (file_make_dirs(f->folder, err) != 0)
        return error_wrap(err, "--out");
    return path_in(f, DETECTIONS, path, err) != 0
               ? -1
               : output_path_check(path, &DETECTION_KIND, "--out", err);
}

/* Returns true if another picture of SIZE bytes would exceed a limit. */
static bool is_full(struct eval_artifacts *f, size_t size) {
    if (f->files < EVAL_ARTIFACTS_FILES_MAX && size <= EVAL_ARTIFACTS_BYTES_MAX - f->bytes)
        return false;
    if (!f->told)
        log_warning("%zu pictures of evaluations, %.0f MB: the limit is reached, no more are saved",
                    f->files, (double)f->bytes / 1e6);
    f->told = true;
    return true;
}

static int put_file(const struct eval_artifacts *f, const struct task_picture *picture,
                    struct error *err) {
    char name[96], path[PATH_MAX];
    (void)snprintf(name, sizeof(name), PICTURES "/step-%09" PRId64 "-%" PRId64 ".jpg", f->step,
                   picture->id);
    if (path_in(f, name, path, err) != 0 ||
        output_path_check(path, &PICTURE_KIND, "--out", err) != 0)
        return -1;
    return file_publish(path, picture->bytes, picture->size, 0644, err);
}

static int put_event(const struct eval_artifacts *f, const struct task_picture *picture,
                     struct error *err) {
    char tag[64];
    (void)snprintf(tag, sizeof(tag), PICTURES "/%" PRId64, picture->id);
    const struct tfevents_picture event = {.tag = tag,
                                           .height = picture->height,
                                           .width = picture->width,
                                           .bytes = picture->bytes,
                                           .size = picture->size};
    return tfevents_add_picture(f->events, clock_wall(), f->step, &event, err);
}

static bool has_events(const struct eval_artifacts *f) {
    return f->events != NULL && f->events->fd >= 0;
}

static int take(void *user, const struct task_picture *picture, struct error *err) {
    struct eval_artifacts *f = user;
    if (is_full(f, picture->size))
        return 0;
    f->files++;
    f->bytes += picture->size;
    if (f->folder[0] != '\0' && put_file(f, picture, err) != 0)
        return -1;
    return has_events(f) && picture->size <= TFEVENTS_PICTURE_MAX ? put_event(f, picture, err) : 0;
}

static int keep(struct eval_artifacts *f, struct score *score, const struct class_tally *tally,
                struct error *err) {
    const struct task *task = score->data->task;
    const struct task_show show = {.count = f->pictures,
                                   .seed = f->seed,
                                   .least_score = f->least_score,
                                   .take = take,
                                   .user = f};
    char path[PATH_MAX];
    if (f->folder[0] != '\0' && task->score_write != NULL &&
        (path_in(f, DETECTIONS, path, err) != 0 || task->score_write(score->own, path, err) != 0))
        return -1;
    if (f->pictures == 0 || (f->folder[0] == '\0' && !has_events(f)))
        return 0;
    if (tally != NULL && task->mistakes_show != NULL)
        return task->mistakes_show(score->data, tally, &show, err);
    return task->score_show != NULL ? task->score_show(score->own, &show, err) : 0;
}

int eval_artifacts_keep(struct eval_artifacts *f, struct score *score,
                        const struct class_tally *tally, struct error *err) {
    struct error why = {0};
    if (keep(f, score, tally, &why) == 0)
        return 0;
    if (f->needed) {
        *err = why;
        return error_wrap(err, "evaluation artifacts");
    }
    log_warning("evaluation artifacts: %s", why.text);
    return 0;
}

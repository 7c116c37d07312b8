#include "trainer/app/run/best_score.h"

#include "common/buf.h"
#include "common/log/log.h"
#include "common/table.h"
#include "trainer/app/task/tasks.h"
#include "trainer/checkpoint/model_dir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES_MAX = 1024 };

static int refuse(const char *asked, const struct model *model, struct error *err) {
    cleanup_buf struct buf names = {0};
    const struct task *task = task_of(model->task);
    buf_init(&names, NAMES_MAX);
    for (int i = 0; task->figure(model, i) != NULL; i++)
        (void)buf_printf(&names, NULL, "%s%s", i > 0 ? ", " : "", task->figure(model, i));
    return error_set(err, EXIT_CODE_USAGE,
                     "--keep-best: an evaluation of %s has no '%.64s'; it has %s", model->name,
                     asked, buf_text(&names));
}

int best_open(struct best *b, const char *asked, const char *checkpoints, const struct model *model,
              struct error *err) {
    *b = (struct best){0};
    if (strcmp(asked, "none") == 0)
        return 0;
    if (strcmp(asked, "auto") != 0) {
        const struct task *task = task_of(model->task);
        int i = 0;
        while (task->figure(model, i) != NULL && strcmp(task->figure(model, i), asked) != 0)
            i++;
        if (task->figure(model, i) == NULL || strlen(asked) >= sizeof(b->metric))
            return refuse(asked, model, err);
        (void)snprintf(b->metric, sizeof(b->metric), "%s", asked);
    }
    if (snprintf(b->folder, sizeof(b->folder), "%s/best", checkpoints) >= (int)sizeof(b->folder))
        return error_set(err, EXIT_CODE_USAGE, "--checkpoint-dir: path too long");
    return 0;
}

static bool tells(const struct evaluation *e, const char *name) {
    return TABLE_FIND_IN(e->figures, (size_t)e->count, name, name) != NULL;
}

const char *best_metric(const struct best *b, const struct task *task, const struct evaluation *e) {
    if (b->metric[0] != '\0')
        return tells(e, b->metric) ? b->metric : NULL;
    for (size_t i = 0; i < sizeof(task->best) / sizeof(task->best[0]) && task->best[i] != NULL; i++)
        if (tells(e, task->best[i]))
            return task->best[i];
    return NULL;
}

static bool is_loss(const char *metric) {
    return strstr(metric, "loss") != NULL;
}

bool best_is_better(const struct best *b, const struct model_score *score) {
    /* COCO reports -1 if there was nothing to find. */
    if (!isfinite(score->value) || score->value < 0)
        return false;
    if (!b->known || strcmp(b->score.metric, score->metric) != 0)
        return true;
    return is_loss(score->metric) ? score->value < b->score.value : score->value > b->score.value;
}

void best_resume(struct best *b, int64_t lineage, int64_t samples) {
    cleanup_model_config struct model_config config = {0};
    cleanup_safetensors struct safetensors file = {0};
    char path[INPUT_PATH_MAX + sizeof("/config.json")];
    struct error why = {0};
    (void)snprintf(path, sizeof(path), "%s/config.json", b->folder);
    if (b->folder[0] == '\0' || access(path, F_OK) != 0)
        return;
    if (model_dir_config(b->folder, &config, &why) != 0 ||
        model_dir_open(b->folder, &config, &file, &why) != 0) {
        log_warning("cannot read the best model so far; it is not considered any more: %s",
                    why.text);
        return;
    }
    const struct model_score *s = &config.score;
    bool wanted = b->metric[0] == '\0' || strcmp(b->metric, s->metric) == 0;
    b->known = s->metric[0] != '\0' && wanted && s->lineage == lineage && s->samples <= samples;
    b->score = *s;
    b->epoch = config.epochs;
}

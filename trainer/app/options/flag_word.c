#include "trainer/app/options/flag_word.h"

#include <ctype.h>
#include <string.h>

#define RANKS "ranks are started by ringmaster (RINGMASTER_HOSTS=HOST:RANKS) or mpirun -np N"
#define CLASSES "classes are the folders of the data, or its categories"
#define PICTURES "pictures lie in images/ or NAME/ beside the annotations; see --data"
#define SGD "the optimizer is SGD; see --momentum, --nesterov and --weight-decay"

static const struct flag_word TABLE[] = {
    /* learning rate and optimizer */
    {"learning-rate", "lr", NULL},
    {"base-lr", "lr", NULL},
    {"solver.base-lr", "lr", NULL},
    {"lr-base", "lr", NULL},
    {"lr-base-size", "lr-batch", NULL},
    {"wd", "weight-decay", NULL},
    {"decay", "weight-decay", NULL},
    {"l2", "weight-decay", NULL},
    {"sched", "schedule", NULL},
    {"scheduler", "schedule", NULL},
    {"lr-scheduler", "schedule", NULL},
    {"lr-scheduler-type", "schedule", NULL},
    {"lr-schedule", "schedule", NULL},
    {"warmup", "warmup-epochs", NULL},
    {"lr-warmup-epochs", "warmup-epochs", NULL},
    {"warmup-lr", "warmup-from", NULL},
    {"lr-warmup-decay", "warmup-from", NULL},
    {"lr-steps", "milestones", NULL},
    {"decay-milestones", "milestones", NULL},
    {"solver.steps", "milestones", NULL},
    {"lr-gamma", "milestone-factor", NULL},
    {"decay-rate", "milestone-factor", NULL},
    {"clip-grad", "clip-norm", NULL},
    {"grad-clip", "clip-norm", NULL},
    {"clip-grad-norm", "clip-norm", NULL},
    {"max-grad-norm", "clip-norm", NULL},
    {"gradient-clip-val", "clip-norm", NULL},
    {"smoothing", "label-smoothing", NULL},
    {"label-smoothing-factor", "label-smoothing", NULL},
    {"opt", NULL, SGD},
    {"optim", NULL, SGD},
    {"optimizer", NULL, SGD},
    /* schedule length and batch sizes */
    {"num-epochs", "epochs", NULL},
    {"num-train-epochs", "epochs", NULL},
    {"max-epochs", "epochs", NULL},
    {"nb-epochs", "epochs", NULL},
    {"max-steps", "steps", NULL},
    {"max-iter", "steps", NULL},
    {"iterations", "steps", NULL},
    {"solver.max-iter", "steps", NULL},
    {"b", "batch-size", NULL},
    {"bs", "batch-size", NULL},
    {"batch", "batch-size", NULL},
    {"train-batch-size", "batch-size", NULL},
    {"train-batch", "batch-size", NULL},
    {"per-device-train-batch-size", "batch-size", NULL},
    {"per-gpu-batch-size", "batch-size", NULL},
    {"ims-per-batch", "batch-size", NULL},
    {"gradient-accumulation-steps", "accumulate", NULL},
    {"accumulate-grad-batches", "accumulate", NULL},
    {"grad-accum-steps", "accumulate", NULL},
    {"accum-steps", "accumulate", NULL},
    /* the network */
    {"arch", "model", NULL},
    {"a", "model", NULL},
    {"backbone", "model", NULL},
    {"network", "model", NULL},
    {"net", "model", NULL},
    {"model-name", "model", NULL},
    {"model-name-or-path", "model", NULL},
    {"pretrained", "init", NULL},
    {"weights", "init", NULL},
    {"finetune", "init", NULL},
    {"initial-checkpoint", "init", NULL},
    {"load-from", "init", NULL},
    {"num-classes", NULL, CLASSES},
    {"nb-classes", NULL, CLASSES},
    {"classes", NULL, CLASSES},
    {"config", "recipe", NULL},
    {"config-file", "recipe", NULL},
    /* data */
    {"data-dir", "data", NULL},
    {"data-path", "data", NULL},
    {"dataset", "data", NULL},
    {"root", "data", NULL},
    {"train-dir", "data", NULL},
    {"train-data", "data", NULL},
    {"train-file", "data", NULL},
    {"ann-file", "data", NULL},
    {"annotations", "data", NULL},
    {"coco", "data", NULL},
    {"coco-path", "data", NULL},
    {"images", NULL, PICTURES},
    {"image-dir", NULL, PICTURES},
    {"img-dir", NULL, PICTURES},
    {"img-folder", NULL, PICTURES},
    {"data-prefix", NULL, PICTURES},
    {"val", "validation", NULL},
    {"val-dir", "validation", NULL},
    {"val-data", "validation", NULL},
    {"valid-dir", "validation", NULL},
    {"validation-dir", "validation", NULL},
    {"validation-file", "validation", NULL},
    {"eval-dir", "validation", NULL},
    {"test-dir", "validation", NULL},
    {"img-size", "image-size", NULL},
    {"imgsz", "image-size", NULL},
    {"input-size", "image-size", NULL},
    {"resolution", "image-size", NULL},
    {"train-crop-size", "image-size", NULL},
    {"hflip", "flip", NULL},
    {"j", "data-threads", NULL},
    {"workers", "data-threads", NULL},
    {"num-workers", "data-threads", NULL},
    {"dataloader-num-workers", "data-threads", NULL},
    /* devices */
    {"amp", "dtype", NULL},
    {"precision", "dtype", NULL},
    {"mixed-precision", "dtype", NULL},
    {"fp16", "dtype", NULL},
    {"bf16", "dtype", NULL},
    {"half", "dtype", NULL},
    {"accelerator", "backend", NULL},
    {"device", "backend", NULL},
    {"cuda", "backend", NULL},
    {"dist-backend", "comm", NULL},
    {"gpus", NULL, RANKS},
    {"num-gpus", NULL, RANKS},
    {"devices", NULL, RANKS},
    {"num-nodes", NULL, RANKS},
    {"nnodes", NULL, RANKS},
    {"nproc-per-node", NULL, RANKS},
    {"num-processes", NULL, RANKS},
    {"num-machines", NULL, RANKS},
    {"world-size", NULL, RANKS},
    {"local-rank", NULL, RANKS},
    {"rank", NULL, RANKS},
    {"dist-url", NULL, RANKS},
    {"master-addr", NULL, RANKS},
    {"strategy", NULL, RANKS},
    /* outputs and reports */
    {"output", "model-dir", NULL},
    {"output-dir", "model-dir", NULL},
    {"save-dir", "model-dir", NULL},
    {"default-root-dir", "model-dir", NULL},
    {"ckpt-dir", "checkpoint-dir", NULL},
    {"ckpt-path", "resume", NULL},
    {"resume-from-checkpoint", "resume", NULL},
    {"save-every", "checkpoint-every", NULL},
    {"save-steps", "checkpoint-every", NULL},
    {"checkpoint-period", "checkpoint-every", NULL},
    {"logging-steps", "report-every", NULL},
    {"log-interval", "report-every", NULL},
    {"log-every-n-steps", "report-every", NULL},
    {"print-freq", "report-every", NULL},
    {"p", "report-every", NULL},
    {"eval-period", "eval-every", NULL},
    {"check-val-every-n-epoch", "eval-every", NULL},
    {"logging-dir", "tensorboard-dir", NULL},
    {"logdir", "tensorboard-dir", NULL},
    {"eval-metric", "keep-best", NULL},
    {"metric-for-best-model", "keep-best", NULL},
    {"load-best-model-at-end", "publish", NULL},
    {"log-level", "log", NULL},
    {"verbose", "log", NULL},
    {"random-seed", "seed", NULL},
    {"manual-seed", "seed", NULL},
};

static char plain(char c) {
    return c == '_' ? '-' : (char)tolower((unsigned char)c);
}

const struct flag_word *flag_word_find(const char *text, size_t size) {
    for (size_t i = 0; i < sizeof(TABLE) / sizeof(TABLE[0]); i++) {
        const char *word = TABLE[i].word;
        size_t k = 0;
        while (k < size && word[k] != '\0' && word[k] == plain(text[k]))
            k++;
        if (k == size && word[k] == '\0')
            return &TABLE[i];
    }
    return NULL;
}

const struct flag_word *flag_word_table(size_t *ret_count) {
    *ret_count = sizeof(TABLE) / sizeof(TABLE[0]);
    return TABLE;
}

#include "trainer/app/options/flag_word.h"

#include <ctype.h>
#include <string.h>

/* Rows are grouped by subject and searched in this order; no word occurs twice (test_flag_word.c).
 * refuse() in flag.c asks here first when a flag is unknown, before it looks for the nearest
 * spelling: "num-workers" and "data-threads" mean the same, and have few letters in common.
 *
 * A row suggests a flag only if the command has it. A row without a flag explains how the same is
 * done here; its hint is printed by commands that compute with a network.
 *
 * Words are in lower case with '-', as flag_word_find compares them. Names with a dot are keys of
 * Detectron2's configuration files, which its command line takes as well. */

/* Hints that several words share. They follow "unknown flag --WORD: " in the message, and so are
 * phrases without a capital. */
#define RANKS "ranks are started by ringmaster (RINGMASTER_HOSTS=HOST:RANKS) or mpirun -np N"
#define CLASSES "classes are the folders of the data, or its categories"
#define OUTPUTS "--model-dir is the folder of the model, --out that of pictures and results"
#define PICTURES "pictures lie in images/ or NAME/ beside the annotations; see --data"

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
    /* Sizes of pictures for detectors. */
    {"min-size", "short-side", NULL},
    {"max-size", "long-side", NULL},
    {"input.min-size-train", "short-side", NULL},
    {"input.max-size-train", "long-side", NULL},
    {"label-smoothing-factor", "label-smoothing", NULL},
    {"drop-rate", "dropout", NULL},
    {"drop", "dropout", NULL},
    {"opt", "optimizer", NULL},
    {"optim", "optimizer", NULL},
    {"model-ema-decay", "ema", NULL},
    {"ema-decay", "ema", NULL},
    {"larc-eta", "trust", NULL},
    {"lars-eta", "trust", NULL},
    {"trust-coefficient", "trust", NULL},
    /* AdamW's beta1 is set by the flag for momentum here (options_learning.def). */
    {"beta1", "momentum", NULL},
    {"adam-beta2", "beta2", NULL},
    {"adam-epsilon", "epsilon", NULL},
    {"opt-eps", "epsilon", NULL},
    {"color-jitter", "color", NULL},
    {"jitter", "color", NULL},
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
    /* Detectron2 counts the images of all GPUs, and --batch-size those of one rank. The suggestion
     * names the flag, not a value. */
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
    /* In other trainers some of these are switches, or names of published weights; --init takes a
     * file or a folder. */
    {"weights", "init", NULL},
    {"finetune", "init", NULL},
    {"initial-checkpoint", "init", NULL},
    {"load-from", "init", NULL},
    /* There is no flag for the number of classes, as two sources for one number could differ. */
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
    /* A flag of `eval`, `draw` and `prepare shapes`; this row is for commands without it. */
    {"coco", "data", NULL},
    {"coco-path", "data", NULL},
    {"images", NULL, PICTURES},
    {"image-dir", NULL, PICTURES},
    {"img-dir", NULL, PICTURES},
    {"img-folder", NULL, PICTURES},
    {"data-prefix", NULL, PICTURES},
    /* A folder that holds both parts needs no second flag; these are for sets in two places. */
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
    /* Switches elsewhere: here the type is the value, as in --dtype f16. */
    {"fp16", "dtype", NULL},
    {"bf16", "dtype", NULL},
    {"half", "dtype", NULL},
    {"fp16-allreduce", "reduce-dtype", NULL},
    {"accelerator", "backend", NULL},
    /* PyTorch's "cuda" or "cpu". `inspect plan` has a --device of its own. */
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
    /* torch.distributed.launch passes this one to its programs, which must accept it. ringtrain
     * learns its rank from variables or from MPI, so a script for the one cannot be used unchanged
     * for the other. */
    {"local-rank", NULL, RANKS},
    {"rank", NULL, RANKS},
    {"dist-url", NULL, RANKS},
    /* Ranks find each other through the launcher, so there is no address to give. */
    {"master-addr", NULL, RANKS},
    /* A known flag of `train`, which never comes here; Lightning's is a way to start processes. */
    {"strategy", NULL, RANKS},
    /* outputs and reports */
    {"output", NULL, OUTPUTS},
    {"output-dir", NULL, OUTPUTS},
    {"save-dir", "model-dir", NULL},
    {"default-root-dir", "model-dir", NULL},
    {"ckpt-dir", "checkpoint-dir", NULL},
    {"ckpt-path", "resume", NULL},
    {"resume-from-checkpoint", "resume", NULL},
    {"save-every", "checkpoint-every", NULL},
    {"save-steps", "checkpoint-every", NULL},
    {"checkpoint-period", "checkpoint-every", NULL},
    {"save-total-limit", "keep", NULL},
    {"keep-checkpoints", "keep", NULL},
    {"checkpoint-hist", "keep", NULL},
    {"logging-steps", "report-every", NULL},
    {"log-interval", "report-every", NULL},
    {"log-every-n-steps", "report-every", NULL},
    {"print-freq", "report-every", NULL},
    {"p", "report-every", NULL},
    {"eval-period", "eval-every", NULL},
    {"eval-only", NULL, "ringtrain eval scores a model or checkpoints"},
    {"test-only", NULL, "ringtrain eval scores a model or checkpoints"},
    {"check-val-every-n-epoch", "eval-every", NULL},
    {"logging-dir", "tensorboard-dir", NULL},
    {"logdir", "tensorboard-dir", NULL},
    {"eval-metric", "keep-best", NULL},
    {"metric-for-best-model", "keep-best", NULL},
    /* A switch elsewhere; here it is --publish best. */
    {"load-best-model-at-end", "publish", NULL},
    {"log-level", "log", NULL},
    {"verbose", "log", NULL},
    {"random-seed", "seed", NULL},
    {"manual-seed", "seed", NULL},
};

/* Command lines and configuration files spell the same name in several ways: --LR, --lr_scheduler,
 * SOLVER.BASE_LR. All are compared as lower case with '-'. */
static char plain(char c) {
    return c == '_' ? '-' : (char)tolower((unsigned char)c);
}

/* TEXT need not end after SIZE bytes, as it may be the part of a word before '='. A word of the
 * table that is only a beginning of TEXT, or the reverse, does not match. */
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

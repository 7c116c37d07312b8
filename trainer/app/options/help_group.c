#include "trainer/app/options/help_group.h"

static const struct help_group GROUPS[] = {
    {"everyday flags",
     {"model", "recipe", "data", "validation", "epochs", "batch-size", "lr", "dtype", "init",
      "model-dir", "checkpoint-dir", "resume", "out", "listen", "port", NULL}},
    {"data",
     {"val-split", "train-set", "val-set", "bad-samples", "label-base", "index", "sharded", "cache",
      "cache-side", "order", "lanes", "shuffle-window", "synthetic-images", "synthetic-classes",
      "data-threads", NULL}},
    {"pictures",
     {"image-size", "resize", "canvases", "gt-slots", "short-side", "long-side", "short-low",
      "short-step", "augment", "min-area", "color", "blur", "mean", "std", "flip", NULL}},
    {"network and loss",
     {"preset", "init-prefix", "frozen-stages", "norm-epsilon", "zero-gamma", "anchor-samples",
      "region-samples", "dropout", "label-smoothing", "seed", NULL}},
    {"length and learning rate",
     {"steps", "accumulate", "progressive", "lr-batch", "schedule", "lr-end", "warmup-epochs",
      "warmup-steps", "warmup-from", "warmup-lr", "milestones", "milestone-factor", NULL}},
    {"optimizer",
     {"optimizer", "momentum", "nesterov", "trust", "beta2", "epsilon", "ema", "weight-decay",
      "decay-all", "decay-biases", "bias-rate", "clip-norm", "loss-scale", "loss-scale-growth",
      NULL}},
    {"devices",
     {"backend", "threads", "fusion", "convs", "deterministic", "tf32", "tune", "plan-cache",
      "device", "check-operators", "own-backward", "launch-overlap", "row-choice", NULL}},
    {"several ranks",
     {"comm", "strategy", "reduce-dtype", "sync-every", "staleness", "servers", "server-hosts",
      "verify-every", NULL}},
    {"checkpoints and evaluations",
     {"checkpoint-every", "mtbf", "keep", "eval-every", "keep-best", "publish", "watch",
      "watch-patience", NULL}},
    {"reports and results",
     {"report-every", "log", "log-dir", "tensorboard-dir", "timeline", "histograms", "pictures",
      "score-threshold", "top", "format", "font", NULL}},
    {"server",
     {"max-batch", "batch-delay", "queue", "max-body", "connections", "idle-seconds",
      "receive-seconds", "stop-seconds", "access-log", NULL}},
};

const struct help_group *help_groups(size_t *ret_count) {
    *ret_count = sizeof(GROUPS) / sizeof(GROUPS[0]);
    return GROUPS;
}

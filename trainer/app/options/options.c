#include "trainer/app/options/options.h"

#include "trainer/app/options/flag.h"
#include "trainer/app/options/flag_print.h"
#include "trainer/data/codec/suffix.h"
#include "trainer/data/order/lanes.h"

#include <stddef.h>

static const char *const dtypes[] = {"f32", "bf16", "f16", NULL};
static const char *const backends[] = {"auto", "ref", "cpu", "cuda", NULL};
static const char *const convs[] = {"auto", "direct", "winograd", NULL};
static const char *const owns[] = {"auto", "off", "on", NULL};
static const char *const comms[] = {"auto", "mpi", "nccl", "tcp", NULL};
static const char *const strategies[] = {"allreduce", "sharded",  "local-sgd",
                                         "ps-sync",   "ps-async", NULL};
static const char *const logs[] = {"auto", "both", "table", "metrics", NULL};
static const char *const publishes[] = {"last", "best", NULL};
static const char *const label_bases[] = {"auto", "0", "1", NULL};
static const char *const indexes[] = {"auto", "read", "none", NULL};
static const char *const orders[] = {"uniform", "lanes", NULL};
static const char *const shardeds[] = {"auto", "true", "false", NULL};
static const char *const augments[] = {"auto", "crop", "pad", "center", NULL};
static const char *const presets[] = {"tv", "d2", "mlperf", NULL};
static const char *const schedules[] = {"constant",   "step",          "poly2",     "cosine",
                                        "milestones", "linear-cosine", "one-cycle", NULL};
/* In the order of enum optimizer_kind. */
static const char *const optimizers[] = {"sgd", "lars", "larc", "adamw", "adagrad", NULL};
static const char *const formats[] = {"jpeg", "png", NULL};
static const char *const fusions[] = {"none", "norm", "all", "conv", "auto", NULL};

enum {
    T = COMMAND_TRAIN,
    E = COMMAND_EVAL,
    P = COMMAND_PLAN,
    R = COMMAND_PREDICT,
    S = COMMAND_SERVE,
    ALL = T | E | P | R | S,
};

enum { C = MODEL_CLASSIFY, D = MODEL_DETECT };

#define ROW(name_, type_, field_, standard_, commands_, help_)                                     \
    .name = (name_), .type = (type_), .offset = offsetof(struct options, field_),                  \
    .standard = (standard_), .commands = (commands_), .help = (help_)
#define TEXT(name, field, standard, commands, what, help)                                          \
    { ROW(name, FLAG_TEXT, field, standard, commands, help), .value = (what) }
#define TEXT_OF(tasks_, name, field, standard, commands, what, help)                               \
    { ROW(name, FLAG_TEXT, field, standard, commands, help), .value = (what), .tasks = (tasks_) }
#define INT_OF(tasks_, name, field, standard, low, high, commands, what, help)                     \
    {                                                                                              \
        ROW(name, FLAG_INT, field, standard, commands, help), .value = (what), .min = (low),       \
                                                              .max = (high), .tasks = (tasks_)     \
    }
#define INT(...) INT_OF(0, __VA_ARGS__)
#define REAL_OF(tasks_, name, field, standard, low, high, commands, what, help)                    \
    {                                                                                              \
        ROW(name, FLAG_REAL, field, standard, commands, help), .value = (what), .min = (low),      \
                                                               .max = (high), .tasks = (tasks_)    \
    }
#define REAL(...) REAL_OF(0, __VA_ARGS__)
#define BOOL_OF(tasks_, name, field, standard, commands, help)                                     \
    {                                                                                              \
        ROW(name, FLAG_BOOL, field, standard, commands, help), .value = "true|false",              \
                                                               .tasks = (tasks_)                   \
    }
#define BOOL(...) BOOL_OF(0, __VA_ARGS__)
#define CHOICE_OF(tasks_, name, field, names, standard, commands, help)                            \
    {                                                                                              \
        ROW(name, FLAG_CHOICE, field, standard, commands, help), .choices = (names), .value = "",  \
                                                                 .tasks = (tasks_)                 \
    }
#define CHOICE(...) CHOICE_OF(0, __VA_ARGS__)

#define DATA_SOURCES "DIR|SHARD|PREFIX*"
#define SHARDS                                                                                     \
    "shards (tar, TFRecord, RecordIO, CIFAR's and MNIST's binaries): one, a folder of them, or "   \
    "FOLDER/PREFIX*"

static const struct flag FLAGS[] = {
    TEXT("model", model, OPTIONS_MODEL, T | P, "NAME", "network, from the list of models"),
    TEXT("recipe", recipe, NULL, T, "NAME|FILE",
         "a named set of flags, see below, or a file with a flag a line; flags on the command line "
         "override it"),
    TEXT_OF(C, "data", data, NULL, E, DATA_SOURCES,
            "folder of class folders, or a folder that holds val/; or " SHARDS
            "; without it SageMaker's channels"),
    TEXT_OF(C, "data", data, NULL, T, DATA_SOURCES,
            "folder of class folders, or a folder that holds train/ and val/; or " SHARDS
            "; \"synthetic\" needs no files; without it SageMaker's channels. Pictures "
            "are " PICTURE_SUFFIXES
            ", in the class folders and below; EXIF orientation is ignored, as by torchvision"),
    TEXT_OF(D, "data", data, NULL, T | E, "DIR",
            "detection: a COCO folder, annotations/instances_NAME.json with the pictures of each "
            "set in NAME/ or images/, or a JSON file with pictures in images/ beside it; without "
            "it SageMaker's channels"),
    TEXT_OF(C, "validation", validation, NULL, T, DATA_SOURCES,
            "folder of class folders or shards to evaluate on; none: no evaluation"),
    TEXT_OF(C, "validation", validation, NULL, E, DATA_SOURCES,
            "folder of class folders or shards to evaluate on, when it is not under --data"),
    REAL_OF(C, "val-split", val_split, "0", 0, 0.9, T, "SHARE",
            "share of each class's pictures that is held out of the training and evaluated on, for "
            "data without a part for that; drawn by --seed and the files' names (0: none)"),
    TEXT_OF(D, "validation", validation, NULL, T, "DIR",
            "detection: COCO folder, or JSON file, to evaluate on; without it --data's; none: no "
            "evaluation"),
    TEXT_OF(D, "validation", validation, NULL, E, "DIR",
            "detection: COCO folder, or JSON file, to evaluate on, when it is not --data's"),
    TEXT_OF(
        D, "train-set", train_set, NULL, T, "NAME",
        "set of a COCO folder to train on, as in instances_NAME.json; without it the one with a "
        "name that begins with train"),
    TEXT_OF(D, "val-set", val_set, NULL, T | E, "NAME",
            "set to evaluate on; without it the one with a name that begins with val"),
    TEXT("bad-samples", bad_samples, "fail", T | E | R, "fail|skip|N",
         "a file that cannot be read or decoded: end the run, leave it out of its batch, or leave "
         "out at most N of a data set"),
    CHOICE_OF(C, "label-base", label_base, label_bases, "auto", T | E,
              "the first class's number in shards; auto: 0, or 1 in TFRecord if no record has the "
              "class 0"),
    CHOICE_OF(C, "index", index, indexes, "auto", T | E,
              "index beside shards, which is read in place of their headers; auto: read it, and "
              "write it where it is missing or stale; none: scan the shards at each start"),
    CHOICE_OF(C, "sharded", sharded, shardeds, "auto", T,
              "whether the training data is divided among hosts, so that each trains on its own "
              "part; auto: as the channel's S3DistributionType says"),
    TEXT_OF(C, "cache", cache, "none", T, "none|ram|FILE",
            "keep decoded training pictures in memory or in a file on a local disk, for the ranks "
            "of a host together; a file serves later runs, too"),
    INT_OF(C, "cache-side", cache_side, "0", 0, 16384, T, "N",
           "cache: pictures are kept with this short side, if they are larger, and training sees "
           "these (0: as they are)"),
    CHOICE_OF(C, "order", order, orders, "uniform", T,
              "order of an epoch's pictures; uniform: any may follow any; lanes: shards are read "
              "in sequence, each by one host, for media on which that is faster"),
    INT_OF(C, "lanes", lanes, "64", 1, LANES_MAX, T, "N",
           "order lanes: parts of a step's images that come from shards of their own; the number "
           "of ranks must divide it, and it the images of a step"),
    INT_OF(C, "shuffle-window", shuffle_window, "1024", 1, LANES_WINDOW_MAX, T, "N",
           "order lanes: pictures that are shuffled together in a lane, and read ahead"),
    INT_OF(C, "synthetic-images", synthetic_images, "1280", 1, 1e8, T, "N",
           "pictures in the synthetic set"),
    INT_OF(C, "synthetic-classes", synthetic_classes, "10", 2, 65536, T | P, "N",
           "classes in the synthetic set"),
    INT("epochs", epochs, "90", 1, 1e6, T, "N", "passes over the data"),
    INT("steps", steps, "0", 0, 999999999, T, "N",
        "stop after this many steps; the schedule ends there too (0: epochs decide)"),
    INT("batch-size", batch_size, "32", 1, 65536, T | E | P | R, "N",
        "images per rank and batch; the last batch of an evaluation may have fewer"),
    INT("accumulate", accumulate, "1", 1, 65536, T, "N",
        "batches that a rank accumulates gradients of for one step"),
    INT_OF(C, "image-size", image_size, "0", 0, 4096, T | P, "N",
           "side of the network's input in pixels (0: the model's own, 224 or 32)"),
    INT_OF(C, "resize", resize, "0", 0, 16384, T | E | R | S, "N",
           "evaluation: short side before the centre crop (0: 8/7 of the image size)"),
    CHOICE_OF(D, "preset", preset, presets, "tv", T | P,
              "variant of Mask R-CNN: torchvision's, detectron2's or MLPerf's"),
    TEXT_OF(D, "canvases", canvases, "auto", T | P, "auto|HxW,...",
            "input sizes that pictures are padded to, with a network compiled for each; auto: up "
            "to eight that suit the set"),
    INT_OF(D, "gt-slots", gt_slots, "128", 1, 1024, T | P, "N",
           "objects used per picture; of more, the largest are kept"),
    INT_OF(D, "anchor-samples", anchor_samples, "0", 0, 4096, T | P, "N",
           "anchors sampled per picture for the loss of the region proposal network (0: the "
           "preset's)"),
    INT_OF(D, "region-samples", region_samples, "0", 0, 4096, T | P, "N",
           "proposals sampled per picture for the losses of the heads (0: the preset's)"),
    INT_OF(D, "short-side", short_side, "800", 16, 8192, T, "N",
           "pictures are scaled so that their short side has this length, unless the long side "
           "would exceed --long-side"),
    INT_OF(D, "long-side", long_side, "1333", 16, 8192, T, "N", "maximum length of the long side"),
    INT_OF(D, "short-low", short_low, "0", 0, 8192, T, "N",
           "training: the short side is drawn at random for each picture and epoch, from this "
           "value on in steps of --short-step (0: always --short-side; preset d2: six sizes from "
           "four fifths of it on)"),
    INT_OF(D, "short-step", short_step, "32", 1, 8192, T, "N",
           "step between the random sizes, which end at --short-side"),
    CHOICE_OF(C, "augment", augment, augments, "auto", T,
              "training crop: random resized, padded, none; auto: by image size"),
    REAL_OF(C, "min-area", min_area, "0", 0, 1, T, "SHARE",
            "smallest share of the picture's area that a random resized crop keeps (0: 0.08)"),
    TEXT_OF(
        C, "color", color, "none", T, "none|torchvision:B,C,S,H|mxnet|tf",
        "training: random changes of colour, torchvision's ColorJitter with its four ranges, or "
        "those of AWS's ResNet-50 in MXNet or TensorFlow"),
    TEXT_OF(C, "blur", blur, "none", T, "none|KERNEL:MIN,MAX",
            "training: torchvision's GaussianBlur with a kernel of this odd size and a standard "
            "deviation drawn from this range for each picture"),
    TEXT_OF(C, "mean", mean, "imagenet", T, "imagenet|data|R,G,B",
            "mean of the pixels, which is taken off: ImageNet's, that of up to 10,000 training "
            "pictures, or three numbers, from 0 to 1 or from 0 to 255"),
    TEXT_OF(C, "std", std, "auto", T, "auto|R,G,B",
            "standard deviation that pixels are divided by, in numbers where --mean is (auto: as "
            "--mean)"),
    BOOL("flip", flip, "true", T, "mirror each picture with probability 1/2 in training"),
    CHOICE("dtype", dtype, dtypes, "f32", ALL,
           "type of activations and of the weights that kernels read; master weights stay f32"),
    BOOL_OF(C, "zero-gamma", zero_gamma, "false", T,
            "initialize the scale of the last norm of each residual block to zero"),
    TEXT("init", init, NULL, T, "FILE|DIR",
         "start from the weights in a safetensors file, or in a published model's folder "
         "(torchvision's names, under any prefix; f32, f16, bf16); a classifier for other classes "
         "is left out"),
    TEXT("init-prefix", init_prefix, NULL, T, "TEXT",
         "prefix of the weights' names in --init's file (\"model.\"); default: the prefix that "
         "matches most of the network"),
    INT_OF(D, "frozen-stages", frozen_stages, "-1", -1, 5, T, "N",
           "stages frozen as in --init: 1 the stem, 2 also layer1, ... (-1: 2 with --init); with "
           "--init all norms are frozen too, without it nothing is"),
    REAL_OF(D, "norm-epsilon", norm_epsilon, "-1", -1, 1, T, "X",
            "added to the variances of the backbone's norms (-1: 0.00001, with --init the "
            "preset's, of mlperf 0); torchvision's first weights (COCO_V1) need 0"),
    INT("seed", seed, "0", 0, 9e15, T, "N",
        "seed of initial weights, order of samples and augmentation"),
    REAL("lr", lr, "0.1", 0, 1e6, T, "X",
         "peak learning rate for --lr-batch images a step; scaled linearly with the images that "
         "the whole job takes a step"),
    INT("lr-batch", lr_batch, "256", 0, 1e9, T, "N",
        "images a step that --lr refers to (0: --lr is not scaled)"),
    CHOICE(
        "schedule", schedule, schedules, "cosine", T,
        "shape of the learning rate; one-cycle takes no warm-up and brings its own momentum, the "
        "others come after warm-up"),
    REAL("lr-end", lr_end, "0", 0, 1e6, T, "X",
         "schedules poly2 and cosine: learning rate at the end, whatever the images a step"),
    REAL("warmup-epochs", warmup_epochs, "0", 0, 1e6, T, "X",
         "epochs in which the rate rises linearly from 0 to the peak, step by step; the same also "
         "if the run ends earlier"),
    INT("warmup-steps", warmup_steps, "0", 0, 999999999, T, "N",
        "the same in steps (0: --warmup-epochs decides)"),
    REAL("warmup-from", warmup_from, "0", 0, 1, T, "SHARE",
         "share of the peak in the first step of warm-up (0: that of one linear step)"),
    REAL("warmup-lr", warmup_lr, "0", 0, 1e6, T, "X",
         "the same as a rate, whatever the images a step (0: --warmup-from decides)"),
    TEXT("milestones", milestones, NULL, T, "X,Y,...",
         "schedule milestones: epochs at which the rate is reduced, fractions allowed"),
    REAL("milestone-factor", milestone_factor, "0.1", 0, 1, T, "X",
         "factor applied to the rate at each milestone"),
    CHOICE("optimizer", optimizer, optimizers, "sgd", T,
           "rule of the update; lars and larc scale the rate of each tensor by the norms of weight "
           "and gradient, for large batches; each brings defaults of its own"),
    REAL("momentum", momentum, "0.9", 0, 0.999999, T, "X",
         "momentum of sgd, lars and larc; beta1 of adamw"),
    BOOL("nesterov", nesterov, "false", T, "sgd, lars and larc: Nesterov momentum"),
    REAL("trust", trust, "0.001", 1e-9, 1, T, "X",
         "lars and larc: size of a tensor's update relative to its weights (eta)"),
    REAL("beta2", beta2, "0.999", 0, 0.999999, T, "X", "adamw: decay of the squares' average"),
    REAL("epsilon", epsilon, "0", 0, 1, T, "X",
         "added to the denominator (0: the optimizer's own, 1e-7 of lars, 1e-8 of adamw, 1e-10 of "
         "adagrad)"),
    REAL("ema", ema, "0", 0, 0.9999999, T, "X",
         "decay of a moving average of the weights, which is evaluated and published in their "
         "place (0: none)"),
    REAL("weight-decay", weight_decay, "0.0001", 0, 1e3, T, "X",
         "L2 penalty: this times the weight is added to the gradient; adamw: decoupled from it"),
    BOOL("decay-all", decay_all, "true", T, "also decay norms and biases"),
    BOOL("decay-biases", decay_biases, "false", T,
         "without --decay-all: decay all biases but those of norms"),
    REAL("bias-rate", bias_rate, "1", 0.001, 100, T, "X",
         "learning rate of biases (but norms'), relative to the rest"),
    REAL("clip-norm", clip_norm, "0", 0, 1e9, T, "X",
         "gradients with a larger norm, over all ranks and parameters, are scaled down to it (0: "
         "never)"),
    REAL_OF(C, "label-smoothing", label_smoothing, "0", 0, 1, T, "X",
            "share of the target probability that is spread over all classes"),
    TEXT_OF(C, "progressive", progressive, "none", T, "none|SIDE:EPOCH,...",
            "smaller training pictures in the first epochs: 128:6,160:12 are 128 px up to epoch 6, "
            "160 px up to epoch 12, then --image-size"),
    REAL_OF(C, "dropout", dropout, "0", 0, 0.99, T, "X",
            "probability that an activation before the last layers is zero in a training step; the "
            "others grow by 1 / (1 - X)"),
    CHOICE("backend", backend, backends, "auto", ALL,
           "where to compute; ref is exact and slow; auto: cuda if every rank has a GPU, else cpu"),
    CHOICE("fusion", fusion, fusions, "auto", ALL,
           "which operators are fused where the backend can; auto: conv on CPUs and on measured "
           "GPUs, else all"),
    CHOICE("convs", convs, convs, "auto", T | E | R | S,
           "cpu: convolution algorithm; auto: the fastest one by measured rules; direct: without "
           "Winograd, which rounds differently from plain sums; winograd: use it wherever possible "
           "(f32, 3x3, stride 1)"),
    CHOICE(
        "comm", comm, comms, "auto", T | E | R,
        "how ranks are connected; auto: by MPI if mpirun has started them, else by TCP, and GPUs "
        "by NCCL. With mpi and tcp gradients go through host memory, and ranks may share a GPU"),
    CHOICE("reduce-dtype", reduce_dtype, dtypes, "f32", T,
           "type in which gradients travel between ranks, which are added in f32 in any case; bf16 "
           "and f16 halve the traffic, f16 with the smaller error and a range up to 65,504; by "
           "allreduce over TCP and MPI"),
    CHOICE(
        "strategy", strategy, strategies, "allreduce", T,
        "how ranks learn together; allreduce: all gradients are summed, and each rank makes the "
        "same update; sharded: the optimizer and its state are divided over the ranks; "
        "local-sgd: each rank learns by itself, and takes the mean of all now and then; ps-sync: "
        "ranks that do nothing else keep the parameters and update them; ps-async: they do so by "
        "each worker's gradients, which do not wait for the others. On processors; GPUs have "
        "allreduce"),
    INT("sync-every", sync_every, "8", 1, 1000000, T, "N",
        "local-sgd: steps from one mean of all ranks' weights to the next"),
    INT("staleness", staleness, "4", 0, 1000, T, "N",
        "ps-async: a worker begins no step while it has taken N more than the slowest one; 0: all "
        "take their steps together"),
    INT("servers", servers, "0", 0, 511, T, "N",
        "ps-sync, ps-async: the last N ranks keep the parameters; the others train"),
    INT("server-hosts", server_hosts, "0", 0, 511, T, "N",
        "ps-sync, ps-async: instead, all ranks of the last N hosts"),
    BOOL("check-operators", check_operators, "false", T,
         "cuda: run operators one by one and wait for each, so that an error of the GPU names its "
         "operator; slow"),
    BOOL("tune", tune, "true", ALL, "cuda: time cuDNN's kernels on the real buffers at start"),
    TEXT("device", device, NULL, P, "FILE",
         "cuda: a GPU that need not be present, as cuDNN describes it (H100, H200 and A100: "
         "trainer/backend/cuda/devices)"),
    CHOICE("own-backward", own_backward, owns, "auto", T | P,
           "cuda, fusion conv: use our own kernel for the backward passes of 1x1 convolutions "
           "before norms; auto: on GPUs where it was measured to be faster"),
    CHOICE("launch-overlap", launch_overlap, owns, "auto", T | P,
           "cuda: small kernels start before the preceding ones have ended; auto: on GPUs where it "
           "was measured to be faster"),
    CHOICE("row-choice", row_choice, owns, "auto", T | P,
           "cuda: in a recorded step, compute only as many rows of a mask head as hold objects; "
           "auto: on GPUs where it was measured to be faster"),
    BOOL(
        "tf32", tf32, "true", ALL,
        "cuda: in f32, products may round their inputs to 10 bits of mantissa (TF32 tensor cores)"),
    BOOL("deterministic", deterministic, "false", ALL,
         "cuda: use only deterministic kernels, the same bits in every run, chosen without timing"),
    TEXT("plan-cache", plan_cache, NULL, T | E | R | S, "FILE",
         "cuda: file that stores the results of tuning for later runs"),
    REAL("loss-scale", loss_scale, "1024", 1, 65536, T, "X",
         "f16: loss scale: gradients are multiplied by this, and divided by it in the optimizer"),
    INT("loss-scale-growth", loss_scale_growth, "0", 0, 1e9, T, "N",
        "f16: double the scale after this many good steps, halve it after a bad one (0: fixed)"),
    INT("threads", threads, "0", 0, 4096, ALL, "N",
        "compute threads of a rank (0: its share of the cores)"),
    INT("data-threads", data_threads, "0", 0, 256, T | E | R | S, "N",
        "threads that decode pictures (0: as many as half the compute threads)"),
    TEXT("model-dir", model_dir, NULL, T, "DIR",
         "folder for the finished model; default $SM_MODEL_DIR, else /opt/ml/model if that exists, "
         "else ./model"),
    TEXT("model-dir", model_dir, NULL, E | R | S, "DIR",
         "folder of the trained model; default $SM_MODEL_DIR, else /opt/ml/model if that exists, "
         "else ./model"),
    TEXT("watch", watch, NULL, E, "DIR",
         "instead of --model-dir: score each checkpoint that a training writes to this folder, "
         "until the training has ended"),
    TEXT("watch-patience", watch_patience, "2h", E, "TIME",
         "longest wait for the next checkpoint (45s, 30m, 2h)"),
    TEXT("tensorboard-dir", tensorboard_dir, NULL, E, "DIR",
         "folder for the event files of --watch, which get a subfolder named watch; default "
         "/opt/ml/output/tensorboard if that exists"),
    TEXT("checkpoint-dir", checkpoint_dir, NULL, T, "DIR",
         "folder for checkpoints; default /opt/ml/checkpoints, else ./checkpoints"),
    TEXT("checkpoint-every", checkpoint_every, "30m", T, "N|TIME|auto",
         "write a checkpoint every N steps or after a time (45s, 30m, 2h), in addition to those at "
         "the end of each epoch (0: those alone); auto: after the time at which checkpoints and "
         "lost work together cost least"),
    TEXT("mtbf", mtbf, "24h", T, "TIME",
         "mean time between two failures of the job, for --checkpoint-every auto"),
    INT("keep", keep, "2", 1, 1000, T, "N",
        "checkpoints that stay in --checkpoint-dir, the newest ones"),
    TEXT("tensorboard-dir", tensorboard_dir, NULL, T, "DIR",
         "folder for event files; default /opt/ml/output/tensorboard if that exists"),
    TEXT_OF(C, "out", out, NULL, T, "DIR",
            "folder for pictures of an evaluation's worst mistakes; default $SM_OUTPUT_DATA_DIR, "
            "else /opt/ml/output/data if that exists"),
    TEXT_OF(D, "out", out, NULL, T, "DIR",
            "detection: folder for an evaluation's detections.json and pictures; default "
            "$SM_OUTPUT_DATA_DIR, "
            "else /opt/ml/output/data if that exists"),
    TEXT_OF(C, "out", out, NULL, E, "DIR",
            "folder for confusion.csv, the pictures of each class by answer, and for pictures of "
            "the worst mistakes"),
    TEXT_OF(D, "out", out, NULL, E, "DIR",
            "detection: folder for detections.json and pictures of predictions beside the ground "
            "truth"),
    INT("pictures", pictures, "4", 0, 64, T | E, "N",
        "pictures of an evaluation that go to --out and TensorBoard; of a classification the worst "
        "mistakes, at most 10"),
    REAL_OF(D, "score-threshold", score_threshold, "0.5", 0, 1, T | E, "X",
            "least score of an object in those pictures"),
    TEXT("out", out, NULL, R, "DIR", "folder for predictions.json and annotated pictures"),
    REAL_OF(D, "score-threshold", score_threshold, "0.5", 0, 1, R, "X",
            "least score that is reported and drawn; a network reports nothing below its "
            "box_score_thresh (config.json)"),
    INT_OF(C, "top", top, "5", 1, 1000, R | S, "N",
           "number of classes reported per picture, the most probable ones"),
    CHOICE_OF(D, "format", format, formats, "jpeg", R, "file format of annotated pictures"),
    TEXT_OF(D, "font", font, NULL, R, "FILE",
            "a font (TTF, OTF, TTC) for labels, tried before the system's"),
    REAL_OF(D, "score-threshold", score_threshold, "0.5", 0, 1, S, "X",
            "least score that is reported; a network reports nothing below its box_score_thresh "
            "(config.json)"),
    TEXT("listen", listen, "0.0.0.0", S, "ADDRESS",
         "IPv4 or IPv6 address to listen on; 127.0.0.1 for this host alone"),
    INT("port", port, "0", 0, 65535, S, "N",
        "port to listen on (0: $SAGEMAKER_BIND_TO_PORT, else 8080)"),
    INT_OF(C, "max-batch", max_batch, "16", 1, 64, S, "N",
           "pictures that are computed at once, at most; of batches of 1, 4, 16 and this those are "
           "used that compute more pictures a second than smaller ones"),
    REAL_OF(C, "batch-delay", batch_delay, "2", 0, 1000, S, "MS",
            "longest wait of a picture for others of its batch, while others may arrive"),
    INT("queue", queue, "0", 0, 65536, S, "N",
        "pictures that may wait; more are refused with status 503 (0: 256, of a network that "
        "detects 32)"),
    INT("max-body", max_body, "25", 1, 1024, S, "MIB",
        "size of a request, at most; all requests in memory together may have 16 times this"),
    INT("connections", connections, "512", 1, 65536, S, "N", "open connections at most"),
    INT("idle-seconds", idle_seconds, "30", 1, 3600, S, "N",
        "time that a connection may be without a request"),
    INT("receive-seconds", receive_seconds, "60", 1, 3600, S, "N",
        "time that a request may take to arrive, and its answer to be taken"),
    INT("stop-seconds", stop_seconds, "25", 0, 3600, S, "N",
        "time after SIGTERM in which requests that were begun are answered"),
    BOOL("access-log", access_log, "true", S, "log a line for each request for predictions"),
    TEXT("resume", resume, "auto", T, "auto|none|PATH",
         "start from the newest valid checkpoint, from scratch, or from this checkpoint"),
    INT("report-every", report_every, "20", 1, 1e9, T, "N", "steps between two reports"),
    INT("histograms", histograms, "0", 0, 1e9, T, "N",
        "steps between two histograms of all weights and gradients for TensorBoard (0: none)"),
    INT("eval-every", eval_every, "1", 0, 1e6, T, "N",
        "epochs between two evaluations (0: at the end alone)"),
    INT("verify-every", verify_every, "0", 0, 1e9, T, "N",
        "steps between two checks that all ranks hold the same parameters; always at start (0: "
        "only then)"),
    TEXT("keep-best", keep_best, "auto", T, "auto|none|METRIC",
         "keep the model of the evaluation with the best METRIC (the lowest, if it is a loss) in a "
         "folder named best in the checkpoint folder; auto: top1, or segm_mAP"),
    TEXT("log-dir", log_dir, NULL, T, "DIR",
         "folder for run.jsonl (flags and metrics) and run.log; default $SM_OUTPUT_DATA_DIR, else "
         "/opt/ml/output/data if that exists, else --model-dir"),
    TEXT("timeline", timeline, NULL, T, "FILE",
         "write what each rank did in its last steps, and when, to this file, which Perfetto and "
         "chrome://tracing open"),
    CHOICE("publish", publish, publishes, "last", T,
           "which model goes to --model-dir: that of the last step, or the best one"),
    CHOICE("log", log, logs, "auto", T,
           "form of the reports: a table for people (Speed: images/s; FinLoss: the loss and the "
           "weight decay's term), metric lines for scrapers; auto: the table on a terminal, both "
           "elsewhere"),
};

enum { FLAG_COUNT = sizeof(FLAGS) / sizeof(FLAGS[0]) };

const struct flag *options_flags(size_t *ret_count) {
    *ret_count = FLAG_COUNT;
    return FLAGS;
}

const char *options_preset_name(int preset) {
    return presets[preset];
}

const char *options_optimizer_name(int optimizer) {
    return optimizers[optimizer];
}

const char *options_strategy_name(enum option_strategy strategy) {
    return strategies[strategy];
}

int options_json(struct buf *out, unsigned command, const struct options *o, struct error *err) {
    return flags_json(out, FLAGS, FLAG_COUNT, command, o, err);
}

int options_table(struct buf *out, unsigned command, const struct options *o, struct error *err) {
    return flags_table(out, FLAGS, FLAG_COUNT, command, o, err);
}

/* ringtrain export: writes a trained network in a form for other programs.
 *
 * The description in config.json is enough to build the network's graph for inference; the weights
 * are read from the model's file while the ONNX file is written (export/onnx.c). Nothing is
 * computed, so the command needs no device. What a program needs to prepare a picture goes into the
 * file's metadata: sizes, mean, deviation and the names of the classes. */
#include "common/cleanup.h"
#include "common/file/output_path.h"
#include "common/json/json.h"
#include "common/text/wrap.h"
#include "trainer/app/command/command.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/options/flag_print.h"
#include "trainer/app/options/inputs.h"
#include "trainer/checkpoint/model_dir.h"
#include "trainer/export/onnx.h"
#include "trainer/models/model.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* NUMBERS_MAX has room for three numbers of nine digits with signs, points and exponents. */
enum { EXPORT = 1, NOTES = 5, NUMBERS_MAX = 128 };

/* In the order of the choices. */
enum input { INPUT_F32, INPUT_U8 };
/* u8 takes a decoded picture as it is; f32 is the form that most programs for ONNX feed. */
static const char *const INPUT_NAMES[] = {"f32", "u8", NULL};

/* Text is borrowed from the command line; NULL: not given. */
struct export_flags {
    const char *model_dir, *onnx;
    int input; /* enum input */
};

/* Without a flag for the device or the type: the file has f32 weights, and nothing is computed. */
static const struct flag FLAGS[] = {
    {.name = "model-dir",
     .type = FLAG_TEXT,
     .offset = offsetof(struct export_flags, model_dir),
     .commands = EXPORT,
     .value = "DIR",
     .help = "folder of the trained model; default /opt/ml/model, else ./model"},
    {.name = "onnx",
     .type = FLAG_TEXT,
     .offset = offsetof(struct export_flags, onnx),
     .commands = EXPORT,
     .value = "FILE",
     .help = "file to write, in ONNX; an earlier export there is replaced"},
    {.name = "input",
     .type = FLAG_CHOICE,
     .offset = offsetof(struct export_flags, input),
     .standard = "f32",
     .choices = INPUT_NAMES,
     .commands = EXPORT,
     .value = "",
     .help = "input of the network; f32: `input`, normalized, [batch, 3, height, width]; u8: "
             "`image`, RGB, [batch, height, width, 3]"},
};

enum { FLAG_COUNT = sizeof(FLAGS) / sizeof(FLAGS[0]) };

/* The first bytes of the files that are written here: field 1, the IR version, is 8, and field 2,
 * the producer, has 9 letters. A file that begins otherwise is not replaced. */
static const char *const STARTS[] = {"\x08\x08\x12\x09ringtrain", NULL};
static const struct output_path_kind KIND = {"an export", STARTS};

/* Builds the graph of CONFIG's network for one picture, in f32 and without a training's operators.
 * It is not compiled: fusion would leave operators that ONNX does not have. The batch of 1 stands
 * for any (BATCH in export/onnx.c). */
static int build(const struct model_config *config, struct graph *graph, struct error *err) {
    const struct model *model = model_find(config->model);
    if (model == NULL)
        return error_set(err, EXIT_CODE_DATA, "unknown model '%.64s'; expected one of %s",
                         config->model, model_names(MODEL_CLASSIFY));
    /* No row of onnx_nodes.c is for the operators of a detector; the script exports the same
     * weights with torchvision. */
    if (model->task != MODEL_CLASSIFY)
        return error_set(err, EXIT_CODE_USAGE,
                         "export takes networks that classify, and %s detects: use "
                         "examples/pytorch/maskrcnn_onnx.py MODEL_DIR FILE.onnx, which exports it "
                         "with torchvision",
                         model->name);
    struct model_options o = {.batch = 1,
                              .height = config->image_size,
                              .width = config->image_size,
                              .classes = (int)config->classes,
                              .dtype = DTYPE_F32};
    /* The normalization is part of the graph, as its first operator. */
    for (int c = 0; c < 3; c++) {
        o.mean[c] = (float)config->mean[c];
        o.std[c] = (float)config->std[c];
    }
    return model->build(graph, model, &o, err);
}

/* Returns the classes' names as a list in JSON, to be freed; NULL out of memory. Names may be any
 * bytes of a file system (json_string_any). */
static char *names_json(const struct model_config *config) {
    cleanup_json json_t *list = json_array();
    for (size_t i = 0; i < config->classes; i++)
        (void)json_array_append_new(list, json_string_any(config->class_names[i]));
    return json_array_size(list) == config->classes ? json_shortest(list, JSON_COMPACT) : NULL;
}

/* Nine significant digits restore every f32 exactly, which is what the network was trained with. */
static int write_onnx(const struct model_config *config, const struct graph *graph,
                      const struct safetensors *weights, const struct export_flags *flags,
                      struct error *err) {
    /* Notes are texts in the ONNX format. Lists are written as JSON, so that one parser reads them
     * all. */
    char sides[2][NUMBERS_MAX], colors[2][NUMBERS_MAX];
    cleanup_free char *classes = names_json(config);
    if (classes == NULL)
        return error_no_memory(err, "names of classes");
    (void)snprintf(sides[0], NUMBERS_MAX, "%d", config->image_size);
    (void)snprintf(sides[1], NUMBERS_MAX, "%d", config->resize_side);
    (void)snprintf(colors[0], NUMBERS_MAX, "[%.9g, %.9g, %.9g]", config->mean[0], config->mean[1],
                   config->mean[2]);
    (void)snprintf(colors[1], NUMBERS_MAX, "[%.9g, %.9g, %.9g]", config->std[0], config->std[1],
                   config->std[2]);
    const struct onnx_note notes[NOTES] = {{"image_size", sides[0]},
                                           {"resize_side", sides[1]},
                                           {"mean", colors[0]},
                                           {"std", colors[1]},
                                           {"classes", classes}};
    const struct onnx_options options = {.name = config->model,
                                         .bytes = flags->input == INPUT_U8,
                                         .notes = notes,
                                         .note_count = NOTES};
    return onnx_write(graph, weights, &options, flags->onnx, err);
}

/* The target is checked before the weights are read. graph_done also closes a graph that was never
 * built. */
static int run(const struct export_flags *flags, struct error *err) {
    /* inputs_model reads the folder's flag alone, so a struct with no other values will do. */
    const struct options o = {.model_dir = flags->model_dir};
    cleanup_model_config struct model_config config = {0};
    cleanup_safetensors struct safetensors weights = {0};
    struct inputs inputs;
    struct graph graph = {0};
    if (inputs_model(&inputs, &o, "", err) != 0 ||
        model_dir_config(inputs.model, &config, err) != 0 ||
        output_path_check(flags->onnx, &KIND, "--onnx", err) != 0)
        return -1;
    int result = build(&config, &graph, err);
    if (result == 0)
        result = model_dir_open(inputs.model, &config, &weights, err);
    if (result == 0)
        result = write_onnx(&config, &graph, &weights, flags, err);
    if (result == 0)
        printf("%s\n", flags->onnx);
    graph_done(&graph);
    return result;
}

/* Prints the path of the file that was written, for scripts that pass it on. */
int command_export(int argc, char *const *argv, struct error *err) {
    struct export_flags flags = {0};
    if (flags_parse(FLAGS, FLAG_COUNT, EXPORT, argc, argv, &flags, err) != 0)
        return -1;
    if (flags.onnx == NULL)
        return error_set(err, EXIT_CODE_USAGE,
                         "--onnx is missing; usage: ringtrain export --model-dir DIR --onnx FILE");
    return run(&flags, err);
}

void command_export_help(FILE *out, int argc, char *const *argv) {
    (void)argc, (void)argv;
    wrap_printf(out, "usage: ringtrain export --model-dir DIR --onnx FILE [--input f32|u8]\n\n"
                     "Writes a network that classifies as ONNX, opset 17, for batches of any size. "
                     "The output `logits` is that of ringtrain; the metadata has image_size, "
                     "resize_side, mean, std and classes, all that a picture's preparation "
                     "takes.\n\n");
    flags_print(out, FLAGS, FLAG_COUNT, EXPORT, 0, NULL);
}

#include "tests/support/unit.h"
#include "trainer/models/model.h"

#include <string.h>

static void a_model_is_found_by_its_name(void) {
    const struct model *model = model_find("resnet50");
    CU_ASSERT_PTR_NOT_NULL_FATAL(model);
    CU_ASSERT_STRING_EQUAL(model->name, "resnet50");
    CU_ASSERT_EQUAL(model->task, MODEL_CLASSIFY);
    CU_ASSERT_EQUAL(model->image_size, 224);
    CU_ASSERT_EQUAL(model_find("resnet20")->image_size, 32);
    CU_ASSERT_PTR_NULL(model_find("resnet5"));
    CU_ASSERT_PTR_NULL(model_find(""));
}

static void an_unknown_one_is_reported_with_all_that_there_are(void) {
    struct error err = {0};
    CU_ASSERT_PTR_NULL(model_need("alexnet", &err));
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text,
                    "--model: unknown model 'alexnet'; expected one of resnet18, resnet34, ");
    CU_ASSERT_PTR_NULL(model_need("resnt18", &err));
    ASSERT_CONTAINS(err.text, "; did you mean resnet18?");
    ASSERT_CONTAINS(err.text, ", resnet110");
    CU_ASSERT_PTR_NOT_NULL(model_need("resnet110", &err));
}

/* What steps and flags take for granted of each row. */
static void every_list_of_metrics_begins_with_loss_and_samples(void) {
    char names[512];
    int rows = 0;
    snprintf(names, sizeof(names), "%s", model_names(MODEL_CLASSIFY | MODEL_DETECT));
    for (char *at = names, *end; at != NULL; at = end, rows++) {
        end = strstr(at, ", ");
        if (end != NULL) {
            *end = '\0';
            end += 2;
        }
        const struct model *model = model_find(at);
        CU_ASSERT_PTR_NOT_NULL_FATAL(model);
        int steps = model_metric_count(model, true), all = model_metric_count(model, false);
        CU_ASSERT_STRING_EQUAL(model->metrics[METRIC_LOSS].name, "loss");
        CU_ASSERT_EQUAL(model->metrics[METRIC_LOSS].kind, METRIC_MEAN);
        CU_ASSERT_EQUAL(model->metrics[METRIC_SAMPLES].kind, METRIC_SUM);
        CU_ASSERT(steps >= 2 && steps <= all && all <= MODEL_METRICS_MAX);
        for (int i = steps; i < all; i++)
            CU_ASSERT(!model->metrics[i].of_steps);
    }
    CU_ASSERT(rows >= 10);
}

static void names_are_those_of_a_task(void) {
    ASSERT_CONTAINS(model_names(MODEL_CLASSIFY), "resnet18");
    CU_ASSERT_PTR_NULL(strstr(model_names(MODEL_DETECT), "resnet18,"));
    CU_ASSERT_STRING_EQUAL(model_task_name(MODEL_CLASSIFY), "classify");
    CU_ASSERT_STRING_EQUAL(model_task_name(MODEL_DETECT), "detect");
}

/* How many dropouts a classifier has, and whether it takes keys for them. */
static int count_dropouts(const char *name, bool training, double rate, bool *ret_key) {
    const struct model *model = model_find(name);
    struct graph graph = {0};
    struct error err = {0};
    int count = 0;
    const struct model_options options = {.batch = 2,
                                          .height = model->image_size,
                                          .width = model->image_size,
                                          .classes = 5,
                                          .training = training,
                                          .dropout = rate,
                                          .std = {1, 1, 1}};
    CU_ASSERT_EQUAL_FATAL(model->build(&graph, model, &options, &err), 0);
    for (int i = 0; i < graph.op_count; i++) {
        if (graph.ops[i].kind != OP_DROPOUT)
            continue;
        CU_ASSERT_EQUAL(graph.ops[i].attr.rate, rate);
        CU_ASSERT_EQUAL(graph.ops[i].attr.layer, count);
        count++;
    }
    *ret_key = graph_find(&graph, "key") != TENSOR_NONE;
    graph_done(&graph);
    return count;
}

static void dropout_is_for_training_alone(void) {
    static const struct {
        const char *name;
        bool training;
        double rate;
        int count;
    } rows[] = {{"vgg16", true, 0.5, 2},
                {"vgg16", false, 0.5, 0},
                {"vgg16", true, 0, 0},
                {"resnet20", true, 0.2, 1},
                {"resnet20", false, 0.2, 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bool key = false;
        CU_ASSERT_EQUAL(count_dropouts(rows[i].name, rows[i].training, rows[i].rate, &key),
                        rows[i].count);
        CU_ASSERT_EQUAL(key, rows[i].count > 0);
    }
}

/* Pixels are divided by it. */
static void a_deviation_of_zero_is_refused(void) {
    static const char *const names[] = {"resnet50", "vgg16", "inception_v3"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct model *model = model_find(names[i]);
        struct graph graph = {0};
        struct error err = {0};
        CU_ASSERT_PTR_NOT_NULL_FATAL(model);
        const int side = model->image_size;
        const struct model_options options = {
            .batch = 2, .height = side, .width = side, .classes = 5, .std = {1, 0, 1}};
        CU_ASSERT_EQUAL(model->build(&graph, model, &options, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        ASSERT_CONTAINS(err.text, "a standard deviation of 0: expected more than 0");
        graph_done(&graph);
    }
}

UNIT_SUITE("models.model", UNIT(a_model_is_found_by_its_name),
           UNIT(an_unknown_one_is_reported_with_all_that_there_are),
           UNIT(every_list_of_metrics_begins_with_loss_and_samples),
           UNIT(names_are_those_of_a_task), UNIT(dropout_is_for_training_alone),
           UNIT(a_deviation_of_zero_is_refused))

#include "tests/support/unit.h"
#include "trainer/backend/cuda/dnn/dnn_plan.h"

#include "common/file/file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Plans for described devices, so no GPU is needed. What cuDNN offers changes with its version:
 * only relations and a few plain facts are expected. */

static const struct dnn_conv conv = {.batch = 64,
                                     .height = 28,
                                     .width = 28,
                                     .in_channels = 128,
                                     .out_channels = 128,
                                     .kernel = {3, 3},
                                     .stride = 1,
                                     .groups = 1,
                                     .padding = {1, 1}};

/* Finds the plans for QUERY on the device that DEVICE_FILE describes. */
static int find(struct dnn_plan_list *list, const char *device_file, cudnnDataType_t type,
                enum dnn_pattern pattern, struct dnn_plan_query query, struct error *err) {
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", RINGMASTER_CUDA_DEVICES, device_file);
    struct dnn_device device;
    struct dnn_graph graph = {0};
    query.device = &device;
    int result = dnn_device_read(&device, path, err);
    if (result == 0)
        result = dnn_graph_build(&graph, pattern, &conv, type, err);
    if (result == 0)
        result = dnn_plan_list_find(list, &graph, &query, err);
    dnn_graph_done(&graph);
    dnn_device_done(&device);
    return result;
}

static void plans_come_in_order_up_to_the_number_asked_for(void) {
    struct error err = {0};
    static struct dnn_plan_list list;
    CU_ASSERT_EQUAL(find(&list, "h100.json", CUDNN_DATA_HALF, DNN_FORWARD_STATS,
                         (struct dnn_plan_query){.workspace_max = INT64_MAX, .most = 3}, &err),
                    0);
    CU_ASSERT_EQUAL(list.count, 3);
    CU_ASSERT(!list.plans[0].runtime_compiled);
    CU_ASSERT(list.plans[0].workspace >= 0);
    dnn_plan_list_done(&list);
    CU_ASSERT_EQUAL(list.count, 0);
}

/* No plan needs less than nothing. */
static void the_workspace_ceiling_leaves_plans_out(void) {
    struct error err = {0};
    static struct dnn_plan_list list;
    CU_ASSERT_EQUAL(find(&list, "a100.json", CUDNN_DATA_HALF, DNN_FORWARD_STATS,
                         (struct dnn_plan_query){.workspace_max = -1, .most = DNN_PLANS_MAX}, &err),
                    0);
    CU_ASSERT_EQUAL(list.count, 0);
    dnn_plan_list_done(&list);
}

/* Returns how many of the H100's plans for PATTERN fit QUERY, and checks that each of them does. */
static int left(cudnnDataType_t type, enum dnn_pattern pattern, struct dnn_plan_query query) {
    struct error err = {0};
    static struct dnn_plan_list list;
    query.workspace_max = INT64_MAX;
    query.most = DNN_PLANS_MAX;
    CU_ASSERT_EQUAL(find(&list, "h100.json", type, pattern, query, &err), 0);
    for (int i = 0; i < list.count; i++) {
        const struct dnn_plan *plan = &list.plans[i];
        CU_ASSERT(!(query.exact && plan->rounds));
        CU_ASSERT(!(query.deterministic && !plan->deterministic));
        CU_ASSERT(!(query.precompiled && plan->runtime_compiled));
    }
    int count = list.count;
    dnn_plan_list_done(&list);
    return count;
}

/* In f32 most engines round operands to TF32; some add in any order. */
static void exact_and_deterministic_plans_are_fewer_but_some(void) {
    int all = left(CUDNN_DATA_FLOAT, DNN_GRAD_WEIGHT, (struct dnn_plan_query){0});
    int exact = left(CUDNN_DATA_FLOAT, DNN_GRAD_WEIGHT, (struct dnn_plan_query){.exact = true});
    int same = left(CUDNN_DATA_FLOAT, DNN_GRAD_WEIGHT,
                    (struct dnn_plan_query){.exact = true, .deterministic = true});
    CU_ASSERT(all > exact && exact > same && same > 0);
    int half = left(CUDNN_DATA_HALF, DNN_GRAD_WEIGHT, (struct dnn_plan_query){0});
    CU_ASSERT(half > 0);
}

/* In bf16 the fused forms are compiled at run time or do not exist. */
static void precompiled_plans_can_be_asked_for_alone(void) {
    struct dnn_plan_query query = {.precompiled = true};
    CU_ASSERT_EQUAL(left(CUDNN_DATA_BFLOAT16, DNN_NORM_FORWARD_STATS, query), 0);
    CU_ASSERT(left(CUDNN_DATA_HALF, DNN_NORM_FORWARD_STATS, query) > 0);
}

static void a_description_that_is_no_json_names_its_file(void) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/bad.json", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(file_publish(path, "nonsense", 8, 0644, NULL), 0);
    struct error err = {0};
    struct dnn_device device;
    CU_ASSERT_EQUAL(dnn_device_read(&device, path, &err), -1);
    ASSERT_CONTAINS(err.text, "bad.json");
    dnn_device_done(&device);
}

UNIT_SUITE("cuda.dnn_plan", UNIT(plans_come_in_order_up_to_the_number_asked_for),
           UNIT(the_workspace_ceiling_leaves_plans_out),
           UNIT(exact_and_deterministic_plans_are_fewer_but_some),
           UNIT(precompiled_plans_can_be_asked_for_alone),
           UNIT(a_description_that_is_no_json_names_its_file))

#include "cuda/dnn_plan.h"
#include "support/unit.h"

#include "common/file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const struct dnn_conv conv = {.batch = 64,
                                     .height = 28,
                                     .width = 28,
                                     .in_channels = 128,
                                     .out_channels = 128,
                                     .kernel = 3,
                                     .stride = 1,
                                     .padding = 1};

static int find(struct dnn_plan_list *list, const char *device_file, int64_t workspace_max,
                int most, struct error *err) {
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", RINGMASTER_CUDA_DEVICES, device_file);
    struct dnn_device device;
    struct dnn_graph graph = {0};
    struct dnn_plan_query query = {.device = &device, .workspace_max = workspace_max, .most = most};
    int result = dnn_device_read(&device, path, err);
    if (result == 0)
        result = dnn_graph_build(&graph, DNN_FORWARD_STATS, &conv, CUDNN_DATA_HALF, err);
    if (result == 0)
        result = dnn_plan_list_find(list, &graph, &query, err);
    dnn_graph_done(&graph);
    dnn_device_done(&device);
    return result;
}

static void plans_come_in_order_up_to_the_number_asked_for(void) {
    struct error err = {0};
    static struct dnn_plan_list list;
    CU_ASSERT_EQUAL(find(&list, "h100.json", INT64_MAX, 3, &err), 0);
    CU_ASSERT_EQUAL(list.count, 3);
    CU_ASSERT(!list.plans[0].runtime_compiled);
    CU_ASSERT(list.plans[0].workspace >= 0);
    dnn_plan_list_done(&list);
    CU_ASSERT_EQUAL(list.count, 0);
}

static void the_workspace_ceiling_leaves_plans_out(void) {
    struct error err = {0};
    static struct dnn_plan_list list;
    CU_ASSERT_EQUAL(find(&list, "a100.json", -1, DNN_PLANS_MAX, &err), 0);
    CU_ASSERT_EQUAL(list.count, 0);
    dnn_plan_list_done(&list);
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

UNIT_MAIN("cuda.dnn_plan", UNIT(plans_come_in_order_up_to_the_number_asked_for),
          UNIT(the_workspace_ceiling_leaves_plans_out),
          UNIT(a_description_that_is_no_json_names_its_file))

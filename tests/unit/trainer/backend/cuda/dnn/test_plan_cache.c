/* What earlier runs chose, written and found again. */
#include "tests/support/unit.h"
#include "trainer/backend/cuda/dnn/plan_cache.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct world {
    char path[PATH_MAX];
    struct convs convs;
    struct cuda cuda;
    struct conv_choice choice;
};

/* A choice between two plans, on a device that is a name. */
static void open_world(struct world *w, const char *name) {
    memset(w, 0, sizeof(*w));
    (void)snprintf(w->path, sizeof(w->path), "%s/%s", unit_temp_dir(), name);
    (void)snprintf(w->convs.device.name, sizeof(w->convs.device.name), "some GPU");
    w->cuda.convs = &w->convs;
    w->cuda.options.plan_cache = w->path;
    w->choice = (struct conv_choice){
        .pattern = DNN_FORWARD_BIAS,
        .type = DTYPE_F16,
        .conv = {.batch = 1, .height = 4, .kernel = {1, 1}, .stride = 1, .groups = 1}};
    w->choice.plans.count = 2;
    w->choice.plans.plans[0].engine = 41;
    w->choice.plans.plans[1].engine = 62;
}

static int find(const struct world *w, float *ret_ms) {
    return plan_cache_find(&w->cuda, &w->choice, ret_ms);
}

static void a_choice_is_found_with_its_time(void) {
    static struct world w;
    float ms = -1;
    open_world(&w, "choice");
    CU_ASSERT_EQUAL(find(&w, &ms), -1);
    w.choice.chosen = 1;
    w.choice.ms = 0.125F;
    CU_ASSERT_EQUAL(plan_cache_add(&w.cuda, &w.choice, NULL), 0);
    CU_ASSERT_EQUAL(find(&w, &ms), 1);
    CU_ASSERT_EQUAL(ms, 0.125F);
    w.choice.plans.plans[1].engine = 63; /* cuDNN lists something else there now */
    CU_ASSERT_EQUAL(find(&w, &ms), -1);
}

/* Both kinds of line may be in one file, and a later line does not hide one of the other kind. */
static void whether_a_fused_pass_pays_is_found(void) {
    static struct world w;
    float ms = -1;
    open_world(&w, "pays");
    CU_ASSERT_EQUAL(plan_cache_find_pays(&w.cuda, &w.choice), CONV_PAYS_UNKNOWN);
    w.choice.pays = CONV_LOSES;
    CU_ASSERT_EQUAL(plan_cache_add_pays(&w.cuda, &w.choice, NULL), 0);
    CU_ASSERT_EQUAL(find(&w, &ms), -1);
    w.choice.ms = 0.5F;
    CU_ASSERT_EQUAL(plan_cache_add(&w.cuda, &w.choice, NULL), 0);
    CU_ASSERT_EQUAL(plan_cache_find_pays(&w.cuda, &w.choice), CONV_LOSES);
    CU_ASSERT_EQUAL(find(&w, &ms), 0);
    w.choice.conv.batch = 2;
    CU_ASSERT_EQUAL(plan_cache_find_pays(&w.cuda, &w.choice), CONV_PAYS_UNKNOWN);
    w.choice.pays = CONV_PAYS;
    CU_ASSERT_EQUAL(plan_cache_add_pays(&w.cuda, &w.choice, NULL), 0);
    CU_ASSERT_EQUAL(plan_cache_find_pays(&w.cuda, &w.choice), CONV_PAYS);
}

/* A name that is the beginning of another one is no match. */
static void another_device_has_its_own(void) {
    static struct world w;
    open_world(&w, "device");
    w.choice.pays = CONV_LOSES;
    CU_ASSERT_EQUAL(plan_cache_add_pays(&w.cuda, &w.choice, NULL), 0);
    (void)snprintf(w.convs.device.name, sizeof(w.convs.device.name), "some GP");
    CU_ASSERT_EQUAL(plan_cache_find_pays(&w.cuda, &w.choice), CONV_PAYS_UNKNOWN);
}

UNIT_SUITE("cuda.plan_cache", UNIT(a_choice_is_found_with_its_time),
           UNIT(whether_a_fused_pass_pays_is_found), UNIT(another_device_has_its_own))

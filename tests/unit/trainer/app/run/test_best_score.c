#include "trainer/app/run/best_score.h"

#include "tests/support/unit.h"
#include "trainer/app/task/score.h"
#include "trainer/app/task/tasks.h"
#include "trainer/checkpoint/model_dir.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct model *classifier(void) {
    return model_find("resnet20");
}

static void metrics_are_those_of_the_networks_evaluations(void) {
    struct best b;
    struct error err = {0};
    CU_ASSERT_EQUAL(best_open(&b, "none", "c", classifier(), &err), 0);
    CU_ASSERT_STRING_EQUAL(b.folder, "");
    CU_ASSERT_EQUAL(best_open(&b, "auto", "c", classifier(), &err), 0);
    CU_ASSERT_STRING_EQUAL(b.folder, "c/best");
    CU_ASSERT_STRING_EQUAL(b.metric, "");
    CU_ASSERT_EQUAL(best_open(&b, "loss", "c", classifier(), &err), 0);
    CU_ASSERT_STRING_EQUAL(b.metric, "loss");
    CU_ASSERT_EQUAL(best_open(&b, "mAP", "c", classifier(), &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "--keep-best: an evaluation of resnet20 has no 'mAP'; it has top1, "
                              "top5, loss");
    const struct model *detector = model_find("maskrcnn_tiny");
    if (detector == NULL)
        return;
    CU_ASSERT_EQUAL(best_open(&b, "bbox_AP50", "c", detector, &err), 0);
    CU_ASSERT_EQUAL(best_open(&b, "segm_ARl", "c", detector, &err), 0);
    CU_ASSERT_EQUAL(best_open(&b, "top1", "c", detector, &err), -1);
    ASSERT_CONTAINS(err.text, "it has bbox_mAP, ");
}

static struct evaluation told(const char *name, const char *other) {
    struct evaluation e = {.images = 1};
    evaluation_add(&e, name, 0.5);
    if (other != NULL)
        evaluation_add(&e, other, 0.5);
    return e;
}

static void a_task_knows_which_figure_counts(void) {
    struct best b;
    CU_ASSERT_EQUAL(best_open(&b, "auto", "c", classifier(), NULL), 0);
    struct evaluation e = told("loss", "top1");
    CU_ASSERT_STRING_EQUAL(best_metric(&b, task_of(MODEL_CLASSIFY), &e), "top1");
    e = told("bbox_mAP", NULL);
    CU_ASSERT_PTR_NULL(best_metric(&b, task_of(MODEL_CLASSIFY), &e));
    if (model_find("maskrcnn_tiny") != NULL) {
        CU_ASSERT_STRING_EQUAL(best_metric(&b, task_of(MODEL_DETECT), &e), "bbox_mAP");
        e = told("bbox_mAP", "segm_mAP");
        CU_ASSERT_STRING_EQUAL(best_metric(&b, task_of(MODEL_DETECT), &e), "segm_mAP");
    }
    CU_ASSERT_EQUAL(best_open(&b, "loss", "c", classifier(), NULL), 0);
    e = told("top1", NULL);
    CU_ASSERT_PTR_NULL(best_metric(&b, task_of(MODEL_CLASSIFY), &e));
}

static bool better(struct best *b, const char *metric, double value) {
    struct model_score score = {.value = value};
    (void)snprintf(score.metric, sizeof(score.metric), "%s", metric);
    bool is = best_is_better(b, &score);
    if (is) {
        b->known = true;
        b->score = score;
    }
    return is;
}

static void more_is_better_but_of_a_loss(void) {
    struct best b = {0};
    CU_ASSERT_FALSE(better(&b, "top1", (double)NAN));
    CU_ASSERT_FALSE(better(&b, "segm_mAP", -1));
    CU_ASSERT(better(&b, "top1", 0));
    CU_ASSERT(better(&b, "top1", 0.5));
    CU_ASSERT_FALSE(better(&b, "top1", 0.5)); /* the first one stays */
    CU_ASSERT_FALSE(better(&b, "top1", 0.25));
    CU_ASSERT(better(&b, "loss", 2)); /* another metric begins anew */
    CU_ASSERT(better(&b, "loss", 1));
    CU_ASSERT_FALSE(better(&b, "loss", 1.5));
    CU_ASSERT_FALSE(better(&b, "loss", (double)INFINITY));
}

/* A model that was kept as the best of lineage 3, after 800 samples. */
static void keep(const char *folder) {
    static char cat[] = "cat", dog[] = "dog", name[] = "resnet20";
    static char *names[] = {cat, dog};
    struct model_config config = {.model = name,
                                  .class_names = names,
                                  .classes = 2,
                                  .image_size = 32,
                                  .resize_side = 32,
                                  .std = {1, 1, 1},
                                  .epochs = 4,
                                  .score = {"top1", 0.75, 100, 800, 3}};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(model_dir_save(folder, &config, NULL, 0, &err), 0);
}

static void a_run_goes_on_with_the_best_of_its_own_course(void) {
    struct best b;
    char text[4200];
    CU_ASSERT_EQUAL(best_open(&b, "auto", unit_temp_dir(), classifier(), NULL), 0);
    best_resume(&b, 3, 900);
    CU_ASSERT_FALSE(b.known);
    keep(b.folder);
    best_resume(&b, 3, 799); /* it was kept after the point that the run resumes from */
    CU_ASSERT_FALSE(b.known);
    best_resume(&b, 2, 900);
    CU_ASSERT_FALSE(b.known);
    best_resume(&b, 3, 800);
    CU_ASSERT(b.known);
    CU_ASSERT_EQUAL(b.score.value, 0.75);
    CU_ASSERT_EQUAL(b.score.step, 100);
    CU_ASSERT_EQUAL(b.epoch, 4);
    CU_ASSERT_FALSE(better(&b, "top1", 0.7));
    CU_ASSERT_EQUAL(best_open(&b, "loss", unit_temp_dir(), classifier(), NULL), 0);
    best_resume(&b, 3, 800);
    CU_ASSERT_FALSE(b.known);
    /* Weights of another publish: nobody knows what they are worth. */
    (void)snprintf(text, sizeof(text), "%s/config.json", b.folder);
    FILE *f = fopen(text, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    (void)fputs("{}", f);
    (void)fclose(f);
    CU_ASSERT_EQUAL(best_open(&b, "auto", unit_temp_dir(), classifier(), NULL), 0);
    best_resume(&b, 3, 800);
    CU_ASSERT_FALSE(b.known);
}

UNIT_SUITE("app.best_score", UNIT(metrics_are_those_of_the_networks_evaluations),
           UNIT(a_task_knows_which_figure_counts), UNIT(more_is_better_but_of_a_loss),
           UNIT(a_run_goes_on_with_the_best_of_its_own_course))

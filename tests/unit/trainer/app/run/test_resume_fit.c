#include "tests/support/unit.h"
#include "trainer/app/run/resume_fit.h"
#include "trainer/app/task/tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH "/c/step-000000008.safetensors"

static char ant[] = "ant", bee[] = "bee", cow[] = "cow";
static char *classes[] = {ant, bee};

/* A run of 8 steps, half of them done. */
static const struct run_state SAMPLE = {.model = "resnet20",
                                        .classes = 2,
                                        .step = 4,
                                        .epoch = 2,
                                        .global_batch = 16,
                                        .samples = 64,
                                        .batches = 4,
                                        .epoch_images = 32,
                                        .ranks = 1,
                                        .accumulate = 1,
                                        .batch_size = 16,
                                        .threads = 1,
                                        .image_size = 32,
                                        .total_steps = 8,
                                        .dtype = "f32",
                                        .fusion = "all",
                                        .backend = "cpu",
                                        .data = "1",
                                        .options = "lr=0.1 tf32=true bad-samples=fail",
                                        .init = "none"};

static struct training_run job_of(const struct run_state *state) {
    struct training_run job = {.state = *state,
                               .setup = {.data = {.task = task_of(MODEL_CLASSIFY),
                                                  .class_names = classes,
                                                  .classes = (size_t)state->classes},
                                         .schedule.total_steps = state->total_steps}};
    job.state.step = 0;
    job.state.epoch = 0;
    (void)snprintf(job.setup.inputs.checkpoints, sizeof(job.setup.inputs.checkpoints), "/c");
    return job;
}

/* Returns 0 or the exit code; NOW describes the new run, BEFORE the run of the checkpoint. */
static int check(const struct run_state *now, const struct run_state *before, char *const *names,
                 bool asked, struct error *err) {
    cleanup_buf struct buf text = {0};
    const struct training_run job = job_of(now);
    *err = (struct error){0};
    buf_init(&text, RUN_STATE_JSON_MAX);
    CU_ASSERT_EQUAL_FATAL(run_state_format(&text, before, names, NULL), 0);
    return resume_fit_check(&job, before, buf_text(&text), PATH, asked, err) == 0 ? 0
                                                                                  : (int)err->code;
}

static struct run_state finished(void) {
    struct run_state s = SAMPLE;
    s.step = 8;
    s.epoch = 4;
    s.samples = 128;
    return s;
}

static void the_same_run_goes_on_and_ends_again(void) {
    struct error err;
    struct run_state done = finished();
    CU_ASSERT_EQUAL(check(&SAMPLE, &SAMPLE, classes, false, &err), 0);
    CU_ASSERT_EQUAL(check(&done, &done, classes, false, &err), 0);
    /* On other machines, too: two ranks need half the steps for the same epochs. */
    struct run_state now = done;
    now.ranks = 2;
    now.global_batch = 32;
    now.total_steps = 4;
    now.threads = 8;
    (void)snprintf(now.options, sizeof(now.options), "lr=0.1 tf32=false bad-samples=fail");
    CU_ASSERT_EQUAL(check(&now, &done, classes, false, &err), 0);
    /* The same number of steps as before is accepted as well. */
    now.total_steps = 8;
    CU_ASSERT_EQUAL(check(&now, &done, classes, false, &err), 0);
}

static void more_epochs_go_on(void) {
    struct error err;
    struct run_state done = finished(), now = done;
    now.total_steps = 12;
    CU_ASSERT_EQUAL(check(&now, &done, classes, false, &err), 0);
    /* Fewer steps than were requested before, but more than are done. */
    now.total_steps = 6;
    CU_ASSERT_EQUAL(check(&now, &SAMPLE, classes, false, &err), 0);
}

static void a_finished_run_is_not_handed_out_as_another(void) {
    static const char *const others[] = {"lr=0.01 tf32=true bad-samples=fail",
                                         "lr=0.1 tf32=true bad-samples=skip"};
    static const char *const told[] = {"lr 0.01 (was 0.1)", "bad-samples skip (was fail)"};
    struct error err;
    struct run_state done = finished(), now;
    for (int asked = 0; asked < 2; asked++) {
        for (size_t i = 0; i < 2; i++) {
            now = done;
            (void)snprintf(now.options, sizeof(now.options), "%s", others[i]);
            CU_ASSERT_EQUAL(check(&now, &done, classes, asked, &err), EXIT_CODE_CONFIG);
            ASSERT_CONTAINS(err.text, "nothing to train: /c holds a finished run (8 steps done)");
            ASSERT_CONTAINS(err.text, told[i]);
            ASSERT_CONTAINS(err.text, "use another --checkpoint-dir or --resume none");
        }
    }
    now = done;
    now.total_steps = 2;
    CU_ASSERT_EQUAL(check(&now, &done, classes, false, &err), EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "total_steps 2 (was 8)");
    CU_ASSERT_EQUAL(check(&now, &SAMPLE, classes, false, &err), EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "a longer run (4 steps done)");
    ASSERT_CONTAINS(err.text, "to end it early, with its model, take one step more: --steps 5;");
    now = done;
    now.batch_size = now.global_batch = 32;
    now.total_steps = 4;
    CU_ASSERT_EQUAL(check(&now, &done, classes, false, &err), EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "batch_size 32 (was 16)");
    now = done;
    (void)snprintf(now.data, sizeof(now.data), "2");
    CU_ASSERT_EQUAL(check(&now, &done, classes, false, &err), EXIT_CODE_CONFIG);
    now = done;
    (void)snprintf(now.init, sizeof(now.init), "w.safetensors");
    CU_ASSERT_EQUAL(check(&now, &done, classes, false, &err), EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "init w.safetensors (was none)");
    CU_ASSERT_EQUAL(check(&done, &now, classes, false, &err), 0); /* init is no longer needed */
}

/* Attempt 2 finds all steps done: only the data can differ, and the trained model is published. */
static void a_later_attempt_publishes_what_its_own_run_finished(void) {
    struct error err;
    struct run_state done = finished(), now;
    (void)snprintf(done.run, sizeof(done.run), "0123456789abcdef");
    now = done;
    (void)snprintf(now.data, sizeof(now.data), "2");
    CU_ASSERT_EQUAL_FATAL(setenv("RINGMASTER_ATTEMPT", "2", 1), 0);
    CU_ASSERT_EQUAL(check(&now, &done, classes, true, &err), 0);
    (void)snprintf(now.run, sizeof(now.run), "another run");
    CU_ASSERT_EQUAL(check(&now, &done, classes, true, &err), EXIT_CODE_CONFIG);
    now = done;
    (void)snprintf(now.data, sizeof(now.data), "2");
    CU_ASSERT_EQUAL_FATAL(setenv("RINGMASTER_ATTEMPT", "1", 1), 0);
    CU_ASSERT_EQUAL(check(&now, &done, classes, true, &err), EXIT_CODE_CONFIG);
    CU_ASSERT_EQUAL_FATAL(unsetenv("RINGMASTER_ATTEMPT"), 0);
    /* Outside ringmaster no run has a name. */
    done.run[0] = now.run[0] = '\0';
    CU_ASSERT_EQUAL(check(&now, &done, classes, true, &err), EXIT_CODE_CONFIG);
}

static void a_recipe_changes_only_where_it_was_asked_for(void) {
    struct error err;
    struct run_state now = SAMPLE;
    (void)snprintf(now.options, sizeof(now.options), "lr=0.01 tf32=true bad-samples=fail");
    CU_ASSERT_EQUAL(check(&now, &SAMPLE, classes, false, &err), EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, PATH " is from a run with other settings: lr 0.01 (was 0.1); ");
    ASSERT_CONTAINS(err.text, "--resume " PATH);
    ASSERT_CONTAINS(err.text, "--resume none");
    CU_ASSERT_EQUAL(check(&now, &SAMPLE, classes, true, &err), 0);
    now = SAMPLE;
    now.seed = 1;
    CU_ASSERT_EQUAL(check(&now, &SAMPLE, classes, false, &err), EXIT_CODE_CONFIG);
    /* Other settings may change: a run that met a bad file can resume without it. */
    now = SAMPLE;
    (void)snprintf(now.options, sizeof(now.options), "lr=0.1 tf32=false bad-samples=skip");
    (void)snprintf(now.data, sizeof(now.data), "2");
    now.batch_size = now.global_batch = 8;
    now.total_steps = 16;
    CU_ASSERT_EQUAL(check(&now, &SAMPLE, classes, false, &err), 0);
}

static void other_classes_are_refused(void) {
    static char *const others[] = {ant, cow}, *const turned[] = {bee, ant};
    struct error err;
    for (int asked = 0; asked < 2; asked++) {
        CU_ASSERT_EQUAL(check(&SAMPLE, &SAMPLE, others, asked, &err), EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, "class 1 is 'bee' in the data and 'cow' in " PATH);
        ASSERT_CONTAINS(err.text, "--init " PATH);
        CU_ASSERT_EQUAL(check(&SAMPLE, &SAMPLE, turned, asked, &err), EXIT_CODE_DATA);
    }
    struct run_state now = SAMPLE;
    now.classes = 3;
    static char *three[] = {ant, bee, cow};
    struct training_run job = job_of(&now);
    job.setup.data.class_names = three;
    CU_ASSERT_EQUAL(resume_fit_check(&job, &SAMPLE, "{}", PATH, true, &err), -1);
    ASSERT_CONTAINS(err.text, "is for 2 classes, the data has 3");
    /* Classes are not recorded if there are too many, or in the first format. */
    job = job_of(&SAMPLE);
    CU_ASSERT_EQUAL(resume_fit_check(&job, &SAMPLE, "{}", PATH, true, &err), 0);
}

UNIT_SUITE("app.resume_fit", UNIT(the_same_run_goes_on_and_ends_again), UNIT(more_epochs_go_on),
           UNIT(a_finished_run_is_not_handed_out_as_another),
           UNIT(a_later_attempt_publishes_what_its_own_run_finished),
           UNIT(a_recipe_changes_only_where_it_was_asked_for), UNIT(other_classes_are_refused))

/* Whole runs of the trainer on a few small pictures, each in a process of its own. */
#include "common/file/file.h"
#include "common/file/folder_lock.h"
#include "common/json/json.h"
#include "common/system/stop_signal.h"
#include "tests/support/printed.h"
#include "tests/support/unit.h"
#include "trainer/app/command/command.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/model_dir.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 64, TEXT_MAX = 1 << 16 };

typedef int command_function(int argc, char *const *argv, struct error *err);

/* What the last run wrote. */
static char out[TEXT_MAX], told[TEXT_MAX];

/* FORMAT with every %s being the folder of this test. */
static char *in_folder(const char *text, char path[600]) {
    const char *mark = strchr(text, '@');
    if (mark == NULL)
        snprintf(path, 600, "%s", text);
    else
        snprintf(path, 600, "%.*s%s%s", (int)(mark - text), text, unit_temp_dir(), mark + 1);
    return path;
}

/* In the child: the words of LINE, "@" being the test's folder. */
static void run_command(command_function *command, const char *line) {
    static char text[4096], words[WORDS_MAX][600];
    char *argv[WORDS_MAX], *rest = NULL;
    struct error err = {0};
    int argc = 0;
    snprintf(text, sizeof(text), "%s", line);
    for (char *word = strtok_r(text, " ", &rest); word != NULL && argc < WORDS_MAX;
         word = strtok_r(NULL, " ", &rest), argc++)
        argv[argc] = in_folder(word, words[argc]);
    int code = command(argc, argv, &err);
    if (code < 0)
        fprintf(stderr, "error: %s\n", err.text);
    (void)fflush(NULL);
    _exit(code < 0 ? (int)err.code : code);
}

static pid_t start(command_function *command, const char *line, int output) {
    char path[600];
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        FILE *errors = fopen(in_folder("@/told", path), "w");
        if (errors == NULL || dup2(output, STDOUT_FILENO) < 0 ||
            dup2(fileno(errors), STDERR_FILENO) < 0)
            _exit(100);
        run_command(command, line);
    }
    return child;
}

static void read_text(const char *name, char text[TEXT_MAX]) {
    char path[600];
    FILE *file = fopen(in_folder(name, path), "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    text[fread(text, 1, TEXT_MAX - 1, file)] = '\0';
    fclose(file);
}

static int code_of(pid_t child) {
    int status = -1;
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    read_text("@/told", told);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int run(command_function *command, const char *line) {
    char path[600];
    FILE *file = fopen(in_folder("@/out", path), "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    int code = code_of(start(command, line, fileno(file)));
    fclose(file);
    read_text("@/out", out);
    return code;
}

#define COMMON                                                                                     \
    "--data @/data --model resnet20 --batch-size 8 --threads 1 --data-threads 1 --log metrics "    \
    "--report-every 1 "

static bool is_there(const char *name) {
    char path[600];
    return access(in_folder(name, path), F_OK) == 0;
}

static int same_bytes(const char *a, const char *b) {
    char path[600];
    cleanup_buf struct buf x = {.max = 1 << 24};
    cleanup_buf struct buf y = {.max = 1 << 24};
    CU_ASSERT_EQUAL_FATAL(file_read(in_folder(a, path), &x, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(file_read(in_folder(b, path), &y, NULL), 0);
    return x.size == y.size && memcmp(x.data, y.data, x.size) == 0;
}

static int count(const char *text, const char *part) {
    int n = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        n++;
    return n;
}

/* The number after NAME= in the line that begins with LINE. */
static double number_in(const char *line, const char *name) {
    const char *at = strstr(out, line);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    at = strstr(at, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    return strtod(at + strlen(name), NULL);
}

static void a_run_tells_steps_and_scores_and_leaves_a_model(void) {
    CU_ASSERT_EQUAL_FATAL(
        run(command_prepare, "shapes @/data --train 32 --validation 12 --classes 4 --side 40"), 0);
    CU_ASSERT_EQUAL_FATAL(run(command_train, COMMON "--steps 4 --model-dir @/m --checkpoint-dir "
                                                    "@/c --checkpoint-every 2"),
                          0);
    CU_ASSERT_EQUAL(count(out, "train step="), 4);
    for (int step = 1; step <= 4; step++) {
        char line[32];
        snprintf(line, sizeof(line), "train step=%d ", step);
        CU_ASSERT_EQUAL(number_in(line, " epoch="), step / 4.0);
        /* --lr 0.1 for 256 images, a quarter of a cosine a step */
        double lr = 0.1 * 8 / 256 * (1 + cos(acos(-1) * (step - 1) / 4)) / 2;
        CU_ASSERT_DOUBLE_EQUAL(number_in(line, " lr="), lr, 1e-8);
        double loss = number_in(line, " loss=");
        CU_ASSERT(loss > 0.5 && loss < 4);
        const double right = 8 * number_in(line, " top1="); /* pictures of the batch */
        CU_ASSERT(right >= 0 && right <= 8 && right == floor(right));
        CU_ASSERT(number_in(line, " images_per_second=") > 0);
        CU_ASSERT_EQUAL(number_in(line, " skipped="), 0);
    }
    CU_ASSERT_EQUAL(count(out, "eval epoch=1 "), 1);
    CU_ASSERT_EQUAL(number_in("eval ", " images="), 12); /* the last batch is half full */
    CU_ASSERT_EQUAL(number_in("eval ", " top5="), 1);
    CU_ASSERT(is_there("@/c/step-000000002.safetensors"));
    CU_ASSERT(is_there("@/c/step-000000004.safetensors"));
    CU_ASSERT_FALSE(is_there("@/c/.ringtrain.lock"));
    ASSERT_CONTAINS(told, "32 training images, 12 to evaluate on; 4 steps of 8 images");
    ASSERT_CONTAINS(told, "4 steps, 32 images in ");
    CU_ASSERT_PTR_NULL(strstr(told, "stop"));
    char folder[600];
    struct error err = {0};
    cleanup_model_config struct model_config config = {0};
    CU_ASSERT_EQUAL_FATAL(model_dir_config(in_folder("@/m", folder), &config, &err), 0);
    CU_ASSERT_STRING_EQUAL(config.model, "resnet20");
    CU_ASSERT(config.classes == 4 && config.image_size == 32 && config.epochs == 1);
}

static void the_model_is_scored_as_the_run_scored_it(void) {
    read_text("@/out", out);
    double top1 = number_in("eval ", " top1="), loss = number_in("eval ", " loss=");
    CU_ASSERT_EQUAL(run(command_eval, "--model-dir @/m --data @/data --threads 1 --batch-size 8"),
                    0);
    CU_ASSERT_EQUAL(number_in("eval epoch=1 ", " top1="), top1);
    CU_ASSERT_EQUAL(number_in("eval epoch=1 ", " loss="), loss);
    CU_ASSERT_EQUAL(number_in("eval epoch=1 ", " images="), 12);
    /* Batches of any size see every picture once. */
    CU_ASSERT_EQUAL(run(command_eval, "--model-dir @/m --data @/data --threads 1 --batch-size 5"),
                    0);
    CU_ASSERT_EQUAL(number_in("eval epoch=1 ", " top1="), top1);
    CU_ASSERT_DOUBLE_EQUAL(number_in("eval epoch=1 ", " loss="), loss, 1e-4);
    CU_ASSERT_EQUAL(number_in("eval epoch=1 ", " images="), 12);
}

static void the_model_says_what_it_sees_in_pictures(void) {
    CU_ASSERT_EQUAL(run(command_predict, "--model-dir @/m --out @/p --threads 1 @/data/val"), 0);
    ASSERT_CONTAINS(told, "12 of 12 pictures: predictions in ");
    cleanup_json json_t *root = NULL;
    struct error err = {0};
    char path[600];
    CU_ASSERT_EQUAL_FATAL(json_read_file(in_folder("@/p/predictions.json", path), &root, &err), 0);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(root, "pictures")), 12);
    CU_ASSERT_EQUAL(run(command_predict, "--model-dir @/none --out @/p2 --threads 1 @/data/val"),
                    EXIT_CODE_DATA);
    ASSERT_CONTAINS(told, "/none: no model there");
    CU_ASSERT_EQUAL(run(command_predict, "--model-dir @/m --out @/p2 --threads 1 @/data/none"),
                    EXIT_CODE_DATA);
    ASSERT_CONTAINS(told, "/data/none");
    CU_ASSERT_EQUAL(run(command_predict, "--model-dir @/m --threads 1 @/data/val"),
                    EXIT_CODE_USAGE);
    ASSERT_CONTAINS(told, "usage: ringtrain predict");
    CU_ASSERT_FALSE(is_there("@/p2"));
}

/* The second part resumes from the checkpoint in the middle. */
static void a_run_in_two_parts_is_the_same_to_the_bit(void) {
    char from[600], to[600];
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(in_folder("@/c2", to), NULL), 0);
    CU_ASSERT_EQUAL_FATAL(link(in_folder("@/c/step-000000002.safetensors", from),
                               in_folder("@/c2/step-000000002.safetensors", to)),
                          0);
    CU_ASSERT_EQUAL(run(command_train, COMMON "--steps 4 --model-dir @/m2 --checkpoint-dir @/c2 "
                                              "--checkpoint-every 2"),
                    0);
    CU_ASSERT_EQUAL(count(out, "train step="), 2);
    CU_ASSERT_EQUAL(count(out, "train step=3 "), 1);
    CU_ASSERT_EQUAL(count(out, "eval epoch=1 "), 1);
    ASSERT_CONTAINS(told, "step-000000002.safetensors: 2 steps done");
    CU_ASSERT(same_bytes("@/m/model.safetensors", "@/m2/model.safetensors"));
    CU_ASSERT(same_bytes("@/m/config.json", "@/m2/config.json"));
}

static void a_run_that_is_done_only_evaluates(void) {
    CU_ASSERT_EQUAL(run(command_train, COMMON "--steps 4 --model-dir @/m2 --checkpoint-dir @/c2"),
                    0);
    CU_ASSERT_EQUAL(count(out, "train step="), 0);
    CU_ASSERT_EQUAL(count(out, "eval epoch=1 "), 1);
    ASSERT_CONTAINS(told, "all 4 steps are done already");
    CU_ASSERT(same_bytes("@/m/model.safetensors", "@/m2/model.safetensors"));
}

static int train_when_asked_to_stop(int argc, char *const *argv, struct error *err) {
    if (stop_signal_listen(err) != 0 || raise(SIGTERM) != 0)
        return -1;
    return command_train(argc, argv, err);
}

/* What was asked for is done, and published before it is scored. */
static void a_stop_during_the_last_evaluation_takes_nothing_away(void) {
    CU_ASSERT_EQUAL(
        run(train_when_asked_to_stop, COMMON "--steps 4 --model-dir @/m14 --checkpoint-dir @/c2"),
        0);
    CU_ASSERT_EQUAL(count(out, "eval "), 0);
    ASSERT_CONTAINS(told, "training is complete; a stop was requested during its last evaluation");
    CU_ASSERT(same_bytes("@/m/model.safetensors", "@/m14/model.safetensors"));
}

static void a_checkpoint_of_another_network_is_refused(void) {
    CU_ASSERT_EQUAL(run(command_train, COMMON "--model resnet32 --steps 4 --model-dir @/m3 "
                                              "--checkpoint-dir @/c2"),
                    EXIT_CODE_DATA);
    ASSERT_CONTAINS(told, "holds resnet20, this run trains resnet32");
    CU_ASSERT_FALSE(is_there("@/m3/model.safetensors"));
}

/* --resume none, --resume PATH, --init: where the weights of the first step come from. */
static void a_run_begins_where_it_is_asked_to(void) {
    double first, taken;
    CU_ASSERT_EQUAL(run(command_train, COMMON "--steps 4 --validation none --resume none "
                                              "--model-dir @/m3 --checkpoint-dir @/c2"),
                    0);
    CU_ASSERT_EQUAL(count(out, "train step="), 4);
    CU_ASSERT_EQUAL(count(out, "eval "), 0);
    ASSERT_CONTAINS(told, "holds a checkpoint of step 4 of an earlier run");
    first = number_in("train step=1 ", " loss=");
    CU_ASSERT_EQUAL(run(command_train, COMMON "--steps 1 --validation none --init "
                                              "@/m/model.safetensors --model-dir @/m4 "
                                              "--checkpoint-dir @/c4"),
                    0);
    ASSERT_CONTAINS(told, "initial weights from ");
    taken = number_in("train step=1 ", " loss=");
    CU_ASSERT_NOT_EQUAL(first, taken);
    CU_ASSERT_EQUAL(run(command_train, COMMON "--steps 4 --validation none --resume "
                                              "@/c/step-000000002.safetensors --model-dir @/m5 "
                                              "--checkpoint-dir @/c5"),
                    0);
    CU_ASSERT_EQUAL(count(out, "train step="), 2);
    CU_ASSERT(same_bytes("@/m/model.safetensors", "@/m5/model.safetensors"));
    CU_ASSERT_EQUAL(run(command_train, COMMON "--steps 4 --resume @/none --model-dir @/m6 "
                                              "--checkpoint-dir @/c6"),
                    EXIT_CODE_DATA);
    ASSERT_CONTAINS(told, "/none");
}

/* Reports and evaluations at the distances that are asked for. */
static void distances_are_kept(void) {
    CU_ASSERT_EQUAL(run(command_train,
                        COMMON "--report-every 3 --epochs 3 --eval-every 2 --accumulate 2 "
                               "--model-dir @/m7 --checkpoint-dir @/c7"),
                    0);
    /* Two steps of twice eight an epoch. */
    CU_ASSERT_EQUAL(count(out, "train step="), 4);
    CU_ASSERT_EQUAL(number_in("train step=3 ", " epoch="), 1.5);
    CU_ASSERT_EQUAL(number_in("train step=6 ", " epoch="), 3);
    CU_ASSERT_EQUAL(count(out, "eval epoch="), 2);
    CU_ASSERT_EQUAL(count(out, "eval epoch=2 "), 1);
    CU_ASSERT_EQUAL(count(out, "eval epoch=3 "), 1);
    CU_ASSERT_EQUAL(count(told, "checkpoint "), 3); /* one an epoch */
    CU_ASSERT(is_there("@/c7/step-000000004.safetensors"));
    CU_ASSERT(is_there("@/c7/step-000000006.safetensors"));
    CU_ASSERT_EQUAL(run(command_train, COMMON "--epochs 2 --eval-every 0 --accumulate 2 "
                                              "--model-dir @/m7 --checkpoint-dir @/c13"),
                    0);
    CU_ASSERT_EQUAL(count(out, "eval epoch="), 1);
    CU_ASSERT_EQUAL(count(out, "eval epoch=2 "), 1);
}

static void people_get_a_table_and_curves(void) {
    char folder[600];
    int events = 0;
    CU_ASSERT_EQUAL(run(command_train, COMMON "--log both --steps 2 --validation none "
                                              "--tensorboard-dir @/t --model-dir @/m10 "
                                              "--checkpoint-dir @/c10"),
                    0);
    ASSERT_CONTAINS(out, "Step");
    ASSERT_CONTAINS(out, " FinLoss       LR Top-1 %\n");
    CU_ASSERT_EQUAL(count(out, "train step="), 2);
    DIR *dir = opendir(in_folder("@/t/train", folder));
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    for (const struct dirent *item = readdir(dir); item != NULL; item = readdir(dir))
        events += strstr(item->d_name, "tfevents") != NULL;
    closedir(dir);
    CU_ASSERT_EQUAL(events, 1);
}

static void a_stop_leaves_a_checkpoint_and_no_model(void) {
    int ends[2];
    char seen[4096] = "";
    size_t size = 0;
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    pid_t child = start(command_train,
                        COMMON "--steps 1000000 --model-dir @/m8 --checkpoint-dir @/c8 "
                               "--checkpoint-every 0 --eval-every 0 --epochs 1000000",
                        ends[1]);
    close(ends[1]);
    while (strstr(seen, "train step=2 ") == NULL && size + 1 < sizeof(seen)) {
        ssize_t got = read(ends[0], seen + size, sizeof(seen) - 1 - size);
        CU_ASSERT_FATAL(got > 0);
        size += (size_t)got;
        seen[size] = '\0';
    }
    CU_ASSERT_EQUAL(kill(child, SIGTERM), 0);
    while (read(ends[0], seen, sizeof(seen)) > 0)
        continue;
    close(ends[0]);
    CU_ASSERT_EQUAL(code_of(child), 143);
    CU_ASSERT_FALSE(is_there("@/m8/model.safetensors"));
    cleanup_safetensors struct safetensors file = {0};
    struct checkpoint_position position = {0};
    struct error err = {0};
    bool found = false;
    char folder[600];
    CU_ASSERT_EQUAL(
        checkpoint_find(in_folder("@/c8", folder), NULL, &file, &position, &found, NULL, &err), 0);
    CU_ASSERT(found && position.step >= 2);
}

static void words_that_are_wrong_are_refused_before_anything_is_made(void) {
    CU_ASSERT_EQUAL(run(command_train, COMMON "--steps many --model-dir @/m9"), EXIT_CODE_USAGE);
    ASSERT_CONTAINS(told, "--steps");
    CU_ASSERT_EQUAL(
        run(command_train, COMMON "--data @/nothing --model-dir @/m9 --checkpoint-dir @/c9"),
        EXIT_CODE_DATA);
    ASSERT_CONTAINS(told, "/nothing");
    CU_ASSERT_FALSE(is_there("@/m9/model.safetensors"));
}

/* Either of a job's two folders may be in use by another job. */
static void a_folder_that_another_job_writes_to_is_refused(void) {
    static const char *const rows[][2] = {{"@/m12", "--model-dir"}, {"@/c12", "--checkpoint-dir"}};
    for (size_t i = 0; i < 2; i++) {
        struct folder_lock lock = {0};
        struct error err = {0};
        char folder[600], holder[FOLDER_LOCK_TEXT];
        bool taken = false;
        CU_ASSERT_EQUAL_FATAL(file_make_dirs(in_folder(rows[i][0], folder), &err), 0);
        CU_ASSERT_EQUAL(
            folder_lock_take(&lock, folder, "another\nsomebody else", holder, &taken, &err), 0);
        CU_ASSERT_FATAL(taken);
        CU_ASSERT_EQUAL(run(command_train, COMMON "--steps 1 --validation none --model-dir @/m12 "
                                                  "--checkpoint-dir @/c12"),
                        EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(told, rows[i][1]);
        ASSERT_CONTAINS(told, "another job is writing to");
        ASSERT_CONTAINS(told, "somebody else");
        CU_ASSERT_EQUAL(count(out, "train step="), 0);
        folder_lock_done(&lock);
    }
}

/* In this process, so that leak checkers see what is kept. */
static void a_command_gives_back_what_it_took(void) {
    static const char *const line[] = {"--model-dir", "@/m", "--data", "@/data", "--threads", "1"};
    char words[6][600], path[600], *argv[6];
    struct error err = {0};
    for (int i = 0; i < 6; i++)
        argv[i] = in_folder(line[i], words[i]);
    CU_ASSERT_EQUAL(printed_to(in_folder("@/out", path), command_eval, 6, argv, &err), 0);
    read_text("@/out", out);
    CU_ASSERT_EQUAL(number_in("eval epoch=1 ", " images="), 12);
}

UNIT_SUITE("command.command_train", UNIT(a_run_tells_steps_and_scores_and_leaves_a_model),
           UNIT(the_model_is_scored_as_the_run_scored_it),
           UNIT(the_model_says_what_it_sees_in_pictures), UNIT(a_command_gives_back_what_it_took),
           UNIT(a_run_in_two_parts_is_the_same_to_the_bit), UNIT(a_run_that_is_done_only_evaluates),
           UNIT(a_stop_during_the_last_evaluation_takes_nothing_away),
           UNIT(a_checkpoint_of_another_network_is_refused),
           UNIT(a_run_begins_where_it_is_asked_to), UNIT(distances_are_kept),
           UNIT(people_get_a_table_and_curves), UNIT(a_stop_leaves_a_checkpoint_and_no_model),
           UNIT(words_that_are_wrong_are_refused_before_anything_is_made),
           UNIT(a_folder_that_another_job_writes_to_is_refused),
           UNIT(a_command_gives_back_what_it_took))

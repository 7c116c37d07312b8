/* Values of a command line: the layers of defaults, network, preset, recipe and flags.
 *
 * Layers are laid one after the other into the same struct, each over what is there: the table's
 * defaults, the network's settings, the optimizer's, the preset's, the recipe's, and the flags of
 * the command line. The line is therefore read twice: once to find out which network, recipe and so
 * on it names, with errors passed over, and once by flags_take, which reports them.
 *
 * A value that is overridden may leave another one that only made sense with it, such as a recipe's
 * milestones under another schedule. lift_overruled clears those last, unless the line gives them
 * as well. options_print repeats the layers, so that --help shows the defaults that a run would
 * have. */
#include "common/str.h"
#include "common/text/wrap.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/options/flag_print.h"
#include "trainer/app/options/help_group.h"
#include "trainer/app/options/options.h"
#include "trainer/app/options/recipe.h"
#include "trainer/optim/schedule.h"

#include <stddef.h>
#include <string.h>

enum { ROWS_MAX = 64 }; /* of a group, with one a task */

/* Returns the last value that ARGV gives for the flag NAME, or NULL. The table is searched anew for
 * every question; a command line is parsed once, so this does not matter. */
static const char *given(unsigned command, const char *name, int argc, char *const *argv) {
    size_t count = 0;
    const struct flag *flags = options_flags(&count);
    return flags_given(flags, count, command, name, argc, argv);
}

static bool known(unsigned command, const char *name) {
    size_t count = 0;
    const struct flag *flags = options_flags(&count);
    return flags_known(flags, count, command, name);
}

static int set(struct options *o, unsigned command, const char *name, const char *value,
               struct error *err) {
    size_t count = 0;
    const struct flag *flags = options_flags(&count);
    return flags_set(flags, count, command, name, value, o, err);
}

/* Finds --model in a command line that may have a recipe. Returns NULL if the command takes none or
 * the name is unknown: an unknown name is no error here, and has no settings. */
static const struct model *model_of(unsigned command, const struct recipe *recipe, int argc,
                                    char *const *argv) {
    const char *name = given(command, "model", argc, argv);
    if (name == NULL && recipe != NULL)
        name = recipe_value(recipe, "model");
    if (name == NULL && (command & (COMMAND_TRAIN | COMMAND_PLAN)) != 0)
        name = OPTIONS_MODEL;
    return name == NULL ? NULL : model_find(name);
}

/* Sets all SETTINGS, which end with flag NULL; NULL has none. COMMAND must have each of the
 * flags. */
static int lay(struct options *o, unsigned command, const struct model_setting *settings,
               struct error *err) {
    for (; settings != NULL && settings->flag != NULL; settings++)
        if (set(o, command, settings->flag, settings->value, err) != 0)
            return -1;
    return 0;
}

/* Evaluations and predictions do not have all flags that a network sets for its training, so
 * unknown ones are passed over. ARGV is consulted for each, as the line has been parsed before the
 * network was read from its file. */
int options_suit(struct options *o, unsigned command, const struct model *model, int argc,
                 char *const *argv, struct error *err) {
    for (const struct model_setting *s = model->settings; s != NULL && s->flag != NULL; s++)
        if (known(command, s->flag) && given(command, s->flag, argc, argv) == NULL &&
            set(o, command, s->flag, s->value, err) != 0)
            return -1;
    return 0;
}

/* What lies between the defaults and the command line; each NULL if there is none. */
struct layers {
    const struct recipe *recipe;
    const struct model *model;
    const struct model_setting *optimizer, *preset;
};

/* Returns the value of the flag NAME on the command line, or that of RECIPE, or NULL. */
static const char *chosen(unsigned command, const struct recipe *recipe, const char *name, int argc,
                          char *const *argv) {
    const char *value = given(command, name, argc, argv);
    return value == NULL && recipe != NULL ? recipe_value(recipe, name) : value;
}

/* Finds the layers that the line names. An unknown preset or optimizer has no layer here;
 * flags_take refuses the name afterwards, as it is none of the choices. */
static struct layers layers_of(unsigned command, const struct recipe *recipe, int argc,
                               char *const *argv) {
    const char *preset = chosen(command, recipe, "preset", argc, argv);
    const char *optimizer = chosen(command, recipe, "optimizer", argc, argv);
    return (struct layers){
        .recipe = recipe,
        .model = model_of(command, recipe, argc, argv),
        .optimizer = optimizer == NULL ? NULL : recipe_of_optimizer(optimizer),
        .preset = preset == NULL ? NULL : recipe_of_preset(preset),
    };
}

/* Fills O with all layers below the command line. Only a training has an optimizer and a preset of
 * its own to lay; other commands take the network's settings as far as they have such flags. */
static int lay_defaults(struct options *o, unsigned command, const struct layers *layers,
                        struct error *err) {
    size_t count = 0;
    const struct flag *flags = options_flags(&count);
    const struct model *model = layers->model;
    *o = (struct options){0};
    if (flags_defaults(flags, count, o, err) != 0)
        return -1;
    if (command == COMMAND_TRAIN && model != NULL && lay(o, command, model->settings, err) != 0)
        return -1;
    if (command != COMMAND_TRAIN && model != NULL &&
        options_suit(o, command, model, 0, NULL, err) != 0)
        return -1;
    if (command == COMMAND_TRAIN &&
        (lay(o, command, layers->optimizer, err) != 0 || lay(o, command, layers->preset, err) != 0))
        return -1;
    return layers->recipe != NULL ? lay(o, command, layers->recipe->settings, err) : 0;
}

int options_without_flags(struct options *ret, unsigned command, const struct options *o,
                          struct error *err) {
    const struct layers layers = {
        .recipe = o->recipe != NULL ? recipe_need(o->recipe, err) : NULL,
        .model = model_find(o->model),
        .optimizer = recipe_of_optimizer(options_optimizer_name(o->optimizer)),
        .preset = recipe_of_preset(options_preset_name(o->preset)),
    };
    if (o->recipe != NULL && layers.recipe == NULL)
        return -1;
    return lay_defaults(ret, command, &layers, err);
}

/* A schedule of the command line clears what its recipe says for another one: milestones, a final
 * rate that only poly2 and cosine have, and the warm-up before one-cycle, which begins with a rise
 * of its own. */
static void lift_schedule(struct options *o, unsigned command, int argc, char *const *argv) {
    if (given(command, "schedule", argc, argv) == NULL)
        return;
    if (given(command, "milestones", argc, argv) == NULL && o->schedule != SCHEDULE_MILESTONES)
        o->milestones = NULL;
    if (given(command, "lr-end", argc, argv) == NULL && o->schedule != SCHEDULE_POLY2 &&
        o->schedule != SCHEDULE_COSINE)
        o->lr_end = 0;
    if (o->schedule != SCHEDULE_ONE_CYCLE)
        return;
    if (given(command, "warmup-epochs", argc, argv) == NULL)
        o->warmup_epochs = 0;
    if (given(command, "warmup-steps", argc, argv) == NULL)
        o->warmup_steps = 0;
}

/* A flag of the command line also clears a setting that a recipe or a preset gives for the same
 * thing (--warmup-epochs clears warmup-steps). Steps take precedence over epochs in
 * run/learning_rate.c, so a user's --epochs would have no effect beside a recipe's steps. Without
 * any warm-up left, its starting rate has no meaning and is cleared as well. */
static void lift_overruled(struct options *o, unsigned command, int argc, char *const *argv) {
    lift_schedule(o, command, argc, argv);
    if (given(command, "warmup-epochs", argc, argv) != NULL &&
        given(command, "warmup-steps", argc, argv) == NULL)
        o->warmup_steps = 0;
    if (o->warmup_steps == 0 && o->warmup_epochs <= 0 &&
        given(command, "warmup-from", argc, argv) == NULL)
        o->warmup_from = 0;
    if (o->warmup_steps == 0 && o->warmup_epochs <= 0 &&
        given(command, "warmup-lr", argc, argv) == NULL)
        o->warmup_lr = 0;
    if (given(command, "warmup-from", argc, argv) != NULL &&
        given(command, "warmup-lr", argc, argv) == NULL)
        o->warmup_lr = 0;
    if (given(command, "epochs", argc, argv) != NULL && given(command, "steps", argc, argv) == NULL)
        o->steps = 0;
}

/* Leaves the rate to the rule that RECIPE has for the images a step, if it has one. The rule counts
 * only while the line says nothing about rate or optimizer, and separately for the warm-up. The
 * number of images is known later, when all ranks are connected (run/learning_rate.c). */
static void follow_recipe(struct options *o, unsigned command, const struct recipe *recipe,
                          int argc, char *const *argv) {
    const bool rate = given(command, "lr", argc, argv) == NULL &&
                      given(command, "lr-batch", argc, argv) == NULL &&
                      given(command, "optimizer", argc, argv) == NULL;
    const bool warmup = given(command, "warmup-epochs", argc, argv) == NULL &&
                        given(command, "warmup-steps", argc, argv) == NULL && o->warmup_epochs > 0;
    o->lr_by_batch = rate ? recipe->rates : NULL;
    o->warmup_by_batch = warmup ? recipe->rates : NULL;
    o->lr_images = rate && o->lr_batch == 0 && recipe->rates == NULL ? recipe->images : 0;
}

/* A row for one task is found by the line's flag, not by its value: a flag of another task is
 * refused even with its default. */
int options_fit(unsigned command, const struct model *model, int argc, char *const *argv,
                struct error *err) {
    size_t count = 0;
    const struct flag *flags = options_flags(&count);
    const struct flag *f = flags_foreign(flags, count, command, model->task, argc, argv);
    if (f == NULL)
        return 0;
    return error_set(
        err, EXIT_CODE_USAGE, "--%s does not apply to %s: it is for networks that %s (%s)", f->name,
        model->name, model_task_name((enum model_task)f->tasks),
        model_names(f->tasks)[0] != '\0' ? model_names(f->tasks) : "there is none here");
}

int options_parse(struct options *o, unsigned command, int argc, char *const *argv,
                  struct error *err) {
    size_t count = 0;
    const struct flag *flags = options_flags(&count);
    const struct recipe *recipe = NULL;
    const char *name = given(command, "recipe", argc, argv);
    if (name != NULL && (recipe = recipe_need(name, err)) == NULL)
        return -1;
    const struct layers layers = layers_of(command, recipe, argc, argv);
    const struct model *model = layers.model;
    if (lay_defaults(o, command, &layers, err) != 0 ||
        flags_take(flags, count, command, argc, argv, o, err) != 0)
        return -1;
    /* The values are complete from here on: ARGV only tells a user's value from a recipe's. */
    lift_overruled(o, command, argc, argv);
    if (recipe != NULL)
        follow_recipe(o, command, recipe, argc, argv);
    if (model == NULL)
        return 0;
    if (recipe != NULL && (recipe->tasks & model->task) == 0)
        return error_set(err, EXIT_CODE_USAGE,
                         "--recipe %s does not apply to %s: it is for networks that %s (%s)",
                         recipe->name, model->name, model_task_name((enum model_task)recipe->tasks),
                         model_names(recipe->tasks));
    return options_fit(command, model, argc, argv, err);
}

/* The tasks of all networks in this build. */
static unsigned tasks_here(void) {
    unsigned tasks = 0;
    for (unsigned task = MODEL_CLASSIFY; task <= MODEL_DETECT; task *= 2)
        tasks |= model_names(task)[0] != '\0' ? task : 0;
    return tasks;
}

/* Flags that matter to CUDA alone say so first. */
static bool is_for_cuda(const struct flag *f) {
    return str_starts_with(f->help, "cuda");
}

/* Copies the rows named NAME that are to be shown to SHOWN, which has COUNT of them; returns how
 * many there are then. The copies let flags_print walk a group in its own order; rows of one flag
 * stay adjacent. */
static size_t add_rows(struct flag shown[ROWS_MAX], size_t count, const char *name, bool cuda) {
    size_t all = 0;
    const struct flag *flags = options_flags(&all);
    for (size_t i = 0; i < all && count < ROWS_MAX; i++)
        if (strcmp(flags[i].name, name) == 0 && (cuda || !is_for_cuda(&flags[i])))
            shown[count++] = flags[i];
    return count;
}

static bool is_shown(const struct flag *flags, size_t count, unsigned command, unsigned tasks) {
    for (size_t i = 0; i < count; i++)
        if ((flags[i].commands & command) != 0 &&
            (flags[i].tasks == 0 || (flags[i].tasks & tasks) != 0))
            return true;
    return false;
}

/* Prints the flags, each group under its title; without CUDA those for it are left out, which the
 * last line says. */
static void print_flags(FILE *out, unsigned command, unsigned tasks, const void *from, bool cuda) {
    size_t count = 0;
    const char *blank = "";
    const struct help_group *groups = help_groups(&count);
    for (size_t i = 0; i < count; i++) {
        struct flag shown[ROWS_MAX];
        size_t rows = 0;
        for (size_t k = 0; groups[i].flags[k] != NULL; k++)
            rows = add_rows(shown, rows, groups[i].flags[k], cuda);
        if (!is_shown(shown, rows, command, tasks))
            continue;
        fprintf(out, "%s%s:\n", blank, groups[i].title);
        flags_print(out, shown, rows, command, tasks, from);
        blank = "\n";
    }
    if (!cuda)
        wrap_printf(out, "\nFlags for GPUs are not listed: this build is without CUDA.\n");
}

void options_print(FILE *out, unsigned command, int argc, char *const *argv, bool cuda) {
    struct options o;
    const char *name = given(command, "recipe", argc, argv);
    const struct recipe *recipe = name != NULL ? recipe_need(name, NULL) : NULL;
    const struct layers layers = layers_of(command, recipe, argc, argv);
    const struct model *model = layers.model;
    bool told = recipe != NULL || given(command, "model", argc, argv) != NULL;
    unsigned tasks = told && model != NULL ? model->task : 0;
    if ((command & (COMMAND_TRAIN | COMMAND_PLAN)) != 0)
        wrap_printf(out, "models: %s\n\n",
                    model_names(tasks != 0 ? tasks : (MODEL_CLASSIFY | MODEL_DETECT)));
    /* Without a network or recipe on the line no task is known, so no defaults of one can be shown:
     * the table's own stand there then. A recipe that cannot be read counts as none. */
    if (tasks != 0 && lay_defaults(&o, command, &layers, NULL) == 0)
        print_flags(out, command, tasks, &o, cuda);
    else
        print_flags(out, command, tasks_here(), NULL, cuda);
    if (command != COMMAND_TRAIN)
        return;
    fprintf(out, "\nrecipes:\n");
    recipe_print(out, tasks != 0 ? tasks : (MODEL_CLASSIFY | MODEL_DETECT));
}

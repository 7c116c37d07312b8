#include "trainer/app/options/recipe_file.h"

#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/app/options/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[32], path[64];

static void write_recipe(const char *text) {
    struct error err = {0};
    (void)snprintf(folder, sizeof(folder), "/tmp/recipe-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/a.recipe", folder);
    CU_ASSERT_EQUAL_FATAL(file_put(path, text, strlen(text), 0644, &err), 0);
}

static void forget(void) {
    (void)unlink(path);
    (void)rmdir(folder);
}

static void flags_override_defaults_and_are_overridden(void) {
    struct options o;
    struct error err = {0};
    write_recipe(
        "# a recipe\n--model resnet18\n  --lr=0.5   # why\n\n--warmup_epochs 2\n--momentum 0.8");
    const char *const argv[] = {"--recipe", path, "--momentum", "0.7"};
    CU_ASSERT_EQUAL_FATAL(options_parse(&o, COMMAND_TRAIN, 4, (char *const *)argv, &err), 0);
    CU_ASSERT_STRING_EQUAL(o.model, "resnet18");
    CU_ASSERT_DOUBLE_EQUAL(o.lr, 0.5, 0);
    CU_ASSERT_DOUBLE_EQUAL(o.warmup_epochs, 2, 0);
    CU_ASSERT_DOUBLE_EQUAL(o.momentum, 0.7, 0);
    forget();
}

static void bad_lines_are_named(void) {
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"lr 0.1\n", "line 1: expected --flag value"},
        {"# a\n--lrr 0.1\n", "line 2: no flag"},
        {"--recipe goyal\n", "line 1: no flag"},
        {"--lr\n", "line 1: the flag has no value"},
        {"--lr 1\n--lr 2\n", "line 2: the flag appears twice"},
        {"# nothing\n", "it has no flags"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {0};
        write_recipe(cases[i].text);
        CU_ASSERT_PTR_NULL(recipe_file_read(path, &err));
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].said));
        forget();
    }
}

static void a_wrong_value_is_an_error_of_its_flag(void) {
    struct options o;
    struct error err = {0};
    write_recipe("--lr fast\n");
    const char *const argv[] = {"--recipe", path};
    CU_ASSERT_EQUAL(options_parse(&o, COMMAND_TRAIN, 2, (char *const *)argv, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "--lr"));
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    forget();
}

static void names_are_no_files(void) {
    struct error err = {0};
    CU_ASSERT_FALSE(recipe_file_is("imagenet-90"));
    CU_ASSERT_TRUE(recipe_file_is("./best"));
    CU_ASSERT_TRUE(recipe_file_is("best.recipe"));
    CU_ASSERT_PTR_NULL(recipe_file_read("/nonexistent/best.recipe", &err));
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
}

UNIT_SUITE("trainer.app.options.recipe_file", UNIT(flags_override_defaults_and_are_overridden),
           UNIT(bad_lines_are_named), UNIT(a_wrong_value_is_an_error_of_its_flag),
           UNIT(names_are_no_files))

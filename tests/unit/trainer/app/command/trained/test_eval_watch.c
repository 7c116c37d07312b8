/* Which flags can be combined and which cannot. tests/train/test_eval_watch.sh tests what a watch
 * does. */
#include "trainer/app/command/trained/eval_watch.h"

#include "tests/support/unit.h"

static void flags_that_do_not_go_together_are_named(void) {
    static const struct {
        struct options options;
        const char *says;
    } rows[] = {
        {{.tensorboard_dir = "t", .model_dir = "m"}, "--tensorboard-dir needs --watch"},
        {{.watch = "w", .model_dir = "m"}, "--watch and --model-dir"},
        {{.watch = "w", .watch_patience = "5"}, "--watch-patience: '5' is not a time"},
        {{.watch = "w", .watch_patience = "0s"}, "--watch-patience: '0s' is not a time"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct options o = rows[i].options;
        struct error err = {0};
        if (o.watch_patience == NULL)
            o.watch_patience = "2h";
        CU_ASSERT_EQUAL(eval_watch_check(&o, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        ASSERT_CONTAINS(err.text, rows[i].says);
    }
}

static void flags_that_go_together_are_taken(void) {
    static const struct options rows[] = {
        {.model_dir = "m", .watch_patience = "2h"},
        {.watch = "w", .watch_patience = "45s"},
        {.watch = "w", .watch_patience = "30m", .tensorboard_dir = "t"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(eval_watch_check(&rows[i], &err), 0);
    }
}

UNIT_SUITE("app.eval_watch", UNIT(flags_that_do_not_go_together_are_named),
           UNIT(flags_that_go_together_are_taken))

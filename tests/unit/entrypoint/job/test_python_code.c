#include "entrypoint/job/python_code.h"

#include "common/text/redact.h"
#include "tests/support/tree.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void put(const char *folder, const char *name, const char *text) {
    tree_put(unit_temp_dir(), folder, name, text);
}

static struct python_code look(const char *folder) {
    char path[4400];
    struct python_code code = {.package = true};
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), folder);
    CU_ASSERT_EQUAL(python_code_look(path, &code, NULL), 0);
    return code;
}

static void what_cannot_be_read_is_not_missing(void) {
    char path[4400], below[4500];
    struct error err = {0};
    struct python_code code;
    put("hidden", "train.py", "");
    (void)snprintf(path, sizeof(path), "%s/hidden", unit_temp_dir());
    (void)snprintf(below, sizeof(below), "%s/requirements.txt", path);
    CU_ASSERT_EQUAL_FATAL(symlink("requirements.txt", below), 0); /* leads to itself */
    CU_ASSERT_EQUAL(python_code_look(path, &code, &err), -1);
    CU_ASSERT(err.code == EXIT_CODE_CONFIG && err.os_errno == ELOOP);
    ASSERT_CONTAINS(err.text, below);
    CU_ASSERT_EQUAL_FATAL(unlink(below), 0);
    (void)snprintf(below, sizeof(below), "%s/pyproject.toml", path);
    CU_ASSERT_EQUAL_FATAL(symlink("pyproject.toml", below), 0);
    CU_ASSERT_EQUAL(python_code_look(path, &code, &err), -1);
    ASSERT_CONTAINS(err.text, below);
}

static void a_folder_tells_what_it_asks_for(void) {
    put("plain", "train.py", "");
    put("needs", "requirements.txt", "torch\n");
    put("package", "setup.py", "");
    put("new", "pyproject.toml", "[project]\nname = 'x'\n[build-system]\nrequires = []\n");
    put("tools", "pyproject.toml", "[tool.ruff]\n# [build-system] is elsewhere\n");
    CU_ASSERT_FALSE(look("plain").package || look("plain").requirements);
    CU_ASSERT_FALSE(look("absent").package || look("absent").requirements);
    CU_ASSERT_TRUE(look("needs").requirements && !look("needs").package);
    CU_ASSERT_TRUE(look("package").package && !look("package").requirements);
    CU_ASSERT_TRUE(look("new").package);
    CU_ASSERT_FALSE(look("tools").package);
}

static void a_name_is_a_module_or_none(void) {
    static const struct {
        const char *name;
        const char *module; /* NULL: none */
    } cases[] = {{"train.py", "train"},
                 {"train", "train"},
                 {"tool.train", "tool.train"},
                 {"tool.train.py", "tool.train"},
                 {"_x1", "_x1"},
                 {"a/b.py", NULL},
                 {"", NULL},
                 {".py", NULL},
                 {"a..b", NULL},
                 {"-c", NULL},
                 {"1a", NULL},
                 {"a.", NULL},
                 {"a b", NULL},
                 {"käse", NULL}};
    char module[PYTHON_MODULE_MAX];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool is = python_code_module(cases[i].name, module);
        CU_ASSERT_EQUAL(is, cases[i].module != NULL);
        if (is && cases[i].module != NULL)
            CU_ASSERT_STRING_EQUAL(module, cases[i].module);
    }
    char longest[PYTHON_MODULE_MAX + 1];
    memset(longest, 'a', sizeof(longest));
    longest[PYTHON_MODULE_MAX] = '\0';
    CU_ASSERT_FALSE(python_code_module(longest, module));
    longest[PYTHON_MODULE_MAX - 1] = '\0';
    CU_ASSERT_TRUE(python_code_module(longest, module));
}

static void pip_is_told_of_both(void) {
    static const struct python_code both = {.requirements = true, .package = true};
    static const char *const expected[] = {"/bin/python3",
                                           "-m",
                                           "pip",
                                           "install",
                                           "--no-input",
                                           "--disable-pip-version-check",
                                           "--no-color",
                                           "--progress-bar",
                                           "off",
                                           "--upgrade",
                                           "/c",
                                           "-r",
                                           "/c/requirements.txt"};
    struct argv words = {0};
    CU_ASSERT_EQUAL(python_code_pip("/bin/python3", "/c", &both, &words, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(words.count, sizeof(expected) / sizeof(expected[0]));
    for (size_t i = 0; i < words.count; i++)
        CU_ASSERT_STRING_EQUAL(words.items[i], expected[i]);
    argv_done(&words);
}

static void secrets_of_addresses_are_blotted_out(void) {
    char folder[4400];
    char index[] = "PIP_INDEX_URL=https://user:canary-one@h/simple";
    char other[] = "UV_INDEX=https://canary-two@h/p?x=@y";
    char plain[] = "HOME=https://user:canary-home@h/";
    char *environment[] = {index, other, plain, NULL};
    struct buf out;
    put("secret", "requirements.txt",
        "a @ https://u:canary:three@h/a.whl\n--find-links "
        "\"https://token-four@h\"\nhttps://h/x@y\n");
    (void)snprintf(folder, sizeof(folder), "%s/secret", unit_temp_dir());
    CU_ASSERT_EQUAL(python_code_redact(folder, environment, NULL), 0);
    buf_init(&out, 1024);
    CU_ASSERT_EQUAL(
        redact_text(&out, "canary-one canary-two canary:three token-four canary-home h/x@y", NULL),
        0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), "*** *** *** *** canary-home h/x@y");
    buf_done(&out);
    redact_done();
}

static void a_secret_that_is_too_long_is_an_error(void) {
    char index[1200] = "PIP_INDEX_URL=https://user:";
    char *environment[] = {index, NULL};
    struct error err = {0};
    const size_t begin = strlen(index);
    memset(index + begin, 's', 1100);
    (void)snprintf(index + begin + 1100, sizeof(index) - begin - 1100, "@h/simple");
    CU_ASSERT_EQUAL(python_code_redact(unit_temp_dir(), environment, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "the user or password in the URL of a package index has 1100 "
                                     "bytes; expected at most 1023");
    redact_done();
}

UNIT_SUITE("job.python_code", UNIT(a_folder_tells_what_it_asks_for),
           UNIT(what_cannot_be_read_is_not_missing), UNIT(a_name_is_a_module_or_none),
           UNIT(pip_is_told_of_both), UNIT(secrets_of_addresses_are_blotted_out),
           UNIT(a_secret_that_is_too_long_is_an_error))

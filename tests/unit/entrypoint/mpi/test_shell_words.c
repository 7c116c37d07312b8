#include "entrypoint/mpi/shell_words.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

static int split(const char *text, struct shell_words *ret, struct error *err) {
    return shell_words_split(text, strlen(text), ret, err);
}

/* Splits TEXT and compares the words, joined with '|'. */
static void expect(const char *text, const char *joined) {
    cleanup_shell_words struct shell_words words = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(split(text, &words, &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    char got[1024] = {0};
    for (size_t i = 0; i < words.count; i++) {
        strncat(got, i > 0 ? "|" : "", sizeof(got) - strlen(got) - 1);
        strncat(got, words.items[i], sizeof(got) - strlen(got) - 1);
    }
    CU_ASSERT_STRING_EQUAL(got, joined);
}

static void words_are_bare_or_quoted(void) {
    expect("orted", "orted");
    expect("  orted   -mca  ess \"env\" ", "orted|-mca|ess|env");
    expect(" orted --mca orte_hnp_uri \"1.0;tcp://10.0.0.1:7071\"",
           "orted|--mca|orte_hnp_uri|1.0;tcp://10.0.0.1:7071");
    expect("orted \"\"", "orted|");
}

static void settings_of_paths_are_dropped(void) {
    expect("PRTE_PREFIX=/usr;export PRTE_PREFIX;LD_LIBRARY_PATH=/usr/lib:$LD_LIBRARY_PATH;export "
           "LD_LIBRARY_PATH;DYLD_LIBRARY_PATH=/usr/lib:$DYLD_LIBRARY_PATH;export "
           "DYLD_LIBRARY_PATH;/usr/bin/prted --daemonize",
           "/usr/bin/prted|--daemonize");
    expect("PATH=/usr/bin:$PATH ; export PATH ; LD_LIBRARY_PATH=/usr/lib:${LD_LIBRARY_PATH:-} ; "
           "export LD_LIBRARY_PATH ;   /usr/bin/orted -mca",
           "/usr/bin/orted|-mca");
}

static void words_of_frame_and_settings_are_whole_words(void) {
    static const char *const bad[] = {
        "( testx ! -r ./.profile || . ./.profile; orted )",
        "( test ! -rx ./.profile || . ./.profile; orted )",
        "( test ! -r ./.profiles || . ./.profile; orted )",
        "PRTE_PREFIX=/usr;exportPRTE_PREFIX;orted",
        "PRTE_PREFIX=/usr;export PRTE_PREFIXES;orted",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cleanup_shell_words struct shell_words words = {0};
        struct error err = {0};
        CU_ASSERT_EQUAL(split(bad[i], &words, &err), -1);
        ASSERT_CONTAINS(err.text, "refused");
    }
}

static void the_frame_of_a_login_shell_is_dropped(void) {
    expect("( test ! -r ./.profile || . ./.profile; orted -mca ess \"env\" )",
           "orted|-mca|ess|env");
    expect("( test ! -r ./.profile || . ./.profile; PRTE_PREFIX=/usr;export PRTE_PREFIX;"
           "/usr/bin/prted --daemonize )",
           "/usr/bin/prted|--daemonize");
}

static void whatever_a_shell_would_act_on_is_refused(void) {
    static const char *const bad[] = {"",
                                      "   ",
                                      "orted; id",
                                      "orted ;id",
                                      "orted | id",
                                      "orted && id",
                                      "orted & id",
                                      "orted `id`",
                                      "orted $(id)",
                                      "orted $HOME",
                                      "orted \"$HOME\"",
                                      "orted \"`id`\"",
                                      "orted > /tmp/x",
                                      "orted < /tmp/x",
                                      "orted 'a'",
                                      "orted a\\ b",
                                      "orted \"a\\\"b\"",
                                      "orted *",
                                      "orted ?",
                                      "orted ~",
                                      "orted #",
                                      "orted {a,b}",
                                      "orted (a)",
                                      "orted \"a",
                                      "orted a\"b\"",
                                      "orted \"a\"b",
                                      "orted \"a\"\"b\"",
                                      "orted\tid",
                                      "orted\nid",
                                      "orted \"a\nb\"",
                                      "orted \"a b\"",
                                      "orted \x80",
                                      "orted \"\xc3\xa9\"",
                                      "orted \x01",
                                      "( orted )",
                                      "( test ! -r ./.profile || . ./.profile; orted",
                                      "( test ! -r ./.profile || . /tmp/evil; orted )",
                                      "( test ! -r ./.profile || . ./.profile; orted ) ; id",
                                      "orted )",
                                      "LD_PRELOAD=/tmp/x.so;export LD_PRELOAD;orted",
                                      "A=b orted $x",
                                      "LD_LIBRARY_PATH=$(id);export LD_LIBRARY_PATH;orted",
                                      "PATH=/x;id;export PATH;orted",
                                      "PATH=/x;export LD_PRELOAD;orted",
                                      "PATH=/x orted $x",
                                      "PATH=/x;export PATH",
                                      "PATH=\"/x\";export PATH;orted"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct shell_words words = {0};
        struct error err = {0};
        int done = split(bad[i], &words, &err);
        CU_ASSERT_EQUAL(done, -1);
        if (done == 0)
            printf("\nnot refused: %s\n", bad[i]);
        ASSERT_CONTAINS(err.text, "launch request refused");
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_INTERNAL);
        shell_words_done(&words);
    }
}

static void a_nul_and_too_much_are_refused(void) {
    struct shell_words words = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(shell_words_split("orted\0;id", 9, &words, &err), -1);
    char *text = malloc(GATE_COMMAND_MAX + 2);
    memset(text, 'a', GATE_COMMAND_MAX + 1);
    text[GATE_COMMAND_MAX + 1] = '\0';
    CU_ASSERT_EQUAL(split(text, &words, &err), -1);
    ASSERT_CONTAINS(err.text, "too long");
    for (size_t i = 1; i < GATE_COMMAND_MAX; i += 2)
        text[i] = ' ';
    CU_ASSERT_EQUAL(shell_words_split(text, 2 * SHELL_WORDS_MAX, &words, NULL), 0);
    CU_ASSERT_EQUAL(words.count, SHELL_WORDS_MAX);
    shell_words_done(&words);
    CU_ASSERT_EQUAL(shell_words_split(text, 2 * SHELL_WORDS_MAX + 1, &words, &err), -1);
    ASSERT_CONTAINS(err.text, "too many");
    free(text);
}

UNIT_SUITE("mpi.shell_words", UNIT(words_are_bare_or_quoted), UNIT(settings_of_paths_are_dropped),
           UNIT(words_of_frame_and_settings_are_whole_words),
           UNIT(the_frame_of_a_login_shell_is_dropped),
           UNIT(whatever_a_shell_would_act_on_is_refused), UNIT(a_nul_and_too_much_are_refused))

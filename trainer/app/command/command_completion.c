/* ringtrain completion: a script for bash, which asks ringtrain itself for commands, flags and
 * choices, so that it needs no list of its own. */
#include "trainer/app/command/command.h"
#include "trainer/app/command/output/output.h"

/* The help lists commands, flags, models and recipes in the form that the expressions below read:
 * "  NAME  TEXT", "  --NAME VALUE  TEXT" and "models: NAME, NAME". Where nothing fits, the list is
 * empty, and bash offers file names. */
static const char SCRIPT[] =
    "# bash completion for ringtrain\n"
    "_ringtrain() {\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} help words=\n"
    "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
    "        words=$(\"$1\" --help | sed -n '/^  ringtrain/d; /^exit codes/q; s/^  "
    "\\([a-z][a-z]*\\)  "
    ".*/\\1/p')\n"
    "    else\n"
    "        help=$(\"$1\" \"${COMP_WORDS[1]}\" --help 2>/dev/null)\n"
    "        case $word:$before in\n"
    "        -*) words=$(echo \"$help\" | sed -n 's/^  \\(--[a-z0-9-]*\\).*/\\1/p') ;;\n"
    "        *:--model) words=$(echo \"$help\" | sed -n '/^models: /,/^$/p' | sed 's/^models://' | "
    "tr -d ,) ;;\n"
    "        *:--recipe) words=$(echo \"$help\" | sed -n '/^recipes:/,/^$/s/^  \\([a-z0-9-]*\\) "
    ".*/\\1/p') ;;\n"
    "        *:--*) words=$(echo \"$help\" | sed -n \"s/^  $before \\([^ ]*|[^ ]*\\).*/\\1/p\" | "
    "tr "
    "'|' '\\n' | grep -x '[a-z0-9]*') ;;\n"
    "        esac\n"
    "    fi\n"
    "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
    "}\n"
    "complete -o default -F _ringtrain ringtrain\n";

int command_completion(int argc, char *const *argv, struct error *err) {
    if (argc > 0)
        return error_set(err, EXIT_CODE_USAGE,
                         "ringtrain completion takes no argument, got '%.64s'", argv[0]);
    return output_text(SCRIPT, err);
}

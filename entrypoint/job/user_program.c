#include "entrypoint/job/user_program.h"

#include "common/cleanup.h"
#include "common/str.h"
#include "entrypoint/job/download_sources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A program is found on every host before any host waits for another. What is missing in the image
 * is then the host's own error, with a shell's exit code (126, 127). Paths become absolute, as
 * ranks start in another folder.
 *
 * There are three ways. A program after "--" is taken as it is. sagemaker_program is an entry
 * point, which may need an interpreter or `python3 -m`. Without either, ringtrain runs. Only the
 * latter two get hyperparameters as flags.
 *
 * #! lines are read here instead of by the kernel. An entry point arrives from an archive or a
 * channel, often without the right to be executed, or in a folder mounted noexec. */

enum { INTERPRETER_MAX = 254 }; /* the kernel reads 256 bytes including the "#!" */

/* Folder of code that the SDK sends as a channel, below BASE. */
static const char code_channel[] = "input/data/code";
static const char default_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/* Also for a program that was found in part. */
void user_program_done(struct user_program *p) {
    argv_done(&p->argv);
    argv_done(&p->user_args);
    free(p->directory);
    free(p->root);
    free(p->entry_point);
    *p = (struct user_program){0};
}

/* --- finding files --------------------------------------------------------------------------- */

/* Links are followed. */
static bool is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* "DIRECTORY/NAME" as an absolute path, NULL when out of memory. DIRECTORY has SIZE bytes; an empty
 * or relative one is taken from the current folder. The caller frees the path. */
static char *join(const char *directory, size_t size, const char *name) {
    char *path = NULL;
    cleanup_free char *here = NULL;
    int printed = 0;
    if (size > 0 && directory[0] == '/') {
        printed = asprintf(&path, "%.*s/%s", (int)size, directory, name);
    } else {
        here = getcwd(NULL, 0);
        if (here == NULL)
            return NULL;
        printed = size > 0 ? asprintf(&path, "%s/%.*s/%s", here, (int)size, directory, name)
                           : asprintf(&path, "%s/%s", here, name);
    }
    return printed < 0 ? NULL : path;
}

/* Finds NAME in the folders of PATH: an executable, or with ANY_FILE any regular file. *RET is NULL
 * if there is none. An empty part of PATH is the current folder, as for a shell. */
static int search(const char *path, const char *name, bool any_file, char **ret,
                  struct error *err) {
    *ret = NULL;
    for (const char *at = path;;) {
        size_t size = strcspn(at, ":");
        cleanup_free char *candidate = join(at, size, name);
        if (candidate == NULL)
            return error_no_memory(err, "a path");
        if (is_file(candidate) && (any_file || access(candidate, X_OK) == 0)) {
            *ret = TAKE_PTR(candidate);
            return 0;
        }
        if (at[size] == '\0')
            return 0;
        at += size + 1;
    }
}

/* The advice is for scripts that lack the right to be executed, which is lost in many archives. */
static int check_executable(const char *path, struct error *err) {
    if (access(path, F_OK) != 0)
        return error_set_errno(err, EXIT_CODE_NOT_FOUND, "the program %s", path);
    if (!is_file(path))
        return error_set(err, EXIT_CODE_NOT_EXECUTABLE,
                         "the program %s is not a file; expected one that can be executed", path);
    if (access(path, X_OK) == 0)
        return 0;
    /* Advice for the two kinds of scripts that people name. */
    const char *by = str_ends_with(path, ".py")   ? "python3"
                     : str_ends_with(path, ".sh") ? "sh"
                                                  : NULL;
    if (by == NULL)
        return error_set_errno(err, EXIT_CODE_NOT_EXECUTABLE, "the program %s is not executable",
                               path);
    return error_set_errno(err, EXIT_CODE_NOT_EXECUTABLE,
                           "the program %s is not executable (start it by -- %s %s)", path, by,
                           path);
}

/* Without PATH the usual folders are searched, as a shell does. */
int user_program_find(const char *name, const char *path, char **ret, struct error *err) {
    *ret = NULL;
    if (name[0] == '\0')
        return error_set(err, EXIT_CODE_NOT_FOUND,
                         "the program's name is empty; expected a name, or a path with a slash");
    if (path == NULL)
        path = default_path;
    if (strchr(name, '/') == NULL) {
        if (search(path, name, false, ret, err) != 0)
            return -1;
        return *ret != NULL
                   ? 0
                   : error_set(err, EXIT_CODE_NOT_FOUND,
                               "the program \"%.128s\" is not in PATH (%.256s)", name, path);
    }
    cleanup_free char *found = name[0] == '/' ? strdup(name) : join("", 0, name);
    if (found == NULL)
        return error_no_memory(err, "a path");
    if (check_executable(found, err) != 0)
        return -1;
    *ret = TAKE_PTR(found);
    return 0;
}

/* Adds the path of the executable NAME. */
static int add_found(const struct user_program_inputs *in, const char *name, struct argv *ret,
                     struct error *err) {
    cleanup_free char *found = NULL;
    if (user_program_find(name, env_get(in->environment, "PATH"), &found, err) != 0)
        return -1;
    return argv_add(ret, found, err);
}

/* --- sagemaker_program ----------------------------------------------------------------------- */

/* The submitted folder; NULL if there is none. The content of an archive is already in BASE/code
 * (download_sources.h). As a path of this container, without a scheme before it. */
static const char *submitted(const struct user_program_inputs *in) {
    const char *submit = in->request->submit_directory;
    return submit == NULL || download_sources_is_archive(submit) ? NULL
                                                                 : download_sources_path(submit);
}

/* Finds the file of the entry point NAME. An absolute name is taken as it is, and looked at by
 * add_entry(). The places are in the order of user_program.h. */
static int find_entry(const struct user_program_inputs *in, const char *name, char **ret,
                      struct error *err) {
    const char *submit = submitted(in);
    const char *path = env_get(in->environment, "PATH");
    if (name[0] == '/') {
        *ret = strdup(name);
        return *ret != NULL ? 0 : error_no_memory(err, "a path");
    }
    /* Folders in the form of PATH; more than fits is an error and not cut. */
    char places[8192];
    int size = snprintf(places, sizeof(places), "%s%s%s/code:%s/%s:%s",
                        submit != NULL ? submit : "", submit != NULL ? ":" : "", in->base_dir,
                        in->base_dir, code_channel, path != NULL ? path : default_path);
    if (size < 0 || (size_t)size >= sizeof(places))
        return error_set(
            err, EXIT_CODE_CONFIG,
            "PATH or sagemaker_submit_directory is too long; expected less than %zu bytes of "
            "both",
            sizeof(places));
    if (search(places, name, true, ret, err) != 0)
        return -1;
    return *ret != NULL
               ? 0
               : error_set(err, EXIT_CODE_NOT_FOUND,
                           "sagemaker_program \"%.128s\" is in none of %.400s", name, places);
}

/* Reads the first line of PATH after "#!"; "" if the file does not begin with that. O_NONBLOCK
 * keeps a FIFO of that name from blocking the start. One byte more than the longest line is read,
 * to see whether it ends. */
static int read_interpreter(const char *path, char line[INTERPRETER_MAX + 1], struct error *err) {
    char text[INTERPRETER_MAX + 3];
    line[0] = '\0';
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t size = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
    if (size < 0)
        return error_set_errno(err, EXIT_CODE_NOT_EXECUTABLE, "the program %s", path);
    if (size < 2 || text[0] != '#' || text[1] != '!')
        return 0;
    const char *end = memchr(text, '\n', (size_t)size);
    if (end == NULL && size == (ssize_t)sizeof(text))
        return error_set(err, EXIT_CODE_NOT_EXECUTABLE,
                         "the program %s: its first line has more than %d bytes", path,
                         INTERPRETER_MAX);
    size_t length = (size_t)(end != NULL ? end - text : size) - 2;
    memcpy(line, text + 2, length);
    line[length] = '\0';
    /* The kernel would look for an interpreter with a name that ends with that byte, and say that
     * it is not there. */
    if (length > 0 && line[length - 1] == '\r')
        return error_set(err, EXIT_CODE_NOT_EXECUTABLE,
                         "the program %s has Windows line endings: its interpreter's name would "
                         "end with a carriage return",
                         path);
    return 0;
}

/* Splits LINE as the kernel does: the interpreter, and the rest as one word. LINE is changed. Linux
 * passes everything after the interpreter as a single argument, blanks inside included. */
static int add_interpreter(char *line, struct argv *ret, struct error *err) {
    static const char blanks[] = " \t";
    char *name = line + strspn(line, blanks);
    char *rest = name + strcspn(name, blanks);
    if (*rest != '\0')
        *rest++ = '\0';
    rest += strspn(rest, blanks);
    for (size_t size = strlen(rest); size > 0 && strchr(blanks, rest[size - 1]) != NULL;)
        rest[--size] = '\0';
    if (check_executable(name, err) != 0 || argv_add(ret, name, err) != 0)
        return -1;
    return rest[0] != '\0' ? argv_add(ret, rest, err) : 0;
}

/* Adds the entry point, preceded by an interpreter if its name or content needs one. A #! line is
 * followed in any file but X.py. Without one, .sh means sh. What is neither must be executable
 * itself. The first check gives the error for a missing file. */
static int add_entry(const struct user_program_inputs *in, const char *path, struct argv *ret,
                     struct error *err) {
    char line[INTERPRETER_MAX + 1] = "";
    bool python = str_ends_with(path, ".py");
    if (!is_file(path))
        return check_executable(path, err);
    if (!python && read_interpreter(path, line, err) != 0)
        return -1;
    bool shell = line[0] == '\0' && str_ends_with(path, ".sh");
    if (line[0] != '\0') {
        if (add_interpreter(line, ret, err) != 0)
            return error_wrap(err, "the interpreter of %s", path);
    } else if (python || shell) {
        if (add_found(in, python ? "python3" : "sh", ret, err) != 0)
            return error_wrap(err, "running %s", path);
    } else if (check_executable(path, err) != 0) {
        return -1;
    }
    return argv_add(ret, path, err);
}

/* --- Python's packages ------------------------------------------------------------------------ */

/* Returns true if NAME is a module of the package. If a file of exactly that name exists, that file
 * runs instead. A shell script is never a module. */
static bool is_module_of(const char *folder, const char *name, char module[PYTHON_MODULE_MAX],
                         const struct python_code *code) {
    cleanup_free char *path = join(folder, strlen(folder), name);
    return code->package && path != NULL && !str_ends_with(name, ".sh") &&
           (str_ends_with(name, ".py") || !is_file(path)) && python_code_module(name, module);
}

/* Returns 1 if NAME is not a module of a package; otherwise like resolve_entry. */
static int resolve_module(const struct user_program_inputs *in, const char *name,
                          struct user_program *ret, struct error *err) {
    const char *submit = submitted(in);
    cleanup_free char *code = join(in->base_dir, strlen(in->base_dir), "code");
    cleanup_free char *channel = join(in->base_dir, strlen(in->base_dir), code_channel);
    /* The folder BASE/code stands twice if nothing else was submitted, which changes nothing. */
    const char *const folders[] = {submit != NULL && submit[0] == '/' ? submit : code, code,
                                   channel};
    char module[PYTHON_MODULE_MAX];
    if (code == NULL || channel == NULL)
        return error_no_memory(err, "a path");
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        struct python_code asks;
        if (python_code_look(folders[i], &asks, err) != 0)
            return -1;
        if (!is_module_of(folders[i], name, module, &asks))
            continue;
        ret->code = asks;
        ret->root = strdup(folders[i]);
        ret->directory = strdup(folders[i]);
        ret->entry_point = strdup(name);
        if (ret->root == NULL || ret->directory == NULL || ret->entry_point == NULL)
            return error_no_memory(err, "a path");
        if (add_found(in, "python3", &ret->argv, err) != 0)
            return error_wrap(err, "running the module %s", module);
        return argv_add(&ret->argv, "-m", err) == 0 ? argv_add(&ret->argv, module, err) : -1;
    }
    return 1;
}

/* The part of PATH before NAME. NAME may hold folders of its own: the root is what remains of PATH
 * without all of NAME. */
static char *root_of(const char *path, const char *name) {
    size_t size = strlen(path) - strlen(name);
    bool whole = name[0] != '/' && size > 1 && strcmp(path + size, name) == 0;
    return strndup(path, whole ? size - 1 : (size_t)(strrchr(path, '/') - path));
}

/* A module comes before a file. The program then runs in the folder of its code. */
static int resolve_entry(const struct user_program_inputs *in, const char *name,
                         struct user_program *ret, struct error *err) {
    cleanup_free char *path = NULL;
    int module = name[0] != '/' ? resolve_module(in, name, ret, err) : 1;
    /* Found, or an error. */
    if (module <= 0)
        return module;
    if (find_entry(in, name, &path, err) != 0 || path == NULL)
        return -1;
    ret->root = root_of(path, name);
    ret->entry_point = strdup(name);
    ret->directory = strndup(path, (size_t)(strrchr(path, '/') - path));
    if (ret->entry_point == NULL || ret->directory == NULL || ret->root == NULL)
        return error_no_memory(err, "a path");
    if (str_ends_with(path, ".py") && python_code_look(ret->root, &ret->code, err) != 0)
        return -1;
    ret->code.package = false; /* this entry point runs as a file */
    return add_entry(in, path, &ret->argv, err);
}

/* --- three kinds of programs ----------------------------------------------------------------- */

/* Hyperparameters are not added: the user has written the whole command. */
static int resolve_exact(const struct user_program_inputs *in, struct user_program *ret,
                         struct error *err) {
    const char *const *words = in->arguments + 1; /* the words after "--" */
    if (*words == NULL)
        return error_set(err, EXIT_CODE_USAGE, "train --: the program is missing");
    if (add_found(in, *words, &ret->argv, err) != 0)
        return -1;
    return argv_add_all(&ret->user_args, words + 1, err);
}

/* Refuses words that are not flags, such as "python3 x.py", which torchrun and horovodrun accept.
 * Otherwise all hosts would meet before the trainer refused them. */
static int check_flags(const char *const *words, struct error *err) {
    char shown[96] = "";
    size_t used = 0;
    if (words[0] == NULL || words[0][0] == '-')
        return 0;
    for (size_t i = 0; words[i] != NULL && used < sizeof(shown) - 1; i++)
        used += (size_t)snprintf(shown + used, sizeof(shown) - used, " %s", words[i]);
    return error_set(err, EXIT_CODE_USAGE,
                     "\"%.64s\" is not a flag of ringtrain; a program of your own comes after --: "
                     "ringmaster train --%s",
                     words[0], shown);
}

/* The trainer next to this program comes before any in PATH. */
static int resolve_trainer(const struct user_program_inputs *in, struct user_program *ret,
                           struct error *err) {
    ret->is_trainer = true;
    if (check_flags(in->arguments, err) != 0)
        return -1;
    const char *name = in->ringtrain != NULL ? in->ringtrain : "ringtrain";
    if (add_found(in, name, &ret->argv, err) != 0)
        return error_wrap(err, "no program is named (train -- PROGRAM, or sagemaker_program), and "
                               "this image has no trainer");
    return argv_add(&ret->argv, "train", err);
}

/* The words of the command line come after the hyperparameters, so that they win where the last
 * flag counts. */
static int resolve_flags(const struct user_program_inputs *in, struct user_program *ret,
                         struct error *err) {
    const char *entry = in->request->program;
    bool given = entry != NULL && entry[0] != '\0';
    int resolved = given ? resolve_entry(in, entry, ret, err) : resolve_trainer(in, ret, err);
    if (resolved != 0 || hyperparameters_add_flags(&in->request->hyperparameters, !ret->is_trainer,
                                                   &ret->user_args, err) != 0)
        return -1;
    return argv_add_all(&ret->user_args, in->arguments, err);
}

/* --- ranks without MPI ------------------------------------------------------------------------ */

/* Returns true if PATH, links followed, is called ringtrain. Links count by the file that they lead
 * to. */
static bool is_ringtrain(const char *path) {
    cleanup_free char *file = realpath(path, NULL);
    return file != NULL && str_ends_with(file, "/ringtrain");
}

/* Returns true if WORDS have `--comm mpi` or `--comm=mpi`. One that asks for MPI is enough,
 * whatever other flags say. */
static bool asks_for_mpi(const struct argv *words) {
    for (size_t i = 0; i < words->count; i++)
        if (strcmp(words->items[i], "--comm=mpi") == 0 ||
            (i > 0 && strcmp(words->items[i - 1], "--comm") == 0 &&
             strcmp(words->items[i], "mpi") == 0))
            return true;
    return false;
}

/* Last, as user_args are complete only now. */
static int add_user_args(struct user_program *p, struct error *err) {
    p->needs_no_mpi = is_ringtrain(p->argv.items[0]) && !asks_for_mpi(&p->user_args);
    return p->user_args.count == 0
               ? 0
               : argv_add_all(&p->argv, (const char *const *)p->user_args.items, err);
}

/* On failure *RET is empty. */
int user_program_resolve(const struct user_program_inputs *in, struct user_program *ret,
                         struct error *err) {
    *ret = (struct user_program){0};
    bool exact = in->arguments[0] != NULL && strcmp(in->arguments[0], "--") == 0;
    int resolved = exact ? resolve_exact(in, ret, err) : resolve_flags(in, ret, err);
    if (resolved == 0 && add_user_args(ret, err) == 0)
        return 0;
    user_program_done(ret);
    return -1;
}

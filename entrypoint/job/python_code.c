#include "entrypoint/job/python_code.h"

#include "common/buf.h"
#include "common/file/file.h"
#include "common/file/file_look.h"
#include "common/str.h"
#include "common/text/redact.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Three things are done for a folder of code. It is looked at for what pip has to install
 * (python_code_look), and pip's command is built (python_code_pip). Addresses of package indexes
 * are searched for secrets, so that pip's output cannot put them into logs (python_code_redact).
 *
 * Nothing here runs Python: a setup.py is only looked for. A file that is there but cannot be read
 * is an error, since the program would otherwise start without its packages. */

/* In bytes: of a file that is read, and of one secret with its NUL. */
enum { TEXT_MAX = 1024 * 1024, SECRET_MAX = 1024 };

/* The name is a convention among users of pip, which the toolkit follows. */
static const char requirements[] = "requirements.txt";

/* Returns false for a path that is too long, which no file can have. */
static bool path_of(const char *folder, const char *name, char path[PATH_MAX]) {
    int size = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return size > 0 && size < PATH_MAX;
}

/* Sets *RET if FOLDER/NAME is a file, and writes its path to PATH. A folder of that name is no
 * file, and counts as absent. */
static int has(const char *folder, const char *name, char path[PATH_MAX], bool *ret,
               struct error *err) {
    struct stat st;
    bool there = false;
    *ret = false;
    if (!path_of(folder, name, path))
        return 0;
    if (file_look(path, &st, &there, err) != 0)
        return -1;
    *ret = there && S_ISREG(st.st_mode);
    return 0;
}

/* Sets *RET if a line of FOLDER/NAME begins with START. A file that is not there has no lines. */
static int has_line(const char *folder, const char *name, const char *start, bool *ret,
                    struct error *err) {
    char path[PATH_MAX];
    bool there = false;
    cleanup_buf struct buf text;
    buf_init(&text, TEXT_MAX);
    *ret = false;
    if (has(folder, name, path, &there, err) != 0 || (there && file_read(path, &text, err) != 0))
        return -1;
    for (const char *line = buf_text(&text); line != NULL;) {
        /* The loop continues all the same: files are short. */
        if (str_starts_with(line, start))
            *ret = true;
        line = strchr(line, '\n');
        /* After the last line there is none. */
        line = line != NULL ? line + 1 : NULL;
    }
    return 0;
}

/* pyproject.toml is only read where there is no setup.py, which settles the question. */
int python_code_look(const char *folder, struct python_code *ret, struct error *err) {
    char path[PATH_MAX];
    bool setup = false, project = false;
    *ret = (struct python_code){0};
    if (has(folder, requirements, path, &ret->requirements, err) != 0 ||
        has(folder, "setup.py", path, &setup, err) != 0 ||
        (!setup && has_line(folder, "pyproject.toml", "[build-system]", &project, err) != 0))
        return -1;
    ret->package = setup || project;
    return 0;
}

/* SIZE bytes of TEXT are an identifier: TEXT may continue after them. */
static bool is_name(const char *text, size_t size) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return size > 0 && strchr(letters, text[0]) != NULL && strspn(text, all) >= size;
}

/* Every part between dots has to be an identifier, or `python3 -m` could not import it. */
bool python_code_module(const char *name, char ret[PYTHON_MODULE_MAX]) {
    size_t size = strlen(name);
    if (size > 3 && strcmp(name + size - 3, ".py") == 0)
        size -= 3;
    /* Neither nothing nor ".py" alone is a module. */
    if (size == 0 || size >= PYTHON_MODULE_MAX)
        return false;
    memcpy(ret, name, size);
    ret[size] = '\0';
    for (const char *at = ret;;) {
        size_t part = strcspn(at, ".");
        if (!is_name(at, part))
            return false;
        if (at[part] == '\0')
            return true;
        at += part + 1;
    }
}

/* The options keep pip from asking for anything and from drawing bars into the log. The package
 * itself is upgraded, so that the submitted code replaces another version in the image. Both parts
 * are one command, so that pip resolves their requirements together. */
int python_code_pip(const char *python, const char *folder, const struct python_code *code,
                    struct argv *ret, struct error *err) {
    const char *const words[] = {python,       "-m",
                                 "pip",        "install",
                                 "--no-input", "--disable-pip-version-check",
                                 "--no-color", "--progress-bar",
                                 "off",        NULL};
    if (argv_add_all(ret, words, err) != 0)
        return -1;
    /* The folder itself is what pip installs. */
    if (code->package && (argv_add(ret, "--upgrade", err) != 0 || argv_add(ret, folder, err) != 0))
        return -1;
    if (code->requirements && (argv_add(ret, "-r", err) != 0 ||
                               argv_printf(ret, err, "%s/%s", folder, requirements) != 0))
        return -1;
    return 0;
}

/* --- secrets ---------------------------------------------------------------------------------- */

/* The copy is wiped: redact_add() keeps its own. */
static int add_secret(const char *text, size_t size, struct error *err) {
    char secret[SECRET_MAX];
    if (size >= sizeof(secret))
        return error_set(err, EXIT_CODE_CONFIG,
                         "the user or password in the URL of a package index has %zu bytes; "
                         "expected at most %d",
                         size, SECRET_MAX - 1);
    memcpy(secret, text, size);
    secret[size] = '\0';
    int result = redact_add(secret, err);
    explicit_bzero(secret, sizeof(secret));
    return result;
}

/* Redacts "user:secret@" after each "://"; a user without a password may be a token. Works on any
 * text, as addresses stand in lines of requirements and in values of variables alike. */
static int redact_addresses(const char *text, struct error *err) {
    for (const char *at = text; (at = strstr(at, "://")) != NULL;) {
        at += 3;
        /* The part of an address before its path is where user and password are (RFC 3986, 3.2). */
        size_t size = strcspn(at, "/?# \t\r\n\"'");
        /* The last @, as a password that is not encoded may hold others. */
        const char *end = memrchr(at, '@', size);
        const char *colon = end != NULL ? memchr(at, ':', (size_t)(end - at)) : NULL;
        const char *secret = colon != NULL ? colon + 1 : at;
        if (end != NULL && add_secret(secret, (size_t)(end - secret), err) != 0)
            return -1;
        at += size;
    }
    return 0;
}

/* The folder's text is wiped afterwards, as it holds the secrets in the clear. */
int python_code_redact(const char *folder, char *const *environment, struct error *err) {
    char path[PATH_MAX];
    cleanup_buf struct buf text;
    buf_init(&text, TEXT_MAX);
    for (; *environment != NULL; environment++)
        /* pip's own variables, and those of tools like uv, which have INDEX in their names. */
        if ((str_starts_with(*environment, "PIP_") || strstr(*environment, "INDEX") != NULL) &&
            redact_addresses(*environment, err) != 0)
            return -1;
    bool there = false;
    if (has(folder, requirements, path, &there, err) != 0)
        return -1;
    if (!there)
        return 0;
    if (file_read(path, &text, err) != 0)
        return -1;
    int result = redact_addresses(buf_text(&text), err);
    explicit_bzero(text.data, text.size);
    return result;
}

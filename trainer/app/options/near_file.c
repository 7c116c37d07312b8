#include "trainer/app/options/near_file.h"

#include "common/text/nearest.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FILES_MAX = 4096, WORD_LEAST = 2 };

static bool is_missing(const char *path) {
    return path[0] != '\0' && access(path, F_OK) != 0 && errno == ENOENT;
}

/* Cuts PATH after its first component that does not exist; the component begins at the return. */
static char *first_missing(char *path) {
    for (char *name = path + strspn(path, "/"); *name != '\0';) {
        char *end = name + strcspn(name, "/");
        char kept = *end;
        *end = '\0';
        if (is_missing(path))
            return name;
        *end = kept;
        name = end + strspn(end, "/");
    }
    return NULL;
}

/* The name in FOLDER that is nearest to NAME, to RET; false where none is. */
static bool find_near(const char *folder, const char *name, char ret[NAME_MAX + 1]) {
    struct nearest nearest = nearest_begin(name, strlen(name));
    DIR *listing = opendir(folder);
    if (listing == NULL)
        return false;
    const struct dirent *entry = NULL;
    for (int i = 0; i < FILES_MAX && (entry = readdir(listing)) != NULL; i++) {
        const char *before = nearest.name;
        if (entry->d_name[0] == '.')
            continue;
        nearest_try(&nearest, entry->d_name);
        if (nearest.name == before)
            continue;
        (void)snprintf(ret, NAME_MAX + 1, "%s", entry->d_name);
        nearest.name = ret; /* the entry does not outlive the next one */
    }
    (void)closedir(listing);
    return nearest.name != NULL;
}

const char *near_file_words(const char *path, char text[NEAR_FILE_WORDS_MAX]) {
    char cut[PATH_MAX], folder[PATH_MAX], found[NAME_MAX + 1];
    text[0] = '\0';
    if (strlen(path) >= sizeof(cut))
        return text;
    (void)snprintf(cut, sizeof(cut), "%s", path);
    const char *name = first_missing(cut);
    if (name == NULL)
        return text;
    int before = (int)(name - cut);
    (void)snprintf(folder, sizeof(folder), "%.*s", before > 0 ? before : 1, before > 0 ? cut : ".");
    if (find_near(folder, name, found) &&
        (size_t)before + strlen(found) + strlen(path) < NEAR_FILE_WORDS_MAX - 32)
        (void)snprintf(text, NEAR_FILE_WORDS_MAX, "; did you mean %.*s%s%s?", before, cut, found,
                       path + strlen(cut));
    return text;
}

/* Returns true if the word before AT is a flag, as in "--batch-size 64". */
static bool follows_flag(const char *error, const char *at) {
    if (at == error || at[-1] != ' ')
        return false;
    const char *word = at - 1;
    while (word > error && word[-1] != ' ')
        word--;
    return strncmp(word, "--", 2) == 0 && at[-2] != ':';
}

/* Returns true if PATH is what ERROR is about, "PATH: reason": other words of a command line (a
 * number, a choice, the name of a set) occur in messages too. */
static bool names(const char *error, const char *path) {
    size_t size = strlen(path);
    for (const char *at = error; (at = strstr(at, path)) != NULL; at++)
        if ((at == error || at[-1] == ' ') && (at[size] == ':' || at[size] == '\0') &&
            !follows_flag(error, at))
            return true;
    return false;
}

const char *near_file_of(const char *error, char *const *words, int count,
                         char text[NEAR_FILE_WORDS_MAX]) {
    text[0] = '\0';
    for (int i = 0; i < count && strstr(error, "did you mean") == NULL; i++) {
        const char *value = words[i][0] == '-' ? strchr(words[i], '=') : NULL;
        const char *path = value != NULL ? value + 1 : words[i];
        if (path[0] == '-' || strlen(path) < WORD_LEAST || !names(error, path))
            continue;
        if (near_file_words(path, text)[0] != '\0')
            break;
    }
    return text;
}

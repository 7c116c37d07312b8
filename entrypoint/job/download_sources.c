#include "entrypoint/job/download_sources.h"

#include "common/str.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char prefix[] = SETTINGS_CHANNEL;

bool download_sources_is_remote(const char *text) {
    return str_starts_with(text, "s3://") || str_starts_with(text, "https://");
}

const char *download_sources_path(const char *text) {
    static const char scheme[] = "file://";
    return str_starts_with(text, scheme) ? text + sizeof(scheme) - 1 : text;
}

bool download_sources_is_archive(const char *text) {
    static const char *const ends[] = {".tar.gz", ".tgz"};
    const char *path = download_sources_path(text);
    struct stat st;
    if (path[0] != '/')
        return download_sources_is_remote(text);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (str_ends_with(path, ends[i]))
            return stat(path, &st) != 0 || !S_ISDIR(st.st_mode);
    return false;
}

/* Finds the user's code, if the job has a program of the user's: the trainer is part of the image.
 */
static const char *find_code(const struct sagemaker_request *request) {
    const char *program = request->program;
    const char *submit = request->submit_directory;
    bool asked = program != NULL && program[0] != '\0' && submit != NULL;
    return asked && download_sources_is_archive(submit) ? submit : NULL;
}

/* Returns true if NAME is in LIST, "a,b,c". */
static bool is_listed(const char *list, const char *name) {
    size_t size = strlen(name);
    while (list != NULL && *list != '\0') {
        size_t word = strcspn(list, ",");
        if (word == size && memcmp(list, name, size) == 0)
            return true;
        list += word + (list[word] == ',');
    }
    return false;
}

/* Programs get the names of sharded channels. A channel that every host has as a whole is not. */
static int check_shares(const struct download_source *s, const char *variable, struct error *err) {
    if (!s->sharded || str_starts_with(s->address, "s3://"))
        return 0;
    return error_set(
        err, EXIT_CODE_CONFIG,
        "RINGMASTER_SHARDED: %.*s is \"%.*s\", but only a channel from s3:// can be sharded",
        (int)strcspn(variable, "="), variable, (int)strcspn(s->address, "?"), s->address);
}

static int add(const struct settings *settings, const char *variable, struct channels *channels,
               struct download_sources *ret, struct error *err) {
    const char *name = variable + sizeof(prefix) - 1;
    size_t size = strcspn(name, "=");
    const char *address = name + size + 1;
    if (address[0] == '\0')
        return 0;
    if (size == 0 || size > CHANNEL_NAME_MAX || ret->count == CHANNELS_MAX)
        return error_set(
            err, EXIT_CODE_CONFIG,
            "%.*s: a channel's name has 1 to %d bytes, and a job has at most %d channels",
            (int)strcspn(variable, "="), variable, CHANNEL_NAME_MAX, CHANNELS_MAX);
    const bool of_first = str_starts_with(address, "first:///");
    if (!download_sources_is_remote(address) && !str_starts_with(address, "file:///") &&
        !str_starts_with(address, "http://") && !of_first)
        return error_set(
            err, EXIT_CODE_CONFIG,
            "%.*s: \"%.*s\" begins with neither s3://, https://, file:/// nor first:///",
            (int)strcspn(variable, "="), variable, (int)strcspn(address, "?"), address);
    struct download_source *s = &ret->channels[ret->count];
    for (size_t i = 0; i < size; i++)
        s->name[i] = (char)tolower((unsigned char)name[i]);
    s->name[size] = '\0';
    s->address = address;
    s->sharded = is_listed(settings->sharded, s->name);
    if (check_shares(s, variable, err) != 0)
        return -1;
    ret->count++;
    ret->of_first |= of_first;
    return channels_add(channels, s->name, s->sharded, err);
}

/* A misspelt channel in RINGMASTER_SHARDED would give each host all of the data. */
static int check_sharded(const struct settings *settings, const struct download_sources *s,
                         struct error *err) {
    const char *list = settings->sharded;
    size_t listed = 0;
    size_t found = 0;
    for (const char *at = list; at != NULL && *at != '\0'; at += strcspn(at, ",")) {
        at += *at == ',';
        listed++;
    }
    for (size_t i = 0; i < s->count; i++)
        found += s->channels[i].sharded;
    if (listed == found)
        return 0;
    return error_set(
        err, EXIT_CODE_CONFIG,
        "RINGMASTER_SHARDED: \"%.128s\" is not a list, a,b, of channels that " SETTINGS_CHANNEL
        "* variables give",
        list);
}

int download_sources_read(const struct settings *settings, const struct sagemaker_request *request,
                          char *const *environment, bool needs_code, struct channels *channels,
                          struct download_sources *ret, struct error *err) {
    *ret = (struct download_sources){0};
    if (needs_code)
        ret->code = find_code(request);
    for (; *environment != NULL; environment++)
        if (str_starts_with(*environment, prefix) && strchr(*environment, '=') != NULL &&
            add(settings, *environment, channels, ret, err) != 0)
            return -1;
    return check_sharded(settings, ret, err);
}

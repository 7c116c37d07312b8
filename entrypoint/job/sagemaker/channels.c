#include "entrypoint/job/sagemaker/channels.h"

#include "common/file/file_look.h"
#include "common/json/json.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void channels_done(struct channels *c) {
    json_decref(c->config);
    *c = (struct channels){0};
}

static bool is_name(const char *name) {
    size_t size = strlen(name);
    return size >= 1 && size <= CHANNEL_NAME_MAX && name[0] != '.' && name[0] != '-' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
               size;
}

static int add(const char *name, const json_t *channel, const char *source, struct channels *ret,
               struct error *err) {
    if (!is_name(name))
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s: \"%.64s\" is not a channel's name (1 to %d letters, digits, '_', and "
                         "inside '.' and '-')",
                         source, name, CHANNEL_NAME_MAX);
    if (!json_is_object(channel))
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s: \"%s\" is not an object; expected the channel's settings", source,
                         name);
    const char *mode = NULL;
    if (json_member_string(channel, source, "TrainingInputMode", &mode, err) != 0)
        return error_wrap(err, "channel \"%s\"", name);
    if (mode != NULL && strcasecmp(mode, "Pipe") == 0 && ret->piped == NULL)
        ret->piped = name;
    ret->names[ret->count++] = name;
    return 0;
}

static int compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Takes ownership of CONFIG. */
static int from_json(json_t *config, const char *source, struct channels *ret, struct error *err) {
    ret->config = config;
    if (!json_is_object(config))
        return error_set(err, EXIT_CODE_CONFIG, "%s: not an object; expected one channel a member",
                         source);
    if (json_object_size(config) > CHANNELS_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "%s: more than %d channels", source, CHANNELS_MAX);
    const char *name = NULL;
    json_t *channel = NULL;
    json_object_foreach(config, name, channel) {
        if (add(name, channel, source, ret, err) != 0)
            return -1;
    }
    qsort(ret->names, ret->count, sizeof(ret->names[0]), compare);
    return 0;
}

static int finish(json_t *config, const char *source, struct channels *ret, struct error *err) {
    if (from_json(config, source, ret, err) == 0)
        return 0;
    channels_done(ret);
    return -1;
}

int channels_add(struct channels *c, const char *name, bool sharded, struct error *err) {
    static const char source[] = "the channels";
    json_t *config = c->config != NULL ? c->config : json_object();
    bool known = json_object_get(config, name) != NULL;
    *c = (struct channels){0};
    if (!known && json_object_set_new(
                      config, name,
                      json_pack("{s:s, s:s}", "TrainingInputMode", "File", "S3DistributionType",
                                sharded ? "ShardedByS3Key" : "FullyReplicated")) != 0) {
        json_decref(config);
        return error_no_memory(err, "the channels");
    }
    if (finish(config, source, c, err) != 0)
        return -1;
    return known ? error_set(err, EXIT_CODE_CONFIG,
                             "\"%s\" is in inputdataconfig.json, too; expected another name", name)
                 : 0;
}

int channels_parse(const char *bytes, size_t size, const char *source, struct channels *ret,
                   struct error *err) {
    *ret = (struct channels){0};
    json_t *config = NULL;
    if (json_parse(bytes, size, source, &config, err) != 0)
        return -1;
    return finish(config, source, ret, err);
}

int channels_read(const char *path, struct channels *ret, struct error *err) {
    *ret = (struct channels){0};
    struct error failed = {0};
    json_t *config = NULL;
    if (json_read_file(path, &config, &failed) == 0)
        return finish(config, path, ret, err);
    if (file_is_absence(failed.os_errno))
        return 0;
    if (err != NULL)
        *err = failed;
    return -1;
}

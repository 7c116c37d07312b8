/* Numbers of TensorBoard's event files (tfevents.h): field numbers of the messages. Those of the
 * plugin "hparams" are in tensorboard/plugins/hparams/plugin_data.proto. */
#ifndef TRAINER_TELEMETRY_TFEVENTS_FORMAT_H
#define TRAINER_TELEMETRY_TFEVENTS_FORMAT_H

#define EVENTS_NAME "events.out.tfevents."
#define HPARAMS_TAG "_hparams_/session_start_info"

enum {
    EVENT_WALL_TIME = 1,    /* double, seconds since 1970 */
    EVENT_STEP = 2,         /* int64 */
    EVENT_FILE_VERSION = 3, /* string */
    EVENT_GRAPH = 4,        /* bytes: a GraphDef (graph_def.h) */
    EVENT_SUMMARY = 5,      /* Summary */
    EVENT_SESSION = 7,      /* SessionLog */
    SESSION_STATUS = 1,     /* enum */
    SESSION_START = 1,
    SUMMARY_VALUE = 1,   /* Summary.Value, repeated */
    VALUE_TAG = 1,       /* string */
    VALUE_SIMPLE = 2,    /* float */
    VALUE_IMAGE = 4,     /* Summary.Image */
    VALUE_HISTOGRAM = 5, /* HistogramProto */
    VALUE_TENSOR = 8,    /* TensorProto */
    VALUE_METADATA = 9,  /* SummaryMetadata */
    METADATA_PLUGIN = 1, /* SummaryMetadata.PluginData */
    PLUGIN_NAME = 1,     /* string */
    PLUGIN_CONTENT = 2,  /* bytes */
    HPARAMS_START = 3,   /* SessionStartInfo of HParamsPluginData */
    START_SETTING = 1,   /* an entry of map<string, Value>, repeated */
    START_GROUP = 4,     /* string: sessions of one group are one row */
    START_TIME = 5,      /* double, seconds since 1970 */
    ENTRY_KEY = 1,       /* string */
    ENTRY_VALUE = 2,     /* google.protobuf.Value */
    SETTING_NUMBER = 2,  /* double */
    SETTING_STRING = 3,  /* string */
    SETTING_BOOL = 4,    /* bool */
    TENSOR_TYPE = 1,     /* enum DataType */
    TYPE_STRING = 7,
    TENSOR_SHAPE = 2,     /* TensorShapeProto */
    TENSOR_STRING = 8,    /* bytes, repeated */
    SHAPE_DIM = 2,        /* TensorShapeProto.Dim, repeated */
    DIM_SIZE = 1,         /* int64 */
    IMAGE_HEIGHT = 1,     /* int32 */
    IMAGE_WIDTH = 2,      /* int32 */
    IMAGE_COLORSPACE = 3, /* int32: channels */
    IMAGE_BYTES = 4,      /* bytes */
    COLORSPACE_RGB = 3,
    HISTOGRAM_MIN = 1, /* double, like all of them */
    HISTOGRAM_MAX = 2,
    HISTOGRAM_COUNT = 3,
    HISTOGRAM_SUM = 4,
    HISTOGRAM_SQUARES = 5,
    HISTOGRAM_LIMITS = 6, /* packed */
    HISTOGRAM_COUNTS = 7, /* packed */
};

#endif

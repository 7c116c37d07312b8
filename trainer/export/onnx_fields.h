/* Numbers of the fields of onnx.proto that are written, by message. */
#ifndef TRAINER_EXPORT_ONNX_FIELDS_H
#define TRAINER_EXPORT_ONNX_FIELDS_H

enum onnx_model_field {
    ONNX_MODEL_IR_VERSION = 1,
    ONNX_MODEL_PRODUCER_NAME = 2,
    ONNX_MODEL_PRODUCER_VERSION = 3,
    ONNX_MODEL_GRAPH = 7,
    ONNX_MODEL_OPSET = 8,
    ONNX_MODEL_METADATA = 14,
};

enum onnx_opset_field { ONNX_OPSET_DOMAIN = 1, ONNX_OPSET_VERSION = 2 };
enum onnx_entry_field { ONNX_ENTRY_KEY = 1, ONNX_ENTRY_VALUE = 2 };

enum onnx_graph_field {
    ONNX_GRAPH_NODE = 1,
    ONNX_GRAPH_NAME = 2,
    ONNX_GRAPH_INITIALIZER = 5,
    ONNX_GRAPH_INPUT = 11,
    ONNX_GRAPH_OUTPUT = 12,
};

enum onnx_node_field {
    ONNX_NODE_INPUT = 1,
    ONNX_NODE_OUTPUT = 2,
    ONNX_NODE_NAME = 3,
    ONNX_NODE_OP_TYPE = 4,
    ONNX_NODE_ATTRIBUTE = 5,
};

enum onnx_attribute_field {
    ONNX_ATTRIBUTE_NAME = 1,
    ONNX_ATTRIBUTE_F = 2,
    ONNX_ATTRIBUTE_I = 3,
    ONNX_ATTRIBUTE_INTS = 8,
    ONNX_ATTRIBUTE_TYPE = 20,
};
enum onnx_attribute_type { ONNX_TYPE_FLOAT = 1, ONNX_TYPE_INT = 2, ONNX_TYPE_INTS = 7 };

enum onnx_tensor_field {
    ONNX_TENSOR_DIMS = 1,
    ONNX_TENSOR_DATA_TYPE = 2,
    ONNX_TENSOR_NAME = 8,
    ONNX_TENSOR_RAW_DATA = 9,
};
enum onnx_data_type { ONNX_F32 = 1, ONNX_U8 = 2 };

enum onnx_value_field { ONNX_VALUE_NAME = 1, ONNX_VALUE_TYPE = 2 };
enum onnx_type_field { ONNX_TYPE_TENSOR = 1 };
enum onnx_tensor_type_field { ONNX_TENSOR_TYPE_ELEMENT = 1, ONNX_TENSOR_TYPE_SHAPE = 2 };
enum onnx_shape_field { ONNX_SHAPE_DIM = 1 };
enum onnx_dim_field { ONNX_DIM_VALUE = 1, ONNX_DIM_PARAM = 2 };

#endif

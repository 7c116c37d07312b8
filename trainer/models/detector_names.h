/* Names of a detector's weights in files: its body, the layers that depend on the classes, and the
 * names of torchvision's detectors before version 0.12, which many files still have. */
#ifndef TRAINER_MODELS_DETECTOR_NAMES_H
#define TRAINER_MODELS_DETECTOR_NAMES_H

#include "trainer/models/model_types.h"

extern const struct model_names DETECTOR_NAMES;

#endif

/* Under which names a detector's weights lie in files: its body, what depends on the classes, and
 * what torchvision's detectors had before version 0.12, as many files still do. */
#ifndef TRAINER_MODELS_DETECTOR_NAMES_H
#define TRAINER_MODELS_DETECTOR_NAMES_H

#include "trainer/models/model_types.h"

extern const struct model_names DETECTOR_NAMES;

#endif

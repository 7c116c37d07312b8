/* Classification network as a servable (servable.h).
 *
 * It answers a picture with its most probable classes, the objects of predict's list:
 *
 *     {"classes": [{"name": CLASS, "index": its number from 0, "probability": P}, ...]} */
#ifndef TRAINER_APP_SERVE_SERVE_CLASSES_H
#define TRAINER_APP_SERVE_SERVE_CLASSES_H

#include "common/error.h"
#include "trainer/app/options/options.h"
#include "trainer/app/serve/servable.h"
#include "trainer/app/step/network.h"
#include "trainer/checkpoint/model_config.h"

/* Makes RET of the network NET, which is opened after this by the options *RET_NETWORK, of which
 * this sets the canvases: one for each size in QUEUE. All but RET_NETWORK must outlive RET. */
int serve_classes_open(struct servable *ret, struct network *net, const struct model_config *config,
                       const struct options *o, const struct picture_queue *queue,
                       struct network_options *ret_network, struct error *err);

#endif

#include "trainer/models/detector_names.h"

#include "tests/golden/values.h"
#include "tests/support/unit.h"

enum { NAME_SIZE = 256 };

/* torchvision's own rewriting: _load_from_state_dict of FeaturePyramidNetwork, RPNHead and
 * MaskRCNNHeads. */
static void three_parts_of_a_detector_had_other_names(void) {
    static const struct {
        const char *name, *old;
    } rows[] = {
        {"backbone.fpn.inner_blocks.0.0.weight", "backbone.fpn.inner_blocks.0.weight"},
        {"backbone.fpn.layer_blocks.3.0.bias", "backbone.fpn.layer_blocks.3.bias"},
        {"rpn.head.conv.0.0.weight", "rpn.head.conv.weight"},
        {"rpn.head.conv.0.0.bias", "rpn.head.conv.bias"},
        {"roi_heads.mask_head.0.0.weight", "roi_heads.mask_head.mask_fcn1.weight"},
        {"roi_heads.mask_head.3.0.bias", "roi_heads.mask_head.mask_fcn4.bias"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char old[NAME_SIZE] = "";
        CU_ASSERT(DETECTOR_NAMES.old_name(rows[i].name, old, sizeof(old)));
        CU_ASSERT_STRING_EQUAL(old, rows[i].old);
        CU_ASSERT_FALSE(DETECTOR_NAMES.old_name(rows[i].old, old, sizeof(old)));
    }
}

/* tests/golden/maskrcnn/keys.txt has all 307 names, old_keys.txt those that had another one, beside
 * it (tests/golden/old_keys.py). */
static void of_torchvisions_307_names_26_were_others(void) {
    struct buf keys = values_open("maskrcnn/keys.txt"), list = values_open("maskrcnn/old_keys.txt");
    int names = 0, others = 0;
    for (const char *line = buf_text(&keys); *line != '\0'; line = strchr(line, '\n') + 1) {
        char name[NAME_SIZE] = "", old[NAME_SIZE] = "", pair[2 * NAME_SIZE + 2];
        if (*line == '#')
            continue;
        CU_ASSERT_EQUAL_FATAL(sscanf(line, "%255[^ ]", name), 1);
        bool other = DETECTOR_NAMES.old_name(name, old, sizeof(old));
        (void)snprintf(pair, sizeof(pair), "%s %s\n", name, other ? old : "");
        CU_ASSERT_EQUAL(strstr(buf_text(&list), pair) != NULL, other);
        names++;
        others += other;
    }
    CU_ASSERT(names == 307 && others == 26);
    buf_done(&keys);
    buf_done(&list);
}

static void all_others_have_kept_theirs(void) {
    static const char *const names[] = {"backbone.body.layer1.0.conv1.weight",
                                        "rpn.head.cls_logits.weight",
                                        "rpn.head.conv.1.0.weight",
                                        "roi_heads.mask_head.x.0.weight",
                                        "roi_heads.mask_predictor.conv5_mask.weight",
                                        "backbone.fpn.inner_blocks.",
                                        "fc.weight",
                                        ""};
    char old[NAME_SIZE];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        CU_ASSERT_FALSE(DETECTOR_NAMES.old_name(names[i], old, sizeof(old)));
}

UNIT_SUITE("models.detector_names", UNIT(three_parts_of_a_detector_had_other_names),
           UNIT(of_torchvisions_307_names_26_were_others), UNIT(all_others_have_kept_theirs))

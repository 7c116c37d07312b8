#include "trainer/data/download/known_archives.h"

#include "common/table.h"

static const struct known_archive {
    const char *name;
    const char *sha256;
} ARCHIVES[] = {
    {"flower_photos.tgz", "4c54ace7911aaffe13a365c34f650e71dd5bf1be0a58b464e5a7183e3e595d9c"},
    {"cifar-10-binary.tar.gz", "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"},
    {"cifar-100-binary.tar.gz", "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec"},
    {"ILSVRC2012_img_train.tar",
     "b08200a27a8e34218a0e58fde36b0fe8f73bc377f4acea2d91602057c3ca45bb"},
    {"ILSVRC2012_img_val.tar", "c7e06a6c0baccf06d8dbeb6577d71efff84673a5dbdd50633ab44f8ea0456ae0"},
    {"train2017.zip", "69a8bb58ea5f8f99d24875f21416de2e9ded3178e903f1f7603e283b9e06d929"},
    {"val2017.zip", "4f7e2ccb2866ec5041993c9cf2a952bbed69647b115d0f74da7ce8f4bef82f05"},
    {"annotations_trainval2017.zip",
     "113a836d90195ee1f884e704da6304dfaaecff1f023f49b6ca93c4aaae470268"},
    {"train2014.zip", "ede4087e640bddba550e090eae701092534b554b42b05ac33f0300b984b31775"},
    {"val2014.zip", "fe9be816052049c34717e077d9e34aa60814a55679f804cd043e3cbee3b9fde0"},
    {"annotations_trainval2014.zip",
     "031296bbc80c45a1d1f76bf9a90ead27e94e99ec629208449507a4917a3bf009"},
};

const char *known_archive_sha256(const char *name) {
    const struct known_archive *archive = TABLE_FIND(ARCHIVES, name, name);
    return archive != NULL ? archive->sha256 : NULL;
}

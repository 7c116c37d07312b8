/* Made by sigv4_botocore.py. */
#ifndef TESTS_GOLDEN_SIGV4_H
#define TESTS_GOLDEN_SIGV4_H

static const struct golden_sigv4 {
    const char *path, *prefix, *token, *region, *signature;
} golden_sigv4[] = {
    {"/bucket/plain.txt", "", "", "us-east-1",
     "0f65419217e292f5afc69e34a777c5c81bd9d303457a4a0433c4481a68cfe705"},
    {"/bucket/a=b c+d%e", "", "", "eu-central-1",
     "9c93c69a49d967e5bf4290b6f5658ac4bda282aa68e5ef9828ab6657d79aa901"},
    {"/bucket/folder//two//slashes/", "", "", "us-east-1",
     "bbc355124b0e8581cf19f6ec7f01aaa621b1f95a82b457b1a3fe49b912dda22d"},
    {"/bucket/k\303\244se/\346\227\245\346\234\254.tar.gz", "", "a+token/with==signs",
     "eu-central-1", "90dc332bb72eecf418adce1d967303d27dfdccf2f9279b1e194259cd0596ebf8"},
    {"/bucket/!*'()$&,:;@", "", "", "us-east-1",
     "2660b52e255904571ac6d0483d38f73f991843026b2f78e630a803cdc9644768"},
    {"/bucket/a/../b/./c", "", "", "eu-central-1",
     "314624c6cc6f4f0c191282e3322be9c8e6591c1e1d4f3c7e096965b78f8d3b2b"},
    {"/bucket/%2F%20", "", "", "us-east-1",
     "6f7e7eafed6c8160145049ddff0692ea845a60ae85d1783df5abeee2c7859424"},
    {"/bucket", "a=b c+d%e/\303\251//", "", "eu-central-1",
     "57a8041ddcfcab4f26a8c77ff31ccdf79ccbdc1c21e2d6c4a14a227e1f4b6a42"},
    {"/bucket", "plain/", "token", "us-east-1",
     "84195d44256311007a136df639bc2684d4f16d520c4135fc5df673b2d54da229"},
    {"/bucket", "!*'()$&,:;@~-._", "", "eu-central-1",
     "5f420aeb7affcb79b6b0736201d599b510475799379bcf7d6b6339278e17cf49"},
};

#endif

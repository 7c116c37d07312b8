"""Prints botocore's signatures for odd keys and prefixes as sigv4.h. Needs botocore (PyPI):
`python sigv4_botocore.py >sigv4.h`."""
import datetime
from urllib.parse import quote

import botocore.auth
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

NOW = datetime.datetime.fromtimestamp(1700000000, datetime.timezone.utc)
if hasattr(botocore.auth, "get_current_datetime"):
    botocore.auth.get_current_datetime = lambda remove_tzinfo=True: NOW.replace(tzinfo=None)
else:
    class Fixed(datetime.datetime):
        @classmethod
        def utcnow(cls):
            return NOW.replace(tzinfo=None)
    botocore.auth.datetime = type("module", (), {"datetime": Fixed})

CASES = [
    ("/bucket/plain.txt", "", ""),
    ("/bucket/a=b c+d%e", "", ""),
    ("/bucket/folder//two//slashes/", "", ""),
    ("/bucket/käse/日本.tar.gz", "", "a+token/with==signs"),
    ("/bucket/!*'()$&,:;@", "", ""),
    ("/bucket/a/../b/./c", "", ""),
    ("/bucket/%2F%20", "", ""),
    ("/bucket", "a=b c+d%e/é//", ""),
    ("/bucket", "plain/", "token"),
    ("/bucket", "!*'()$&,:;@~-._", ""),
]


def sign(path, prefix, token, region):
    url = "http://127.0.0.1:5000" + quote(path, safe="/-._~")
    if prefix:
        url += "?list-type=2&prefix=" + quote(prefix, safe="-._~")
    request = AWSRequest(method="GET", url=url)
    S3SigV4Auth(Credentials("AKIDEXAMPLE", "secret/of+tests", token or None), "s3",
                region).add_auth(request)
    return request.headers["Authorization"].split("Signature=")[1]


def text(value):
    """Returns a C string literal, with bytes above ASCII in octal."""
    out = "".join(chr(b) if b < 128 else "\\%03o" % b for b in value.encode())
    return '"' + out.replace('"', '\\"') + '"'


print("/* Made by sigv4_botocore.py. */")
print("#ifndef TESTS_GOLDEN_SIGV4_H\n#define TESTS_GOLDEN_SIGV4_H\n")
print("static const struct golden_sigv4 {\n"
      "    const char *path, *prefix, *token, *region, *signature;\n} golden_sigv4[] = {")
for number, case in enumerate(CASES):
    region = ["us-east-1", "eu-central-1"][number % 2]
    print("    {%s, %s, %s, \"%s\",\n     \"%s\"}," % (*map(text, case), region,
                                                      sign(*case, region)))
print("};\n\n#endif")

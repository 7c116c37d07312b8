"""moto_fill.py ADDRESS FOLDER COUNT: fills a moto server for tests/system/test_sources.sh.

It makes a user, a key for it, and a bucket with the objects that the tests fetch. The server checks
signatures from its fourth request on. FOLDER/moto-key gets the key's id and its secret, one on each
line."""
import io
import json
import sys
import tarfile

import boto3

address, folder, count = sys.argv[1:]
place = {"endpoint_url": address, "region_name": "us-east-1"}
iam = boto3.client("iam", aws_access_key_id="first", aws_secret_access_key="first", **place)
iam.create_user(UserName="job")
iam.put_user_policy(UserName="job", PolicyName="all", PolicyDocument=json.dumps(
    {"Version": "2012-10-17",
     "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}))
key = iam.create_access_key(UserName="job")["AccessKey"]
s3 = boto3.client("s3", aws_access_key_id=key["AccessKeyId"],
                  aws_secret_access_key=key["SecretAccessKey"], **place)
s3.create_bucket(Bucket="jobs")


def pack(files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


s3.put_object(Bucket="jobs", Key="job-1/source/sourcedir.tar.gz", Body=pack({
    "program.sh": "#!/bin/sh\n. ./lib/words.sh\necho \"$words $(pwd) args: $*\"\n",
    "lib/words.sh": "words='the fetched program runs in'\n"}))
s3.put_object(Bucket="jobs", Key="evil.tar.gz", Body=pack({"../../evil": "x"}))
for number in range(int(count)):
    s3.put_object(Bucket="jobs", Key="set/many/%04d" % number, Body=b"%d" % number)
for name in ["a b", "plus+plus", "pro%cent", "käse", "deep/er/file"]:
    s3.put_object(Bucket="jobs", Key="set/odd/" + name, Body=name.encode())
parts = s3.create_multipart_upload(Bucket="jobs", Key="set/large")
done = []
for number, byte in enumerate([b"x", b"y"], 1):
    part = s3.upload_part(Bucket="jobs", Key="set/large", UploadId=parts["UploadId"],
                          PartNumber=number, Body=byte * (5 << 20))
    done.append({"PartNumber": number, "ETag": part["ETag"]})
s3.complete_multipart_upload(Bucket="jobs", Key="set/large", UploadId=parts["UploadId"],
                             MultipartUpload={"Parts": done})
with open(folder + "/moto-key", "w") as out:
    print(key["AccessKeyId"], key["SecretAccessKey"], sep="\n", file=out)

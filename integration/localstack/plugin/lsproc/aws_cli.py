"""`aws s3 cp` and `aws kms decrypt`, as hosts of EMR have them: `python aws_cli.py s3 cp ...`."""

import base64
import os
import sys

import boto3


def client(name):
    return boto3.client(name, endpoint_url=os.environ["AWS_ENDPOINT_URL"])


def split(uri):
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return bucket, key


def main(args):
    words = [a for a in args if not a.startswith("--only-show-errors")]
    if words[:2] == ["s3", "cp"]:
        source, target = words[2:4]
        if source.startswith("s3://"):
            body = client("s3").get_object(Bucket=split(source)[0], Key=split(source)[1])["Body"].read()
            if target == "-":
                sys.stdout.buffer.write(body)
            else:
                with open(target, "wb") as f:
                    f.write(body)
        else:
            client("s3").upload_file(source, *split(target))
        return 0
    if words[:2] == ["kms", "decrypt"]:
        options = dict(zip(words[2::2], words[3::2]))
        with open(options["--ciphertext-blob"].removeprefix("fileb://"), "rb") as f:
            plain = client("kms").decrypt(CiphertextBlob=f.read())["Plaintext"]
        print(base64.b64encode(plain).decode())
        return 0
    print("no such command: " + " ".join(args), file=sys.stderr)
    return 252


sys.exit(main(sys.argv[1:]))

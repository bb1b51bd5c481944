"""Who signed a request for API Gateway (SigV4, service execute-api), as an AWS_IAM route asks."""

import datetime
import hashlib
import hmac

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.iam.models import iam_backends

AGE = 15 * 60  # seconds that a signature is good for


def caller(account, region, request):
    """What Lambda is told of the caller; None when no known caller has signed it so."""
    scheme, _, rest = request.headers.get("Authorization", "").partition(" ")
    parts = dict(part.strip().partition("=")[::2] for part in rest.split(","))
    scope = parts.get("Credential", "").split("/")
    if scheme != "AWS4-HMAC-SHA256" or len(scope) != 5 or scope[2:] != [region, "execute-api", "aws4_request"]:
        return None
    key, stamp = scope[0], request.headers.get("X-Amz-Date", "")
    secret, arn = _key(account, key)
    if secret is None or not _recent(stamp, scope[1]):
        return None
    if "X-Amz-Content-Sha256" in request.headers and request.headers["X-Amz-Content-Sha256"] != hashlib.sha256(request.get_data()).hexdigest():
        return None
    signed = parts.get("SignedHeaders", "").split(";")
    if "host" not in signed:
        return None
    path = request.environ["RAW_URI"]
    copy = AWSRequest(request.method, f"http://{request.host}{path}", {h: request.headers.get(h, "") for h in signed}, request.get_data())
    copy.context["timestamp"] = stamp
    auth = SigV4Auth(Credentials(key, secret), "execute-api", region)
    want = auth.signature(auth.string_to_sign(copy, auth.canonical_request(copy)), copy)
    if not hmac.compare_digest(want, parts.get("Signature", "")):
        return None
    user = arn.rsplit("/", 1)[-1] if "/" in arn else account
    return {"accessKey": key, "accountId": account, "callerId": user, "cognitoIdentity": None, "principalOrgId": None, "userArn": arn, "userId": user}


def _key(account, key):
    """(secret, ARN of its owner) of an access key: that of the tests, or one of an IAM user."""
    if key == "test":
        return "test", f"arn:aws:iam::{account}:root"
    for user in iam_backends[account]["aws"].users.values():
        for k in user.access_keys:
            if k.access_key_id == key:
                return k.secret_access_key, user.arn
    return None, None


def _recent(stamp, day):
    try:
        at = datetime.datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
    except ValueError:
        return False
    return stamp[:8] == day and abs((datetime.datetime.now(datetime.timezone.utc) - at).total_seconds()) < AGE

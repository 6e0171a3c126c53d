"""What an error of AWS means to the person who typed the command, and what to do."""

from __future__ import annotations

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,
    CredentialRetrievalError,
    HTTPClientError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOError,
    TokenRetrievalError,
)

from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.aws.answers import code_of, status_of

_BAD_CREDENTIALS = frozenset(
    {
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidClientTokenId",
        "UnrecognizedClientException",
    }
)
#: S3 says so if it is asked in another region than that of the bucket.
_OTHER_REGION = frozenset({"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"})
#: S3 says of a bucket of another account that access is denied, and no more.
OTHER_ACCOUNT = "if another account owns the bucket, its policy must allow that, too: docs/operate/aws.md"
#: Calls that read a bucket.
_OF_BUCKETS = frozenset({"HeadBucket", "GetBucketLocation", "ListObjectsV2", "HeadObject", "GetObject"})


def explain_aws(error: ClientError | BotoCoreError) -> str:
    """Return why AWS refused a call or could not be reached, and what to do."""
    if isinstance(error, ClientError):
        return _describe_answer(error)
    if isinstance(error, NoCredentialsError):
        return "no AWS credentials were found: set AWS_PROFILE, or the variables of AWS's default chain"
    if isinstance(error, NoRegionError):
        return "no AWS region is set: set AWS_REGION, or `region` in the AWS profile"
    text = first_line(error)
    if isinstance(error, ProfileNotFound):
        return f"{text}: correct AWS_PROFILE, or unset it; `aws configure list-profiles` shows the profiles"
    if isinstance(error, (SSOError, TokenRetrievalError)):
        return f"the AWS session has ended ({text}): sign in again with `aws sso login`"
    if isinstance(error, (PartialCredentialsError, CredentialRetrievalError)):
        return f"the AWS credentials cannot be used: {text}; correct them, or choose others with AWS_PROFILE"
    if isinstance(error, (HTTPClientError, ConnectionError)):
        return f"AWS cannot be reached: {text}; check the network and AWS_ENDPOINT_URL"
    # The first line of an error about an argument does not name it.
    whole = " ".join(str(error).split())
    return f"AWS was not asked: {whole}; check lake.yaml, the AWS profile and the variables of AWS"


def is_denied(error: ClientError) -> bool:
    """Return whether AWS accepts the credentials and refuses the action."""
    code = code_of(error)
    return "AccessDenied" in code or (status_of(error) == 403 and code not in _BAD_CREDENTIALS)


def _describe_answer(error: ClientError) -> str:
    if code_of(error) in _BAD_CREDENTIALS:
        return f"AWS does not accept the credentials ({code_of(error)}): renew them, or choose others with AWS_PROFILE"
    if is_denied(error):
        whose = f"; {OTHER_ACCOUNT}" if error.operation_name in _OF_BUCKETS else ""
        return f"permission missing: {first_line(error)}{whose}"
    if code_of(error) in _OTHER_REGION:
        return (
            f"the bucket is in another region ({first_line(error)}): set AWS_REGION, and AWS_ENDPOINT_URL if you use "
            "it, to the bucket's"
        )
    return first_line(error)

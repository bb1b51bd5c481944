"""What CloudFormation does with stores that outlive their stack, and LocalStack does not:
RetainExceptOnCreate keeps a resource when its stack is removed, and a change set that imports
existing resources takes over tables and buckets that are there by their literal names, as they are.
Without that word the name is taken, as on AWS."""

from localstack.services.cloudformation.resource_provider import OperationStatus, ProgressEvent

importing = set()  # names of stacks whose last change set imports


def register():
    from localstack.services.cloudformation.engine.v2 import change_set_model_preproc as preproc
    from localstack.services.cloudformation.v2.provider import CloudformationProviderV2
    from localstack.services.dynamodb.resource_providers.aws_dynamodb_table import DynamoDBTableProvider
    from localstack.services.s3.resource_providers.aws_s3_bucket import S3BucketProvider

    make = preproc.PreprocResource.__init__

    def resource(self, *args, **kwargs):
        make(self, *args, **kwargs)
        if self.deletion_policy == "RetainExceptOnCreate":
            self.deletion_policy = preproc.DeletionPolicy.Retain

    preproc.PreprocResource.__init__ = resource

    change_set = CloudformationProviderV2.create_change_set

    def create_change_set(self, context, request):
        name = request.get("StackName", "").rsplit(":stack/", 1)[-1].split("/")[0]
        (importing.add if request.get("ImportExistingResources") else importing.discard)(name)
        return change_set(self, context, request)

    CloudformationProviderV2.create_change_set = create_change_set
    _imports(DynamoDBTableProvider, _table)
    _imports(S3BucketProvider, _bucket)


def _imports(provider, find):
    create = provider.create

    def create_or_import(self, request):
        found = find(request) if request.stack_name in importing and not request.custom_context else None
        if found is None:
            return create(self, request)
        return ProgressEvent(status=OperationStatus.SUCCESS, resource_model={**request.desired_state, **found})

    provider.create = create_or_import


def _table(request):
    client = request.aws_client_factory.dynamodb
    try:
        return {"Arn": client.describe_table(TableName=request.desired_state["TableName"])["Table"]["TableArn"]}
    except client.exceptions.ResourceNotFoundException:
        return None


def _bucket(request):
    client, name = request.aws_client_factory.s3, request.desired_state.get("BucketName")
    if name not in [b["Name"] for b in client.list_buckets()["Buckets"]]:
        return None
    return {"Arn": f"arn:aws:s3:::{name}", "DomainName": f"{name}.s3.amazonaws.com",
            "RegionalDomainName": f"{name}.s3.{request.region_name}.amazonaws.com"}

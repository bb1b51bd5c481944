"""Errors of the ECS API."""

from localstack.aws.api import CommonServiceException, ServiceException


class EcsError(CommonServiceException):
    def __init__(self, code, message):
        super().__init__(code, message, status_code=400, sender_fault=True)


def client(message):
    return EcsError("ClientException", message)


def parameter(message):
    return EcsError("InvalidParameterException", message)


class ConflictException(ServiceException):
    """The client token was used for another request; resourceIds are the tasks of that."""

    code, status_code, sender_fault = "ConflictException", 400, True

    def __init__(self, arns):
        super().__init__("The request token has been used with different parameters.")
        self.resourceIds = arns

"""Holds requests against the models of AWS's services, which botocore ships.

It depends on botocore, cbor2 and regex only, and not on the emulator: what an emulator's own parser drops,
such as a member with a typo, is what this is for.
"""

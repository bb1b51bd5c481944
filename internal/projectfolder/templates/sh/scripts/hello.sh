#!/bin/sh
# Parameters of the task are environment variables.
echo "hello on $1: $MESSAGE"

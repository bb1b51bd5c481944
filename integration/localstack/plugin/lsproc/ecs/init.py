"""Process 1 of a container with initProcessEnabled: passes signals on, reaps, ends as its command does."""

import os
import signal
import sys

PASSED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)

signal.pthread_sigmask(signal.SIG_BLOCK, PASSED)
child = os.fork()
if child == 0:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED)
    try:
        os.execvp(sys.argv[1], sys.argv[1:])
    except OSError as e:
        print(e, file=sys.stderr)
    os._exit(127)
for s in PASSED:
    signal.signal(s, lambda n, _: os.kill(child, n))
signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED)
while True:
    pid, status = os.wait()
    if pid == child:
        code = os.waitstatus_to_exitcode(status)
        os._exit(code if code >= 0 else 128 - code)

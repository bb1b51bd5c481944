"""One container: its processes from the start to the end."""

import json
import os
import shutil
import signal
import subprocess
import threading

from . import sandbox

IMAGE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # as most images have it
NOT_STARTED = ("CannotStartContainerError: ResourceInitializationError: failed to create new container runtime task: failed to create shim task: "
               "OCI runtime create failed: runc create failed: unable to start container process: ")


class Container:
    """Is started and stopped by the thread of its task only, which must outlive it: the kernel
    ends its processes with the thread that began them."""

    def __init__(self, definition, override, folder, volumes, environment):
        self.definition, self.name, self.dir = definition, definition["name"], folder
        self.essential = definition.get("essential", True)
        self.status, self.code, self.reason = "PENDING", None, None
        self.began = False  # its command ran
        self.process, self.pid, self.log, self.kill_at = None, None, None, None
        self.grace = definition.get("stopTimeout", 30)
        self.memory = override.get("memory") or definition.get("memory")
        self.argv = _argv(definition, override)
        self.env = {"PATH": IMAGE_PATH + shims(), "HOME": "/tmp", **environment}
        for e in (definition.get("environment") or []) + (override.get("environment") or []):
            self.env[e["name"]] = e["value"]
        self.workdir = definition.get("workingDirectory")
        self.read_only = bool(definition.get("readonlyRootFilesystem"))
        self.init = bool((definition.get("linuxParameters") or {}).get("initProcessEnabled"))
        self.ulimits = {u["name"]: (u["softLimit"], u["hardLimit"]) for u in definition.get("ulimits") or []}
        self.mounts = [(m["containerPath"], volumes[m["sourceVolume"]], bool(m.get("readOnly"))) for m in definition.get("mountPoints") or []]

    def start(self, ended):
        """Starts it and returns when its command runs, or has not begun: then it is stopped, with
        a reason. ended(name, exit code) is called from another thread at its end."""
        try:
            self.user = sandbox.user_of(self.definition.get("user"))
            if not self.argv:
                raise sandbox.Unknown("no command specified")
            said = self._spawn(ended)
        except (sandbox.Unknown, OSError) as e:
            said = str(e)
        if said == "ok":
            self.status, self.began = "RUNNING", True
        else:
            self.stopped(None, NOT_STARTED + f"{said}: unknown")

    def _spawn(self, ended):
        how = sandbox.choose()
        os.makedirs(self.dir, exist_ok=True)
        read, write = os.pipe()
        try:
            with open(self.log_path, "ab") as log, open(self.dir + ".err", "wb") as err:  # its own goes to its log, see sandbox.BEGIN
                self.process = subprocess.Popen(how.argv(self), cwd="/", env=how.env(self), stdin=write, stdout=log, stderr=err, start_new_session=True)
        finally:
            os.close(write)
            if not self.process:
                os.close(read)
        self.pid = self.process.pid
        said = "the container's file system could not be made"
        with open(read) as tells:  # to the first word only: unshare keeps its end open
            for line in tells:
                if not line.startswith("pid "):
                    said = line.rstrip("\n")
                    break
                if how.namespaces:
                    self.pid = int(line[4:])
        threading.Thread(target=lambda: ended(self, self._exit()), daemon=True, name="ecs-wait").start()
        return said

    def _exit(self):
        code = self.process.wait()
        with open(self.dir + ".err", "rb") as err:
            return -signal.SIGKILL if sandbox.killed(code, err.read()) else code

    @property
    def log_path(self):
        return self.dir + ".log"

    def stopped(self, code, reason=None):
        if self.status == "STOPPED":
            return
        self.status, self.reason = "STOPPED", self.reason or reason
        if code is not None:
            self.code = code if code >= 0 else 128 - code

    def signal(self, number):
        """To process 1; SIGKILL ends all the others with it."""
        if self.process is None or self.process.poll() is not None:
            return
        try:
            if sandbox.choose().namespaces:
                os.kill(self.pid, number)
            else:
                os.killpg(self.process.pid, number) if number == signal.SIGKILL else os.kill(self.process.pid, number)
        except ProcessLookupError:
            pass

    def clean(self):
        if self.process and not sandbox.choose().namespaces:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)  # what its command left behind
            except (ProcessLookupError, PermissionError):
                pass


def shims():
    """The end of PATH: what images have and this machine may lack."""
    return os.pathsep + os.path.join(sandbox.HERE, "bin") if not shutil.which("wget") else ""


def _argv(definition, override):
    entry = list(definition.get("entryPoint") or [])
    if not entry:
        images = json.loads(os.environ.get("LSPROC_IMAGES", "{}"))
        fitting = [k for k in images if k in definition.get("image", "")]
        entry = list(images[max(fitting, key=len)]) if fitting else []
    return entry + list(override.get("command") or definition.get("command") or [])

"""How a container's processes are shut in.

Where LocalStack is root and the kernel plays along, a container has a mount and a PID
namespace of its own: its root is an overlay of this machine's, thrown away at its end, /tmp is
empty, volumes are bound where they belong, /proc shows its processes only, its command is
process 1 (which ignores a SIGTERM that it does not handle, as on Fargate), and root has the
capabilities of a container.  Elsewhere it is a session of plain processes, and paths in its
command and environment that begin like a mount point lead to the volume's folder.  Network
and host name are this machine's in both cases.

The setup runs in a shell; it tells by lines on its standard input, a pipe: "pid N", and then
"ok" or what is wrong.
"""

import logging
import os
import pwd
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading

LOG = logging.getLogger(__name__)
HERE = os.path.dirname(os.path.abspath(__file__))
CAPABILITIES = "chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service net_raw sys_chroot mknod audit_write setfcap".split()
NOFILE = 65535  # Fargate's, soft and hard
FOLDERS = f"ecs-{os.environ.get('GATEWAY_LISTEN', ':4566').rsplit(':', 1)[-1]}-"  # how the folders of this LocalStack's tasks begin
ELSEWHERE = ("/proc", "/sys", "/dev")
BEGIN = "set -e\nexec 3>&0 </dev/null 2>&1\nread -r pid _ </proc/self/stat\necho pid $pid >&3\n"
START = """
fail() { echo "$1" >&3; exit 127; }
found() {
  case $1 in
  */*) [ -e "$1" ] || fail "exec: \\"$1\\": stat $1: no such file or directory"
    [ -f "$1" ] && [ -x "$1" ] || fail "exec: \\"$1\\": permission denied" ;;
  *) IFS=:
    for d in $PATH; do [ -f "$d/$1" ] && [ -x "$d/$1" ] && { unset IFS; return; }; done
    fail "exec: \\"$1\\": executable file not found in \\$PATH" ;;
  esac
}
found "$1"
echo ok >&3
exec 3>&-
unset OLDPWD
"""


class Unknown(Exception):
    """The user of a container is not in its image."""


def user_of(text):
    """(uid, gid) of "uid", "name", "uid:gid" or "name:group"; None is root."""
    name, _, group = (text or "0").partition(":")
    try:
        entry = pwd.getpwuid(int(name)) if name.isdigit() else pwd.getpwnam(name)
        uid, gid = entry.pw_uid, entry.pw_gid
    except KeyError:
        if not name.isdigit():
            raise Unknown(f"unable to find user {name}: no matching entries in passwd file")
        uid, gid = int(name), 0
    if group:
        import grp

        try:
            gid = int(group) if group.isdigit() else grp.getgrnam(group).gr_gid
        except KeyError:
            raise Unknown(f"unable to find group {group}: no matching entries in group file")
    return uid, gid


def killed(code, stderr):
    """Whether process 1 of a container died of a signal: util-linux 2.38 then stumbles over its own end."""
    return code == 1 and b"unblock failed" in stderr


class Plain:
    """Processes beside all others."""

    namespaces = False

    def argv(self, c):
        script = BEGIN + f"cd {_q(self._moved(c, c.workdir or c.dir))}\n" + START + f"exec {_limits(c)} \"$@\""
        die = [shutil.which("setpriv"), "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        return [*die, "/bin/sh", "-c", script, "sh", *_init(c), *(self._moved(c, a) for a in c.argv)]

    def env(self, c):
        return {**{k: self._moved(c, v) for k, v in c.env.items()}, "TMPDIR": c.dir}

    @staticmethod
    def _moved(c, text):
        for at, folder, _ in c.mounts:
            text = re.sub(re.escape(at.rstrip("/")) + r"(?![\w.-])", lambda _, folder=folder: folder, text)
        return text


class Namespaces:
    """Processes in namespaces of their own."""

    namespaces = True

    def argv(self, c):
        tool = shutil.which
        die = [tool("setpriv"), "--pdeathsig", "KILL", "--", tool("unshare"), "--mount", "--pid", "--fork", "--kill-child"]
        uid, gid = c.user
        drop = f"{tool('setpriv')} --bounding-set -all,{','.join('+' + x for x in CAPABILITIES)} --inh-caps -all"
        if uid:
            drop += f" --reuid {uid} --regid {gid} --clear-groups"
        script = BEGIN + self._mounts(c) + START + f"exec {_limits(c)} {drop} --pdeathsig KILL -- \"$@\""
        return [*die, "/bin/sh", "-c", script, "sh", *_init(c), *c.argv]

    def env(self, c):
        return c.env

    @staticmethod
    def _mounts(c):
        mount, root = shutil.which("mount"), os.path.join(c.dir, "root")
        for d in ("root", "upper", "work", "tmp"):
            os.mkdir(os.path.join(c.dir, d))
        os.chmod(c.dir + "/upper", 0o755)
        os.chmod(c.dir + "/tmp", 0o1777)
        out = [f"{mount} -t overlay overlay -o {_q(f'lowerdir=/,upperdir={c.dir}/upper,workdir={c.dir}/work')} {_q(root)}"]
        out += [f"{mount} --bind {_q(m)} {_q(root + m)} 2>/dev/null || true" for m in _further_mounts()]
        out += [f"{mount} --rbind /dev {_q(root)}/dev", f"{mount} -t proc proc {_q(root)}/proc",
                f"{mount} --bind {_q(root)}/proc/sys {_q(root)}/proc/sys", f"{mount} -o remount,bind,ro {_q(root)}/proc/sys",
                f"{mount} --bind /sys {_q(root)}/sys", f"{mount} -o remount,bind,ro {_q(root)}/sys",
                f"{mount} --bind {_q(c.dir)}/tmp {_q(root)}/tmp"]
        workdir = c.workdir or "/"
        out += [f"{shutil.which('mkdir')} -p {_q(root + workdir)}", *(f"{shutil.which('mkdir')} -p {_q(root + at)}" for at, _, _ in c.mounts)]
        if c.read_only:
            out += [f"{mount} -o remount,bind,ro {_q(root)}/tmp", f"{mount} -o remount,ro {_q(root)}"]
        for at, folder, read_only in c.mounts:
            out.append(f"{mount} --bind {_q(folder)} {_q(root + at)}")
            if read_only:
                out.append(f"{mount} -o remount,bind,ro {_q(root + at)}")
        shared = os.environ.get("LSPROC_SHARED")
        if shared:
            out += [f"{shutil.which('mkdir')} -p {_q(root + shared)}", f"{mount} --bind {_q(shared)} {_q(root + shared)}"]
        out += [f"cd {_q(root)}", f"{shutil.which('pivot_root')} . .", f"{shutil.which('umount')} -l .", f"cd {_q(workdir)}"]
        return "\n".join(out) + "\n"


def _q(text):
    return shlex.quote(text)


def _init(c):
    """With initProcessEnabled a process 1 that passes signals on and reaps."""
    if not c.init:
        return []
    with open(os.path.join(HERE, "init.py")) as f:  # its text: the container may not see the file
        return [sys.executable, "-I", "-S", "-c", f.read()]


def _limits(c):
    """As a prefix of the command; nothing is raised above what LocalStack itself may."""
    prlimit = shutil.which("prlimit")
    if not prlimit:
        return ""
    out = [prlimit]
    for name, pair in {"nofile": (NOFILE, NOFILE), **c.ulimits}.items():
        most = resource.getrlimit(getattr(resource, "RLIMIT_" + name.upper()))[1]
        soft, hard = (n if most == resource.RLIM_INFINITY else min(n, most) for n in pair)
        out.append(f"--{name}={soft}:{hard}")
    return " ".join(out)


def _further_mounts():
    """File systems of this machine beside the root's."""
    with open("/proc/self/mountinfo") as f:
        points = [line.split()[4].encode().decode("unicode_escape") for line in f]
    return [p for p in dict.fromkeys(points) if p != "/" and not any(p == e or p.startswith(e + "/") for e in ELSEWHERE)]


_chosen = None
_lock = threading.Lock()


def choose():
    """Namespaces where a try shows that they work, else Plain, which the log says once."""
    global _chosen
    with _lock:
        if _chosen is None:
            wrong = _try()
            _chosen = Namespaces() if wrong is None else Plain()
            if wrong:
                LOG.warning("ECS containers are plain processes without namespaces: %s", wrong)
        return _chosen


def _try():
    if os.environ.get("LSPROC_ECS_PLAIN") == "1":
        return "LSPROC_ECS_PLAIN says so"
    if os.geteuid() != 0:
        return "LocalStack is not root"
    missing = [t for t in ("unshare", "setpriv", "prlimit", "mount", "umount", "pivot_root", "mkdir") if not shutil.which(t)]
    if missing:
        return f"there is no {missing[0]}"

    class Probe:
        argv, env, mounts, user, ulimits = ["/bin/true"], {}, [], (0, 0), {}
        workdir, read_only, init = "/", True, False
        dir = tempfile.mkdtemp(prefix=FOLDERS)

    try:
        with open(os.devnull, "wb") as tells:
            done = subprocess.run(Namespaces().argv(Probe), stdin=tells, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20, check=False)
        return None if done.returncode == 0 else done.stdout.decode("utf-8", "replace").strip() or f"exit {done.returncode}"
    except (OSError, subprocess.TimeoutExpired) as e:
        return str(e)
    finally:
        shutil.rmtree(Probe.dir, ignore_errors=True)

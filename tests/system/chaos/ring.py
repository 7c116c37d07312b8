"""The hosts of one random job.

hosts.sh makes and starts them. This module does what happens to them while they run, as that has to
happen at the right moment. Hosts are named by their numbers, from 1."""

import glob
import os
import signal
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SYSTEM = os.path.dirname(HERE)
TOP = os.path.dirname(os.path.dirname(SYSTEM))
BIN = os.environ.get("RINGMASTER_BIN", TOP + "/build/release/bin")
LIBRARIES = os.path.dirname(BIN) + "/tests"
SHM_MIB = 64


def now_ms():
    return time.monotonic_ns() // 1000000


def run(*words, **more):
    return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False, timeout=60, **more).returncode


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


OWN_SPACE = os.readlink("/proc/self/ns/pid")


def processes_of(space):
    """Returns all processes in a pid namespace, with their command lines.

    For this process's own namespace it returns none: those would be the machine's processes."""
    found = {}
    if space == OWN_SPACE:
        return found
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.readlink(f"/proc/{entry}/ns/pid") == space:
                found[int(entry)] = read(f"/proc/{entry}/cmdline").split(b"\0")
        except OSError:
            pass
    return found


def send(pid, number):
    try:
        os.kill(pid, number)
        return True
    except OSError:
        return False


class Ring:
    def __init__(self, plan):
        self.plan = plan
        self.count = len(plan["slots"])
        self.offset = int(time.time() * 1000) - now_ms()
        self.environment = dict(os.environ, UNPRIVILEGED="" if plan["root"] else "1",
                                RINGMASTER_BIN=BIN)
        made = subprocess.run(["sh", SYSTEM + "/hosts.sh", "up", str(self.count)],
                              env=self.environment, check=True, timeout=120,
                              stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.path = made.stdout.decode().strip()
        self.environment["RING"] = self.path
        self.share = self.path + "/share"
        self.nets = "rm-" + os.path.basename(self.path)
        self.mounts, self.groups, self.starting = [], [], {}
        for name in ("marks", "checkpoints"):
            os.mkdir(f"{self.share}/{name}")
            os.chmod(f"{self.share}/{name}", 0o1777)
        for host in range(1, self.count + 1):
            self.mount(f"{self.folder(host)}/shm", SHM_MIB)

    # --- folders ---
    def folder(self, host):
        return f"{self.path}/host-{host}"

    def output(self, host):
        own = self.folder(host) + "/output"
        return own if os.path.ismount(own) else self.folder(host) + "/root/opt/ml/output"

    def mount(self, path, mib):
        os.makedirs(path, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m,mode=1777", "chaos", path],
                       check=True, timeout=60)
        self.mounts.append(path)

    # --- life ---
    def start(self, host, extra, words):
        """Starts the host in the background. Its first process runs the lines EXTRA as root."""
        folder = self.folder(host)
        script = [f"mount --bind {folder}/shm /dev/shm"] + extra
        if os.path.ismount(folder + "/output"):
            script.append(f"mount --bind {folder}/output /opt/ml/output "
                          "&& mkdir -p /opt/ml/output/data")
        settings = dict(self.plan["settings"])
        more = {f"RINGMASTER_{name}": value for name, value in settings.items()}
        more["RINGMASTER_HOSTS"] = ",".join(
            f"algo-{i + 1}:{slots}" for i, slots in enumerate(self.plan["slots"]))
        if settings.get("FAILOVER"):
            more["RINGMASTER_CHECKPOINTS"] = f"file://{self.share}/checkpoints"
        command = ["sh", SYSTEM + "/hosts.sh", "start", str(host), "-p", "\n".join(script)]
        for name, value in more.items():
            command += ["-e", f"{name}={value}"]
        self.starting[host] = subprocess.Popen(command + ["--", "train", "--"] + words,
                                               env=self.environment, stdin=subprocess.DEVNULL,
                                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def has_started(self, host):
        return host in self.starting and self.starting[host].poll() is not None

    def code(self, host):
        text = read(self.folder(host) + "/code").decode().strip()
        return int(text) if text and self.has_started(host) else None

    def ended_ms(self, host):
        return int(read(self.folder(host) + "/ended") or 0) - self.offset

    def first(self, host):
        """Returns the host's first process, or None."""
        if not self.has_started(host) or self.code(host) is not None:
            return None
        pid = read(self.folder(host) + "/pid").decode().strip()
        # If the host has ended meanwhile, another process of this machine may have its number.
        try:
            return int(pid) if pid and os.readlink(f"/proc/{pid}/ns/pid") != OWN_SPACE else None
        except OSError:
            return None

    def processes(self, host):
        first = self.first(host)
        try:
            return processes_of(os.readlink(f"/proc/{first}/ns/pid")) if first else {}
        except OSError:
            return {}

    def named(self, host, role):
        """Returns the processes of the host that have this role in a job."""
        first = self.first(host)
        found = []
        for pid, words in self.processes(host).items():
            name = os.path.basename(words[0].decode(errors="replace"))
            part = {"orted": "daemon", "mpirun": "mpirun", "chaos_rank": "rank",
                    "agent": "agent"}.get(name)
            if name == "ringmaster" and words[1:2] == [b"rank"]:
                part = "shim"
            if part == role and pid != first:
                found.append(pid)
        return sorted(found)

    def signal_all(self, host, number):
        """Sends a signal to every process, the first one last, and to those forked meanwhile."""
        first, hit = self.first(host), False
        for _ in range(2):
            for pid in sorted(self.processes(host), key=lambda pid: pid == first):
                hit = send(pid, number) or hit
        return hit

    def kill(self, host):
        first = self.first(host)
        if first is None:
            return False
        with open(self.folder(host) + "/killed", "w", encoding="ascii"):
            pass
        return send(first, signal.SIGKILL)

    # --- network ---
    def link(self, host, bridge):
        place = ["master", bridge] if bridge else ["nomaster"]
        return run("ip", "-n", self.nets + "-hub", "link", "set", f"h{host}", *place) == 0

    def bridge(self, name):
        run("ip", "-n", self.nets + "-hub", "link", "add", name, "type", "bridge")
        run("ip", "-n", self.nets + "-hub", "link", "set", name, "up")

    def in_network(self, host, *words):
        return ["nsenter", f"--net=/run/netns/{self.nets}-{host}", *words]

    def rule(self, host, verb, words):
        return run(*self.in_network(host, "iptables", "--wait", verb, *words)) == 0

    # --- resources ---
    def group(self, host, controller, file, value):
        """Makes a control group with this limit.

        Returns a line of script that puts the host into it, or None if it cannot be made."""
        path = f"/sys/fs/cgroup/{controller}/{self.nets}-{host}"
        try:
            os.mkdir(path)
            self.groups.append(path)
            with open(f"{path}/{file}", "w", encoding="ascii") as limit:
                limit.write(str(value))
        except OSError:
            return None
        return f"echo 0 >{path}/cgroup.procs"

    def leftovers(self, host):
        """Returns what the launcher or Open MPI has left in the host's temporary folders."""
        found = []
        for place in ("shm", "root/run", "root/tmp", "root/var/tmp"):
            for path in glob.glob(f"{self.folder(host)}/{place}/*"):
                name = os.path.basename(path)
                if any(word in name for word in ("ringmaster", "ompi", "openmpi", "pmix", "vader",
                                                 "orte")):
                    found.append(f"{place}/{name}")
        return sorted(found)

    def down(self):
        for process in self.starting.values():
            process.wait(timeout=60)
        for host in range(1, self.count + 1):
            self.signal_all(host, signal.SIGCONT)
            self.kill(host)
        deadline = now_ms() + 60000
        while now_ms() < deadline and any(self.code(host) is None for host in self.starting):
            time.sleep(0.05)
        for path in reversed(self.mounts):
            run("umount", "-l", path)
        for path in self.groups:
            try:
                os.rmdir(path)
            except OSError:
                pass
        run("sh", SYSTEM + "/hosts.sh", "down", env=self.environment)

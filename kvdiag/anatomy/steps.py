"""What the first check of a cause shows, by its command: the sentence above a command without an object of its own."""

from __future__ import annotations

HOST = "{host} "  # before a command that is run on the node
CHECK = "Check the cause that the error names."
_LISTED = "kubectl get "
_SHOWN = {
    "kubectl get pods -A -o yaml | grep": "Read these fields of the pods.",
    "kubectl get pods": "See which pods there are, where they run, and whether they are ready.",
    "kubectl get nodes": "See the nodes and their state.",
    "kubectl get nodes -o custom-columns": "See these fields of the nodes.",
    "kubectl get csr": "See which certificate signing requests are pending.",
    "kubectl get --raw": "Ask the API server whether it is ready.",
    "kubectl auth can-i": "Ask the API server whether the user may do it.",
    "kubectl describe node": "See the conditions and the resources of the node.",
    "kubectl version": "See the versions of kubectl and of the API server.",
    "{journal:kernel": "Read the kernel log.",
    "{journal:crio": "Read the log of CRI-O.",
    "{journal:containerd": "Read the log of containerd.",
    "{options:kubelet}": "See the flags and files with which kubelet is started.",
    "{crictl} ": "Ask the container runtime.",
    "aa-status": "See which AppArmor profiles are loaded.",
    "ausearch": "See what SELinux denied.",
    "ausearch -m avc,seccomp": "See what SELinux and seccomp denied.",
    "cat ": "Read the file.",
    "ceph ": "Ask the Ceph cluster.",
    "date": "Check whether the clock of this machine is right.",
    "df ": "See how full the file systems are.",
    "findmnt": "See what is mounted.",
    "free ": "See how much memory is left.",
    "fuser ": "See which process has the file open.",
    "getent ": "Check whether this machine resolves the name.",
    "ip addr": "See the addresses of the node.",
    "ip link": "See the network interfaces of the node.",
    "ip neigh": "See the neighbour table of the node.",
    "ip -6 route": "See the IPv6 routes of the node.",
    "ip route": "See the routes of the node.",
    "iptables --version": "See the version and the back end of iptables.",
    "iptables-save": "See the rules of iptables.",
    "ls ": "See which files there are.",
    "ls -l": "See which files there are, with owner and mode.",
    "lsblk": "See the block devices.",
    "lsblk -f": "See the block devices and what is on them.",
    "lscpu": "See which CPU the node has and what it supports.",
    "lsmod": "See which kernel modules are loaded.",
    "lvs": "See the logical volumes.",
    "nc ": "Check whether the port answers.",
    "nvidia-smi": "See the GPUs of the node.",
    "nvidia-smi mig": "See the instances of the GPUs (MIG).",
    "openssl ": "See the certificate.",
    "ps ": "See which of these processes run.",
    "ps -e": "See the processes of the node.",
    "ps -eo pid,stat,wchan": "See the processes and what they wait for.",
    "ss -l": "See which programs listen on which port.",
    "ss -t": "See the TCP connections and whose they are.",
    "ss -x": "See which programs listen on which socket.",
    "sysctl ": "See the values of the kernel.",
    "systemctl status": "See the state of the service.",
    "systemd-cgls": "See the cgroups of the node.",
    "timedatectl": "Check whether the clock of this machine is right.",
    "uname -m": "See the architecture of the node.",
    "uname -r": "See the version of the kernel.",
    "vgs": "See the volume groups.",
    "which ": "Check whether the program is there.",
}


def step_of(command: str) -> str:
    """Return what a command, as the data has it, shows."""
    command = command.removeprefix(HOST)
    known = _SHOWN.get(max((begin for begin in _SHOWN if command.startswith(begin)), key=len, default=""), "")
    if known or not command.startswith(_LISTED):
        return known or CHECK
    kinds = [kind.partition(".")[0] for kind in command.removeprefix(_LISTED).split(" ")[0].split(",")]
    return f"See the {' and '.join(kinds)}." if all(kind.isalpha() for kind in kinds) else CHECK

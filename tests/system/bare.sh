# Open MPI without Ringmaster, as it is usually run: with a hostfile, and an agent that starts its
# daemons on the other hosts. Sourced after lib.sh. On a fresh ring, call bare_by_ssh or
# bare_by_python, then bare_mpirun.
# shellcheck shell=sh disable=SC2154

has_sshd() { [ "$DRIVER" = ns ] && PATH=$PATH:/usr/sbin command -v sshd >/dev/null 2>&1; }

# bare_by_ssh: runs sshd on every host, with a key without a passphrase.
bare_by_ssh() {
    ssh-keygen -q -t ed25519 -N '' -f "$share/id"
    # shellcheck disable=SC2016  # expanded on the host
    bare_start "ssh -i $share/id -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null" \
        sh -c 'mkdir -p /run/sshd
        exec "$(command -v sshd)" -D -e -o HostKey="$0" -o AuthorizedKeysFile="$0.pub" \
            -o StrictModes=no -o UsePAM=no -o PidFile=none' "$share/id"
}

# bare_by_python PYTHON: does the same by remote.py, which needs only PYTHON on the hosts.
bare_by_python() {
    cp "$system/remote.py" "$share/"
    bare_start "$1 $share/remote.py" "$1" "$share/remote.py" serve
}

# bare_start AGENT SERVER...: runs SERVER on every host and waits until AGENT, on the first host,
# can run commands on each of them. The hostfile lists all hosts.
bare_start() {
    printf '#!/bin/sh\nexec %s "$@"\n' "$1" >"$share/agent"
    chmod 755 "$share/agent"
    shift
    for host in $everyone; do
        # The servers run as root, as sshd does.
        UNPRIVILEGED='' hosts start "$host" -- "$@"
        echo "$(hosts name "$host") slots=1" >>"$share/hostfile"
    done
    for host in $everyone; do
        wait_for "$PATIENCE" hosts exec 1 "$share/agent" "$(hosts name "$host")" true ||
            { echo "host $host runs nothing for the first one"; return 1; }
    done
}

# bare_mpirun COMMAND...: runs mpirun on the first host, with a rank on each; its output is in
# mpirun.log in the share.
bare_mpirun() {
    hosts exec 1 mpirun --allow-run-as-root --hostfile "$share/hostfile" \
        --mca plm_rsh_agent "$share/agent" --mca oob_tcp_if_include eth0 "$@" \
        >"$share/mpirun.log" 2>&1 </dev/null
}

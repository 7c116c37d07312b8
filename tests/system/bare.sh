# Open MPI without us, as one uses it: a hostfile, and a way to start what it needs on the other hosts. Sourced
# behind lib.sh. On a fresh ring: bare_by_ssh or bare_by_python, then bare_mpirun.
# shellcheck shell=sh disable=SC2154

has_sshd() { [ "$DRIVER" = ns ] && PATH=$PATH:/usr/sbin command -v sshd >/dev/null 2>&1; }

# sshd on every host, a key without a passphrase.
bare_by_ssh() {
    ssh-keygen -q -t ed25519 -N '' -f "$share/id"
    # shellcheck disable=SC2016  # expanded on the host
    bare_start "ssh -i $share/id -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null" sh -c 'mkdir -p /run/sshd
        exec "$(command -v sshd)" -D -e -o HostKey="$0" -o AuthorizedKeysFile="$0.pub" \
            -o StrictModes=no -o UsePAM=no -o PidFile=none' "$share/id"
}

# The same by remote.py: nothing has to be installed for it but PYTHON.
bare_by_python() {
    cp "$system/remote.py" "$share/"
    bare_start "$1 $share/remote.py" "$1" "$share/remote.py" serve
}

# bare_start AGENT SERVER...: who is called on the first host is the server on each; all know it by its name.
bare_start() {
    printf '#!/bin/sh\nexec %s "$@"\n' "$1" >"$share/agent"
    chmod 755 "$share/agent"
    shift
    for host in $everyone; do
        # As root, as sshd is.
        UNPRIVILEGED='' hosts start "$host" -- "$@"
        echo "$(hosts name "$host") slots=1" >>"$share/hostfile"
    done
    for host in $everyone; do
        wait_for 30 hosts exec 1 "$share/agent" "$(hosts name "$host")" true ||
            { echo "host $host runs nothing for the first one"; return 1; }
    done
}

# bare_mpirun COMMAND...: on the first host, a rank on each; what it says is in the share's mpirun.log.
bare_mpirun() {
    hosts exec 1 mpirun --allow-run-as-root --hostfile "$share/hostfile" --mca plm_rsh_agent "$share/agent" \
        --mca oob_tcp_if_include eth0 "$@" >"$share/mpirun.log" 2>&1 </dev/null
}

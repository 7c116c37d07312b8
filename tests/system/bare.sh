# Open MPI without us, as one uses it: sshd on every host of the ring, a hostfile, a key without a passphrase.
# Sourced behind lib.sh.
# shellcheck shell=sh disable=SC2154

has_sshd() { [ "$DRIVER" = ns ] && PATH=$PATH:/usr/sbin command -v sshd >/dev/null 2>&1; }

# Makes the hosts of a fresh ring ready for bare_mpirun.
bare_start() {
    ssh-keygen -q -t ed25519 -N '' -f "$share/id"
    for host in $everyone; do
        # As root, as sshd is.
        # shellcheck disable=SC2016  # expanded on the host
        UNPRIVILEGED='' hosts start "$host" -- sh -c 'mkdir -p /run/sshd
            exec "$(command -v sshd)" -D -e -o HostKey="$0" -o AuthorizedKeysFile="$0.pub" \
                -o StrictModes=no -o UsePAM=no -o PidFile=none' "$share/id"
        echo "10.77.0.$host slots=1" >>"$share/hostfile"
    done
    sleep 1
    printf '#!/bin/sh\nexec ssh -i %s -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "$@"\n' \
        "$share/id" >"$share/ssh"
    chmod 755 "$share/ssh"
}

# bare_mpirun COMMAND...: on the first host, a rank on each; what it says is in the share's mpirun.log.
bare_mpirun() {
    hosts exec 1 mpirun --allow-run-as-root --hostfile "$share/hostfile" --mca plm_rsh_agent "$share/ssh" \
        --mca oob_tcp_if_include eth0 "$@" >"$share/mpirun.log" 2>&1 </dev/null
}

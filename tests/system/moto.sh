# An S3 server for system tests, moto (PyPI), which runs beside the hosts and checks every
# signature. Sourced after lib.sh.
# shellcheck shell=sh disable=SC2034,SC2154  # lib.sh's variables
[ "$DRIVER" = ns ] || skip "the server stands in the namespaces' own network"
[ -x "$RINGMASTER_BIN/ringmaster-transfer" ] ||
    skip "this build fetches nothing: no libcurl, libarchive or Expat"

moto=$top/build/moto
sh "$system/moto_install.sh" || exit

# server_up COUNT: starts the server at $s3, on the bridge of the hosts, with COUNT small files. $id
# and $secret are the key of a user.
server_up() {
    server_down # a case that failed may have left one
    hub=rm-$(basename "$RING")-hub
    s3=http://10.77.0.254:5000
    ip -n "$hub" address add 10.77.0.254/24 dev ring
    ip -n "$hub" link set lo up
    INITIAL_NO_AUTH_ACTION_COUNT=3 ip netns exec "$hub" "$moto/bin/moto_server" \
        -H 10.77.0.254 -p 5000 >"$RING/moto.log" 2>&1 &
    server=$!
    wait_for 60 ip netns exec "$hub" "$moto/bin/python" -c \
        'import socket; socket.create_connection(("10.77.0.254", 5000), 1)' || return 1
    ip netns exec "$hub" "$moto/bin/python" "$system/moto_fill.py" "$s3" "$RING" "$1" || return 1
    { read -r id && read -r secret; } <"$RING/moto-key" || return 1
}

# start NAME=VALUE... -- COMMAND: starts every host with these variables and the key.
start() {
    variables=
    while [ "$1" != -- ]; do
        variables="$variables -e $1"
        shift
    done
    # shellcheck disable=SC2086  # words
    start_all -e AWS_ENDPOINT_URL_S3="$s3" -e AWS_ACCESS_KEY_ID="$id" \
        -e AWS_SECRET_ACCESS_KEY="$secret" $variables "$@"
}

no_secret_anywhere() {
    for host in $everyone; do
        check "no secret in the log of host $host" lacks "$(hosts log "$host")" "$secret"
        check "no secret below /opt/ml of host $host" \
            equal "$(grep -rlF "$secret" "$(hosts opt "$host")" | wc -l)" 0
    done
}

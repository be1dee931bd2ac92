# The machine of a page: a network of its own with the servers that the pages name. Then each step, a file
# NAME.step, in order: its output and its exit code stand beside it.
#
#     unshare --net --pid --fork --kill-child --mount-proc bash world.sh FOLDER SECONDS    # in the folder of the page
set -eu
made=$1
patience=$2
# SIOCSIFFLAGS: IFF_UP.
python3 -c 'import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh14x", b"lo", 1))'
candor serve --listen 127.0.0.1:7000 2>/dev/null &
candor serve --listen 127.0.0.1:8081 2>/dev/null &
candor serve --listen 127.0.0.1:8000 2>/dev/null &
ports="7000 8081 8000"
mkdir -p "$made/nginx"
: >"$made/listen.conf"
if [ -e "$made/h2c" ]; then
    candor serve --listen 127.0.0.1:8080 2>/dev/null &
elif [ ! -e "$made/own" ]; then
    echo "listen 127.0.0.1:8080 backlog=4096;" >"$made/listen.conf"
fi
[ -e "$made/own" ] || ports="$ports 8080"
nginx -p "$made/nginx" -c "$made/nginx.conf" 2>"$made/nginx.log" &
if [ -e "$made/grpc" ]; then
    python3 "$made/grpc.py" 50051 . &
    ports="$ports 50051"
fi
if [ -e "$made/quic" ]; then
    sleep 3600 | python3 "$made/quic.py" "$made/cert.pem" "$made/key.pem" 8443 >"$made/quic.port" &
    until [ -s "$made/quic.port" ]; do sleep 0.05; done
fi
for port in $ports 8443; do
    tries=0
    until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
        tries=$((tries + 1))
        [ "$tries" -lt 200 ] || { echo "no server listens at $port" >&2; exit 1; }
        sleep 0.05
    done
done
sh -eu "$made/before" >"$made/before.log" 2>&1
for step in "$made"/*.step; do
    # A trial of a suite that is this short may get no turn on a busy machine, and then has no rate, or no response: rightly,
    # and no fault of the page. Such a step is tried again from the beginning, and no other.
    for _ in 1 2 3; do
        code=0
        timeout "$patience" bash "$step" >"$step.out" 2>"$step.err" </dev/null || code=$?
        [ "$code" = 1 ] || break
        grep -q "^BROKEN .* no usable run in" "$step.out" || grep -q "^candor: .*: no request succeeded$" "$step.err" || break
        rm -rf ./*-results
    done
    echo "$code" >"$step.code"
done

# Runs a program with its state, `$1`, on a disk of some megabytes that nobody else sees. What is on
# it afterwards is copied to `$2`.
state=$1
kept=$2
shift 2
mount -t tmpfs -o size=4m,mode=0700 nightwright-selftest "$state" || exit
# Whatever `mount` says: nothing is filled but a small disk of our own.
df -Pk "$state" | {
    read -r _
    read -r name size _
    [ "$name" = nightwright-selftest ] && [ "$size" -le 16384 ]
} || {
    echo "\`mount\` says that it made a small disk, and there is none" >&2
    exit 1
}
echo >"$kept/mounted"
"$@"
code=$?
rm -f "$state/fill"
cp -R "$state/." "$kept"
exit "$code"

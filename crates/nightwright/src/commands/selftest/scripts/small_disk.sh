# Runs a program with its state ($1) on a private disk of a few megabytes, then copies the contents
# of the disk to $2.
state=$1
kept=$2
shift 2
mount -t tmpfs -o size=4m,mode=0700 nightwright-selftest "$state" || exit
# Checks that the disk is small, whatever `mount` reports: the test must fill no other disk.
df -Pk "$state" | {
    read -r _
    read -r name size _
    [ "$name" = nightwright-selftest ] && [ "$size" -le 16384 ]
} || {
    echo "\`mount\` reported success, but there is no small disk" >&2
    exit 1
}
echo >"$kept/mounted"
"$@"
code=$?
rm -f "$state/fill"
cp -R "$state/." "$kept"
exit "$code"

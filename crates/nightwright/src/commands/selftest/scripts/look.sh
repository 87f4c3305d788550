# Prints the registered processes that are still alive: number and name. Skips zombies and reused PIDs.
started() {
    set -- ${1##*) }
    [ "$1" = Z ] || echo "${20}"
}
while read -r line; do
    { read -r stat <"/proc/${line%% *}/stat"; } 2>/dev/null || continue
    [ "$(started "$stat")" != "$(started "$line")" ] || echo "${stat%%)*})" >>"$1/met"
done <"$1/notes"
echo >>"$1/looked"

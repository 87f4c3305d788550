# Writes down who of those that noted themselves is alive: number and name. A dead one that nobody took note of is
# not, nor is a later one with the same number.
started() {
    set -- ${1##*) }
    [ "$1" = Z ] || echo "${20}"
}
while read -r line; do
    { read -r stat <"/proc/${line%% *}/stat"; } 2>/dev/null || continue
    [ "$(started "$stat")" != "$(started "$line")" ] || echo "${stat%%)*})" >>"$1/met"
done <"$1/notes"
echo >>"$1/looked"

# A process that puts its things in order when it is asked to leave, and leaves.
# What it would say to nobody would end it.
exec >/dev/null 2>&1
trap 'echo >>"${1%/*}/asked"; exit' TERM
read -r stat <"/proc/$$/stat" && echo "$stat" >>"$1"
while :; do sleep 0.05; done

# Starts processes that don't want to go, and returns when all are there. `$1` is where they note
# themselves.
session() { if command -v setsid >/dev/null; then setsid "$@"; else "$@"; fi; }
deaf=$1/deaf.sh
notes=$1/notes
# A child like any other, with the pipes of its parent.
sh "$deaf" "$notes" &
# It has lost its parent and leads a session of its own.
(session sh "$deaf" "$notes" >/dev/null 2>&1 &)
# As people leave a server running.
nohup sh "$deaf" "$notes" >/dev/null 2>&1 &
# Nothing in its environment says where it comes from.
(session env -i sh "$deaf" "$notes" >/dev/null 2>&1 &)
until [ "$(wc -l <"$notes")" -ge 4 ]; do sleep 0.02; done

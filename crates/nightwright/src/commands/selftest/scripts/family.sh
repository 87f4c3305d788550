# Starts processes that ignore SIGTERM, and returns when all run. They register in $1.
session() { if command -v setsid >/dev/null; then setsid "$@"; else "$@"; fi; }
program=$1/ignore_signals.sh
notes=$1/notes
# A normal child, with the pipes of its parent.
sh "$program" "$notes" &
# Its parent is dead, and it leads its own session.
(session sh "$program" "$notes" >/dev/null 2>&1 &)
# A server that is left running.
nohup sh "$program" "$notes" >/dev/null 2>&1 &
# Its environment is empty.
(session env -i sh "$program" "$notes" >/dev/null 2>&1 &)
until [ "$(wc -l <"$notes")" -ge 4 ]; do sleep 0.02; done

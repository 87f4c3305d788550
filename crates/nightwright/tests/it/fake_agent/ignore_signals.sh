# A process that ignores all signals except SIGKILL.
trap '' TERM HUP INT
read -r stat <"/proc/$$/stat" && echo "$stat" >>"$1"
exec sleep 300

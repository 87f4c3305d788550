# A process that hears no signal but the one that nobody can be deaf to.
trap '' TERM HUP INT
read -r stat <"/proc/$$/stat" && echo "$stat" >>"$1"
exec sleep 300

# Writes invalid UTF-8 and an overlong line to the standard output of process $1.
out=/proc/$1/fd/1
printf '\377\376\200\n' >"$out" || exit
head -c 26000000 /dev/zero | tr '\0' x >"$out"
echo >"$out"

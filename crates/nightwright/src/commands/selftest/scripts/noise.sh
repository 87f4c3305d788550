# Prints what is no text, and a line that is too long to be read, into the output of process `$1`.
out=/proc/$1/fd/1
printf '\377\376\200\n' >"$out" || exit
head -c 26000000 /dev/zero | tr '\0' x >"$out"
echo >"$out"

#!/bin/sh
# Tries slug.sh on five titles. Exits with 1 if any of them comes out wrong.
failed=0

try() {
  got=$(sh slug.sh "$1")
  if [ "$got" = "$2" ]; then
    echo "ok    \"$1\" -> $got"
  else
    echo "FAIL  \"$1\" -> $got, should be $2"
    failed=1
  fi
}

try "Hello World" "hello-world"
try "  Mind the Gap  " "mind-the-gap"
try "Rock & Roll" "rock-roll"
try "100% Pure -- Gold!" "100-pure-gold"
try "It's a Kind of Magic" "its-a-kind-of-magic"

exit $failed

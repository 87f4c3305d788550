#!/bin/sh
# Prints the slug for a title: sh slug.sh "Some Title"
LC_ALL=C
export LC_ALL

printf '%s' "$1" | tr ' ' '-'
echo

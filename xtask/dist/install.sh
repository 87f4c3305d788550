#!/bin/sh
# Installs nightwright from this folder: the program, its manual pages and its shell completions.
set -eu

usage() {
    cat <<'TEXT'
Usage: ./install.sh [--prefix DIR]

Installs nightwright into DIR (default: ~/.local):
  DIR/bin/nightwright
  DIR/share/man/man1/nightwright*.1
  DIR/share/bash-completion/completions/nightwright
  DIR/share/zsh/site-functions/_nightwright
  DIR/share/fish/vendor_completions.d/nightwright.fish
TEXT
}

fail() {
    printf 'error: %s\n' "$1" >&2
    exit "${2:-1}"
}

prefix=
while [ $# -gt 0 ]; do
    case $1 in
        --prefix)
            [ $# -gt 1 ] || fail "--prefix needs a folder" 2
            prefix=$2
            shift 2
            ;;
        --prefix=*)
            prefix=${1#--prefix=}
            shift
            ;;
        -h | --help)
            usage
            exit 0
            ;;
        *)
            usage >&2
            fail "unknown argument: $1" 2
            ;;
    esac
done
if [ -z "$prefix" ]; then
    [ -n "${HOME:-}" ] || fail "HOME is not set: name a folder with --prefix DIR" 2
    prefix=$HOME/.local
fi

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
version=$("$here/nightwright" --version) || fail "the program does not run on this machine: $here/nightwright"

put() { # put MODE FILE FOLDER
    mkdir -p "$3"
    # A new file, because a running program cannot be overwritten.
    temporary=$3/.$(basename "$2").$$
    cp "$2" "$temporary"
    chmod "$1" "$temporary"
    mv -f "$temporary" "$3/$(basename "$2")"
}

put 755 "$here/nightwright" "$prefix/bin"
for page in "$here"/man/*.1; do
    put 644 "$page" "$prefix/share/man/man1"
done
put 644 "$here/completions/bash/nightwright" "$prefix/share/bash-completion/completions"
put 644 "$here/completions/zsh/_nightwright" "$prefix/share/zsh/site-functions"
put 644 "$here/completions/fish/nightwright.fish" "$prefix/share/fish/vendor_completions.d"

printf 'Installed %s in %s\n' "$version" "$prefix/bin"
case ":${PATH:-}:" in
    *":$prefix/bin:"*) printf 'Try it: nightwright demo\n' ;;
    *)
        printf 'Add it to PATH: export PATH="%s:$PATH"\n' "$prefix/bin"
        printf 'Try it: %s/bin/nightwright demo\n' "$prefix"
        ;;
esac

#!/bin/sh
# Makes the secrets of a deployment, each in a file of its own; files that are there already stay as they are.
#
#   sh deploy/make-secrets.sh FOLDER [DATABASE_HOST]
#
# Keep a copy of master_key apart from the backups of the database: without it the secrets in there cannot be read.
set -eu

folder=${1:?which folder?}
host=${2:-postgres}

random_hex() { head -c "$1" /dev/urandom | od -A n -t x1 | tr -d ' \n'; }

keep_or_make() {
  file=$folder/$1
  [ -s "$file" ] || printf '%s\n' "$2" >"$file"
  # Docker shows a file with its mode to a user of other number inside; the folder keeps people out.
  chmod 0444 "$file"
}

umask 077
mkdir -p "$folder"
chmod 0700 "$folder"
keep_or_make database_password "$(random_hex 24)"
keep_or_make database_url "postgres://posthorn:$(cat "$folder/database_password")@$host:5432/posthorn"
keep_or_make master_key "$(random_hex 32)"
keep_or_make admin_key "$(random_hex 32)"

#!/bin/sh
# Creates the secrets of a deployment, each in a separate file; existing files are kept.
#
#   sh deploy/make-secrets.sh FOLDER [DATABASE_HOST [QUEUE_HOST [REDIS_HOST]]]
#
# A deployment without RabbitMQ and Redis leaves theirs unused. The files that end in .conf are read by those servers.
# Keep a copy of master_key apart from the backups of the database: without it the secrets in there cannot be read.
set -eu

folder=${1:?which folder?}
database=${2:-postgres}
queue=${3:-rabbitmq}
redis=${4:-redis}

random_hex() { head -c "$1" /dev/urandom | od -A n -t x1 | tr -d ' \n'; }

content_of() { cat "$folder/$1"; }

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
keep_or_make database_url "postgres://posthorn:$(content_of database_password)@$database:5432/posthorn"
keep_or_make master_key "$(random_hex 32)"
keep_or_make admin_key "$(random_hex 32)"
keep_or_make queue_password "$(random_hex 24)"
keep_or_make queue_url "amqp://posthorn:$(content_of queue_password)@$queue:5672/posthorn"
keep_or_make rabbitmq.conf "default_user = posthorn
default_pass = $(content_of queue_password)
default_vhost = posthorn"
keep_or_make redis_password "$(random_hex 24)"
keep_or_make redis_url "redis://default:$(content_of redis_password)@$redis:6379/0"
keep_or_make redis.conf "requirepass $(content_of redis_password)"

#!/usr/bin/env sh
# Pins the base image of the Dockerfile by digest, so that a rebuild uses the same bytes. Needs Docker with buildx and access
# to the registry; a maintainer runs it before a release:  sh scripts/pin-base-image.sh
set -eu
cd "$(dirname "$0")/.."
tag=$(sed -n 's/^FROM \(node:[^@ ]*\).*/\1/p' Dockerfile | sort -u)
[ "$(printf '%s\n' "$tag" | wc -l)" = 1 ] || { echo "Dockerfile names several base images: $tag" >&2; exit 1; }
digest=$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$tag")
case "$digest" in
  sha256:*) ;;
  *) echo "the registry returned no digest for $tag: $digest" >&2; exit 1 ;;
esac
# Written next to the file and renamed, so that an interruption leaves it whole.
sed "s|^FROM node:[^ ]*|FROM $tag@$digest|" Dockerfile >Dockerfile.pinned
mv Dockerfile.pinned Dockerfile
echo "pinned $tag to $digest; commit the Dockerfile"

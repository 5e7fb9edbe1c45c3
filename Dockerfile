# docker build --tag posthorn:0.1.0 .
# One image for every mode and every role; see docs/deployment.md.

# ---- the package, built as for a release --------------------------------------------------------------------------
FROM node:26.10.0-trixie-slim AS package
WORKDIR /build
COPY . .
# Installs the tools of the lock file, compiles src into dist and packs it (`prepack` in package.json).
RUN npm pack --silent --pack-destination /package

# ---- runtime dependencies -------------------------------------------------------------------------------------------
FROM node:26.10.0-trixie-slim AS app
WORKDIR /app
COPY --from=package /package/ /package/
RUN tar --extract --gzip --strip-components=1 --file /package/posthorn-*.tgz
# The lock file is not part of a package. With it, the tested versions are installed.
COPY package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts && rm package-lock.json .npmrc

# ---- the image ----------------------------------------------------------------------------------------------------
FROM node:26.10.0-trixie-slim
# Only the runtime: npm and yarn are not needed here, and would need patches.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
      /usr/local/bin/yarn* /opt/yarn* \
    && ln -s /app/dist/cli/main.js /usr/local/bin/posthorn \
    && install --directory --owner=1000 --group=1000 --mode=0700 /data
COPY --from=app /app /app
WORKDIR /app

ENV NODE_ENV=production \
    POSTHORN_HOST=:: \
    POSTHORN_PORT=8080 \
    POSTHORN_DATA_DIR=/data \
    POSTHORN_LOG_FORMAT=json \
    POSTHORN_SHUTDOWN_GRACE_MS=30000

# A number, so that Kubernetes can verify that it is not root.
USER 1000:1000
# The only writable folder: the rest may be read-only (`docker run --read-only`). With PostgreSQL nothing is
# written at all, provided that the admin key is set.
VOLUME /data
EXPOSE 8080
# Docker kills the container ten seconds after the signal unless it waits for the grace period: --stop-timeout 45.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=120s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.POSTHORN_PORT}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/cli/main.js"]
CMD ["serve"]

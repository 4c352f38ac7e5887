# Node 24 on Debian 13, whose C library the sockets' native binary needs. Renew the digest with each Node release.
ARG NODE_IMAGE=node:24-trixie-slim@sha256:8ec5d7557396cfe32d21c3f9c13072355ceab22b584578ca4bb28af31120cffe

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN npm run build && cp cli/bin.js dist/cli/ && cp -r schemas/avro schemas/tables schemas/proto dist/schemas/

FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev && npm sbom --omit=dev --sbom-format=cyclonedx > sbom.cdx.json

FROM ${NODE_IMAGE}
ENV NODE_ENV=production DATA_DIR=/data
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=packages /app/sbom.cdx.json ./
COPY package.json LICENSE NOTICE ./
RUN mkdir -m 0700 /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 8080 8081
# Most objects of a block die young: room of 32 MB instead of 16 takes a tenth of the processor time away.
ENTRYPOINT ["node", "--max-semi-space-size=32", "dist/cli/bin.js"]
CMD ["all"]

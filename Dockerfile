FROM node:20-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci
COPY . .
RUN npm run build && cp cli/bin.js dist/cli/ && cp -r schemas/avro schemas/tables schemas/proto dist/schemas/

FROM node:20-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev

FROM node:20-slim
ENV NODE_ENV=production DATA_DIR=/data
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json ./
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 8080 8081
# Most objects of a block die young: room of 32 MB instead of 16 takes a tenth of the processor time away.
ENTRYPOINT ["node", "--max-semi-space-size=32", "dist/cli/bin.js"]
CMD ["all"]

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { FastifyInstance } from 'fastify'
import type { Meter } from '../interfaces.ts'
import { limitByAddress } from './address-limit.ts'
import { entityTag, sendWithEntityTag } from './entity-tag.ts'

/** Nothing but this server is asked for anything. The page sets styles on its elements, which CSP counts as inline. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const REFERENCE_HTML = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>API reference</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/docs/swagger-ui.css">
  </head>
  <body>
    <div id="reference"></div>
    <noscript>The document itself: <a href="/openapi.json">/openapi.json</a></noscript>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`

/** No validator: by default the viewer sends the document's address to one on the public internet. */
const START_SCRIPT = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'none',
  filter: true,
  validatorUrl: null,
})
`

const require = createRequire(import.meta.url)

/** Paths of the reference page with their media types and bodies; each is read once, when the server is made. */
const REFERENCE_FILES = {
  '/docs': { type: 'text/html; charset=utf-8', read: () => REFERENCE_HTML },
  '/docs/': { type: 'text/html; charset=utf-8', read: () => REFERENCE_HTML },
  '/docs/start.js': { type: 'text/javascript; charset=utf-8', read: () => START_SCRIPT },
  '/docs/swagger-ui.css': {
    type: 'text/css; charset=utf-8',
    read: () => readFileSync(require.resolve('swagger-ui-dist/swagger-ui.css')),
  },
  '/docs/swagger-ui-bundle.js': {
    type: 'text/javascript; charset=utf-8',
    read: () => readFileSync(require.resolve('swagger-ui-dist/swagger-ui-bundle.js')),
  },
} as const

/** Serves the readable form of `/openapi.json` at `/docs`. It needs no other network than this server. */
export const installReferencePage = (
  app: FastifyInstance,
  { meter }: { readonly meter: Pick<Meter, 'take'> },
): void => {
  for (const [path, { type, read }] of Object.entries(REFERENCE_FILES)) {
    const body = read()
    const tag = entityTag(body)
    app.get(
      path,
      { schema: { hide: true }, onRequest: limitByAddress(meter) },
      (request, reply) => {
        reply.headers({
          'Cache-Control': 'public, no-cache',
          'Content-Security-Policy': CONTENT_SECURITY_POLICY,
          'Referrer-Policy': 'no-referrer',
        })
        return sendWithEntityTag(request, reply.type(type), { body, tag })
      },
    )
  }
}

import { createRequire } from 'node:module'
import type { FastifyInstance } from 'fastify'
import type { Meter } from '../interfaces.ts'
import {
  htmlFile,
  installPageFiles,
  packageScript,
  packageStyles,
  scriptFile,
} from './static-page.ts'

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

/** Serves the readable form of `/openapi.json` at `/docs`. It needs no other network than this server. */
export const installReferencePage = (
  app: FastifyInstance,
  deps: { readonly meter: Pick<Meter, 'take'> },
): void => {
  const page = htmlFile(REFERENCE_HTML)
  const viewer = require.resolve('swagger-ui-dist/package.json')
  const files = {
    '/docs': page,
    '/docs/': page,
    '/docs/start.js': scriptFile(START_SCRIPT),
    '/docs/swagger-ui.css': packageStyles(viewer, 'swagger-ui.css'),
    '/docs/swagger-ui-bundle.js': packageScript(viewer, 'swagger-ui-bundle.js'),
  }
  installPageFiles(app, files, deps)
}

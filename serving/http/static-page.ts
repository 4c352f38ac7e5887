import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Meter } from '../interfaces.ts'
import { limitByAddress } from './address-limit.ts'
import { entityTag, sendWithEntityTag } from './entity-tag.ts'

/** Nothing but this server is asked for anything. Pages set styles on their elements, which CSP counts as inline. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  'font-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** One file of a page. */
export interface PageFile {
  readonly type: string
  readonly body: string | Buffer
}

/** A page that is written here. */
export const htmlFile = (body: string): PageFile => ({ type: 'text/html; charset=utf-8', body })

/** A script that is written here. */
export const scriptFile = (body: string): PageFile => ({
  type: 'text/javascript; charset=utf-8',
  body,
})

/** A style sheet that is written here. */
export const styleFile = (body: string): PageFile => ({ type: 'text/css; charset=utf-8', body })

/** Beside the manifest, because a package may not name what browsers load among its exports. */
const readPackageFile = (manifest: string, path: string): Buffer =>
  readFileSync(join(dirname(manifest), path))

/** A script of an installed package: the file of its manifest, and the path of the script beside it. */
export const packageScript = (manifest: string, path: string): PageFile => ({
  ...scriptFile(''),
  body: readPackageFile(manifest, path),
})

/** A style sheet of an installed package: the file of its manifest, and the path of the sheet beside it. */
export const packageStyles = (manifest: string, path: string): PageFile => ({
  ...styleFile(''),
  body: readPackageFile(manifest, path),
})

/** What answers with a file under the policy of pages, or 304 to a caller that has it. */
export const pageSender = ({
  type,
  body,
}: PageFile): ((request: FastifyRequest, reply: FastifyReply) => FastifyReply) => {
  const tag = entityTag(body)
  return (request, reply) => {
    reply.headers({
      'Cache-Control': 'public, no-cache',
      'Content-Security-Policy': CONTENT_SECURITY_POLICY,
      'Referrer-Policy': 'no-referrer',
    })
    return sendWithEntityTag(request, reply.type(type), { body, tag })
  }
}

/** Serves the files of a page by path. They need no credential and are limited by address. */
export const installPageFiles = (
  app: FastifyInstance,
  files: Readonly<Record<string, PageFile>>,
  { meter }: { readonly meter: Pick<Meter, 'take'> },
): void => {
  for (const [path, file] of Object.entries(files))
    app.get(path, { schema: { hide: true }, onRequest: limitByAddress(meter) }, pageSender(file))
}

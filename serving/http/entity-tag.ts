import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** Characters of a digest that tell two bodies apart: 132 bits. */
const TAG_LENGTH = 22

/** The entity tag of a body: of the same bytes always the same. Weak, because a proxy may compress what it passes on. */
export const entityTag = (body: string | Buffer): string =>
  `W/"${createHash('sha256').update(body).digest('base64url').slice(0, TAG_LENGTH)}"`

/** True when `If-None-Match` lists the tag, strong or weak, or is `*`. Source: RFC 9110 13.1.2. */
export const matchesEntityTag = (header: string | undefined, tag: string): boolean => {
  if (header === undefined) return false
  const opaque = tag.replace(/^W\//, '')
  return header
    .split(',')
    .map((word) => word.trim())
    .some((word) => word === '*' || word.replace(/^W\//, '') === opaque)
}

/** Sends a body with its tag, or 304 without one to a caller that has it. */
export const sendWithEntityTag = (
  request: FastifyRequest,
  reply: FastifyReply,
  { body, tag }: { readonly body: string | Buffer; readonly tag: string },
): FastifyReply => {
  reply.header('ETag', tag)
  return matchesEntityTag(request.headers['if-none-match'], tag)
    ? reply.status(304).send()
    : reply.send(body)
}

/**
 * Gives every successful GET of the routes registered after it an `ETag`, and answers 304 to a caller that has the body. Routes
 * that need a scope are left out: what they show changes with calls, and may be a secret. The query has run either way, so the
 * price is that of a 200: install it before what charges. A call that is paid for alone always gets its body: a 304 would tell of it
 * without a payment.
 */
export const installEntityTags = (app: FastifyInstance): void => {
  app.addHook('onSend', async (request, reply, payload) => {
    const { scopes = [] } = request.routeOptions.config
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (!isRead || reply.statusCode !== 200 || scopes.length > 0) return payload
    if (typeof payload !== 'string') return payload
    const tag = entityTag(payload)
    reply.header('ETag', tag)
    const isPaidAlone = Boolean(request.payment)
    if (isPaidAlone || !matchesEntityTag(request.headers['if-none-match'], tag)) return payload
    reply.status(304).removeHeader('Content-Type').removeHeader('Content-Length')
    // Fastify measures what a HEAD leaves out, and fails on null.
    return request.method === 'HEAD' ? payload : null
  })
}

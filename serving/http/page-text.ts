import type { FastifyReply } from 'fastify'
import type { TSchema } from 'typebox'

/** Schemas of a list: of its page, whose first fields are `data` and `items`, and of the rows in each of them. */
export interface PageSchemas {
  readonly page: TSchema
  readonly rows: TSchema
}

interface PagePayload {
  readonly data: readonly unknown[]
  readonly items: readonly unknown[]
}

const WITHOUT_ROWS = '{"data":[],"items":[]'

/**
 * Has the page of an answer written with its rows turned into text once: `data` and `items` are one array, and most of a page is its rows. The text is
 * the one that the schema of the page gives.
 */
export const writeRowsOnce = (reply: FastifyReply, { page, rows }: PageSchemas): void => {
  const write = (payload: object, schema: TSchema): string =>
    reply.serializeInput(payload as Record<string, unknown>, schema as Record<string, unknown>)
  // Fastify names no type for what a serializer of the reply writes.
  reply.type('application/json; charset=utf-8').serializer((payload: PagePayload) => {
    const rest = write({ ...payload, data: [], items: [] }, page)
    if (payload.data !== payload.items || !rest.startsWith(WITHOUT_ROWS))
      return write(payload, page)
    const text = write(payload.data, rows)
    return `{"data":${text},"items":${text}${rest.slice(WITHOUT_ROWS.length)}`
  })
}

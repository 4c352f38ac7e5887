import { GraphQLError, GraphQLSchema, parse } from 'graphql'
import { GRAPHQL_TRANSPORT_WS_PROTOCOL, makeServer, type SubscribePayload } from 'graphql-ws'
import { InvalidInput } from '../../../core/errors.ts'
import { isJsonObject, parseJson } from '../../../core/json.ts'
import type { PublicError } from '../errors.ts'
import type { GraphqlRequest } from '../plan.ts'
import type { Deliveries } from './deliveries.ts'
import { ConnectionClosed, LIVE_CLOSES, type LiveClose, type LiveLimits } from './limits.ts'
import { createOperations } from './operations.ts'

/** Sub-protocol that is spoken. */
export const LIVE_PROTOCOL = GRAPHQL_TRANSPORT_WS_PROTOCOL

/** A subscription as a client asks for it. */
export interface SubscribeRequest extends GraphqlRequest {
  /** What stands in `extensions.resume`, unchecked; absent: it begins behind the newest block. */
  readonly resume?: unknown
}

/** What the protocol asks of one connection. */
export interface LivePeer {
  /** Sends text and resolves once the client may be sent more. Rejects with `ConnectionClosed`. */
  send(text: string): Promise<void>
  close(close: LiveClose): void
  /** Looks at the payload of `connection_init`. Throws `ConnectionClosed` where it is not let in. */
  connect(payload: Readonly<Record<string, unknown>> | undefined): Promise<void>
  /** Begins a subscription. Throws what `describeError` puts into words. */
  subscribe(request: SubscribeRequest): Promise<Deliveries>
  /** How an error reads; counts and logs what is a defect. */
  describeError(error: unknown): readonly PublicError[]
}

/** One connection as the transport drives it. */
export interface LiveSession {
  /** Handles one message. Rejects with `ConnectionClosed`, or with a defect. */
  message(text: string): Promise<void>
  /** Ends every subscription. */
  closed(code: number, reason: string): Promise<void>
}

/** A delivery: it is written into the frame as the text that it is, so that no number passes through a double. */
class RawPayload {
  readonly body: Buffer

  constructor(body: Buffer) {
    this.body = body
  }
}

/** Stands where the raw text goes: the last key of a frame is its payload. */
const PLACEHOLDER = 0
const FRAME_END = `${PLACEHOLDER}}`

/** The library wants a document to tell the kind of an operation by; ours was planned before. */
const DOCUMENT = parse('subscription { __typename }')
const SCHEMA = new GraphQLSchema({})

const CLIENT_MESSAGES: ReadonlySet<unknown> = new Set([
  ...['connection_init', 'ping', 'pong', 'subscribe', 'complete'],
])

/** What is read of a message before the library has it. */
interface ClientMessage {
  readonly type?: unknown
  /** "" = none. */
  readonly id: string
}

/** Bounds a message before the library reads it. Throws `ConnectionClosed`. */
const validateMessage = (
  text: string,
  { maxDepth, maxIdLength, maxPingBytes }: LiveLimits,
): ClientMessage => {
  try {
    const message = parseJson(text, { maxDepth })
    if (isJsonObject(message) && CLIENT_MESSAGES.has(message.type)) {
      const { id = '', type } = message
      const isPing = type === 'ping' || type === 'pong'
      const fits = !isPing || Buffer.byteLength(text) <= maxPingBytes
      if (fits && typeof id === 'string' && id.length <= maxIdLength) return { type, id }
    }
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
  }
  throw new ConnectionClosed(LIVE_CLOSES.badRequest)
}

const toRequest = ({
  query,
  variables,
  operationName,
  extensions,
}: SubscribePayload): SubscribeRequest => ({
  query,
  kind: 'subscription',
  ...(variables && { variables }),
  ...(operationName && { operationName }),
  ...(extensions && Object.hasOwn(extensions, 'resume') && { resume: extensions.resume }),
})

/** Frames of a client become calls of its peer. Owner of the package `graphql-ws`: it has the rules and the close codes of the protocol. */
export const openLiveSession = (peer: LivePeer, limits: LiveLimits): LiveSession => {
  let raw: Buffer | undefined
  let handle: (text: string) => Promise<void> = async () => undefined
  const server = makeServer({
    schema: SCHEMA,
    connectionInitWaitTimeout: limits.initTimeoutMs,
    onConnect: ({ connectionParams }) => peer.connect(connectionParams).then(() => true),
    onSubscribe: async (_context, _id, payload) => {
      try {
        const contextValue = await peer.subscribe(toRequest(payload))
        return { schema: SCHEMA, document: DOCUMENT, contextValue }
      } catch (error) {
        return [asGraphqlError(error)]
      }
    },
    subscribe: ({ contextValue }) => toResults(contextValue as Deliveries),
    onNext: (_context, _id, _payload, _args, { data }) => new RawPayload(data as never) as never,
    onError: (_context, _id, _payload, errors) =>
      errors.flatMap((error) => peer.describeError(error.originalError ?? error)) as never,
    jsonMessageReplacer: (_key, value: unknown) => {
      if (!(value instanceof RawPayload)) return value
      raw = value.body
      return PLACEHOLDER
    },
  })
  const closed = server.opened(
    {
      protocol: LIVE_PROTOCOL,
      send: (text) => {
        const body = raw
        raw = undefined
        return peer.send(
          body === undefined ? text : `${text.slice(0, -FRAME_END.length)}${body.toString()}}`,
        )
      },
      close: (code, reason) => peer.close({ code: code ?? 1000, reason: reason ?? '' }),
      onMessage: (callback) => {
        handle = callback
      },
    },
    undefined,
  )
  const operations = createOperations()
  return {
    message: async (text) => {
      const { type, id } = validateMessage(text, limits)
      if (type === 'subscribe') {
        await operations.begin(id, () => handle(text))
        return
      }
      if (type === 'complete') operations.complete(id)
      await handle(text)
    },
    closed: async (code, reason) => {
      operations.completeAll()
      await closed(code, reason)
    },
  }
}

const asGraphqlError = (error: unknown): GraphQLError => {
  const originalError = error instanceof Error ? error : new Error(String(error))
  return new GraphQLError(originalError.message, { originalError })
}

/** The deliveries as the library takes them: it reads `data` and nothing else of a result. */
const toResults = (deliveries: Deliveries): AsyncGenerator<{ readonly data: never }> => ({
  next: async () => {
    const step = await deliveries.next()
    if (step.done === true) return { done: true, value: undefined }
    return { done: false, value: { data: step.value as never } }
  },
  return: async () => {
    await deliveries.return()
    return { done: true, value: undefined }
  },
  throw: async (error: unknown) => {
    await deliveries.return()
    throw error
  },
  [Symbol.asyncIterator]() {
    return this
  },
})

import { withDeadline } from '../deadline.ts'
import { InvalidInput, Outage } from '../errors.ts'
import { isJsonObject, isWithinDepth, parseJson } from '../json.ts'

/** A JSON-RPC error that the node gave: it lives and it said no. */
export class RpcError extends Error {
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data: unknown) {
    super(message)
    this.name = 'RpcError'
    this.code = code
    this.data = data
  }
}

/** One call. */
export interface RpcCall {
  readonly method: string
  readonly params: readonly unknown[]
  /** Largest answer, bytes; one that is larger throws `OversizedAnswer`. Default: `MAX_RESPONSE_BYTES`. */
  readonly maxBytes?: number
}

/** An answer that is larger than its call allows. Where a contract or an account decides its size, the node is not to blame. */
export class OversizedAnswer extends InvalidInput {
  constructor() {
    super('rpc-too-large', 'the response exceeds the size limit')
    this.name = 'OversizedAnswer'
  }
}

/** A call as nodes take it. */
export const callText = (id: number, { method, params }: RpcCall): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })

/** Called with the size of an answer, in bytes. */
export type OnBytes = (bytes: number) => void

/** One node address. `subscribe` delivers raw notices where the transport can push, again after a break, until the signal aborts. */
export interface Endpoint {
  readonly url: string
  /** Host only: safe to log, keys in paths stay out. */
  readonly label: string
  /** Throws `RpcError` (the node refused), `Outage` (no answer) or `InvalidInput` (an invalid answer). */
  request(call: RpcCall, signal: AbortSignal, onBytes?: OnBytes): Promise<unknown>
  subscribe?(call: RpcCall, onNotice: (notice: unknown) => void, signal: AbortSignal): void
  close(): void
}

/** Largest answer that is read; a block with all receipts of a busy chain stays far below. */
export const MAX_RESPONSE_BYTES = 128 * 1024 * 1024

/** What to show of an address: no path, no query, no credentials. */
export const endpointLabel = (url: string): string => new URL(url).host

/** Deepest nesting of what tracers tell: a list and an object for each of the 1,024 calls that may nest, and what holds them. */
export const MAX_TRACE_DEPTH = 2_112
/** Longest text of a node's error, and longest data of it, that is kept. */
const MAX_ERROR_LENGTH = 500
const MAX_ERROR_DATA_LENGTH = 64 * 1_024
/** Longest part of an unexpected value that is shown. */
const MAX_SHOWN_LENGTH = 60

const isTraceCall = ({ method }: RpcCall): boolean => /^(debug|trace)_/.test(method)

/** A scalar as text for messages, cut; of a list or an object only that it is one: nothing from outside is coerced. */
export const describeScalar = (value: unknown): string => {
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  return String(value).slice(0, MAX_SHOWN_LENGTH)
}

/** An answer or a notice as it was read. */
export interface RpcMessage {
  readonly fields: Readonly<Record<string, unknown>>
  /** Deeper than anything but a trace nests. */
  readonly isDeep: boolean
}

/** Reads the text of an answer or notice within bounds. Throws `InvalidInput`: those of `parseJson`, `rpc-not-an-answer`. */
export const parseRpcMessage = (text: string): RpcMessage => {
  const isDeep = !isWithinDepth(text)
  const value = parseJson(text, { maxLength: MAX_RESPONSE_BYTES, maxDepth: MAX_TRACE_DEPTH })
  if (!isJsonObject(value))
    throw new InvalidInput('rpc-not-an-answer', 'the answer of the node is not an object')
  return { fields: value, isDeep }
}

/** The result of one answer. Throws `RpcError`, or `InvalidInput` also for an answer that nests deeper than its method does. */
export const resultOfMessage = (
  { fields, isDeep }: RpcMessage,
  { id, call }: { readonly id: number; readonly call: RpcCall },
): unknown => {
  if (isDeep && !isTraceCall(call)) {
    throw new InvalidInput('json-too-deep', `the answer to ${call.method} nests too deep`)
  }
  if (isJsonObject(fields.error)) throw toRpcError(fields.error)
  if (fields.id !== id) throw new InvalidInput('rpc-wrong-id', 'the node answered another call')
  if (!('result' in fields))
    throw new InvalidInput('rpc-no-result', 'the response has neither a result nor an error')
  return fields.result
}

/** Code of an error that names none. Source: JSON-RPC 2.0, server error. */
const DEFAULT_ERROR_CODE = -32_000

/** The error of a node: its code and its message where they are a number and a text, its data where that is a text of some length. */
const toRpcError = ({ code, message, data }: Readonly<Record<string, unknown>>): RpcError =>
  new RpcError(
    typeof code === 'number' ? code : DEFAULT_ERROR_CODE,
    typeof message === 'string' ? message.slice(0, MAX_ERROR_LENGTH) : 'unnamed error',
    typeof data === 'string' && data.length <= MAX_ERROR_DATA_LENGTH ? data : undefined,
  )

/** A node behind HTTP. */
export const httpEndpoint = (url: string, timeoutMs: number): Endpoint => {
  let lastId = 0
  return {
    url,
    label: endpointLabel(url),
    request: async (call, signal, onBytes) => {
      lastId += 1
      const id = lastId
      const { maxBytes = MAX_RESPONSE_BYTES } = call
      const post = { url, body: callText(id, call), maxBytes }
      const response = await postJson(post, timeoutMs, signal)
      onBytes?.(Buffer.byteLength(response))
      return resultOfMessage(parseRpcMessage(response), { id, call })
    },
    close: () => undefined,
  }
}

const postJson = async (
  {
    url,
    body,
    maxBytes,
  }: { readonly url: string; readonly body: string; readonly maxBytes: number },
  timeoutMs: number,
  signal: AbortSignal,
): Promise<string> => {
  try {
    return await withDeadline(signal, timeoutMs, async (limited) => {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
        // A node's address is the operator's choice, not the node's.
        redirect: 'error',
        signal: limited,
      })
      const text = await readBoundedText(response, maxBytes)
      if (response.ok || text.startsWith('{')) return text
      throw new Outage('rpc', `the node answered HTTP ${response.status}`)
    })
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (error instanceof Outage || error instanceof InvalidInput) throw error
    throw new Outage('rpc', 'the node did not answer', { cause: error })
  }
}

const readBoundedText = async (response: Response, maxBytes: number): Promise<string> => {
  if (!response.body) return ''
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body) {
    size += chunk.byteLength
    if (size > maxBytes) throw new OversizedAnswer()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size).toString('utf8')
}

/** What a node did, told apart from a bug of ours. */
export const isNodeError = (error: unknown): boolean =>
  error instanceof Outage || error instanceof InvalidInput || error instanceof RpcError

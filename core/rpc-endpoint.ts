import { Malformed, Outage } from './fault.ts'

/** A JSON-RPC error that the node gave: it lives and it said no. */
export class RpcError extends Error {
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data: unknown) {
    super(message.slice(0, 500))
    this.name = 'RpcError'
    this.code = code
    this.data = data
  }
}

/** One call. */
export interface RpcCall {
  readonly method: string
  readonly params: readonly unknown[]
}

/** Told of the size of an answer, in bytes. */
export type OnBytes = (bytes: number) => void

/** One node address. `subscribe` delivers raw notices where the transport can push, again after a break, until the signal aborts. */
export interface Endpoint {
  readonly url: string
  /** Host only: safe to log, keys in paths stay out. */
  readonly label: string
  /** Throws `RpcError` (the node refused), `Outage` (no answer) or `Malformed` (an answer that is none). */
  request(call: RpcCall, signal: AbortSignal, onBytes?: OnBytes): Promise<unknown>
  subscribe?(call: RpcCall, onNotice: (notice: unknown) => void, signal: AbortSignal): void
  close(): void
}

/** Largest answer that is read; a block with all receipts of a busy chain stays far below. */
export const MAX_ANSWER_BYTES = 128 * 1024 * 1024

/** What to show of an address: no path, no query, no credentials. */
export const labelOf = (url: string): string => new URL(url).host

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Reads the text of an answer or notice. Throws `Malformed`. */
export const parseMessage = (text: string): Readonly<Record<string, unknown>> => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new Malformed('rpc-not-json', 'the node answered something that is not JSON', {
      cause: error,
    })
  }
  if (!isObject(value)) throw new Malformed('rpc-not-an-answer', 'the node answered no object')
  return value
}

/** The result of one answer. Throws `RpcError` or `Malformed`. */
export const resultOf = (answer: Readonly<Record<string, unknown>>, id: number): unknown => {
  if (isObject(answer.error)) {
    const { code, message, data } = answer.error
    throw new RpcError(Number(code ?? -32_000), String(message ?? 'unnamed error'), data)
  }
  if (answer.id !== id) throw new Malformed('rpc-wrong-id', 'the node answered another call')
  if (!('result' in answer)) throw new Malformed('rpc-no-result', 'the answer has no result')
  return answer.result
}

/** A node behind HTTP. */
export const httpEndpoint = (url: string, timeoutMs: number): Endpoint => {
  let lastId = 0
  return {
    url,
    label: labelOf(url),
    request: async (call, signal, onBytes) => {
      lastId += 1
      const id = lastId
      const response = await post(url, { jsonrpc: '2.0', id, ...call }, timeoutMs, signal)
      onBytes?.(Buffer.byteLength(response))
      return resultOf(parseMessage(response), id)
    },
    close: () => undefined,
  }
}

const post = async (
  url: string,
  body: object,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<string> => {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    })
    const text = await boundedText(response)
    if (response.ok || text.startsWith('{')) return text
    throw new Outage('rpc', `the node answered HTTP ${response.status}`)
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (error instanceof Outage || error instanceof Malformed) throw error
    throw new Outage('rpc', 'the node did not answer', { cause: error })
  }
}

const boundedText = async (response: Response): Promise<string> => {
  if (!response.body) return ''
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body) {
    size += chunk.byteLength
    if (size > MAX_ANSWER_BYTES) throw new Malformed('rpc-too-large', 'the answer is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size).toString('utf8')
}

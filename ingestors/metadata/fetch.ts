import { withDeadline } from '../../core/deadline.ts'
import {
  classifyFailure,
  type OutboundClient,
  type OutboundResponse,
} from '../../core/http/guarded-client.ts'
import { webUrl } from './uri.ts'

/** Why there is no document; a temporary reason may be gone at the next try. */
export class Unfetched extends Error {
  readonly reason: string
  readonly temporary: boolean

  constructor(reason: string, { temporary = false, ...options }: UnfetchedOptions = {}) {
    super(`no document: ${reason}`, options)
    this.name = 'Unfetched'
    this.reason = reason
    this.temporary = temporary
  }
}

interface UnfetchedOptions extends ErrorOptions {
  readonly temporary?: boolean
}

/** How a document is fetched. */
export interface FetchPlan {
  readonly outbound: OutboundClient
  /** Limit of the whole attempt, redirects included. */
  readonly timeoutMs: number
  readonly mostBytes: number
  readonly signal: AbortSignal
}

const MOST_REDIRECTS = 3
const REDIRECTS = new Set([301, 302, 303, 307, 308])
/** Statuses that may be others at the next try. */
const isTemporary = (status: number): boolean =>
  status >= 500 || status === 408 || status === 425 || status === 429
const HEADERS = { accept: 'application/json, */*;q=0.5', 'user-agent': 'sluice' }

/** The text at an address, after at most three redirects. Throws `Unfetched`, or the signal's reason. */
export const fetchText = async (url: URL, plan: FetchPlan): Promise<string> => {
  const { timeoutMs, signal } = plan
  try {
    return await withDeadline(signal, timeoutMs, (limited) =>
      textAt(url, { ...plan, signal: limited }),
    )
  } catch (cause) {
    signal.throwIfAborted()
    if (cause instanceof Unfetched) throw cause
    const failure = classifyFailure(cause)
    throw new Unfetched(failure, { temporary: failure !== 'blocked' && failure !== 'tls', cause })
  }
}

const textAt = async (first: URL, plan: FetchPlan): Promise<string> => {
  const { outbound, timeoutMs, signal } = plan
  let url = first
  for (let redirects = 0; ; redirects += 1) {
    const ask = { method: 'GET', headers: HEADERS, timeoutMs, signal } as const
    const reply = await outbound.request(url.href, ask)
    if (reply.status >= 200 && reply.status < 300) return textOf(reply, plan.mostBytes)
    await reply.discard()
    if (!REDIRECTS.has(reply.status)) {
      throw new Unfetched('status', { temporary: isTemporary(reply.status) })
    }
    const { location } = reply.headers
    const next = typeof location === 'string' ? webUrl(location, url) : undefined
    if (next === undefined || redirects === MOST_REDIRECTS) throw new Unfetched('redirect')
    url = next
  }
}

/** Reads a body up to the limit; a longer one is not read to its end. */
const textOf = async ({ body }: OutboundResponse, mostBytes: number): Promise<string> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    bytes += chunk.byteLength
    if (bytes > mostBytes) throw new Unfetched('too-large')
  }
  return Buffer.concat(chunks).toString('utf8')
}

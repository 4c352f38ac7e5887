import { createHash } from 'node:crypto'
import type {
  Lane,
  LaneState,
  LogRecord,
  ProducerRecord,
  StateChange,
} from '../../core/bus/contract.ts'
import { deadLetterRecord, tryDecode } from '../../core/bus/dead-letters.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { InvalidInput } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { topicName } from '../../schemas/topics.ts'
import type { Token, TokenEvent } from '../../schemas/wire.ts'
import { Unfetched } from './fetch.ts'
import type { TokenDocument } from './fields.ts'

/** What a lane works with. */
export interface LaneDeps {
  readonly chain: string
  readonly group: string
  readonly store: string
  readonly codec: Codec
  readonly metrics: Metrics
  readonly log: Logger
  readonly nowMs: () => number
  /** Throws `Unfetched` when it gives up, or the signal's reason. */
  readonly fetch: (uri: string, signal: AbortSignal) => Promise<TokenDocument>
}

/** Records that may wait for their documents. */
const WINDOW = 256
const WAIT_MS = 250

/** A record whose documents are under way; its offset is committed when it and all before it are done. */
interface DocumentPosition {
  readonly offset: number
  open: number
  /** The record itself, where it could not be read. */
  deadLetter: ProducerRecord | null
}

/** A token that came to be and names a document. */
interface CreatedToken {
  readonly event: TokenEvent
  readonly token: Token
}

/** What the next commit writes beside the offset. */
interface Written {
  readonly records: ProducerRecord[]
  readonly state: StateChange[]
}

/**
 * One partition of created tokens. Documents come in any order and are committed as they come, each with the mark that
 * it is there; the offset follows behind, so what is read again after a crash is not fetched again.
 */
export class DocumentLane {
  readonly #deps: LaneDeps
  readonly #lane: Lane
  readonly #ending = new AbortController()
  readonly #positions: DocumentPosition[] = []
  readonly #fetches = new Set<Promise<void>>()
  /** URI by token whose document is under way or waits for its commit. */
  readonly #uris = new Map<string, string>()
  #written: Written = { records: [], state: [] }
  #bug: { readonly error: unknown } | null = null

  constructor(deps: LaneDeps, lane: Lane) {
    this.#deps = deps
    this.#lane = lane
  }

  async run(): Promise<void> {
    const { signal } = this.#lane
    const end = (): void => this.#ending.abort(signal.reason)
    signal.addEventListener('abort', end, { once: true })
    try {
      const known = await this.#lane.state(this.#deps.store)
      while (!signal.aborted) {
        await this.#admit(known)
        if (this.#bug !== null) throw this.#bug.error
        await this.#commit()
      }
    } finally {
      signal.removeEventListener('abort', end)
      this.#ending.abort(new Error('the lane ended'))
    }
  }

  async #admit(known: LaneState): Promise<void> {
    const room = WINDOW - this.#positions.length
    if (room === 0) {
      if (this.#fetches.size > 0) await Promise.race(this.#fetches)
      return
    }
    for (const record of await this.#lane.take({ maxRecords: room, maxWaitMs: WAIT_MS })) {
      const position: DocumentPosition = { offset: record.offset, open: 0, deadLetter: null }
      this.#positions.push(position)
      for (const created of this.#creationsIn(record, position))
        this.#start(position, known, created)
    }
  }

  /** Tokens that name a document. A reverted creation changes nothing: the document is still the token's. */
  #creationsIn(record: LogRecord, position: DocumentPosition): readonly CreatedToken[] {
    const { codec, group, metrics, log } = this.#deps
    const decoded = tryDecode(() => {
      if (record.value === null) throw new InvalidInput('tombstone', 'unexpected tombstone')
      return codec.decode('token.TokenEvents', record.value)
    })
    if (decoded instanceof InvalidInput) {
      position.deadLetter = deadLetterRecord(group, record, decoded)
      metrics.eventsDropped.inc({ stage: 'documents', reason: decoded.reason })
      log.error(
        { group, offset: record.offset, err: decoded },
        'undecodable record sent to dead-letter topic',
      )
      return []
    }
    const { meta, events } = decoded.value
    if (meta?.op === 'OP_REVERT') return []
    return events.flatMap((event) =>
      event.token === null || event.token.uri === '' ? [] : [{ event, token: event.token }],
    )
  }

  #start(position: DocumentPosition, known: LaneState, { event, token }: CreatedToken): void {
    const { address, uri } = token
    if (this.#uris.get(address) === uri || textOf(known.get(address)) === markOf(uri)) return
    position.open += 1
    this.#uris.set(address, uri)
    const fetching = this.#fetch(event, token)
      .catch((error: unknown) => {
        this.#bug ??= { error }
      })
      .finally(() => {
        position.open -= 1
        this.#fetches.delete(fetching)
      })
    this.#fetches.add(fetching)
  }

  async #fetch(event: TokenEvent, token: Token): Promise<void> {
    const { fetch, metrics, log, nowMs } = this.#deps
    const { signal } = this.#ending
    try {
      const document = await fetch(token.uri, signal)
      this.#keep(documentEvent(event, { token, document, fetchedMs: nowMs() }), token)
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof Unfetched)) throw error
      if (this.#uris.get(token.address) === token.uri) this.#uris.delete(token.address)
      metrics.eventsDropped.inc({ stage: 'documents', reason: error.reason })
      log.debug(
        { token: token.address, reason: error.reason },
        'token metadata document unavailable',
      )
    }
  }

  #keep(event: TokenEvent, { address, uri }: Token): void {
    const { chain, codec, store } = this.#deps
    const value = codec.encode('token.TokenEvents', { meta: null, events: [event] })
    this.#written.records.push({ topic: topicName('tokenDocuments', chain), key: address, value })
    const { partition } = this.#lane
    this.#written.state.push({ store, partition, key: address, value: Buffer.from(markOf(uri)) })
  }

  async #commit(): Promise<void> {
    const { chain, group, metrics } = this.#deps
    const { writer, partition } = this.#lane
    const open = this.#positions.findIndex((position) => position.open > 0)
    const done = this.#positions.splice(0, open === -1 ? this.#positions.length : open)
    const last = done.at(-1)
    const { records, state } = this.#written
    if (last === undefined && records.length === 0) return
    this.#written = { records: [], state: [] }
    const topic = topicName('tokensCreated', chain)
    const next = last ? [{ topic, partition, offset: last.offset + 1 }] : []
    const deadLetters = done.flatMap(({ deadLetter }) => deadLetter ?? [])
    await writer.commit({
      records: [...records, ...deadLetters],
      state,
      offsets: { group, next },
    })
    for (const { key } of state) this.#uris.delete(key)
    metrics.recordsProcessed.inc({ group }, done.length)
  }
}

const textOf = (bytes: Uint8Array | undefined): string =>
  bytes === undefined ? '' : Buffer.from(bytes).toString('utf8')

/** What the lane remembers of a document that it has published: which URI it was. */
const markOf = (uri: string): string =>
  createHash('sha256').update(uri).digest('base64url').slice(0, 22)

interface Fetched {
  readonly token: Token
  readonly document: TokenDocument
  readonly fetchedMs: number
}

/** The token as its creation event named it, with what its document says and when it was asked. */
const documentEvent = (
  created: TokenEvent,
  { token, document, fetchedMs }: Fetched,
): TokenEvent => ({
  ...created,
  instruction: null,
  block: null,
  transaction: null,
  d_app: null,
  type: 'EVENT_TYPE_UPDATED',
  token: {
    ...token,
    additional_metadata: { ...token.additional_metadata, fetched_at: String(fetchedMs) },
  },
  token_processed: {
    uri_data: '',
    description: document.description,
    image_url: document.imageUrl,
    social_medias: document.social,
    thumb_url: '',
  },
})

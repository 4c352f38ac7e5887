import type { ErrorBoundary } from '../../core/ops/error-boundary.ts'
import type { Principal } from '../interfaces.ts'
import type { AdmissionSlot } from './admission.ts'
import { ConflatedPushes } from './conflation.ts'
import type { Push, Subscriber } from './fanout.ts'
import { FRAME_CODECS, type Frame, type FrameCodec } from './frame-codec.ts'
import { type HeartbeatState, initialHeartbeat } from './heartbeat.ts'
import { CONTROL_FRAME_RATE, fullBudget, type InboundBudget } from './inbound-rates.ts'
import { CLOSE_FRAMES, type CloseFrame } from './protocol.ts'
import type { Session } from './session.ts'
import type { Socket } from './socket.ts'

/** Above this, latest-value channels keep only their newest publications. */
const CONFLATE_BYTES = 256 * 1_024
/** Above this, the connection is closed as too slow. */
export const MAX_QUEUED_BYTES = 1_024 * 1_024
/** Below this, a congested connection goes back to the shared topics. */
const RESUME_BYTES = 64 * 1_024
/** How long the close frame may take to get through to a slow reader, and the answer to it to come back. */
const CLOSE_GRACE_MS = 5_000

/** One connection: its session, its heartbeat, and the conflated publications while its queue is long. */
export class Connection implements Subscriber {
  readonly socket: Socket
  session: Session
  heartbeat: HeartbeatState
  controlFrames: InboundBudget
  /** Its slot among the connections of the process, its address and its organization. */
  readonly admissionSlot: AdmissionSlot
  /** Messages that came in while connect waits for freshness, and their length; null = none is waiting. */
  backlog: { readonly messages: Uint8Array[]; length: number } | null = null
  #congested = false
  #slowSinceMs: number | null = null
  #closed = false
  /** When the close frame was sent; null = none was. */
  #closedMs: number | null = null
  #bytes = 0
  #hasUnbilledReads = false
  readonly #conflated = new ConflatedPushes()
  readonly #nowMs: () => number
  readonly #onSlow: (connection: Connection) => void
  readonly #boundary: ErrorBoundary

  constructor(
    socket: Socket,
    session: Session,
    options: {
      readonly nowMs: () => number
      readonly random: () => number
      /** Called when it is closed as slow: remove it from the shared topics at once, or it would get publications with a gap. */
      readonly onSlow: (connection: Connection) => void
      readonly admissionSlot: AdmissionSlot
      readonly boundary: ErrorBoundary
    },
  ) {
    const { nowMs, random, onSlow, admissionSlot, boundary } = options
    this.socket = socket
    this.session = session
    this.heartbeat = initialHeartbeat(nowMs(), random)
    this.controlFrames = fullBudget(CONTROL_FRAME_RATE, nowMs())
    this.#nowMs = nowMs
    this.#onSlow = onSlow
    this.#boundary = boundary
    this.admissionSlot = admissionSlot
  }

  get congested(): boolean {
    return this.#congested
  }

  /** False once a close was decided: nothing more is read or sent. */
  get open(): boolean {
    return !this.#closed && this.#slowSinceMs === null
  }

  get principal(): Principal | null {
    return this.session.principal
  }

  /** Whose it is; "" until that is known. */
  get orgId(): string {
    return this.session.principal?.orgId ?? ''
  }

  /** What its frames are written in. */
  get codec(): FrameCodec {
    return FRAME_CODECS[this.session.encoding]
  }

  /** A reply or a push of its own. */
  send(frame: Frame): void {
    if (!this.open) return
    if (this.socket.buffered() > MAX_QUEUED_BYTES) this.closeAsSlow()
    else this.socket.send(frame)
  }

  /** Never throws: a publication goes to others too. */
  deliver(push: Push): void {
    this.#boundary.run(
      'publish',
      () => this.#deliver(push),
      () => this.closeAsSlow(),
    )
  }

  #deliver(push: Push): void {
    if (!this.open) return
    const queued = this.socket.buffered()
    if (push.latest && (queued > CONFLATE_BYTES || this.#conflated.has(push))) {
      this.#conflated.put(push)
    } else if (queued > MAX_QUEUED_BYTES) this.closeAsSlow()
    else this.#put(push)
  }

  bill(bytes: number): void {
    this.#bytes += bytes
  }

  /** Payload bytes that were read for it: charged at once, because it decides how many there are. */
  billRead(bytes: number): void {
    this.#bytes += bytes
    this.#hasUnbilledReads ||= bytes > 0
  }

  get hasUnbilledReads(): boolean {
    return this.#hasUnbilledReads
  }

  /** Payload bytes since the last call. */
  takeBytes(): number {
    const bytes = this.#bytes
    this.#bytes = 0
    this.#hasUnbilledReads = false
    return bytes
  }

  /** Drops the conflated publications of a channel. */
  discard(literal: string): void {
    this.#conflated.discard(literal)
  }

  /** Checks the queue; true where `congested` has changed. */
  checkQueue(): boolean {
    if (this.#closed) return false
    const queued = this.socket.buffered()
    if (this.#slowSinceMs !== null) {
      if (queued === 0) this.close(CLOSE_FRAMES.slow)
      else if (this.#nowMs() - this.#slowSinceMs >= CLOSE_GRACE_MS) this.#drop()
      return false
    }
    if (queued > MAX_QUEUED_BYTES) this.closeAsSlow()
    else if (!this.#congested && queued > CONFLATE_BYTES) return this.#setCongested(true)
    else if (this.#hasHeldBack() && queued < RESUME_BYTES) return this.#sendConflated()
    return false
  }

  /** Too slow: the queue may drain for a grace time, then the connection is closed, with its close frame if that can be sent. */
  closeAsSlow(): void {
    if (!this.open) return
    this.#slowSinceMs = this.#nowMs()
    this.#congested = true
    this.#conflated.clear()
    this.#onSlow(this)
  }

  close({ code, reason }: CloseFrame): void {
    if (this.#closed) return
    this.#closed = true
    this.#closedMs = this.#nowMs()
    this.#conflated.clear()
    this.socket.close(code, reason)
  }

  /** Ends a connection whose client does not answer the close frame; until then it may continue sending. */
  dropIfOverdue(): void {
    if (this.#closedMs === null || this.#nowMs() - this.#closedMs < CLOSE_GRACE_MS) return
    this.#closedMs = null
    this.socket.drop()
  }

  /** The socket is gone. */
  markClosed(): void {
    this.#closed = true
    this.#closedMs = null
    this.#conflated.clear()
  }

  #hasHeldBack(): boolean {
    return this.#congested || !this.#conflated.empty
  }

  #drop(): void {
    this.#closed = true
    this.socket.drop()
  }

  #put({ frames, payloadBytes }: Push): void {
    for (const frame of frames) this.socket.send(frame)
    this.#bytes += payloadBytes
  }

  #sendConflated(): boolean {
    while (!this.#conflated.empty) {
      if (this.socket.buffered() > CONFLATE_BYTES) return false
      const push = this.#conflated.take()
      if (push !== undefined) this.#put(push)
    }
    return this.#setCongested(false)
  }

  #setCongested(congested: boolean): true {
    this.#congested = congested
    return true
  }
}
